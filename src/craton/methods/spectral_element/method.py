"""Spectral elements as a `craton.methods.protocol.Method`."""

from craton.errors import Problem, ScenarioError
from craton.methods.waves.waves import WaveMethod


class SpectralElements(WaveMethod):
    """Elastic and acoustic waves on hexahedra, in boxes, meshes from files and chunks of the Earth."""

    name, benches, plans_by_rank = "sem", ("sem",), True
    reached = 0.52  # see WaveMethod; bench/results/sem_bench_h200.json

    def scenario(self):
        """See `Method.scenario`."""
        from craton.methods.spectral_element.options import SpectralScenario

        return SpectralScenario

    def tries_operators(self, scenario):
        """See `Method.tries_operators`: to find the stable step."""
        return True

    def plan(self, scenario, team=None, machine=None, reuse=None):
        """See `Method.plan`; of several ranks the plan of this one."""
        from craton.methods.spectral_element.build import MeshDomain
        from craton.methods.waves.problem import build
        from craton.model.blas import one_thread

        with one_thread():
            return build(MeshDomain(scenario, None, team, machine, reuse))

    def linearised(self, scenario, machine=None):
        """See `Method.linearised`."""
        from craton.methods.spectral_element.adjoint.linearised import Linearised

        return Linearised(scenario.model_copy(update={"peaks": (), "recording": ()}), machine)

    def outline(self, scenario, ranks, planner):
        """Of a chunk of the Earth that is large, or for several ranks, what it costs without its
        mesh.
        """
        if scenario.domain.chunk is None:
            return None
        from craton.methods.spectral_element.mesh.counting import count
        from craton.model.globe.earth_chunk import LARGE, chunk_of

        return count(scenario, planner(), ranks) if ranks > 1 or chunk_of(scenario).size > LARGE else None

    def picture_maker(self, series):
        """See `Method.picture_maker`."""
        from craton.methods.spectral_element.greens import ElementVelocities
        from craton.methods.spectral_element.snapshots import picture_maker

        if isinstance(series.sampling, ElementVelocities):
            return series.sampling.picture
        return picture_maker(series)

    def moment_field(self, scenario, low, high):
        """See `Method.moment_field`: velocities in elements."""
        from craton.methods.spectral_element.greens import element_velocities

        return element_velocities(scenario, low, high)

    def moment_rows(self, scenario, about):
        """See `Method.moment_rows`; the mesh is made anew."""
        from craton.methods.spectral_element.greens import LAYOUT, element_velocities

        if about.get("layout") != LAYOUT:
            words = "the store was built by an earlier version of craton"
            raise ScenarioError([Problem("greens", words, "run craton greens build again")])
        field, _ = element_velocities(scenario, about["low"], about["high"])
        return field.scenario, field.values, field.rows

    def cut(self, scenario, plan, ranks):
        """Elements, shared points, memory and expected efficiency of the ranks."""
        from craton.methods.spectral_element.ranks import rank_loads
        from craton.methods.waves.ranks.cuts import of_elements

        return of_elements(plan, rank_loads(plan.weights, ranks))

    def sharpness(self, run):
        """Degree of the elements, in words."""
        return f"degree {run.degree}"

    def operators(self, order, precision):
        """See `Method.operators`; `order` is the degree."""
        from craton.methods.spectral_element.catalogue import operators

        return {name: (op, precision) for name, op in operators(order, precision).items()}

    def bench(self, name, device):
        """See `Method.bench`."""
        from craton.methods.spectral_element.bench import cases

        return cases(device)
