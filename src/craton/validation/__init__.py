"""Runs against solutions that were not made with craton, and against what physics conserves;
`craton validate` shows the rows.

A case is a function of the device that gives rows, dicts with the keys case, what, misfit, limit
and passed, and curves (t, found, wanted) where there is something to draw. Misfit is the relative
L2 norm over components and time, sqrt(sum (a - b)^2 / sum b^2) with b the reference, unless `what`
says otherwise; E is its square.
"""

from functools import partial

from craton.validation.absorbing import cpml_slice
from craton.validation.body_waves import body
from craton.validation.conserved import energy, reciprocity
from craton.validation.earth import bolivia, regional
from craton.validation.ground import flat_ground, slope
from craton.validation.guided import love, scholte
from craton.validation.homogeneous import elements_space, full_space
from craton.validation.loh1 import layer_over_half_space
from craton.validation.lossy import attenuating
from craton.validation.plane import garvin, lamb_2d, sh
from craton.validation.reflection import reflection as sent_back
from craton.validation.spectral_conserved import absorbed, colours, rest
from craton.validation.spectral_conserved import energy as energy_sem
from craton.validation.spectral_waves import absorbed as absorbed_waves
from craton.validation.spectral_waves import anisotropic, degrees, sea_floor
from craton.validation.spectral_waves import scholte as scholte_sem
from craton.validation.stability import stability as long_runs
from craton.validation.surface import lamb, near_layers, two_layers, two_layers_refined
from craton.validation.surface_waves import surface as surface_of_earth

CASES = {
    "double-couple-4": partial(full_space, "double couple", 4),
    "double-couple-8": partial(full_space, "double couple", 8),
    "force-4": partial(full_space, "single force", 4),
    "force-8": partial(full_space, "single force", 8),
    "lamb": lamb,
    "lamb-2d": lamb_2d,
    "garvin": garvin,
    "two-layers": two_layers,
    "two-layers-100": two_layers_refined,
    "loh1": layer_over_half_space,
    "sh": sh,
    "love": love,
    "scholte": scholte,
    "flat-ground": flat_ground,
    "slope": slope,
    "attenuation": attenuating,
    "cpml-slice": cpml_slice,
    "energy": energy,
    "reciprocity": reciprocity,
}
SPECTRAL = {
    "sem-space": elements_space,
    "sem-degrees": degrees,
    "sem-lamb": partial(lamb, method="sem"),
    "sem-two-layers": partial(two_layers, method="sem"),
    "sem-layers": near_layers,
    "sem-scholte": scholte_sem,
    "sem-sea-floor": sea_floor,
    "sem-anisotropy": anisotropic,
    "sem-attenuation": partial(attenuating, method="sem"),
    "sem-stacey": absorbed_waves,
    "sem-box": absorbed,
    "sem-energy": energy_sem,
    "sem-rest": rest,
    "sem-reciprocity": partial(reciprocity, method="sem"),
    "sem-colours": colours,
}
# The same at sizes for a GPU: 20 wavelengths, half the spacing.
FULL = {
    "double-couple-4": partial(full_space, "double couple", 4, reach=20),
    "double-couple-8": partial(full_space, "double couple", 8, reach=20),
    "force-4": partial(full_space, "single force", 4, reach=20),
    "force-8": partial(full_space, "single force", 8, reach=20),
    "lamb": partial(lamb, spacing=5.0),
    "lamb-2d": partial(lamb_2d, spacing=2.5),
    "two-layers-100": partial(two_layers_refined, spacings=(200.0, 100.0, 50.0)),
    "loh1": partial(layer_over_half_space, spacing=50.0),
    "attenuation": partial(attenuating, spacing=15.0),
    "sem-space": partial(elements_space, distances=(2.0, 5.0, 10.0)),
    "sem-degrees": partial(degrees, limits={2: 0.15, 3: 0.02, 4: 0.002, 5: 5e-4, 6: 4e-5, 7: 1e-5}),
    "sem-anisotropy": partial(anisotropic, directions=((1, 0.6, 0.3), (-0.2, 0.5, 1))),
    "sem-attenuation": partial(attenuating, method="sem", runs=((20, 3), (20, 4), (100, 3), (100, 4))),
    "sem-lamb": partial(lamb, method="sem", spacing=20.0, most=800.0, border=900.0),
    "sem-two-layers": partial(two_layers, method="sem", tau=0.16, spacings=(100.0, 600.0)),
    "earth-surface": partial(surface_of_earth, period=40.0, width=(44.0, 36.0)),
}
EARTH = {
    "earth-moment": regional,
    "earth-force": partial(regional, kind="force"),
    "earth-bolivia": bolivia,
    "earth-body": body,
    "earth-surface": surface_of_earth,
    # a minute or more each on a CPU
    "earth-surface-ti": partial(surface_of_earth, transverse=True),
}
LONG = {"reflection": sent_back, "stability": long_runs}  # the latter many minutes on a CPU
FULL |= {"reflection": partial(sent_back, full=True), "stability": partial(long_runs, form="full")}
# what a name stands for
GROUPS = {"fd": tuple(CASES), "sem": tuple(SPECTRAL), "earth": tuple(EARTH), "long": tuple(LONG)}
CASES |= SPECTRAL | EARTH | LONG


def validate(names=None, device="auto", full=False):
    """Rows of some cases, one after the other as they are computed.

    Parameters
    ----------
    names : str or sequence of str, optional
        Keys of `CASES` or `GROUPS`; all cases by default.
    device : str
        ``"auto"``, ``"cpu"`` or the name of another machine.
    full : bool
        The sizes of `FULL`, where a case has them.

    Yields
    ------
    dict
    """
    cases = CASES | FULL if full else CASES
    names = [names] if isinstance(names, str) else (names or CASES)
    for name in (case for one in names for case in GROUPS.get(one, [one])):
        yield from ({"case": name, **row} for row in cases[name](device))
