"""The Earth model at the nodes of elements: density, speeds, losses, 21 constants; media that
elements and interfaces share go by element.

A point on an interface belongs to both sides. Nodes are therefore moved a little way to their
element's centre before they are looked up; and a node that is in another layer than its centre by
less than a small part of the element's height, as where faces follow an interface nearly but not
exactly, takes the layer of the centre. An element whose centre lies in the water is water.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from craton.errors import Problem
from craton.host.compile import helper
from craton.model.ground import terrain
from craton.model.media import anomalies, cells, checks, earth, layered, properties, rheology
from craton.text import nearest

INWARDS = 1e-6  # of the way to the centre
NEARLY = 0.05  # of an element's height, within which a node takes the layer of the centre
LAYERS = Path(__file__).parent / "layers.cpp"  # flat layers at nodes
BLOCK = 256  # elements at a time: their temporaries stay in the cache
UPPER = np.triu_indices(6)
SHEAR = [15, 18, 20]  # c44, c55, c66 among the 21 constants
CROSS, NORMAL = [1, 2, 7], [0, 6, 11]  # c12, c13, c23; c11, c22, c33
# the constants of mu = 1, kappa = 0 and of mu = 0, kappa = 1
SHEARING, SQUEEZING = np.zeros((2, 21))
SHEARING[SHEAR], SHEARING[CROSS], SHEARING[NORMAL] = 1, -2 / 3, 4 / 3
SQUEEZING[CROSS + NORMAL] = 1
# place of c11 c13 c33 c44 c66
_VTI = {(0, 0): 0, (1, 1): 0, (0, 1): 5, (0, 2): 1, (1, 2): 1, (2, 2): 2, (3, 3): 3, (4, 4): 3, (5, 5): 4}


@dataclass(frozen=True, eq=False)
class Sampler:
    """A model made ready to be sampled; `sampler` makes it."""

    names: tuple  # the first of `properties.NAMES`, those that are looked up
    medium: Any  # the model's medium without anomalies; None where there are regions only
    bodies: list
    ground: Any
    constants: Any  # (layers, 21) or None: stiffness of each layer, Pa; nan where it has none of its own
    regions: dict  # media of regions, by the number of their name
    anisotropic: bool
    lossy: bool

    def at(self, coordinates, centres, regions=None):
        """Return the medium at the nodes of elements as `at_nodes` does.

        `coordinates` (ne, 3, n) in m; `centres` (ne, 3) in m; `regions` (ne,) int: number of each element's region.
        """
        if self._plain:
            return self._layered(coordinates, centres)
        count = len(coordinates)
        out = {}
        for start in range(0, max(count, 1), BLOCK):
            rows = slice(start, start + BLOCK)
            part = self._block(coordinates[rows], np.asarray(centres)[rows], None if regions is None else regions[rows])
            for name, values in part.items():
                if not start:
                    out[name] = np.empty((count, *values.shape[1:]))
                out[name][rows] = values
        return out

    @property
    def _plain(self):
        """True for flat layers and nothing else."""
        flat = isinstance(self.medium, layered.Layered) and not self.bodies and not self.regions
        dry = self.ground is None or self.ground.water is None
        return flat and dry and not self.anisotropic

    def _layered(self, coordinates, centres):
        """Return the medium at nodes in flat layers, by compiled code with the bits of `_block`."""
        medium, names = self.medium, len(self.names)
        z, middle = (np.ascontiguousarray(a, float) for a in (coordinates[:, 2], centres[:, 2]))
        lowest, highest = medium.within(np.arange(len(medium.breaks)))
        tables = [np.ascontiguousarray(a[:names], float) for a in (medium.tops, medium.gradients)]
        tops, values = np.ascontiguousarray(medium.breaks, float), np.empty((names, *z.shape))
        layers = (len(tops), tops, lowest, highest)
        helper(LAYERS).call("layered", *z.shape, z, middle, INWARDS, NEARLY, *layers, names, *tables, values)
        return self._named(values)[1]

    def uniform(self, z, centres, regions=None):
        """Elements that certainly have one medium at all their nodes: (ne,) bool.

        They lie in one layer without gradient, in the water, or in one region.

        `z` (ne, n): elevations of the nodes, m; `centres`, `regions`: see `at_nodes`.
        """
        is_uniform = np.zeros(len(z), bool)
        if isinstance(self.medium, layered.Layered) and not self.medium.gradients.any() and not self.bodies:
            inner = z + INWARDS * (centres[:, 2:] - z)
            low, high = self.medium.within(self.medium.layer(centres[:, 2]))
            bottom, top = inner.min(axis=1), inner.max(axis=1)
            room = NEARLY * (top - bottom)
            is_uniform = (bottom >= low - room) & (top <= high + room)
        if self.ground is not None and self.ground.water is not None:
            is_uniform |= centres[:, 2] > self.ground.surface(centres[:, 0], centres[:, 1])
        for number in self.regions:
            is_uniform |= regions == number
        return is_uniform

    def _block(self, coordinates, centres, regions):
        """Values at the nodes of some elements."""
        inner = coordinates + INWARDS * (centres[:, :, None] - coordinates)
        x, y, z = (inner[:, a] for a in range(3))
        values, constants = self._in_medium(x, y, z, centres)
        values = [np.array(np.broadcast_to(v, x.shape)) for v in anomalies.apply(self.bodies, x, y, z, values)]
        self._put_water(values, constants, centres)
        self._put_regions(values, constants, regions)
        named, out = self._named(values)
        if self.anisotropic:
            out["stiffness"] = self._stiffness(named, constants)
        return out

    def _named(self, values):
        """Return the looked-up values by their names, and those that `at` gives."""
        named = dict(zip(self.names, values))
        out = {name: named[name] for name in ("rho", "vp", "vs")}
        if self.lossy:
            out |= {"loss_p": named["qp"], "loss_s": np.where(named["vs"] > 0, named["qs"], 0.0)}
        return named, out

    def _in_medium(self, x, y, z, centres):
        """Values of the medium without anomalies, and the constants of its layers (ne, nodes, 21),
        nan where they have none.
        """
        constants = np.full((*x.shape, 21), np.nan) if self.anisotropic else None
        if self.medium is None:
            return (np.full(x.shape, np.nan),) * len(self.names), constants
        flat = getattr(self.medium, "flat", self.medium)
        if not isinstance(flat, layered.Layered):
            return self.medium.values(x, y, z), constants
        heights = z.max(axis=1) - z.min(axis=1)
        level, middle = z, centres[:, 2]
        if flat is not self.medium:  # layers that follow the ground
            level, middle = (z - self.ground.surface(x, y), middle - self.ground.surface(centres[:, 0], centres[:, 1]))
        # a node nearly in the layer of its element's centre takes it
        low, high = flat.within(flat.layer(middle))
        inside = np.clip(level, low[:, None], high[:, None])
        level = np.where(np.abs(inside - level) <= NEARLY * heights[:, None], inside, level)
        if self.constants is not None:
            constants = self.constants[flat.layer(level)]
        return flat.values(0, 0, level), constants

    def _put_water(self, values, constants, centres):
        """Water in elements whose centres lie above the ground."""
        if self.ground is None or self.ground.water is None:
            return
        wet = centres[:, 2] > self.ground.surface(centres[:, 0], centres[:, 1])
        for name, array in zip(self.names, values):
            array[wet] = {"vp": self.ground.water.vp, "rho": self.ground.water.rho}.get(name, 0.0)
        if constants is not None:
            constants[wet] = np.nan

    def _put_regions(self, values, constants, regions):
        """Media of the mesh's regions."""
        for number, medium in self.regions.items():
            in_region = regions == number
            for name, array in zip(self.names, values):
                array[in_region] = properties.value(medium, name)
            if constants is not None:
                constants[in_region] = np.nan if medium.stiffness is None else medium.stiffness.constants

    def _stiffness(self, named, constants):
        """Return the 21 constants (ne, 21, nodes): a layer's own, or those of Thomsen's parameters."""
        out = np.ascontiguousarray(constants.transpose(0, 2, 1))
        thomsen = [named[name] for name in properties.THOMSEN]
        five = cells.stiffness(named["vp"], named["vs"], named["rho"], *thomsen)
        c12 = five[0] - 2 * five[4]
        for n, pair in enumerate(zip(*UPPER)):
            constant = c12 if pair == (0, 1) else five[_VTI[pair]] if pair in _VTI else np.zeros_like(c12)
            out[:, n] = np.where(np.isnan(out[:, n]), constant, out[:, n])
        return out


def sampler(model, region, region_names=()):
    """Return the `Sampler` of a scenario's model for elements in a grid or `Region`, with the names of the mesh's
    regions.

    `region_names`: regions of the mesh.
    """
    media = {n: model.regions[name] for n, name in enumerate(region_names) if name in (model.regions or {})}
    only_regions = model.kind == "regions"
    anisotropic = any(m.stiffness is not None or any(getattr(m, n) for n in properties.THOMSEN) for m in media.values())
    if not only_regions:
        anisotropic = anisotropic or stiff(model) or rheology.anisotropic(model, region)
    lossy = model.attenuation is not None
    names = properties.NAMES[: 8 if anisotropic else 5 if lossy else 3]
    bodies, ground = ([], None) if only_regions else (anomalies.build(model), terrain.build(model))
    medium = None if only_regions else earth.medium_of(model, cells.box(region), names)
    constants = _constants(model) if anisotropic else None
    return Sampler(names, medium, bodies, ground, constants, media, anisotropic, lossy)


def stiff(model):
    """Whether a model gives a stiffness of its own."""
    return any(getattr(m, "stiffness", None) is not None for m in (model, *getattr(model, "layers", ())))


def _constants(model):
    """Constants of the layers (n, 21), nan where a layer has no stiffness; None for a medium
    without layers.
    """
    if model.kind not in ("homogeneous", "layers"):
        return None
    layers = getattr(model, "layers", (model,))
    return np.array([np.full(21, np.nan) if layer.stiffness is None else layer.stiffness.constants for layer in layers])


def at_nodes(model, coordinates, centres, regions=None, region_names=()):
    """Return the model at the nodes of elements; `Sampler.at` does the same for many batches of one model.

    `coordinates` (ne, 3, n): of the elements' nodes, m; `centres` (ne, 3): of the elements, m; `regions` (ne,) int: of
    the elements, numbers in `region_names`. Returns dict of str to array (ne, n): ``rho`` (kg/m3), ``vp``, ``vs`` (m/s,
    0 in a fluid); with attenuation ``loss_p``, ``loss_s`` (1/Qp, 1/Qs, 0 for none); with anisotropy ``stiffness`` (ne,
    21, n), Pa: c11 c12 .. c16 c22 .. c66 of xx yy zz yz xz xy with engineering shear strains.
    """
    flat = np.asarray(coordinates)
    region = cells.Region(tuple(flat.min(axis=(0, 2))), tuple(flat.max(axis=(0, 2))))
    return sampler(model, region, region_names).at(flat, centres, regions)


# --- what a solver makes of it --------------------------------------------------------------------


def fluids(samples):
    """Elements that are fluid, (ne,): vs = 0 at all nodes.

    `samples` dict of str to (ne, n): as of `at_nodes`.
    """
    return (samples["vs"] == 0).all(axis=1)


def largest_inverse_q(samples):
    """Largest 1/Q of P waves, S waves and bulk modulus.

    `samples` dict of str to (ne, n): as of `at_nodes`.
    """
    kappa, mu = bulk(samples), samples["loss_s"]
    return float(max(samples["loss_p"].max(), mu.max(), kappa.max()))


def bulk(samples):
    """1/Q of the bulk modulus, from 1/Qp of kappa + 4/3 mu and 1/Qs of mu; not below 0.

    `samples` dict of str to (ne, n): as of `at_nodes`.
    """
    kappa, mu = cells.moduli(samples["vp"], samples["vs"], samples["rho"])
    loss = ((kappa + 4 / 3 * mu) * samples["loss_p"] - 4 / 3 * mu * samples["loss_s"]) / kappa
    return np.where(loss > 1e-9 * samples["loss_p"], loss, 0.0)


def relaxation(model, largest):
    """Mechanisms of a model's attenuation, all of them at each point, for losses up to `largest`; None without.

    `largest`: largest 1/Q.
    """
    table = model.attenuation
    if table is None or not largest:
        return None
    return rheology.fitted(table, max(largest, table.largest_inverse_q), "full")


def moduli(samples, relaxation=None):
    """lambda and mu, or 21 constants, Pa, and where they relax 1/Q_mu and 1/Q_kappa.

    Unrelaxed moduli M_U where there is attenuation: speeds are phase velocities at its reference frequency. Of 21
    constants the isotropic part relaxes, mu = (c44 + c55 + c66) / 3, lambda = (c12 + c13 + c23) / 3; the rest is
    elastic.

    `samples` dict of str to (ne, n): as of `at_nodes`. Returns moduli (ne, 2 or 21, n); losses (ne, 2, n): None without
    attenuation.
    """
    full = samples.get("stiffness")
    if full is None:
        kappa, mu = cells.moduli(samples["vp"], samples["vs"], samples["rho"])
    else:
        mu = full[:, SHEAR].mean(axis=1)
        kappa = full[:, CROSS].mean(axis=1) + 2 / 3 * mu
    added, losses = (0.0, 0.0), None
    if relaxation is not None:
        losses = np.stack([samples["loss_s"], bulk(samples)], axis=1)
        added = [
            modulus * (relaxation.unrelaxed(loss) - 1) for modulus, loss in zip((mu, kappa), np.moveaxis(losses, 1, 0))
        ]
    if full is None:
        mu, kappa = mu + added[0], kappa + added[1]
        return np.stack([kappa - 2 / 3 * mu, mu], axis=1), losses
    if losses is not None:
        full = full + SHEARING[:, None] * added[0][:, None] + SQUEEZING[:, None] * added[1][:, None]
    return full, losses


def slowest(samples):
    """Return the slowest wave at each node, m/s: S, in a fluid P; in an anisotropic medium along the directions of
    `DIRECTIONS`.

    `samples` dict of str to (ne, n): as of `at_nodes`.
    """
    if "stiffness" not in samples:
        return np.where(samples["vs"] > 0, samples["vs"], samples["vp"])
    shape, constants = (samples["rho"].shape, np.moveaxis(samples["stiffness"], 1, -1).reshape(-1, 21))
    rows = np.concatenate([constants, samples["rho"].reshape(-1, 1)], axis=1)
    different, which = np.unique(rows, axis=0, return_inverse=True)
    speeds = np.concatenate(
        [phase_speeds(part[:, :21], part[:, 21]) for part in np.array_split(different, -(-len(different) // BLOCK))]
    )
    slow = np.where(speeds > 1e-3 * speeds.max(axis=1, keepdims=True), speeds, np.inf).min(axis=1)
    return slow[np.ravel(which)].reshape(shape)


def slowest_in(samples):
    """Return the slowest wave in each element, m/s: (ne,); in an anisotropic medium at the node that is softest to
    shear along an axis.

    `samples` dict of str to (ne, n): as of `at_nodes`.
    """
    if "stiffness" in samples and samples["rho"].shape[1] > 1:
        softest = (samples["stiffness"][:, SHEAR].min(axis=1) / samples["rho"]).argmin(axis=1)[:, None]
        constants = np.take_along_axis(samples["stiffness"], softest[:, None], axis=2)
        samples = {name: np.take_along_axis(samples[name], softest, axis=1) for name in ("rho", "vp", "vs")} | {
            "stiffness": constants
        }
    return slowest(samples).min(axis=1)


def _directions():
    grid = np.stack(np.meshgrid(*(np.arange(-2, 3),) * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    grid = grid[np.any(grid, axis=1) & (grid @ [25, 5, 1] > 0)]
    return np.unique(np.round(grid / np.linalg.norm(grid, axis=1, keepdims=True), 12), axis=0)


DIRECTIONS = _directions()


def phase_speeds(constants, rho, directions=DIRECTIONS):
    """Speeds of the three waves in some directions (m, 3), from Christoffel's equation, of media (n, 21) and (n,): (n,
    3 m), m/s.

    `constants` (n, 21) in Pa; `rho` (n,) in kg/m3; `directions` (m, 3): unit vectors.
    """
    law = np.empty((len(constants), 6, 6))
    law[:, UPPER[0], UPPER[1]] = law[:, UPPER[1], UPPER[0]] = constants
    pairs = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])
    full = law[:, pairs[:, :, None, None], pairs]  # c_ijkl
    christoffel = np.einsum("nijkl,mj,ml->nmik", full, directions, directions, optimize=True)
    squares = np.linalg.eigvalsh(christoffel) / rho[:, None, None]
    return np.sqrt(np.maximum(squares, 0)).reshape(len(constants), -1)


# --- problems -------------------------------------------------------------------------------------


def problems(model, region, region_names=(), key="model"):
    """Problems of a model for a mesh in a grid or `Region`: values, Q, Thomsen's parameters, names of regions.

    `region_names`: regions of the mesh; `key`: of the model in the scenario, for messages.
    """
    problems = _region_problems(model, region_names, key)
    if model.kind != "regions":
        problems += earth.problems(model, region, key) or rheology.problems(model, region, key)
    return problems


def _region_problems(model, region_names, key):
    """Regions that are not in the mesh, or not in the model; impossible values."""
    media, problems = model.regions or {}, []
    held = ", ".join(region_names) or "no named region"
    for name, medium in media.items():
        if name not in region_names:
            close = nearest(name, region_names)
            hint = f'; did you mean "{close}"?' if close else ""
            problems.append(
                Problem(f"{key}.regions.{name}", f'the mesh has no region "{name}"{hint}', f"it has {held}")
            )
        problems += checks.values(f"{key}.regions.{name}", medium.vp, medium.vs, medium.rho)
    if model.kind == "regions":
        parts = [np.array([[m.vp], [m.vs], [m.rho]]) for m in media.values()]
        problems = problems or checks.unlikely(model, f"{key}.regions", parts)
        lost = [name for name in region_names if name not in media]
        problems += [
            Problem(
                f"{key}.regions",
                f'the mesh region "{name}" has no medium',
                f"add {name} = {{ vp =, vs =, rho = }} to [model.regions]",
            )
            for name in lost
        ]
        if not region_names:
            problems.append(
                Problem(f"{key}.kind", "the mesh has no named regions", 'use kind = "homogeneous", "layers" or "file"')
            )
    return problems


def element_problems(samples, centres, key="model", numbers=None):
    """Elements, of some `numbers`, that are neither solid nor fluid, and values that are impossible.

    `samples` dict of str to (ne, n): as of `at_nodes`; `centres` (ne, 3) in m; `key`: of the model in the scenario, for
    messages; `numbers` (ne,) int: of the elements, for messages.
    """
    noun = "nodes" if numbers is None else f"nodes of {len(centres)} elements there"
    problems = checks.points(
        key, tuple(centres[:, a, None] for a in range(3)), samples["vp"], samples["vs"], samples["rho"], noun
    )
    still = samples["vs"] == 0
    mixed = np.flatnonzero(still.any(axis=1) & ~still.all(axis=1)) if still.any() else ()
    if len(mixed):
        place = "({:.10g}, {:.10g}, {:.10g})".format(*centres[mixed[0]])
        element = mixed[0] if numbers is None else numbers[mixed[0]]
        problems.append(
            Problem(
                key,
                f"element {element} at {place} m is partly fluid and partly solid; {len(mixed)} elements are affected",
                "make element faces follow the fluid-solid boundary",
            )
        )
    return problems
