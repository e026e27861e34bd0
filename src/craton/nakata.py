"""The cases of Nakata et al. (2011, Exploration Geophysics 42, 98-104): Lamb's half-space in 2-D and 3-D, 1000 steps each."""

STEPS = 1000
# Seconds for 1000 steps on one Tesla C1060, as far as they are known to us.
PAPER = {(2, 1920): 22.7, (3, 384): 2629.0}
PLANES, CUBES, SHOTS = (480, 960, 1440, 1920), (96, 144, 192, 288, 384), (1, 64)

TEXT = """
title = "{title}"
[domain]
origin = {origin}
size = {size}
spacing = 10
[model]
kind = "homogeneous"
vp = 2078.46
vs = 1200
rho = 2000
[time]
duration = 1000
[boundaries]
top = "free"
others = "{others}"
[[source]]
kind = "force"
{at}
force = {force}
wavelet = {{ kind = "ricker", frequency = 7.5, delay = 0.2 }}
[[receivers]]
name = "R"
at = {receiver}
"""


def cases(device):
    """Scenario texts: planes with one shot, and with a batch but on the CPU, and cubes as large as take a minute at most."""
    few = device == "cpu"
    planes = [case(2, n, count) for n in PLANES for count in SHOTS[: 1 if few else None]]
    return planes + [case(3, n) for n in CUBES[: 3 if few else None]]


def case(dimensions, n, shots=1, others="sponge"):
    """One case of n points along every axis, a vertical force on the free surface."""
    extent = 10.0 * (n - 1)
    flat = dimensions == 2
    middle = [extent / 2] * (dimensions - 1)
    line = {"from": [0.3 * extent, 0.0], "to": [0.7 * extent, 0.0], "count": shots}
    return TEXT.format(
        title=name(dimensions, n, shots, others), origin=[0.0] * (dimensions - 1) + [-extent], size=[extent] * dimensions, others=others,
        at=f"shots = {{ from = {line['from']}, to = {line['to']}, count = {shots} }}" if shots > 1 else f"at = {[*middle, 0.0]}",
        force=[0, -1e6] if flat else [0, 0, -1e9], receiver=[*middle[:-1], 0.6 * extent, 0.0])  # fmt: skip


def name(dimensions, n, shots, others):
    """Title of a case."""
    return f"{dimensions}-D {n}^{dimensions}" + (f", {shots} shots" if shots > 1 else "") + (f", {others}" if others != "sponge" else "")


def row(case):
    """One line of the table: seconds for 1000 steps here and in the paper, rate."""
    seconds, rate = STEPS * case["seconds_per_step"], case["point_steps_per_second"]
    there = f"{paper(case):,.4g} s there" if paper(case) else ""
    return f"{case['case']:<24} {seconds:>9.3g} s for {STEPS} steps, {rate / 1e9:>6.2f} Gpoint-steps/s   {there}".rstrip()


def paper(case):
    """Seconds of the paper for a measured case, where they are known."""
    nz, ny, _ = case["shape_zyx"]
    return PAPER.get((2 if ny == 1 else 3, nz)) if case["points"] == nz**2 * ny else None
