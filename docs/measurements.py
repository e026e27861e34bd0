"""Figures and tables of accuracy, speed and other programs, made of bench/results when the site is built."""

import json
from pathlib import Path

import make_tables

RESULTS = Path(__file__).parents[1] / "bench" / "results"
BLUE, RED, GREEN = "#0072b2", "#d55e00", "#007a5a"  # Okabe & Ito (2008)


def draw(folder):
    """Draw all figures and write the table of other programs.

    Parameters
    ----------
    folder : Path
        Made where it is missing.
    """
    import matplotlib

    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    from craton.report.figures import STYLE

    with matplotlib.rc_context(STYLE):
        for figure in (accuracy, rates, peers, scaling):
            save(figure(), folder / f"{figure.__name__}.png")
    (folder / "peers.md").write_text(peer_table(), encoding="utf-8")


def save(figure, path):
    """Write a figure as PNG and close it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : Path
    """
    from matplotlib import pyplot

    figure.savefig(path, bbox_inches="tight", metadata={"Software": None})
    pyplot.close(figure)


def contents(name):
    """Return what a file of bench/results holds: dict.

    Parameters
    ----------
    name : str
        Without ``.json``.
    """
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def accuracy():
    """Draw the misfit of every validation case over its limit, the worst row of each case."""
    from matplotlib import pyplot

    files = (
        ("finite differences", "validation_cpu", BLUE),
        ("spectral elements", "validation_sem_cpu", RED),
        ("chunks of the Earth", "validation_earth_cpu", GREEN),
    )
    figure, axes = pyplot.subplots(figsize=(7.5, 7.5))
    names = []
    for label, file, colour in files:
        worst = {}
        for row in contents(file)["validation"]:
            share = row["misfit"] / row["limit"]
            worst[row["case"]] = max(worst.get(row["case"], 0), share)
        places = range(len(names), len(names) + len(worst))
        axes.barh(places, [max(v, 1e-6) for v in worst.values()], color=colour, label=label)
        names += worst
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xscale="log", xlabel="misfit over its limit, worst row of each case", xlim=(1e-4, 2))
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=3, frameon=False)
    return figure


def rates():
    """Draw rates of finite differences on one GPU, with the share of copy bandwidth."""
    from matplotlib import pyplot

    measured = contents("fd_h200")
    cases = [case for case in measured["cases"] if "skipped" not in case]
    figure, axes = pyplot.subplots(figsize=(7.5, 4.2))
    bars = axes.barh(
        [
            case["case"].replace(
                "Two layers of Michea & Komatitsch (2010), full size", "two layers, 540 x 484 x 189, cpml, free top"
            )
            for case in cases
        ],
        [case["point_steps_per_second"] / 1e9 for case in cases],
        color=BLUE,
    )
    shares = [f"{case['fraction_of_copy_bandwidth']:.0%} of copies" for case in cases]
    axes.bar_label(bars, shares, padding=3, fontsize=8)
    axes.set_xlabel("10⁹ grid points times steps per second")
    axes.set_xlim(0, 40)
    axes.set_title(f"{measured['device'].split(',')[0]}, {measured['date'][:10]}")
    axes.invert_yaxis()
    return figure


def peer_rows():
    """Return (case, unit, craton's rate, other program, its rate, file) of every comparison kept: list of tuple."""
    rows = []
    for file, power in (("fd_peers_cpu", "³"), ("fd_peers_2d_cpu", "²")):
        for points, size in contents(file)["sizes"].items():
            medians = size["medians"]
            rows += [
                (f"elastic FD, {points}{power}, 2 threads", "M point-steps/s", medians["craton"], code, rate, file)
                for code, rate in medians.items()
                if code != "craton"
            ]
    for file, key in (("sem_bench_cpu", "CPU"), ("sem_bench_h200", "NVIDIA H200")):
        known = make_tables.rates_of("SPECFEM3D 4.1.1", contents(file)["device"])
        rows += [
            (
                f"SEM, {case['case']}, {key}",
                "M elements/s",
                case["elements_per_second"] / 1e6,
                "SPECFEM3D 4.1.1",
                known[case["case"]] / 1e6,
                file,
            )
            for case in contents(file)["cases"]
            if case["case"] in known
        ]
    return rows + [
        (
            f"gravity, {case['case']}, 1 core",
            "M pairs/s",
            case["craton M pairs/s per core"],
            f"Harmonica {case['harmonica']}",
            case["harmonica M pairs/s per core"],
            "gravity_harmonica_cpu",
        )
        for case in contents("gravity_harmonica_cpu")["one_core"]
    ]


def peers():
    """Draw how many times as fast as other programs craton was on the same machine."""
    from matplotlib import pyplot

    rows = peer_rows()
    figure, axes = pyplot.subplots(figsize=(7.5, 4.6))
    colours = {"elastic": BLUE, "SEM": RED, "gravity": GREEN}
    bars = axes.barh(
        [f"{case}: {code}" for case, _, _, code, _, _ in rows],
        [mine / theirs for _, _, mine, _, theirs, _ in rows],
        color=[next(c for start, c in colours.items() if row[0].startswith(start)) for row in rows],
    )
    axes.bar_label(bars, [f"{row[2] / row[4]:.2g}" for row in rows], padding=3, fontsize=8)
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xscale="log", xlim=(0.5, 100), xlabel="rate of craton over rate of the other program")
    axes.invert_yaxis()
    return figure


def peer_table():
    """Return the figures behind `peers` as a Markdown table."""
    rows = [
        (case, unit, f"{mine:.3g}", code, f"{theirs:.3g}", f"{mine / theirs:.2g}", f"`{file}.json`")
        for case, unit, mine, code, theirs, file in peer_rows()
    ]
    head = ("case", "unit", "craton", "other program", "its rate", "ratio", "bench/results")
    return make_tables.table(head, rows) + "\n"


def scaling():
    """Draw the efficiency of several GPUs: rate of n over n times the rate of one."""
    from matplotlib import pyplot

    labels = {
        "weak": "weak, 512³ on each GPU",
        "laden": "weak, with absorbing layers and a free surface",
        "strong1024": "strong, 1024³ in all",
        "strong512": "strong, 512³ in all",
    }
    figure, axes = pyplot.subplots(figsize=(6, 3.6))
    for (part, by_number), marker in zip(contents("scaling_h200")["efficiency"].items(), "os^v"):
        numbers = [int(number) for number in by_number]
        axes.plot(numbers, [100 * v for v in by_number.values()], marker=marker, label=labels[part])
    axes.set(xlabel="NVIDIA H200 GPUs, NVLink", ylabel="efficiency, %", ylim=(0, 105))
    axes.set_xticks([1, 2, 4])
    axes.legend(frameon=False, loc="lower left")
    return figure
