"""Earth models on longitude, latitude and depth: netCDF files as IRIS/EarthScope's EMC gives them,
laid over a radial model.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from craton import io
from craton.io import netcdf
from craton.model.ground.relief import ROUNDING, around_the_world
from craton.model.interpolate import interpolated, weights
from craton.model.media import properties

AXES = {"depth": ("depth", "z"), "latitude": ("latitude", "lat"), "longitude": ("longitude", "lon")}
# Our names, and those of files in lower case; relative changes first, since "dvs" also ends in
# "vs".
RELATIVE = {
    "vp": ("dvp", "dlnvp", "dvpv", "vp_percent", "dvp_percent"),
    "vs": ("dvs", "dlnvs", "dvsv", "dvs_percent", "vs_percent"),
    "rho": ("drho", "dlnrho", "ddensity", "drho_percent"),
}
ABSOLUTE = {"vp": ("vp", "vpv", "v_p", "alpha"), "vs": ("vs", "vsv", "v_s", "beta"), "rho": ("rho", "density")}
PAIRS = {"vp": ("vpv", "vph"), "vs": ("vsv", "vsh")}
PERCENT = ("%", "percent", "per cent", "pct")
WHOLE = ("1", "fraction", "ratio", "")
SPELT = {"kilometers/second": "km/s", "mg/m3": "t/m3"}  # units in lower case
HALF_CIRCLE = 180.0


@dataclass(frozen=True, eq=False)
class Geographic:
    """Values on longitude, latitude and depth."""

    # longitude, latitude: (nx,), (ny,), degrees, rising
    longitude: np.ndarray
    latitude: np.ndarray
    depth: np.ndarray  # (nz,), m below the reference surface, rising
    # relative, absolute: dict of str to (nz, ny, nx): changes relative to a radial model (0.01 is one per cent) and
    # values in SI, of vp, vs, rho; nan where the file has none
    relative: dict
    absolute: dict
    taken: tuple = ()  # what was taken as what, for people

    def laid_over(self, values, longitude, latitude, depth):
        """Properties of a radial model (8, ...) (`properties.NAMES`) with this one's where it has values, at places of
        their shape.

        Values that are given replace those of the radial model, changes multiply them. Outside the file's region, and
        in its gaps, the radial model stays as it is; between points it is linear in longitude, latitude and depth. A
        fluid stays one.

        `values` (8, ...): of `properties.NAMES`; `longitude`, `latitude` in degrees; `depth` in m below the ground.
        """
        out, places = np.array(values, float), self._places(longitude, latitude, depth)
        solid = out[1] > 0
        for name, field in self.absolute.items():
            row, value = properties.NAMES.index(name), interpolated(field, *places)
            out[row] = np.where(np.isfinite(value) & solid, value, out[row])
        for name, field in self.relative.items():
            row, change = properties.NAMES.index(name), interpolated(field, *places)
            out[row] *= 1 + np.where(np.isfinite(change) & solid, change, 0.0)
        return out

    def covered(self, longitude, latitude, depth):
        """Whether the file has a value of anything at places; boolean of their shape.

        `longitude`, `latitude` in degrees; `depth` in m below the ground.
        """
        places = self._places(longitude, latitude, depth)
        fields = (*self.relative.values(), *self.absolute.values())
        return np.any([np.isfinite(interpolated(field, *places)) for field in fields], axis=0)

    def extremes(self):
        """Least and greatest values of each property in the file, in words."""
        changes = [
            f"d{name} {100 * np.nanmin(v):.3g} .. {100 * np.nanmax(v):.3g} %" for name, v in self.relative.items()
        ]
        values = [
            f"{name} {np.nanmin(v):,.5g} .. {np.nanmax(v):,.5g} {'kg/m3' if name == 'rho' else 'm/s'}"
            for name, v in self.absolute.items()
        ]
        return ", ".join([*changes, *values])

    def _places(self, longitude, latitude, depth):
        """Return places along depth, latitude and longitude for `interpolated`; weights nan outside."""
        around = around_the_world(self.longitude, self.latitude, longitude, latitude)
        return weights(self.depth, np.asarray(depth, float), ROUNDING), *around


# --- files ----------------------------------------------------------------------------------------


def read(path):
    """Return a `Geographic` from a netCDF file.

    `path` path-like: with vp, vs, density (or vsv and vsh: their Voigt average sqrt((2 vsv^2 + vsh^2) / 3); vpv and
    vph: sqrt((vpv^2 + 4 vph^2) / 5)), or dvp, dvs, drho in per cent or as a ratio, over depth, latitude and longitude
    in any order. Raises ValueError: a file that cannot be read or understood: says what it holds and what is wanted.
    """
    with io.read(path, "gridded model") as dataset:
        return from_dataset(dataset, Path(path).name)


def from_dataset(dataset, name="the dataset"):
    """Return a `Geographic` from an xarray.Dataset; see `read`.

    `name`: for messages.
    """
    dataset, taken = _on_axes(dataset, name), []
    words = {str(n).lower(): n for n in dataset.variables}
    relative = {ours: _field(dataset, words, names, name, taken, ours, True) for ours, names in RELATIVE.items()}
    absolute = {ours: _absolute(dataset, words, name, taken, ours) for ours in ABSOLUTE if relative[ours] is None}
    relative, absolute = ({k: v for k, v in d.items() if v is not None} for d in (relative, absolute))
    if not relative and not absolute:
        held = ", ".join(str(n) for n in dataset.data_vars) or "no variable"
        raise ValueError(
            f"{name} holds {held}; it needs vp, vs or density, or dvp, dvs, drho, over depth, latitude and longitude"
        )
    return Geographic(*(dataset[axis].values for axis in reversed(AXES)), relative, absolute, tuple(taken))


def _on_axes(dataset, name):
    """Return a dataset with its dimensions named as `AXES`, their coordinates rising, in m and degrees."""
    words = {str(n).lower(): n for n in dataset.variables}
    for ours, names in AXES.items():
        theirs = next((words[n] for n in names if n in words), None)
        if theirs is None:
            raise ValueError(f"{name} has no {ours}; its variables are {', '.join(map(str, words.values()))}")
        variable = dataset[theirs]
        if variable.ndim != 1:
            raise ValueError(
                f"{name}: {theirs} has {variable.ndim} dimensions, the model is on a projected grid; "
                "convert it to one of longitude and latitude first, with EMC's tools"
            )
        axis = np.asarray(variable.values, float)
        if ours == "depth":
            up = str(variable.attrs.get("positive", "down")).lower() == "up"
            axis = axis * _scale(variable, "length", f"{theirs} of {name}", 1e3) * (-1 if up else 1)
        if ours == "longitude":
            axis = np.unwrap(axis, period=2 * HALF_CIRCLE)
        if not np.isfinite(axis).all() or len(np.unique(axis)) < len(axis):
            raise ValueError(f"{name}: the values of {theirs} repeat or are not finite")
        dataset = dataset.drop_vars(theirs).rename({variable.dims[0]: ours}).assign_coords({ours: axis}).sortby(ours)
    if np.ptp(dataset["longitude"].values) >= 2 * HALF_CIRCLE - 1e-9:  # 0 and 360 are one
        dataset = dataset.isel(longitude=slice(-1))
    return dataset


def _absolute(dataset, words, name, taken, ours):
    """Values in SI of one property; Voigt's average of both polarisations where the file has both
    (Babuska & Cara 1991).
    """
    pair = PAIRS.get(ours, ())
    if pair and all(p in words for p in pair):
        v, h = (_field(dataset, words, (p,), name, taken, ours, False) for p in pair)
        return np.sqrt((v**2 + 4 * h**2) / 5) if ours == "vp" else np.sqrt((2 * v**2 + h**2) / 3)
    return _field(dataset, words, ABSOLUTE[ours], name, taken, ours, False)


def _field(dataset, words, names, name, taken, ours, relative):
    """One variable (depth, latitude, longitude) in SI or as a ratio; None where there is none."""
    theirs = next((words[n] for n in names if n in words), None)
    if theirs is None or set(dataset[theirs].dims) != set(AXES):
        return None
    variable = dataset[theirs].transpose(*AXES)
    values = np.asarray(variable.values, float)
    for key in ("missing_value", "_FillValue"):
        if key in variable.attrs:
            values = np.where(values == variable.attrs[key], np.nan, values)
    unit = str(variable.attrs.get("units", "")).strip()
    if relative:
        factor = _ratio(unit, values, theirs, name)
    else:
        usual = 1e3 if np.nanmax(values) < 100 else 1.0  # km/s or g/cm3
        factor = _scale(variable, "density" if ours == "rho" else "velocity", f"{theirs} of {name}", usual)
    taken.append(
        f"{theirs} ({unit or 'no unit'}) as {'relative change of ' if relative else ''}{ours}, times {factor:g}"
    )
    return values * factor


def _ratio(unit, values, theirs, name):
    """Factor to a ratio. Without a unit the name may tell, and changes beyond 0.5 are per cent."""
    told = theirs.lower().endswith("percent") or np.nanmax(np.abs(values)) > 0.5
    if unit == "" and not told and not theirs.lower().startswith("dln"):
        words = "has no unit, and its values below 0.5 may be per cent or ratios"
        raise ValueError(f'{name}: {theirs} {words}: give it units = "%" or "1"')
    if unit.lower() in PERCENT or (unit == "" and told):
        return 0.01
    if unit.lower() in WHOLE:
        return 1.0
    raise ValueError(f"{name}: the unit of {theirs}, {unit!r}, is neither per cent nor 1")


def _scale(variable, dimension, name, usual):
    """Return the factor from the unit of a variable to SI, `usual` without one."""
    unit = netcdf.stated_unit(variable).lower()
    if not unit:
        return usual
    return netcdf.factor(variable.assign_attrs(units=SPELT.get(unit, unit)), dimension, name)
