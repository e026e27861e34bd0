"""Gravity of prisms as a `craton.methods.protocol.Method`."""


class PrismGravity:
    """Gravity and its gradient tensor from ensembles of rectangular prisms."""

    name, drive, plans_by_rank = "gravity", "sweep", False
    benches = ("gravity",)

    def scenario(self):
        """See `Method.scenario`."""
        from craton.methods.gravity.options import GravityScenario

        return GravityScenario

    def tries_operators(self, scenario):
        """See `Method.tries_operators`: none is."""
        return False

    def plan(self, scenario, team=None, machine=None, reuse=None):
        """See `Method.plan`."""
        from craton.methods.gravity.build import build

        return build(scenario)

    def outline(self, scenario, ranks, planner):
        """Plans are quick: none is needed."""

    def linearised(self, scenario, machine=None):
        """See `Method.linearised`; gravity is linear: `craton.gravity` has its operators."""
        from craton.errors import refuse

        refuse("method", 'method = "gravity" is linear in density', "use craton.gravity.operator")

    def moment_field(self, scenario, low, high):
        """See `Method.moment_field`; its scenarios have no table ``greens``."""

    def subdomain(self, scenario, plan, rank, ranks):
        """Return the plan itself: prisms or points are shared out while it is computed."""
        return plan

    def shots(self, scenario):
        """None: fields do not depend on time."""
        return ()

    def dataset(self, result):
        """Return the fields, g_z(y, x) and the like, or over (point)."""
        from craton.output.dataset import fields

        plan = result.plan
        named = dict(zip(plan.problem.fields, result.samples))
        attributes = {key: value or None for key, value in result.attributes.items()}
        attributes["method"] = result.report["method"]
        return fields(
            {name: named[name] for name in result.scenario.gravity.fields},
            plan.points,
            attributes,
            result.report["error"],
        )

    def cut(self, scenario, plan, ranks):
        """Nothing to say: ranks have equal shares."""

    def estimate(self, plan, machine, step=None):
        """Return the algorithm that will be taken and why, and what the others would cost."""
        from craton.methods.gravity import chosen, memory
        from craton.text import duration

        taken, estimates = chosen(plan, machine)
        rows = memory.rows(plan, taken.method, machine)
        lines = ["Memory", *(f"  {label:<16}  {text}" for label, text in rows)]
        lines += ["Estimate", f"  {machine.describe()}"]
        for e in estimates:
            mark, cost = "->" if e is taken else "  ", f"about {duration(e.seconds)}" if e.applies else "no"
            lines.append(f"  {mark} {e.method:<7} {cost:<13} {e.why}".rstrip())
        return "\n".join(lines)

    def header(self, scenario, plan, machine, out):
        """Fields, prisms, points, algorithm, device."""
        from craton.methods.gravity import chosen
        from craton.text import duration, text_sections

        (taken, _), problem = chosen(plan, machine), plan.problem
        rows = [
            ("fields", ", ".join(scenario.gravity.fields)),
            ("prisms", f"{len(problem.prisms):,}"),
            ("points", f"{problem.points.shape[1]:,}, {plan.points.words}"),
            ("method", f"{taken.method}, {plan.precision}: {taken.why}, about {duration(taken.seconds)}"),
            ("device", machine.describe()),
            ("out", f"{out}"),
        ]
        return text_sections({plan.title or "Gravity": rows})

    def summary(self, result, paths):
        """How fast it was, how exact it is, and where everything is."""
        from craton.text import duration, interactions

        report = result.report
        lines = [
            f"done: {report['pairs']:,} pairs by {report['method']} in {duration(report['seconds'])}, "
            f"{interactions(report['pairs'], report['seconds'])}"
        ]
        units = {}
        for name, values in result.dataset.data_vars.items():
            units.setdefault(values.attrs["units"], []).append(name)
        if report["error"]:
            worst = {unit: max(report["error"][name] for name in names) for unit, names in units.items()}
            lines.append("  error at most about " + ", ".join(f"{error:.1e} {unit}" for unit, error in worst.items()))
        contents = {
            "result.zarr": "; ".join(f"{' '.join(names)} in {unit}" for unit, names in units.items()),
            "scenario.toml": "the scenario as it was run",
            "run.json": "method, error, device, timings, versions",
        }
        width = max(len(str(path)) for path in paths)
        lines += [f"  {str(path):<{width}}  {contents.get(path.name, '')}".rstrip() for path in paths]
        return "\n".join([*lines, f"next: craton plot {result.out}"])

    def fills(self, scenario, plan):
        """See `Method.fills`; none."""
        return {}

    def picture_maker(self, series):
        """See `Method.picture_maker`; there are no snapshots."""

    def operators(self, order, precision):
        """See `Method.operators`; there is no order."""
        from craton.methods.gravity import direct, far
        from craton.methods.gravity import operators as kernels
        from craton.methods.gravity.fields import FIELDS
        from craton.methods.gravity.problem import RTOL

        rtol = RTOL[precision]
        series, degree = direct.pairwise(precision, FIELDS), far.degree_for(rtol)
        tolerated = direct.pairwise(precision, FIELDS, rtol)
        walk = kernels.attract_clusters(FIELDS, precision, degree, tolerated.starts)
        asked = (
            kernels.attract(FIELDS, precision, series.order, series.starts),
            walk,
            kernels.kernel("records", walk.defines),
            kernels.kernel("collect", kernels.constants(FIELDS)),
        )
        always_double = (
            *(kernels.of_nodes(name, degree + 2) for name in ("leaf_moments", "parent_moments", "harmonics")),
            kernels.attract_nodes(FIELDS),
            kernels.gather(FIELDS),
            *map(kernels.kernel, ("outline", "scatter", "pick")),
        )
        listed = [(op, precision) for op in asked] + [(op, "float64") for op in always_double]
        return {op.name: (op, real) for op, real in listed}

    def bench(self, name, device):
        """See `Method.bench`."""
        from craton.methods.gravity.bench import cases

        return cases(device)
