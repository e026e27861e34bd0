"""QuakeML and events of ObsPy: origin, moment tensor, magnitude."""

import numpy as np

from craton.conventions import magnitude_to_moment, moment_to_magnitude
from craton.errors import CratonError
from craton.io.contents import FileSource, moment_tensor
from craton.io.fdsn import origin_time, source_place
from craton.io.libraries import has_obspy, read_with_obspy

COMPONENTS = ("m_rr", "m_tt", "m_pp", "m_rt", "m_rp", "m_tp")


def read(path) -> list[FileSource]:
    """Read the event of a file, at the centroid where there is one, else at the hypocentre. Raises ValueError where it has not
    one event with one mechanism.
    """
    catalogue = read_with_obspy(path, "QuakeML", "read_events")
    if len(catalogue) != 1:
        raise ValueError(f"{len(catalogue)} events, but a source is one event: keep one in the file")
    return [source_of(catalogue[0])]


def source_of(event) -> FileSource:
    """Return the source that an event of ObsPy describes. Raises ValueError where it has no origin or no mechanism."""
    mechanism = _mechanism(event)
    tensor = mechanism.moment_tensor
    hypocentre = event.preferred_origin() or (event.origins[0] if event.origins else None)
    derived = (
        tensor.derived_origin_id.get_referred_object()
        if tensor is not None and tensor.derived_origin_id is not None
        else None
    )
    origin = derived or hypocentre
    if origin is None or None in (origin.longitude, origin.latitude, origin.depth):
        raise ValueError("the event has no origin with longitude, latitude and depth")
    start = hypocentre.time if hypocentre is not None and hypocentre.time else origin.time
    shift = float(origin.time - start) if start and origin.time else 0.0
    function = tensor.source_time_function if tensor is not None else None
    width = float(function.duration) / 2 if function is not None and function.duration else 0.0
    name = event.event_descriptions[0].text if event.event_descriptions else ""
    name = " ".join((name or "").split())  # XML breaks lines where it likes
    moment = _moment(tensor)
    plane = _plane(event, mechanism) if moment is None else None
    place = float(origin.longitude), float(origin.latitude), float(origin.depth)
    return FileSource(
        *place, shift, width, moment, plane=plane, name=name, origin=start.datetime.isoformat() if start else None
    )


def _mechanism(event):
    preferred, count = event.preferred_focal_mechanism(), len(event.focal_mechanisms)
    if preferred is None and count > 1:
        raise ValueError(f"{count} focal mechanisms and none preferred: keep one, or name the preferred one")
    if preferred is None and not count:
        raise ValueError("the event has no focal mechanism, so it has no moment tensor")
    return preferred or event.focal_mechanisms[0]


def _moment(tensor):
    """Moment tensor, east-north-up, N m, None where it is not stated whole."""
    components = tensor.tensor if tensor is not None else None
    six = [getattr(components, name, None) for name in COMPONENTS]
    return None if None in six else moment_tensor(six)


def _plane(event, mechanism):
    """Strike, dip, rake of the preferred or first nodal plane, and the scalar moment, N m."""
    planes = mechanism.nodal_planes
    plane = planes and (planes.nodal_plane_2 if planes.preferred_plane == 2 else planes.nodal_plane_1)
    if plane is None or None in (plane.strike, plane.dip, plane.rake):
        raise ValueError("the focal mechanism has neither a moment tensor nor a nodal plane with strike, dip and rake")
    return plane.strike, plane.dip, plane.rake, _scalar_moment(event, mechanism.moment_tensor)


def _scalar_moment(event, tensor):
    if tensor is not None and tensor.scalar_moment:
        return tensor.scalar_moment
    magnitudes = [m for m in event.magnitudes if (m.magnitude_type or "").lower().startswith("mw")]
    if not magnitudes:
        raise ValueError("the nodal planes need a scalar moment or a magnitude of type Mw")
    return magnitude_to_moment(magnitudes[0].mag)


def event(dataset):
    """Return the event of a run (`craton.output.dataset.waveforms`, of one shot) as an obspy.core.event.Event. Raises
    CratonError where the dataset does not say where the source is.

    Its preferred origin is the hypocentre at the origin time; where the source has a moment, a second one is the centroid,
    to which the moment tensor and the magnitude Mw belong. Depths are those of the model. In a box that lies nowhere the
    event is laid about 0 N, 0 E, as its stations are.
    """
    from obspy.core import event as library

    place = source_place(dataset)
    if place is None:
        raise CratonError("the waveforms do not say where their source is, so there is no event")
    latitude, longitude, depth = place
    where = {"latitude": latitude, "longitude": longitude, "depth": depth}
    centroid = source_place(dataset, "centroid")
    centre = where if centroid is None else dict(zip(where, centroid))
    hypocentre = library.Origin(time=origin_time(dataset), origin_type="hypocenter", evaluation_mode="manual", **where)
    title = str(dataset.attrs.get("source_name") or dataset.attrs.get("title") or "craton")
    quake = library.Event(
        event_type="earthquake",
        origins=[hypocentre],
        event_descriptions=[library.EventDescription(text=title)],
        creation_info=library.CreationInfo(author=str(dataset.attrs.get("source", "craton"))),
    )
    quake.preferred_origin_id = hypocentre.resource_id
    if "source_moment_tensor" in dataset.attrs:
        _add_mechanism(quake, dataset, centre)
    return quake


def _add_mechanism(quake, dataset, centre):
    """Add centroid, moment tensor and magnitude to an event."""
    from obspy.core import event as library

    six = [float(value) for value in np.ravel(dataset.attrs["source_moment_tensor"])]
    time = origin_time(dataset) + float(dataset.attrs["centroid_time"])
    centroid = library.Origin(time=time, origin_type="centroid", **centre)
    moment = float(np.linalg.norm(moment_tensor(six)) / np.sqrt(2))  # Silver and Jordan (1982)
    width = float(dataset.attrs.get("half_duration", 0.0))
    tensor = library.MomentTensor(
        derived_origin_id=centroid.resource_id,
        scalar_moment=moment,
        tensor=library.Tensor(**dict(zip(COMPONENTS, six))),
        source_time_function=library.SourceTimeFunction(type="unknown", duration=2 * width) if width else None,
    )
    mechanism = library.FocalMechanism(moment_tensor=tensor)
    magnitude = library.Magnitude(mag=moment_to_magnitude(moment), magnitude_type="Mw", origin_id=centroid.resource_id)
    quake.origins.append(centroid)
    quake.focal_mechanisms.append(mechanism)
    quake.magnitudes.append(magnitude)
    quake.preferred_focal_mechanism_id = mechanism.resource_id
    quake.preferred_magnitude_id = magnitude.resource_id


def write_event(dataset, path, network="XX") -> bool:
    """Write the event of a run as QuakeML; False where the dataset does not say where its source is, and, with a warning in
    the log, where ObsPy is missing. No network is needed.
    """
    if not has_obspy(path) or source_place(dataset) is None:
        return False
    from obspy.core.event import Catalog

    Catalog([event(dataset)]).write(str(path), format="QUAKEML")
    return True
