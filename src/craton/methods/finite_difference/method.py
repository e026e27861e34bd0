"""Finite differences on the staggered grid as a `craton.methods.protocol.Method`."""

from craton.methods.waves.waves import WaveMethod


class FiniteDifferences(WaveMethod):
    """Elastic and acoustic waves in two and three dimensions."""

    name, benches = "fd", ("fd", "nakata")

    def scenario(self):
        """See `Method.scenario`."""
        from craton.methods.finite_difference.options import FiniteDifferenceScenario

        return FiniteDifferenceScenario

    def tries_operators(self, scenario):
        """See `Method.tries_operators`: to find what crosses the sides of boxes."""
        return bool(scenario.recording or scenario.injection)

    def domain(self, scenario, team=None, machine=None, reuse=None):
        """See `WaveMethod.domain`; the whole grid, whoever asks."""
        from craton.methods.finite_difference.build import GridDomain

        return GridDomain(scenario, reuse, machine)

    def plan(self, scenario, team=None, machine=None, reuse=None):
        """See `Method.plan`."""
        from craton.model.media.readers import read_ahead

        with read_ahead(scenario.model):
            return super().plan(scenario, team, machine, reuse)

    def fills(self, scenario, plan):
        """Density and elastic parameters at the points of the grid."""
        from functools import partial

        from craton.methods.finite_difference.build import restore
        from craton.methods.finite_difference.equations.material import fill

        return {"material": partial(fill, d=restore(scenario, plan))}

    def linearised(self, scenario, machine=None):
        """See `Method.linearised`."""
        from craton.methods.finite_difference.equations.storage import refuse

        refuse(scenario, "for gradients")
        from craton.methods.finite_difference.adjoint.linearised import Linearised

        return Linearised(scenario.model_copy(update={"peaks": (), "recording": ()}))

    def subdomain(self, scenario, plan, rank, ranks):
        """See `Method.subdomain`."""
        self.refuse_ranks(scenario, ranks)
        return super().subdomain(scenario, plan, rank, ranks)

    def refuse_ranks(self, scenario, ranks):
        """Refuse several ranks where fields are kept in 16 bits."""
        from craton.methods.finite_difference.equations.storage import refuse

        if ranks > 1:
            refuse(scenario, f"on several ranks ({ranks})", "run on one rank, or leave run.storage out")

    def cut(self, scenario, plan, ranks):
        """Boxes of the ranks, their halos, memory and expected efficiency."""
        self.refuse_ranks(scenario, ranks)
        from craton.methods.waves.ranks import of_grid

        return of_grid(scenario, plan, ranks)

    def sharpness(self, run):
        """Order of the differences, in words."""
        return f"order {run.order}"

    def operators(self, order, precision):
        """See `Method.operators`."""
        from craton.methods.finite_difference.catalogue import in_half, operators, transposed

        both = operators(order) | transposed(order)
        halves = in_half(order) if precision == "float32" else {}
        return {name: (op, precision) for name, op in (both | halves).items()}

    def bench(self, name, device):
        """See `Method.bench`."""
        from craton.methods.finite_difference.bench import cases

        return cases(name, device)
