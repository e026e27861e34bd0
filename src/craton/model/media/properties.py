"""What a medium may say of a point beyond vp, vs and density: losses 1/Qp and 1/Qs, and the
parameters of Thomsen.

Inside, "qp" and "qs" stand for the losses: they are what is averaged and interpolated, and 0 says
that there is none.
"""

from craton.model.media.checks import NAMES as ELASTIC

LOSSES = ("qp", "qs")
THOMSEN = ("epsilon", "delta", "gamma")
NAMES = (*ELASTIC, *LOSSES, *THOMSEN)  # media hold the first few of them


def inside(name, value):
    """Return a property as media hold it, from what a scenario or file says; arrays too.

    `name`: of `properties.NAMES`.
    """
    return 1 / value if name in LOSSES else value


def value(spec, name):
    """Return a property of a layer or homogeneous model as media hold it; 0 where it is not given (no loss, no
    anisotropy).

    `spec` layer, anomaly or model of a scenario; `name`: of `properties.NAMES`.
    """
    stated = getattr(spec, name, None)
    return 0.0 if stated is None else float(inside(name, stated))
