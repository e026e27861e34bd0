"""Events and stations through ObsPy: the mechanism in a QuakeML file, the stations in a StationXML file."""
from dataclasses import dataclass

import numpy as np

from craton.survey import specfem
from craton.survey.sources import double_couple, magnitude_to_moment

COMPONENTS = ("m_rr", "m_tt", "m_pp", "m_rt", "m_rp", "m_tp")


class Missing(ValueError):
    """ObsPy is not installed."""


@dataclass(frozen=True)
class Event:
    """Source parameters of an event.

    Parameters
    ----------
    name : str
    longitude, latitude, depth : float
        Of the centroid where there is one, else of the hypocentre; degrees, m.
    shift : float
        Centroid after the origin time, s.
    tensor : ndarray, shape (3, 3)
        East-north-up, N m.
    duration : float or None
        Of the source time function, s.
    """

    name: str
    longitude: float
    latitude: float
    depth: float
    shift: float
    tensor: np.ndarray
    duration: float | None


def _obspy(what):
    try:
        import obspy
    except ImportError:
        raise Missing(f"{what} needs ObsPy; install it with: pip install 'craton[seis]'") from None
    return obspy


def read_event(path):
    """The event of a QuakeML file.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        ObsPy is missing, or the file has not one event with one mechanism: says what there is.
    """
    catalogue = _read(path, "QuakeML", "read_events", "QUAKEML")
    if len(catalogue) != 1:
        raise ValueError(f"{len(catalogue)} events, but a source is one event: keep one in the file")
    return _event(catalogue[0])


def _read(path, what, reader, form):
    obspy = _obspy(what)
    with open(path, "rb") as file:
        file.read(1)
    try:
        return getattr(obspy, reader)(str(path), format=form)
    except Exception as error:  # ObsPy raises what lxml, its plug-ins and its types raise
        text = " ".join(str(error).split())[:120] or type(error).__name__
        raise ValueError(f"ObsPy cannot read it as {what}: {text}") from None


def _event(event):
    mechanism = _mechanism(event)
    tensor = mechanism.moment_tensor
    hypocentre = event.preferred_origin() or (event.origins[0] if event.origins else None)
    derived = tensor.derived_origin_id.get_referred_object() if tensor is not None and tensor.derived_origin_id is not None else None
    origin = derived or hypocentre
    if origin is None or None in (origin.longitude, origin.latitude, origin.depth):
        raise ValueError("the event has no origin with longitude, latitude and depth")
    shift = float(origin.time - hypocentre.time) if hypocentre is not None and hypocentre.time and origin.time else 0.0
    function = tensor.source_time_function if tensor is not None else None
    name = event.event_descriptions[0].text if event.event_descriptions else ""
    return Event(name, float(origin.longitude), float(origin.latitude), float(origin.depth), shift, _tensor(event, mechanism),
                 float(function.duration) if function is not None and function.duration else None)  # fmt: skip


def _mechanism(event):
    found = event.preferred_focal_mechanism()
    if found is None and len(event.focal_mechanisms) > 1:
        raise ValueError(f"{len(event.focal_mechanisms)} focal mechanisms and none preferred: keep one, or name the preferred one")
    if found is None and not event.focal_mechanisms:
        raise ValueError("the event has no focal mechanism, so it has no moment tensor")
    return found or event.focal_mechanisms[0]


def _tensor(event, mechanism):
    """Moment tensor, east-north-up, N m: as it stands there, or from the first nodal plane and a moment or magnitude."""
    given = mechanism.moment_tensor
    components = given.tensor if given is not None else None
    if components is not None and None not in (values := [getattr(components, name) for name in COMPONENTS]):
        return specfem.tensor(values)
    planes = mechanism.nodal_planes
    plane = planes and (planes.nodal_plane_2 if planes.preferred_plane == 2 else planes.nodal_plane_1)
    if plane is None or None in (plane.strike, plane.dip, plane.rake):
        raise ValueError("the focal mechanism has neither a moment tensor nor a nodal plane with strike, dip and rake")
    return double_couple(plane.strike, plane.dip, plane.rake, _scalar_moment(event, given))


def _scalar_moment(event, given):
    if given is not None and given.scalar_moment:
        return given.scalar_moment
    magnitudes = [m for m in event.magnitudes if (m.magnitude_type or "").lower().startswith("mw")]
    if not magnitudes:
        raise ValueError("the nodal planes need a scalar moment or a magnitude of type Mw")
    return magnitude_to_moment(magnitudes[0].mag)


def read_inventory(path):
    """Names, latitude, longitude and depth (m, from the first channel, 0 without one) of the stations of a StationXML file.

    Raises as `read_event`.
    """
    inventory = _read(path, "StationXML", "read_inventory", "STATIONXML")
    rows = [(network.code, station) for network in inventory for station in network]
    if not rows:
        raise ValueError("no stations")
    codes = [station.code for _, station in rows]
    whole = len(set(codes)) < len(codes)
    rows = dict(reversed([(f"{net}.{s.code}" if whole else s.code, s) for net, s in rows]))  # a station's epochs are one receiver
    stations = [rows[name] for name in reversed(rows)]
    depth = [float(s.channels[0].depth or 0.0) if s.channels else 0.0 for s in stations]
    return list(reversed(rows)), *(np.array([float(getattr(s, k)) for s in stations]) for k in ("latitude", "longitude")), np.array(depth)
