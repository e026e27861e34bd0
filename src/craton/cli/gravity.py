"""What the command line says of a gravity run: header, estimate, summary."""


def header(scenario, planned, machine, out):
    """What will be computed, on what, into what."""
    from craton.gravity_runs import choose
    from craton.methods.gravity.cost import words

    taken, _ = choose(planned, machine)
    made = planned.problem
    rows = [
        ("fields", ", ".join(scenario.gravity.fields)),
        ("prisms", f"{len(made.prisms):,}"),
        ("points", f"{made.points.shape[1]:,}, {planned.points.words}"),
        ("method", f"{taken.method}, {planned.precision}: {taken.why}, about {words(taken.seconds)}"),
        ("device", machine.describe()),
        ("out", f"{out}"),
    ]
    return "\n".join([planned.title or "Gravity", *(f"  {label:<8}{text}" for label, text in rows)])


def estimate(planned, machine):
    """The method that will be taken and why, and what the others would cost."""
    from craton.gravity_runs import choose
    from craton.methods.gravity.cost import words

    taken, found = choose(planned, machine)
    lines = ["Estimate", f"  {machine.describe()}"]
    for e in found:
        mark = "->" if e is taken else "  "
        lines.append(f"  {mark} {e.method:<7} {'about ' + words(e.seconds) if e.applies else 'no':<13} {e.why}".rstrip())
    return "\n".join(lines)


def summary(result):
    """How fast it was, how exact it is, and where everything is."""
    from craton.driver.sweep import rate
    from craton.methods.gravity.cost import words

    report, out = result.report, result.out
    lines = [
        f"done: {report['pairs']:,} pairs by {report['method']} in {words(report['seconds'])}, {rate(report['pairs'], report['seconds'])}"
    ]
    units = {}
    for name, field in result.dataset.data_vars.items():
        units.setdefault(field.attrs["units"], []).append(name)
    if report["error"]:
        worst = {unit: max(report["error"][name] for name in names) for unit, names in units.items()}
        lines.append("  error at most about " + ", ".join(f"{error:.1e} {unit}" for unit, error in worst.items()))
    if report["undefined"]:
        counts = ", ".join(f"{name} at {count} points" for name, count in report["undefined"].items())
        lines.append(f"  not defined on edges of prisms: {counts}")
    told = {
        "result.zarr": "; ".join(f"{' '.join(names)} in {unit}" for unit, names in units.items()),
        "scenario.toml": "the scenario as it was run",
        "run.json": "method, error, device, timings, versions",
    }
    width = max(len(str(out / name)) for name in told)
    lines += [f"  {str(out / name):<{width}}  {text}" for name, text in told.items()]
    return "\n".join([*lines, f"next: craton plot {out}"])
