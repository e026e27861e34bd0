"""Conditions on faces as lists of global points: absorbing (Stacey), rigid, free surface of a
fluid, coupling of fluid and solid.

A first-order absorbing face takes the traction -Z v, Z the impedance of waves along its normal n.
In an isotropic solid Z = rho (vp n n^T + vs (1 - n n^T)) (Clayton & Engquist 1977; Stacey 1988;
Komatitsch & Vilotte 1998, eq. 27); in an anisotropic one Z = rho sqrt(Gamma / rho) with the
Christoffel matrix Gamma of n, which absorbs all three waves along n. In a fluid it is 1 / (rho c)
on the rate of the potential. Summed at the points that is the damping C that stacey.h takes,
together with G = M (M + dt/2 C)^-1.
"""

import numpy as np

from craton.core.plan import Array, Launch
from craton.methods.spectral_element.equations import operators
from craton.methods.spectral_element.mesh import mesh_terms
from craton.methods.spectral_element.sites import VOIGT, full_law
from craton.model.media import cells
from craton.model.mesh import numbering

# order of the six reals of a symmetric matrix in stacey.h
SIX = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))


def impedance(samples, vectors):
    """Return impedances times areas at nodes of solid faces: (m, 3, 3), kg/s.

    Parameters
    ----------
    samples : dict of arrays (m,), stiffness (m, 21)
        Material at the nodes.
    vectors : (m, 3) array
        Area vectors, m2.
    """
    area = np.linalg.norm(vectors, axis=1)
    normal, rho = vectors / area[:, None], samples["rho"]
    if "stiffness" not in samples:
        along = np.einsum("na,nb->nab", normal, normal)
        vp, vs = samples["vp"], samples["vs"]
        return (area * rho)[:, None, None] * ((vp - vs)[:, None, None] * along + vs[:, None, None] * np.eye(3))
    law = full_law(samples["stiffness"])
    christoffel = np.einsum("nabcd,nb,nd->nac", law[:, VOIGT][:, :, :, VOIGT], normal, normal, optimize=True)
    squares, axes = np.linalg.eigh(christoffel / rho[:, None, None])
    return np.einsum("n,nia,na,nja->nij", area * rho, axes, np.sqrt(np.maximum(squares, 0)), axes)


def sum_at_points(points, values):
    """Sum values (m, ...) at equal points (m,); return the points, rising, and the sums."""
    unique, row = np.unique(points, return_inverse=True)
    flat = values.reshape(len(values), -1)
    summed = np.stack([np.bincount(row, column, len(unique)) for column in flat.T], axis=1)
    return unique, summed.reshape(len(unique), *values.shape[1:])


def stacey_damping(points, vectors, samples):
    """Return the points, rising, and the damping C (.., 6) of absorbing faces of a solid.

    Parameters
    ----------
    points : (m,) int array
    vectors : (m, 3) array
        Area vectors, m2.
    samples : dict of arrays (m,), stiffness (m, 21)
        Material at the points.
    """
    matrices = impedance(samples, vectors)
    return sum_at_points(points, np.stack([matrices[:, a, b] for a, b in SIX], axis=1))


def faces_of_kind(d, kinds, fluid):
    """Return the faces (nf, 2) of one medium whose boundary condition is one of `kinds`."""
    rows = [faces for name, faces in d.mesh.faces.items() if len(faces) and d.face_kinds[name] in kinds]
    rows = np.concatenate(rows) if rows else np.empty((0, 2), int)
    return rows[d.fluid[rows[:, 0]] == fluid]


def values_on_faces(d, rows):
    """Return points (m,), area vectors (m, 3) and material (m,) at the nodes of faces."""
    points = np.take_along_axis(d.points[rows[:, 0]], d.element.face_nodes[rows[:, 1]], axis=1).ravel()
    parts = list(cells.in_order(lambda part: at_nodes(d, rows[part]), mesh_terms.batches(len(rows))))
    samples = {name: np.concatenate([material[name] for _, material in parts]) for name in parts[0][1]}
    return points, np.concatenate([vectors for vectors, _ in parts]), samples


def at_nodes(d, rows):
    """Return area vectors (m, 3) and material (m,) at the nodes of a batch of faces."""
    every, nodes = np.arange(len(rows))[:, None], d.element.face_nodes[rows[:, 1]]
    at_all = {name: values[every, ..., nodes] for name, values in d.material(rows[:, 0]).items()}
    samples = {name: values.reshape(-1, *values.shape[2:]) for name, values in at_all.items()}
    return area_vectors(d, rows).reshape(-1, 3), samples


def area_vectors(d, rows):
    """Return area vectors at the nodes of faces, (nf, n^2, 3), m2."""
    return mesh_terms.area_vectors(d.element, d.shapes(rows[:, 0]), np.column_stack([np.arange(len(rows)), rows[:, 1]]))


def absorbing_faces(d):
    """Return arrays and launches of absorbing (Stacey) faces by medium: arrays, {"solid": [...],
    "fluid": [...]}.

    A point of several ranks is damped by the faces of all of them.
    """
    arrays, launches, mass = {}, {"solid": [], "fluid": []}, d.statistics.mass
    for fluid, medium in enumerate(("solid", "fluid")):
        rows = faces_of_kind(d, ("stacey",), bool(fluid))
        local = damping_of_faces(d, rows, fluid) if len(rows) else (np.empty(0, int), np.empty((0, 1 if fluid else 6)))
        points, damping = d.subdomain.shared[medium].unite_points(*local)
        if not len(points):
            continue
        if fluid:
            damping = damping[:, 0]
            terms = np.stack([mass[1][points] / (mass[1][points] + d.dt / 2 * damping), damping])
        else:
            terms = np.concatenate([mesh_terms.implicit(damping, mass[0][points], d.dt), damping], axis=1).T
        op = operators.fluid_stacey() if fluid else operators.stacey()
        arrays |= point_arrays(f"{op.name}", points=(points, np.int32), terms=(terms, d.precision))
        launches[medium].append(d.units.launch(launch_on_points(op, op.name, len(points)), fluid))
    return arrays, launches


def damping_of_faces(d, rows, fluid):
    """Return the points of absorbing faces, rising, and their damping: (m, 6) of the solid, (m, 1) of the fluid."""
    points, vectors, samples = values_on_faces(d, rows)
    if fluid:
        return sum_at_points(points, (np.linalg.norm(vectors, axis=1) / (samples["rho"] * samples["vp"]))[:, None])
    return stacey_damping(points, vectors, samples)


def rigid_points(d, units):
    """Return arrays and launches of points that do not move, by medium: arrays, {"solid": [...],
    "fluid": [...]}.

    These are points on rigid faces of the solid, on free faces of the fluid (pressure 0), and on
    the outer faces of absorbing layers.

    Parameters
    ----------
    d : Medium
    units : state.FixedPoint or state.FloatingPoint
    """
    arrays, launches = {}, {"solid": [], "fluid": []}
    for fluid, medium, kind in ((False, "solid", "rigid"), (True, "fluid", "free")):
        rows = faces_of_kind(d, (kind, "pml"), fluid)
        points = np.unique(np.take_along_axis(d.points[rows[:, 0]], d.element.face_nodes[rows[:, 1]], axis=1))
        points, _ = d.subdomain.shared[medium].unite_points(points, np.empty((len(points), 0)))
        if len(points):
            op = operators.rigid(1 if fluid else 3)
            arrays |= point_arrays(op.name, points=(points, np.int32))
            launch = launch_on_points(op, op.name, len(points), force="potential_force" if fluid else "force")
            launches[medium].append(units.launch(launch, fluid))
    return arrays, launches


def coupling(d, units):
    """Return arrays and launches of the coupling between fluid and solid: arrays, {"fluid":
    [to_fluid], "solid": [to_solid]}.

    A pair of points that several ranks have acts on one of them, with the area vectors of all.

    Parameters
    ----------
    d : Medium
    units : state.FixedPoint or state.FloatingPoint
    """
    return coupling_of(*coupled_pairs(d), d.precision, units)


def coupling_of(pairs, vectors, precision, units, **renamed):
    """Return what `coupling` does of pairs of points (m, 2) with area vectors (m, 3); the launch that acts on the solid
    takes other arrays by the names `renamed`.
    """
    if not len(pairs):
        return {}, {"solid": [], "fluid": []}
    arrays = point_arrays(
        "coupling", solid=(pairs[:, 0], np.int32), fluid=(pairs[:, 1], np.int32), vectors=(vectors.T, precision)
    )
    to_fluid = launch_on_points(operators.to_fluid(), "coupling", len(pairs))
    to_solid = launch_on_points(operators.to_solid(), "coupling", len(pairs), **renamed)
    return arrays, {"fluid": [units.launch(to_fluid, True)], "solid": [units.launch(to_solid, False)]}


def coupled_pairs(d):
    """Return the pairs of a solid and a fluid point (m, 2) that act on this rank, and their area
    vectors of all ranks, out of the fluid (m, 3), m2; all ranks must call.

    Parameters
    ----------
    d : Medium
    """
    if not all(d.subdomain.media):
        return np.empty((0, 2), int), np.empty((0, 3))
    pairs, vectors = coupled_points(d, interface(d))
    return d.subdomain.shared["solid"].assign_items(pairs[:, 0], pairs, vectors)


def interface(d):
    """Return the faces between fluid and solid elements: rows (fluid element, face, solid element, face)."""
    if not d.fluid.any() or d.fluid.all():
        return np.empty((0, 4), int)
    corners = d.mesh.corners
    touched = np.zeros((2, len(d.mesh.nodes)), bool)
    for n, which in enumerate((d.fluid, ~d.fluid)):
        touched[n, corners[which]] = True
    nearby = np.flatnonzero(touched.all(axis=0)[corners].any(axis=1))
    rows = numbering.inner_faces(d.mesh.elements[nearby])
    rows[:, ::2] = nearby[rows[:, ::2]]
    rows = rows[d.fluid[rows[:, 0]] != d.fluid[rows[:, 2]]]
    return np.where(d.fluid[rows[:, :1]], rows, rows[:, [2, 3, 0, 1]])


def coupled_points(d, rows, vectors=None):
    """Return pairs of a solid and a fluid point (m, 2), and the sums of vectors (nf, n^2, 3) of
    faces there (m, 3); by default of area vectors, out of the fluid.

    Nodes of the two sides of a face are matched by their positions.
    """
    fluid_nodes, solid_nodes = (d.element.face_nodes[rows[:, n]] for n in (1, 3))
    origin = d.centres[rows[:, 0], :, None]
    fluid_places = np.take_along_axis(d.coordinates(rows[:, 0]) - origin, fluid_nodes[:, None], axis=2)
    solid_places = np.take_along_axis(d.coordinates(rows[:, 2]) - origin, solid_nodes[:, None], axis=2)
    distance = np.linalg.norm(fluid_places[:, :, :, None] - solid_places[:, :, None, :], axis=1)
    match = np.take_along_axis(solid_nodes, distance.argmin(axis=2), axis=1)
    solid = np.take_along_axis(d.points[rows[:, 2]], match, axis=1)
    fluid = np.take_along_axis(d.points[rows[:, 0]], fluid_nodes, axis=1)
    vectors = area_vectors(d, rows) if vectors is None else vectors
    return mesh_terms.unique_pairs(solid, fluid, vectors)


def point_arrays(name, **values):
    """Return the arrays NAME_part of a list of points."""
    return {
        f"{name}_{part}": Array("boundary points", v.shape, dtype, np.ascontiguousarray(v, dtype))
        for part, (v, dtype) in values.items()
    }


def launch_on_points(op, name, count, **renamed):
    """Return the launch of an operator over a list of points whose arrays are NAME_part."""
    listed = ("points", "terms", "solid", "fluid", "vectors", "lowpass", "rates")
    names = tuple(renamed.get(a, f"{name}_{a}" if a in listed else a) for a in op.arrays)
    return Launch(op, names, (0, 1, 0, 1, 0, count), {"count": count})
