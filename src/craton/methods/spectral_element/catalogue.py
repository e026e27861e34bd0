"""Catalogue of every operator of spectral elements, to inspect or compile them all."""

from dataclasses import replace

from craton.methods.spectral_element.adjoint import pair_operators
from craton.methods.spectral_element.equations import operators as sem
from craton.methods.spectral_element.equations import state
from craton.methods.spectral_element.mesh.element import DEGREES
from craton.methods.waves import exchange
from craton.model.media import attenuation

COUNTED = (
    "stiffness",
    "stiffness_layer",
    "fluid",
    "fluid_layer",
    "damped_points",
    "update",
    "fluid_update",
    "stacey",
    "fluid_stacey",
    "rigid_points",
    "to_fluid",
    "to_solid",
)


def operators(degree, precision="float32"):
    """Return all operators of one degree, by name; degrees above 8 are 8.

    Those of two fields are built for a `precision`, by which a GPU's block has its elements.

    Element kernels appear once with each geometry, law and assembly; forces are in fixed point
    where elements are coloured. The fit of attenuation is part of the text, so it is an example:
    three mechanisms for Q = 50 from 0.1 to 10 Hz, steps of 1 ms.
    """
    kind = sem.Kind(min(degree, DEGREES[-1]))
    lossy = sem.relaxation_constants(attenuation.relaxation((0.1, 10.0), 1 / 50, storage="full"), 1e-3)
    ways = [
        {},
        {"geometry": "corners"},
        {"geometry": "stored"},
        {"geometry": "box"},
        {"per_node": False},
        {"full": True},
        {"full": True, "per_node": False},
        {"relaxation": lossy},
        {"relaxation": lossy, "bulk": True},
        {"relaxation": lossy, "full": True, "bulk": True},
        {"coloured": True},
    ]
    layers = [
        {"axes": 1, "geometry": "box", "per_node": False},
        {"axes": 2},
        {"axes": 4, "coloured": True},
        {"axes": 6},
        {"axes": 7},
        {"axes": 1, "general": True},
        {"axes": 7, "general": True},
    ]
    lossy_layers = [{"axes": 4, "relaxation": lossy, "bulk": True}, {"axes": 2, "full": True}]
    all_operators = [sem.stiffness(replace(kind, **way)) for way in (*ways, *layers, *lossy_layers)]
    all_operators += [sem.fluid(replace(kind, **way)) for way in (*ways[:5], *ways[-1:], *layers)]
    all_operators += [sem.damped_points(), sem.damped_points(1)]
    all_operators += [sem.update(), sem.fluid_update(), sem.stacey(), sem.fluid_stacey()]
    all_operators += [sem.rigid(), sem.rigid(1), sem.to_fluid(), sem.to_solid()]
    all_operators += [sem.to_fluid(layered=True), sem.to_solid(layered=True)]
    exchanged = [make(fields) for make in (exchange.pack_shared, exchange.add_shared) for fields in (3, 1)]
    all_operators += exchanged
    remembering = [lossy_layers[0], {"relaxation": lossy, "full": True, "bulk": True}]
    all_operators += pair_operators.catalogue(kind, precision, remembering, [*remembering, layers[-1]])
    in_fixed_point = [op for op in all_operators if op.function in COUNTED and dict(op.defines).get("COLOURED", 1)]
    all_operators += [op.exact(state.units_of(op)) for op in in_fixed_point]
    all_operators += [op.exact(()) for op in exchanged]
    return {op.name: op for op in all_operators}
