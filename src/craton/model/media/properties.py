"""What a medium may say of a point beyond vp, vs and density: losses 1/Qp and 1/Qs, and the parameters of Thomsen.

Inside, "qp" and "qs" stand for the losses: they are what is averaged and interpolated, and 0 says that there is none.
"""

from craton.model.media.checks import NAMES as ELASTIC

LOSSES = ("qp", "qs")
THOMSEN = ("epsilon", "delta", "gamma")
NAMES = (*ELASTIC, *LOSSES, *THOMSEN)  # media hold the first few of them


def inside(name, value):
    """A property as media hold it, from what a scenario or file says; arrays too."""
    return 1 / value if name in LOSSES else value


def value(spec, name):
    """A property of a layer or homogeneous model as media hold it; 0 where it is not given (no loss, no anisotropy)."""
    given = getattr(spec, name, None)
    return 0.0 if given is None else float(inside(name, given))


def given(model, names):
    """Keys of the layers, anomalies, or model itself that give some of these properties: list of (key, spec)."""
    specs = [("", model), *((f"layers.{i}", layer) for i, layer in enumerate(getattr(model, "layers", ())))]
    specs += [(f"anomalies.{i}", anomaly) for i, anomaly in enumerate(getattr(model, "anomalies", None) or ())]
    return [(key, spec) for key, spec in specs if any(getattr(spec, name, None) is not None for name in names)]
