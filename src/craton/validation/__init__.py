"""Runs against solutions that were not made with craton, and against what physics conserves;
`craton validate` shows the rows.

The tables of a case (cases.toml) and the device give rows, dicts with the keys case, what, misfit, limit
and passed, and curves (t, found, wanted) where there is something to draw. Misfit is the relative
L2 norm over components and time, sqrt(sum (a - b)^2 / sum b^2) with b the reference, unless `what`
says otherwise; E is its square.
"""

from craton.validation import absorbing, conserved, initial, waveforms
from craton.validation.compare import CASES, GROUPS, merged

RUNS = {  # functions of a case's tables and the device, by the key `run`
    "waveforms": waveforms.misfits,
    "cpml slice": absorbing.cpml_slice,
    "reflection": absorbing.reflection,
    "energy": conserved.energy,
    "energy of elements": conserved.energy_of_elements,
    "reciprocity": conserved.reciprocity,
    "rest": conserved.rest,
    "colours": conserved.colours,
    "absorbing box": conserved.absorbing_box,
    "degrees": initial.degrees,
    "anisotropy": initial.anisotropy,
    "absorbing face": initial.absorbing_face,
    "sea floor": initial.sea_floor,
    "interface wave": initial.interface_wave,
}


def rows(name, device="auto", size="", changes=None):
    """Rows of a case, one after the other as they are computed, perhaps of size "full" or "small", with changes of its tables."""
    case = merged(merged(CASES[name], CASES[name].get(size, {})), changes or {})
    yield from ({"case": name, **row} for row in RUNS[case.get("run", "waveforms")](case, device))


def validate(names=None, device="auto", full=False):
    """Rows of some cases, one after the other as they are computed.

    Parameters
    ----------
    names : str or sequence of str, optional
        Keys of `CASES` or `GROUPS`; all cases by default.
    device : str
        ``"auto"``, ``"cpu"`` or the name of another machine.
    full : bool
        Sizes for a GPU, where a case has them.

    Yields
    ------
    dict
    """
    names = [names] if isinstance(names, str) else (names or CASES)
    for name in (case for one in names for case in GROUPS.get(one, [one])):
        yield from rows(name, device, "full" if full else "")
