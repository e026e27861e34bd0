"""What tests of models share: scenarios and problems of a model in a box, whether problems say what they must."""

from craton.scenario import Scenario

EXPLOSION = {"kind": "explosion", "at": [0, 0, -1000], "moment": 1e15, "wavelet": {"kind": "gaussian", "tau": 1}}


def box(model, origin, size, spacing=100, source=EXPLOSION, method="fd", **domain):
    """A scenario of a box without receivers; the spacing of elements, where the method is "sem"."""
    fine = {"fd": "spacing", "sem": "element_size"}[method]
    domain = {"origin": origin, "size": size, fine: spacing} | domain
    return Scenario(method=method, domain=domain, model=model, time={"duration": 1}, source=[source], receivers=[])


def unlike(problems, expected):
    """What is wrong with problems of which each must have a key ("" for any) and words in its message or remedy; None if nothing."""
    texts = [f"{p.key}: {p.message} {p.remedy}" for p in problems]
    right = len(texts) == len(expected) and all(
        text.startswith(key and f"{key}: ") and all(word in text for word in words)
        for text, (key, *words) in zip(texts, expected)
    )
    return None if right else (expected, texts)
