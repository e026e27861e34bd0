"""Words for messages: the nearest valid name, lists of choices, and values as one would write them in TOML."""
import difflib
import json
from numbers import Real


def nearest(word, names):
    """The valid name that a misspelt one was probably meant to be, or None."""
    names = [str(n) for n in names]
    folded = {n.lower().replace("-", "_"): n for n in names}
    word = str(word).lower().replace("-", "_").replace(" ", "_")
    found = difflib.get_close_matches(word, folded, n=1, cutoff=0.6)
    if found:
        return folded[found[0]]
    # "freq" for "frequency", "sampling_rate" for "sampling".
    starts = [n for f, n in folded.items() if min(len(word), len(f)) >= 3 and (f.startswith(word) or word.startswith(f))]
    return starts[0] if len(starts) == 1 else None


def listed(names, last="or"):
    """``"a, b or c"``."""
    names = [str(n) for n in names]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" {last} {names[-1]}"


def shown(value, most=60):
    """A value as one would write it in TOML, cut to a readable length."""
    text = _toml(value)
    return text if len(text) <= most else text[: most - 4] + " ..."


def number(value):
    """A number without needless digits: ``100`` for 100.0, ``0.0075``, ``1e+18``."""
    return f"{value:.10g}"


def _toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(v) for v in value[:50]) + "]"
    return number(value) if isinstance(value, Real) else str(value)
