"""craton plot: figures of a run."""

from pathlib import Path

from craton.cli.check import known, refuse, results_of


def command(out, names=("overview",)):
    """Draw figures of `craton.report.FIGURES` into a run's directory and print their paths."""
    from craton.report import FIGURES

    for name in names:
        known("NAME", name, FIGURES, "figure")
    if not Path(out).is_dir():
        refuse("OUT", f"there is no folder {out}", "name the folder of a run; craton run makes one")
    if not (Path(out) / "result.zarr").is_dir():
        refuse(
            "OUT",
            f"{out} holds no run: result.zarr is missing",
            "name the folder that craton run wrote to",
        )
    for name in names:
        with results_of(out):
            print(FIGURES[name](out))
