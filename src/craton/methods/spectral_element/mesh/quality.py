"""Quality of a mesh for a model: points per wavelength, shape and time step of each element, the
worst elements for `craton plan`.
"""

from dataclasses import dataclass

import numpy as np

from craton.methods.spectral_element.mesh.mesh_terms import cross
from craton.model.media import sampling

# GLL points per wavelength below which a warning is due, by degree
FEWEST = {2: 9.0, 3: 6.0, 4: 4.5, 5: 4.2, 6: 4.0, 7: 3.7, 8: 3.5}
BLOCK = 4096  # elements at a time


@dataclass(frozen=True, eq=False)
class Quality:
    """Quality of each element, (ne,) arrays.

    Parameters
    ----------
    shortest, longest : array
        Edges, straight between corners, m.
    slowest : array
        Slowest wave, m/s.
    jacobian : array
        Least scaled Jacobian at the corners: 1 for a box, 0 for a folded corner.
    skewness : array
        Largest deviation of an angle between edges from the right angle, 0 to 1.
    degree : int
    """

    shortest: np.ndarray
    longest: np.ndarray
    slowest: np.ndarray
    jacobian: np.ndarray
    skewness: np.ndarray
    degree: int

    @property
    def aspect(self):
        """Longest over shortest edge."""
        return self.longest / self.shortest

    def points(self, frequency):
        """Return GLL points per wavelength of the slowest wave at a frequency, Hz, at their average
        distance along the longest edge.
        """
        return self.slowest * self.degree / (frequency * self.longest)


def quality(mesh, degree, material):
    """Return the `Quality` of a mesh; ``material(e)`` is the model at the nodes of elements e, see
    `media.sampling.at_nodes`.
    """
    parts = []
    for start in range(0, mesh.size, BLOCK):
        elements = np.arange(start, min(start + BLOCK, mesh.size))
        shapes = corner_quality(mesh.nodes[mesh.corners[elements]].transpose(0, 2, 1))
        parts.append(shapes | {"slowest": sampling.slowest_in(material(elements))})
    return Quality(**{name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, degree=degree)


def corner_quality(corners):
    """Return shortest, longest, jacobian, skewness of a `Quality` from corners (ne, 3, 8): a dict
    of (ne,) arrays.
    """
    cube, lengths, along = corners.reshape(-1, 3, 2, 2, 2), [], []
    for axis in (4, 3, 2):  # xi, eta, zeta: the edge from each corner, and its length
        edges = np.diff(cube, axis=axis)
        length = np.sqrt((edges**2).sum(axis=1, keepdims=True))
        lengths.append(length.reshape(len(cube), 4))
        along.append(np.repeat(edges / length, 2, axis=axis).reshape(-1, 3, 8))
    lengths = np.concatenate(lengths, axis=1)
    xi, eta, zeta = along
    sines = [np.abs((u * v).sum(axis=1)).max(axis=1) for u, v in ((xi, eta), (xi, zeta), (eta, zeta))]
    jacobian = (cross(xi, eta) * zeta).sum(axis=1).min(axis=1)
    return named_quality(lengths.min(axis=1), lengths.max(axis=1), jacobian, np.max(sines, axis=0))


def named_quality(shortest, longest, jacobian, sine):
    """Return the dict of `corner_quality` from shortest and longest edge, least scaled Jacobian and
    largest sine of what angles between edges lack of a right one: (ne,) each.
    """
    skewness = np.arcsin(np.minimum(sine, 1)) / (np.pi / 2)
    return {"shortest": shortest, "longest": longest, "jacobian": jacobian, "skewness": skewness}


def report(quality, mesh, f95=None, stable=None):
    """Return rows (label, text) for `craton plan`: the worst elements with their numbers and
    places.

    Parameters
    ----------
    quality : Quality
    mesh : HexMesh
    f95 : float, optional
        Frequency below which 95 % of the sources' spectra lie, Hz.
    stable : Stable, optional
    """
    rows = []
    if f95:
        points = quality.points(f95)
        worst = int(np.argmin(points))
        judged = "ok" if points[worst] >= FEWEST[quality.degree] else "TOO FEW"
        rows.append(
            (
                "points per wavelength",
                f"{points[worst]:.1f} at f95 = {f95:.4g} Hz ({judged}) in {describe(mesh, worst)}: edge "
                f"{quality.longest[worst]:,.4g} m, {quality.slowest[worst]:,.0f} m/s; median {np.median(points):.1f}",
            )
        )
    rows += [
        _worst(mesh, "aspect ratio", quality.aspect, np.argmax, "{:.3g}", " (longest edge over shortest)"),
        _worst(mesh, "skewness", quality.skewness, np.argmax, "{:.2f}", " (0: right angles)"),
        _worst(mesh, "scaled Jacobian", quality.jacobian, np.argmin, "{:.2f}", " (1: a box)"),
    ]
    if stable is not None:
        rows.append(
            (
                "time step",
                f"limited by {describe(mesh, stable.element)}, shortest edge {quality.shortest[stable.element]:,.4g} m; "
                f"Courant number {stable.courant:.2f} there at the limit",
            )
        )
    return rows


def _worst(mesh, label, values, which, form, meaning):
    worst = int(which(values))
    everywhere = np.ptp(values) <= 1e-6 * max(abs(float(values[worst])), 1.0)
    return label, form.format(values[worst]) + meaning + (
        ", everywhere" if everywhere else f" at worst, in {describe(mesh, worst)}"
    )


def describe(mesh, element):
    """Describe an element by its number and the position of its centre."""
    nodes = mesh.nodes[mesh.corners[element]].mean(axis=0)
    return f"element {element} at ({', '.join(f'{v:,.10g}' for v in np.round(nodes, 3) + 0.0)}) m"


def warnings(quality, mesh, f95):
    """Warn where elements do not resolve the sources' frequencies: list of str."""
    points = quality.points(f95) if f95 else np.array([np.inf])
    worst, fewest = int(np.argmin(points)), FEWEST[quality.degree]
    few = int((points < fewest).sum())
    if not few:
        return []
    edge = quality.slowest[worst] * quality.degree / f95 / fewest
    return [
        f"mesh under-resolved: {points[worst]:.1f} GLL points per minimum wavelength at f95 = {f95:.4g} Hz ({fewest:g} required for "
        f"degree {quality.degree}) in {few:,} of {mesh.size:,} elements; the worst is {describe(mesh, worst)}, slowest wave "
        f"{quality.slowest[worst]:,.0f} m/s: use edges of at most {edge:.4g} m there, or a source with lower frequencies"
    ]
