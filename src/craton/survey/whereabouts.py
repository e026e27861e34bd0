"""Where the receivers of a run are, on Earth and from its source, and what is known of its event."""

from dataclasses import replace

import numpy as np

from craton.survey import event, geography, places
from craton.survey.globe import Globe, flat, stations, with_heights


def located(receivers, scenario, sources):
    """Return receivers with the position of the first source (of a rupture where it starts), their
    own on Earth and from that source, and what is known of the event.

    Parameters
    ----------
    receivers : Receivers
    scenario : Scenario
    sources : list of PointSource, FiniteFault or PlaneWave
    """
    earth = places.globe_of(scenario) or geography.local_of(scenario.domain)
    if any(entry.shot or entry.shots for entry in scenario.source):
        sources = []
    source = tuple(map(float, sources[0].hypocentre)) if sources and len(sources[0].points) else None
    return replace(
        receivers,
        source=source,
        stations=stations_of(receivers, scenario, earth, source) if len(receivers) else None,
        event=event.attributes(scenario, sources, earth),
    )


def stations_of(receivers, scenario, earth, source):
    """Return the `Stations` of receivers; None where the model lies nowhere and there is no source.

    Parameters
    ----------
    receivers : Receivers
    scenario : Scenario
    earth : Globe, craton.survey.geography.Local or None
    source : tuple of float or None
        Position, m.
    """
    if earth is None:
        return None if source is None else flat(receivers.xyz, source)
    on_earth = stations(earth, receivers.xyz, source)
    if isinstance(earth, Globe):
        depth, ground = earth.heights(receivers.xyz)
    else:
        ground = places.ground_below(scenario, receivers.xyz)
        depth = ground - receivers.xyz[:, 2]
    if receivers.elevation is not None:
        ground = np.where(np.isfinite(receivers.elevation), receivers.elevation, ground)
    return with_heights(on_earth, depth, ground)
