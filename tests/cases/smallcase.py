"""A small scenario for tests of the command line: 31 x 31 x 26 points, a second of computing at most."""

from common import stored as opened

TEXT = """\
title = "Small case"
method = "fd"

[domain]
origin = [0, 0, -2500]
size = [3000, 3000, 2500]
spacing = 100

[model]
kind = "homogeneous"
vp = 3000
vs = 1700
rho = 2300

[time]
duration = 1.0

[boundaries]
top = "free"
others = "cpml"
cpml = { thickness = 5 }

[[source]]
kind = "explosion"
at = [1500, 1500, -1000]
moment = 1e14
wavelet = { kind = "gaussian", tau = 0.12, delay = 0.6 }

[[receivers]]
name = "A"
at = [2000, 1500, 0]

[[receivers]]
name = "L"
line = { from = [1000, 1500, 0], to = [1400, 1500, 0], count = 3 }

[[snapshots]]
name = "section"
quantity = "velocity"
plane = { y = 1500 }
every = 0.25

[output]
waveforms = ["velocity"]

[run]
device = "cpu"
"""


PICTURES = """
[[snapshots]]
name = "volume"
quantity = "curl"
every = 0.5
stride = 3
[[snapshots]]
name = "p"
quantity = "pressure"
plane = { z = -1000 }
every = 0.4
stride = 2
[output]"""


def pictured(**changes):
    """The scenario with pictures of volumes and planes, on one thread; changes as run_grid=[2, 1, 1]."""
    from craton.scenario import loads

    more = [f"{key.replace('_', '.', 1)}={value}" for key, value in changes.items()]
    return loads(TEXT.replace("[output]", PICTURES), ("run.threads=1", *more))


def same_results(one, other, groups=(None, "snapshots/section", "snapshots/volume", "snapshots/p")):
    """Waveforms and pictures equal in every bit."""
    for group in groups:
        a, b = opened(one, group), opened(other, group)
        assert list(a.data_vars) == list(b.data_vars)
        assert all(a[name].values.tobytes() == b[name].values.tobytes() for name in a.data_vars)
        assert not any((b[name] != b[name]).any() for name in b.data_vars)


def changed(*changes, text=TEXT):
    """The scenario, or another text, with (old, new) texts replaced; each old text must be there exactly once."""
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the scenario"
        text = text.replace(old, new)
    return text


def write(folder, *changes, name="small.toml"):
    """Write the changed scenario into a folder; its path."""
    path = folder / name
    path.write_text(changed(*changes))
    return path
