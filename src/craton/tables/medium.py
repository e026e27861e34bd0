"""The Earth model of a scenario: homogeneous, layers, or a file, with anomalies on top; its 21 elastic constants."""

import os
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, ValidationError, create_model, model_validator

from craton import io
from craton.io import gridded
from craton.io.contents import FileError
from craton.io.units import UnitError, si
from craton.tables.fields import (
    Distance,
    FilePath,
    Flag,
    Frequency,
    Length,
    Table,
    Text,
    Xyz,
    choice,
    items_of,
    key,
    many,
    quantity,
    tagged,
    union,
    whole,
    wrong,
)
from craton.tables.ground import EarthFile, Grounded
from craton.text import listed, number

# tables that users build in Python: names of `craton`
__all__ = [
    "Ak135",
    "Attenuation",
    "Box",
    "Homogeneous",
    "Layer",
    "Layers",
    "Material",
    "ModelFile",
    "Perturbation",
    "Prem",
    "Properties",
    "PropertyFile",
    "Radial",
    "Regions",
    "Sphere",
    "Stiffness",
]

Speed = quantity("velocity", above=0)
ShearSpeed = quantity("velocity", least=0)
Density = quantity("density", above=0)
SpeedGradient = quantity("velocity gradient")
DensityGradient = quantity("density gradient")
Change = quantity("ratio", above=-1)

Quality = quantity("ratio", above=0)
Parameter = quantity("ratio", above=-0.5)
Delta = quantity("ratio", above=-1)

_PROPERTIES = ("vp", "vs", "rho")
_OTHERS = ("qp", "qs", "epsilon", "delta", "gamma")
# What a stiffness leaves no room for.
_BESIDE = ("epsilon", "delta", "gamma", "vp_gradient", "vs_gradient")


class Lossy(Table):
    """Optional properties of media: quality factors ``qp``, ``qs``, and ``epsilon``, ``delta``,
    ``gamma`` (Thomsen 1986, VTI).
    """

    qp: Quality | None = None
    qs: Quality | None = None
    epsilon: Parameter | None = None
    delta: Delta | None = None
    gamma: Parameter | None = None


INDICES = tuple((i, j) for i in range(6) for j in range(i, 6))  # rows of the upper triangle, from 0
NAMES = tuple(f"c{i + 1}{j + 1}" for i, j in INDICES)

_Constants = create_model("_Constants", __base__=Table, **{name: (quantity("stiffness"), 0.0) for name in NAMES})


class Stiffness(_Constants):
    """Hooke's law by its constants ``c11`` ... ``c66`` (Pa; those left out are 0), 1 to 6 for xx,
    yy, zz, yz, xz, xy: stress of
    engineering strain (twice the tensor's shear), x east, y north, z up.
    """

    def _problems(self):
        least = float(np.linalg.eigvalsh(self.matrix).min())
        if not least > 1e-9 * max(float(np.abs(self.matrix).max()), 1e-300):
            message = f"the stiffness matrix is not positive definite: its smallest eigenvalue is {number(least)} Pa"
            remedy = "give c11, c22, c33, c44, c55, c66 above 0; check the Voigt order 1 to 6 = xx, yy, zz, yz, xz, xy"
            yield "", message, remedy

    @property
    def constants(self):
        """The 21 numbers in the order c11, c12 ... c16, c22 ... c66: (21,) array, Pa."""
        return np.array([getattr(self, name) for name in NAMES])

    @property
    def matrix(self):
        """Hooke's law as a symmetric (6, 6) array, Pa."""
        full = np.zeros((6, 6))
        for (i, j), value in zip(INDICES, self.constants):
            full[i, j] = full[j, i] = value
        return full

    def speeds(self, rho):
        """P and S speed, m/s, of the isotropic mean of the stiffness (Voigt), for absorbing faces
        and resolution.

        Parameters
        ----------
        rho : float
            Density, kg/m3.
        """
        c = self.matrix
        normal, across = np.trace(c[:3, :3]), c[0, 1] + c[0, 2] + c[1, 2]
        mu = (normal - across + 3 * np.trace(c[3:, 3:])) / 15
        return float(np.sqrt(((normal + 2 * across) / 9 + 4 / 3 * mu) / rho)), float(np.sqrt(mu / rho))


def with_speeds(value):
    """Return a table of a medium with vp and vs of its stiffness, where it has one and leaves them
    out; what is wrong has a report of its own.

    Parameters
    ----------
    value : object
        The table (dict), before validation; anything else is returned as it is.
    """
    if not isinstance(value, dict) or value.get("stiffness") is None or value.get("rho") is None:
        return value
    try:
        vp, vs = Stiffness.model_validate(value["stiffness"]).speeds(si(value["rho"], "density"))
    except (ValidationError, UnitError):
        return {"vp": 1.0, "vs": 0.0} | value
    return {"vp": vp, "vs": vs} | value


class Elastic(Lossy):
    """A medium that may be given by 21 constants, ``stiffness`` (Pa), in place of vp and vs
    (`craton.tables.Stiffness`).
    """

    stiffness: Stiffness | None = None

    @model_validator(mode="before")
    @classmethod
    def _speeds_of_stiffness(cls, value):
        return with_speeds(value)

    def _problems(self):
        yield from super()._problems()
        for name in _BESIDE if self.stiffness is not None else ():
            if getattr(self, name, None):
                message = f"{name} and stiffness are mutually exclusive: stiffness holds all constants"
                yield name, message, f"leave {name} out"


_BAND = items_of(2, "{value} is not a list of two frequencies", "write band = [0.1, 10]  # Hz")


_ENDS = items_of(2, "{value} is not a list of two speeds", "write vp = [1500, 6000]  # m/s")
Ends = Annotated[tuple[ShearSpeed, ShearSpeed], BeforeValidator(_ENDS)]


class LayerSpeeds(Table):
    """Least and greatest ``vp`` and ``vs`` (m/s; of solids), for which absorbing layers are made in
    place of the model's: the same in two runs whose waves are compared or injected.
    """

    vp: Ends | None = None
    vs: Ends | None = None

    def _problems(self):
        yield from super()._problems()
        for name in ("vp", "vs"):
            low, high = getattr(self, name) or (0.0, 0.0)
            if low > high or (name == "vp" and self.vp and not low):
                message = f"{number(low)} and {number(high)} m/s are no least and greatest {name}"
                yield name, message, f"write {name} = [least, greatest]"


class Attenuation(Table):
    """How Q is modelled over the ``band`` [f1, f2] (Hz).

    Speeds are phase velocities at ``frequency`` (Hz; None: the band's geometric mean), where Q
    holds too: Q (f / frequency)^``power``. ``mechanisms`` 1 to 4; ``storage``: "full" at each
    point, "paired" two of four, "coarse" one, "mixed" two of four for shear stresses and one for
    normal ones (None: by the lowest Q). ``lowest_q``: mechanisms are fitted down to this Q (None:
    the lowest of the model), for inversions for Q.
    """

    band: Annotated[tuple[Frequency, Frequency], BeforeValidator(_BAND)] = key("[0.1, 10]  # Hz")
    frequency: Frequency | None = None
    mechanisms: whole(least=1, most=4) = 4
    power: quantity("ratio", least=-1, most=1) = 0.0
    storage: choice("coarse", "mixed", "paired", "full") | None = None
    lowest_q: Quality | None = None

    @property
    def largest_inverse_q(self):
        """1/Q of the lowest Q; 0 where it is the model's."""
        return 1 / self.lowest_q if self.lowest_q else 0.0

    def _problems(self):
        low, high = self.band
        if not low < high:
            message = f"the upper frequency, {number(high)} Hz, is not above the lower one, {number(low)} Hz"
            yield "band", message, "write [lower, upper]"
        if self.storage in ("mixed", "paired") and self.mechanisms != 4:
            message = f'"{self.storage}" needs 4 mechanisms, not {self.mechanisms}'
            yield "storage", message, 'use "coarse" or "full", or mechanisms = 4'


class Material(Elastic):
    """The medium of one region of a mesh: vp, vs (m/s), rho (kg/m3), as of a layer."""

    vp: Speed = key("6000  # m/s")
    vs: ShearSpeed = key("3460  # m/s, 0 for a fluid")
    rho: Density = key("2700  # kg/m3")


class _Medium(Grounded):
    """What all models share; ``regions`` = { name = { vp =, vs =, rho = } } are those of a mesh
    file's elements (method "sem").
    """

    attenuation: Attenuation | None = None
    regions: dict[Text, Material] | None = None
    units: choice("SI") | None = None

    def _problems(self):
        yield from super()._problems()
        media = (self, *getattr(self, "layers", ()))
        if getattr(self, "anomalies", ()) and any(getattr(m, "stiffness", None) is not None for m in media):
            message = "anomalies are not supported in a medium given by stiffness"
            yield "anomalies", message, "leave anomalies or stiffness out"


class _Anomaly(Lossy):
    """What anomalies share: new values of vp, vs, rho (SI), or relative changes dvp, dvs, drho
    (-0.1: ten per cent less).
    """

    vp: Speed | None = None
    vs: ShearSpeed | None = None
    rho: Density | None = None
    dvp: Change | None = None
    dvs: Change | None = None
    drho: Change | None = None

    def _problems(self):
        yield from super()._problems()
        for name in _PROPERTIES:
            if getattr(self, name) is not None and getattr(self, "d" + name) is not None:
                remedy = f"give {name} (SI) or d{name} (relative change)"
                yield "d" + name, f"{name} and d{name} are mutually exclusive", remedy
        names = (*_PROPERTIES, *("d" + name for name in _PROPERTIES), *_OTHERS)
        if all(getattr(self, name) is None for name in names):
            yield "", "the anomaly changes nothing", f"give at least one of {listed(names)}"


class SphereShape(Table):
    """A ball about ``center`` (x, y, z) m."""

    shape: Literal["sphere"] = "sphere"
    center: Xyz = key("[5000, 5000, -2000]  # m")
    radius: Distance = key("1000  # m")


class BoxShape(Table):
    """A box between two corners (x, y, z) m."""

    shape: Literal["box"] = "box"
    min: Xyz = key("[4000, 4000, -3000]  # m")
    max: Xyz = key("[6000, 6000, -1000]  # m")

    def _problems(self):
        yield from super()._problems()
        thin = [a for a, low, high in zip("xyz", self.min, self.max) if not low < high]
        if thin:
            message = f"the box has zero or negative extent along {listed(thin, 'and')}"
            yield "max", message, "min is the lower south-west corner, max is the upper north-east corner"


class Sphere(SphereShape, _Anomaly):
    """A ball about ``center`` (x, y, z) m in which the medium differs."""


class Box(BoxShape, _Anomaly):
    """A box between two corners (x, y, z) m in which the medium differs."""


Anomaly = tagged("anomaly", "shape", sphere=Sphere, box=Box)


class Homogeneous(_Medium, Material):
    """One medium everywhere: vp, vs (m/s), rho (kg/m3)."""

    kind: Literal["homogeneous"] = "homogeneous"
    anomalies: many(Anomaly) = ()


class Layer(Elastic):
    """A layer from the elevation ``top`` down to the next one's; gradients are per metre of depth
    below its top.
    """

    top: Length = key("0  # m, elevation of the layer's top")
    vp: Speed = key("6000  # m/s")
    vs: ShearSpeed = key("3460  # m/s, 0 for a fluid")
    rho: Density = key("2700  # kg/m3")
    vp_gradient: SpeedGradient = 0.0
    vs_gradient: SpeedGradient = 0.0
    rho_gradient: DensityGradient = 0.0


class Layers(_Medium):
    """Layers listed from the top down, or a ``file`` of them (`craton.io.depth_tables`): flat, or
    with ``follow = "surface"`` their tops (0, then negative) counted from the ground.
    """

    kind: Literal["layers"] = "layers"
    follow: choice("level", "surface") = "level"
    layers: many(Layer) = Field((), examples=["[ { top = 0, vp = 6000, vs = 3460, rho = 2700 } ]"])
    file: FilePath | None = Field(None, examples=['"crust.csv"'])
    linear: Flag | None = None
    units: choice("SI", "km") | None = None
    anomalies: many(Anomaly) = ()

    @model_validator(mode="before")
    @classmethod
    def _layers_of_file(cls, value):
        """Put the layers of a file into the place of its name."""
        if not isinstance(value, dict) or not isinstance(value.get("file"), str | os.PathLike):
            return value
        if value.get("layers"):
            message, remedy = "file and layers are mutually exclusive", "leave one of them out"
            raise wrong(("file", message, remedy))
        value = dict(value)
        units, path = value.pop("units", None), os.path.expanduser(value.pop("file"))
        try:
            layers = io.read(path, "layers", units=units, linear=value.pop("linear", None))
        except (FileError, OSError) as error:
            raise wrong(("file", str(error), getattr(error, "remedy", ""))) from None
        if value.get("attenuation") is None:  # Q is used with it only
            layers = [{k: v for k, v in row.items() if k not in ("qp", "qs")} for row in layers]
        return value | {"layers": layers} | ({} if units == "km" else {"units": units})

    def _problems(self):
        yield from super()._problems()
        for name, value in (("linear", self.linear), ("units", self.units)):
            if value is not None and value != "SI":
                yield name, f"{name} is for a file of layers", 'give file = "crust.csv"'
        if not self.layers:
            yield "layers", "the list of layers is empty", "give at least one { top =, vp =, vs =, rho = }, or file ="
        remedy = "list layers from the top down; top is an elevation, negative below z = 0"
        for i, (above, layer) in enumerate(zip(self.layers, self.layers[1:]), start=1):
            if not layer.top < above.top:
                tops = f"top = {number(layer.top)} m is not below the top of the previous layer, {number(above.top)} m"
                yield f"layers.{i}.top", tops, remedy


class PropertyFile(Table):
    """One property from a ``file`` (SEG-Y, netCDF, bare numbers); ``depth_step`` (m) between samples
    of SEG-Y, where its sample interval is not that (1000: 1 m). Bare numbers have a ``shape`` along
    the axes of an ``order``, a ``spacing`` and the ``origin`` of the first (`craton.io.gridded`).
    """

    file: FilePath
    units: Text | None = None
    depth_step: Distance | None = None
    shape: many(whole(least=1)) | None = None
    order: choice(*gridded.ORDERS) | None = None
    spacing: many(Length) | None = None
    origin: many(Length) | None = None
    type: choice(*gridded.TYPES) | None = None
    endian: choice(*gridded.ENDIANS) | None = None

    def _problems(self):
        yield from super()._problems()
        if not self.of_numbers:
            return
        if self.depth_step is not None:
            yield "depth_step", "depth_step is for SEG-Y, shape for bare numbers", "leave it out"
        for name in ("shape", "order", "spacing"):
            if getattr(self, name) is None:
                yield name, f"bare numbers need {name}", gridded.REMEDY
        count = len(self.order or ())
        for name in ("shape", "spacing", "origin"):
            values = getattr(self, name)
            if count and values is not None and len(values) != count:
                message = f"{len(values)} values for the {count} axes of order"
                yield name, message, "give one for each axis, in their order"
        if 0 in (self.spacing or ()):
            yield "spacing", "a spacing of 0 m", "give the distance of samples"

    @property
    def of_numbers(self):
        """What says where the numbers of a file without a heading are, by name; empty for others."""
        names = ("shape", "order", "spacing", "origin", "type", "endian")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def _property(dimension, **limits):
    """Return the type of a property that is a number or comes from a file."""
    return union(
        lambda value: "PropertyFile" if isinstance(value, dict) else "constant",
        PropertyFile,
        constant=quantity(dimension, **limits),
    )


class Properties(Table):
    """Properties of a model from a file each, or constant: vp, vs (m/s), rho (kg/m3), and perhaps
    qp, qs, epsilon, delta, gamma.
    """

    vp: _property("velocity", above=0) = key('{ file = "vp.sgy" }')
    vs: _property("velocity", least=0) = key('{ file = "vs.sgy" }, or 0 for a fluid')
    rho: _property("density", above=0) = key('{ file = "rho.sgy" }, or 2500  # kg/m3')
    qp: _property("ratio", above=0) | None = None
    qs: _property("ratio", above=0) | None = None
    epsilon: _property("ratio", above=-0.5) | None = None
    delta: _property("ratio", above=-1) | None = None
    gamma: _property("ratio", above=-0.5) | None = None

    def _problems(self):
        if not any(isinstance(value, PropertyFile) for _, value in self):
            remedy = 'give vp = { file = "vp.sgy" }, or kind = "homogeneous"'
            yield "", "none of the properties comes from a file", remedy


class ModelFile(EarthFile, _Medium):
    """A netCDF or zarr file with vp, vs (m/s), rho (kg/m3), and perhaps qp, qs, epsilon, delta,
    gamma, on x, y, z (m), or in a box with a place on Earth on longitude, latitude and depth;
    or ``properties`` from a file each; with ``extend`` its top values hold above it.
    """

    kind: Literal["file"] = "file"
    file: FilePath | None = Field(None, examples=['"model.nc"'])
    properties: Properties | None = None
    extend: Flag = False
    anomalies: many(Anomaly) = ()

    def _problems(self):
        yield from super()._problems()
        both = self.file is not None and self.properties is not None
        if both or self.file is None and self.properties is None:
            words = "file and properties are mutually exclusive" if both else 'missing: "file" is required'
            remedy = "leave one of them out" if both else 'write file = "model.nc", or properties'
            yield "file", words, remedy

    @property
    def files(self):
        """Files of the model: the one, or that of each property, by name."""
        if self.properties is None:
            return {"": self.file}
        return {n: v.file for n, v in self.properties if isinstance(v, PropertyFile)}


class Regions(_Medium):
    """Nothing but the media of a mesh file's regions: every region of the mesh must be there
    (method "sem").
    """

    kind: Literal["regions"] = "regions"
    regions: dict[Text, Material] = key("{ granite = { vp = 6000, vs = 3460, rho = 2700 } }")


class Perturbation(Table):
    """A three-dimensional model laid over a radial one: a netCDF ``file`` on longitude, latitude
    and depth, as IRIS's EMC has them.
    """

    file: FilePath = key('"model.nc"')


class _Radial(Table):
    """An Earth that depends on depth, and what is laid over it; its own Q is used where there is
    ``attenuation`` (domain.chunk).
    """

    topography: ClassVar[None] = None
    water: ClassVar[None] = None
    regions: ClassVar[None] = None
    anomalies: ClassVar[tuple] = ()
    perturbation: Perturbation | None = None
    attenuation: Attenuation | None = None


class Prem(_Radial):
    """PREM (Dziewonski & Anderson 1981): ``transverse`` with its anisotropy above 220 km, ``ocean``
    with its 3 km of water.
    """

    kind: Literal["prem"] = "prem"
    transverse: Flag = False
    ocean: Flag = False


class Ak135(_Radial):
    """AK135 (Kennett, Engdahl & Buland 1995) with the density and Q of AK135-F."""

    kind: Literal["ak135"] = "ak135"


class Radial(_Radial):
    """A table of depth, vp, vs, density and perhaps Q: a ``file`` .nd or .tvel of TauP, or .csv."""

    kind: Literal["radial"] = "radial"
    file: FilePath = key('"model.nd"')


RADIAL = ("prem", "ak135", "radial")  # kinds of model that fill a chunk of the Earth
Model = tagged(
    "model",
    "kind",
    homogeneous=Homogeneous,
    layers=Layers,
    file=ModelFile,
    regions=Regions,
    prem=Prem,
    ak135=Ak135,
    radial=Radial,
)
