"""Spectral elements as a `craton.methods.protocol.Method`."""

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

    def domain(self, scenario, team=None, machine=None, reuse=None):
        """See `WaveMethod.domain`; of several ranks the elements of this one."""
        from craton.methods.spectral_element.build import MeshDomain

        return MeshDomain(scenario, None, team, machine, reuse)

    def plan(self, scenario, team=None, machine=None, reuse=None):
        """See `Method.plan`."""
        from craton.model.blas import one_thread

        with one_thread():
            return super().plan(scenario, team, machine, reuse)

    def linearised(self, scenario, machine=None):
        """See `Method.linearised`."""
        from craton.methods.spectral_element.adjoint.linearised import Linearised

        return Linearised(scenario.model_copy(update={"peaks": (), "recording": ()}), machine)

    def outline(self, scenario, ranks, planner):
        """Of a chunk of the Earth that is large, or for several ranks, what it costs without its mesh."""
        if scenario.domain.chunk is None:
            return None
        from craton.methods.spectral_element.mesh.counting import count
        from craton.model.globe.earth_chunk import LARGE, chunk_of

        return count(scenario, planner(), ranks) if ranks > 1 or chunk_of(scenario).size > LARGE else None

    def picture_maker(self, series):
        """See `Method.picture_maker`."""
        from craton.methods.spectral_element.snapshots import picture_maker

        return picture_maker(series)

    def cut(self, scenario, plan, ranks):
        """Elements, shared points, memory and expected efficiency of the ranks."""
        from craton.methods.spectral_element.ranks import rank_loads
        from craton.methods.waves.ranks import of_elements

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
