"""SEG-Y (revision 1) and SU: shot gathers with geometry, written through ObsPy; velocity models of exploration, a property
in traces over depth, read through segyio.

Traces of gathers are sorted by shot, then receiver, then component. Coordinates and elevations are metres with
the scalar -100 (centimetres); the offset is signed along the horizontal axis in which source and
receiver lie farthest apart.
"""

import warnings
from pathlib import Path

import numpy as np

from craton.conventions import in_order
from craton.errors import CratonError
from craton.io.contents import FileError, MissingLibrary
from craton.io.libraries import library, written
from craton.text import in_ascii

FORMATS = {".sgy": "SEGY", ".segy": "SEGY", ".su": "SU"}
SCALAR = 100  # parts of a metre in coordinates and elevations
IEEE = 5  # data sample format: 4-byte floating point
LONGEST = 32_767  # samples of a trace, microseconds of its interval, milliseconds of its delay: 16 bits in the headers
# Trace identification codes of revision 1: seismic data, pressure sensor, vertical, cross-line,
# in-line, rotated transverse and radial components.
CODES = {"P": 11, "Z": 12, "N": 13, "E": 14, "T": 16, "R": 17}
SEISMIC = 1
DISTANCE_UNIT = 1  # metres


def write_gathers(dataset, path, quantity=None, component=None):
    """Write the waveforms of a run or a survey.

    `dataset` has ``quantity([shot,] receiver, [component,] time)`` with coordinates x, y, z (m), and sources as coordinates
    ``source_x``, ``source_y``, ``source_z`` over ``shot`` or as attributes; `quantity` is by default velocity, or what there is,
    `component` all, each with its trace identification code. Raises CratonError for values that the headers cannot hold.
    """
    path = Path(path)
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        endings = ", ".join(FORMATS)
        raise CratonError(f"{path.name} is no shot gather: its name must end in {endings}")
    gathers, names = _traces_of(dataset, quantity, component)
    interval, delay = _sampling_of(dataset)
    rows = _geometry(dataset)
    obspy = library("obspy", f"writing {path.name}")
    stream = obspy.Stream()
    for number, (shot, receiver) in enumerate(np.ndindex(gathers.shape[:2])):
        row = rows(shot, receiver) | {
            "original_field_record_number": shot + 1,
            "energy_source_point_number": shot + 1,
            "trace_number_within_the_original_field_record": receiver + 1,
            "number_of_samples_in_this_trace": gathers.shape[-1],
            "sample_interval_in_ms_for_this_trace": interval,
            "delay_recording_time": delay,
        }
        for n, name in enumerate(names):
            sequence = number * len(names) + n + 1
            row |= {
                "trace_sequence_number_within_line": sequence,
                "trace_sequence_number_within_segy_file": sequence,
                "trace_identification_code": CODES.get(name, SEISMIC),
            }
            stream.append(_trace(obspy, gathers[shot, receiver, n], interval, row))
    _write(stream, path, kind, dataset, interval, gathers.shape)
    return path


def _traces_of(dataset, quantity=None, component=None):
    """Return samples (shots, receivers, components, time), float32, and the names of the components; see `write_gathers`."""
    waves = [name for name in in_order(dataset.data_vars) if "receiver" in dataset[name].dims]
    quantity = quantity or next(iter(waves), None)
    if quantity not in waves:
        raise CratonError(f"{quantity} was not recorded; recorded are {', '.join(waves) or 'none'}")
    array = dataset[quantity]
    dim = next((d for d in ("component", "tensor") if d in array.dims), None)
    if dim is None and component is not None:
        raise CratonError(f"{quantity} has no components")
    if dim is None:
        array, names = array.expand_dims("part"), ["P" if quantity == "pressure" else quantity]
        dim = "part"
    else:
        names = [str(name) for name in array[dim].values]
        if component is not None:
            if component not in names:
                raise CratonError(f"{quantity} has no component {component}; its are {', '.join(names)}")
            array, names = array.sel({dim: [component]}), [component]
    if "shot" not in array.dims:
        array = array.expand_dims("shot")
    values = array.transpose("shot", "receiver", dim, "time").values.astype(np.float32)
    if values.shape[-1] > LONGEST:
        raise CratonError(
            f"{values.shape[-1]:,} samples are more than the {LONGEST:,} of a SEG-Y trace; "
            "set output.sampling to a longer interval"
        )
    return np.nan_to_num(values), names


def _sampling_of(dataset):
    """Return sampling interval in microseconds and delay of the first sample in milliseconds."""
    seconds = float(dataset.time.attrs["sampling_interval"])
    interval = round(seconds * 1e6)
    if not 1 <= interval <= LONGEST or abs(interval - seconds * 1e6) > 1e-3:
        raise CratonError(
            f"the sampling interval, {seconds:.9g} s, is not 1 to {LONGEST:,} whole microseconds, "
            "which SEG-Y needs; set output.sampling, for example to 0.002"
        )
    delay = round(1e3 * float(dataset.time[0])) if dataset.sizes["time"] else 0
    if abs(delay) > LONGEST:
        words = f"the first sample, at {delay / 1e3:g} s, is farther from t = 0 than the {LONGEST / 1e3:g} s that SEG-Y can state"
        raise CratonError(f"{words}; set time.start nearer to 0")
    return interval, delay


def _geometry(dataset):
    """Return function (shot, receiver) -> trace header fields of position, elevation and offset."""
    receivers = np.stack([np.asarray(dataset[axis].values, float) for axis in "xyz"], axis=-1)
    named = [f"source_{axis}" for axis in "xyz"]
    if all(name in dataset.coords for name in named):
        sources = np.stack([np.atleast_1d(dataset[name].values) for name in named], axis=-1)
    elif all(name in dataset.attrs for name in named):
        sources = np.array([[float(dataset.attrs[name]) for name in named]])
    else:
        sources = None

    def fields(shot, receiver):
        to = receivers[receiver]
        row = {
            "scalar_to_be_applied_to_all_coordinates": -SCALAR,
            "scalar_to_be_applied_to_all_elevations_and_depths": -SCALAR,
            "coordinate_units": DISTANCE_UNIT,
            "group_coordinate_x": _scaled(to[0]),
            "group_coordinate_y": _scaled(to[1]),
            "receiver_group_elevation": _scaled(to[2]),
        }
        if sources is None:
            return row
        at = sources[shot if len(sources) > 1 else 0]
        return row | {
            "source_coordinate_x": _scaled(at[0]),
            "source_coordinate_y": _scaled(at[1]),
            "source_depth_below_surface": _scaled(-at[2]),
            "distance_from_center_of_the_source_point_to_the_center_of_the_receiver_group": (_signed_offset(at, to)),
        }

    return fields


def _signed_offset(source, receiver):
    """Return the horizontal distance from source to receiver, whole metres: negative where the receiver lies west of the
    source, or south of it where they lie farther apart along y.
    """
    x, y = receiver[0] - source[0], receiver[1] - source[1]
    return round(float(np.copysign(np.hypot(x, y), x if abs(x) >= abs(y) else y)))


def _scaled(metres):
    return round(float(metres) * SCALAR)


def _trace(obspy, samples, interval, row):
    from obspy.core.util import AttribDict
    from obspy.io.segy.segy import SEGYTraceHeader

    header = SEGYTraceHeader()
    for name, value in row.items():
        setattr(header, name, value)
    trace = obspy.Trace(np.ascontiguousarray(samples), {"delta": interval * 1e-6})
    trace.stats.segy = AttribDict(trace_header=header)
    trace.stats.su = trace.stats.segy
    return trace


def _write(stream, path, kind, dataset, interval, shape):
    from obspy.core.util import AttribDict
    from obspy.io.segy.segy import SEGYBinaryFileHeader

    about = {}
    if kind == "SEGY":
        binary = SEGYBinaryFileHeader()
        binary.sample_interval_in_microseconds = interval
        binary.number_of_samples_per_data_trace = shape[-1]
        binary.data_sample_format_code = IEEE
        binary.number_of_data_traces_per_ensemble = min(shape[1] * shape[2], LONGEST)
        binary.measurement_system = 1  # metres
        binary.seg_y_format_revision_number = 0x0100
        binary.fixed_length_trace_flag = 1
        stream.stats = AttribDict(
            binary_file_header=binary,
            textual_file_header=in_ascii(_text(dataset, shape)).encode(),
            textual_file_header_encoding="EBCDIC",
        )
        about = {"data_encoding": IEEE}
    with written(path) as partial:
        stream.write(str(partial), format=kind, byteorder=">" if kind == "SEGY" else "<", **about)


def _text(dataset, shape):
    """Textual header: 40 lines of 80 characters."""
    rows = [
        str(dataset.attrs.get("title", "")),
        str(dataset.attrs.get("source", "craton")),
        f"{shape[0]} shots, {shape[1]} receivers, {shape[2]} components, {shape[3]} samples",
        "Synthetic seismograms, SI units; x east, y north, z up, metres (scalar -100)",
        "Sorted by shot, receiver, component; trace code 11 P, 12 Z, 13 N, 14 E",
    ]
    lines = [f"C{n + 1:2d} {rows[n] if n < len(rows) else ''}" for n in range(38)]
    lines += ["C39 SEG Y REV1", "C40 END EBCDIC"]
    return "".join(f"{line:<80.80}" for line in lines)


# --- models ---------------------------------------------------------------------------------------

MILLI = 1000.0  # a sample interval of 10 000 is 10 m
CDP_X, CDP_Y, SOURCE_X, SOURCE_Y = 181, 185, 73, 77  # bytes of the trace header
SCALAR_BYTE, DELAY_BYTE = 71, 109
FUZZ = 1e-3  # of a step: coordinates are whole numbers times a scalar
WIDE = 1e7  # m: a line has the same values on both its sides


def read_model(path, depth_step=None):
    """Read the traces as depth of one property: a Dataset of ``value`` over z, y, x (m, z up).

    `depth_step` is the distance of samples, m; by default the sample interval of the file, 1000 being 1 m. The traces of a
    line along x, or along neither axis, are over x; the latter count from the first trace.
    """
    from xarray import Dataset

    traces, x, y, interval, delay = _read_traces(path)
    step = depth_step if depth_step is not None else interval / MILLI
    if not step > 0:
        raise FileError(f"{path.name} states no sample interval", "give the distance of samples: depth_step =")
    axes, order = _grid(x, y, path.name)
    values = traces[order].reshape(*(len(a) for a in axes), -1)  # y, x, z
    if len(axes[0]) == 1:  # a line
        axes, values = (([axes[0][0] - WIDE, axes[0][0] + WIDE], axes[1]), np.repeat(values, 2, axis=0))
    depth = delay + step * np.arange(traces.shape[1])
    field = ("z", "y", "x"), np.moveaxis(values, -1, 0)
    return Dataset({"value": field}, {"z": -depth, "y": axes[0], "x": axes[1]})


def _read_traces(path):
    """Traces (n, samples), their x and y (m), the sample interval and the delay, as stated."""
    segyio = library("segyio", f"{path.name}: SEG-Y", MissingLibrary)
    try:
        with warnings.catch_warnings():
            # segyio takes IBM's numbers where it does not know the format, and warns
            warnings.simplefilter("error", UserWarning)
            opened_file = segyio.open(path, strict=False, ignore_geometry=True)
        with opened_file as file:
            scalar = np.asarray(file.attributes(SCALAR_BYTE)[:], float)
            scale = np.where(scalar < 0, -1 / np.where(scalar, scalar, 1), np.where(scalar, scalar, 1))
            x, y = (file.attributes(byte)[:] * scale for byte in (CDP_X, CDP_Y))
            if not (x.any() or y.any()):
                x, y = (file.attributes(byte)[:] * scale for byte in (SOURCE_X, SOURCE_Y))
            interval = float(file.bin[segyio.BinField.Interval])
            traces, delays = file.trace.raw[:], file.attributes(DELAY_BYTE)[:]
    except (OSError, RuntimeError, ValueError, IndexError, UserWarning) as error:
        reason = str(error).partition(", falling back")[0][:150]
        raise FileError(f"cannot read {path} as SEG-Y: {reason}") from error
    if np.ptp(delays):
        words = f"{path.name}: its traces begin at different delays, {delays.min()} to {delays.max()}"
        raise FileError(words, "fill them up to one delay, bytes 109 and 110 of the trace headers")
    return traces, x, y, interval, float(delays[0])


def _grid(x, y, name):
    """Axes (y, x) of the traces, and the order that sorts them by y and then x."""
    if len(x) > 1 and not (np.ptp(x) or np.ptp(y)):
        raise FileError(
            f"{name}: all traces stand at x = {x[0]:g}, y = {y[0]:g} m",
            "write their positions into bytes 181 and 185 of the trace headers",
        )
    (along_x, column), (along_y, row) = (_distinct(values) for values in (x, y))
    cells, order = np.unique(row * len(along_x) + column, return_index=True)
    if len(along_x) * len(along_y) == len(cells) == len(x):
        return (along_y, along_x), order
    if _on_a_line(x, y):
        distance = np.hypot(x - x[0], y - y[0])
        return (np.zeros(1), np.sort(distance)), np.argsort(distance)
    raise FileError(
        f"{name}: its {len(x)} traces stand neither on a line nor on a grid along x and y "
        f"({len(along_x)} different x, {len(along_y)} different y)",
        "put it on a grid along x and y first",
    )


def _distinct(values):
    """Rising values without repetitions, up to rounding, and which of them each value is."""
    rising, which = np.unique(values, return_inverse=True)
    steps = np.diff(rising)
    is_new = np.concatenate([[True], steps > FUZZ * steps.max(initial=0.0)])
    return rising[is_new], (np.cumsum(is_new) - 1)[which]


def _on_a_line(x, y):
    """Whether all positions lie on one line, up to a hundredth of their mean distance."""
    east, north = x - x[0], y - y[0]
    far = int(np.argmax(np.hypot(east, north)))
    length = np.hypot(east[far], north[far])
    across = np.abs(east * north[far] - north * east[far]) / length
    return across.max() <= 0.01 * length / max(len(x) - 1, 1)
