"""Spectral elements over several GPUs: weak scaling with the exchange hidden, behind all elements, left out; waiting; parity with one GPU.

usage: PYTHONPATH=src mpirun -n 4 python3 bench/gpu_sem_ranks.py --out FILE.json [--parts parity,weak,laws] [--elements 400000]
One start with 4 ranks measures 1, 2 and 4 GPUs (the first ranks of the world work, the others wait). Without MPI: --threads 2 (ranks are
threads of one process, counts 1 and all). To try the script without a GPU: --device cpu --elements 500. The JSON grows with each row.

Boxes of about --elements irregular elements a GPU, 100 m, degree 4, float32, Stacey faces and a free surface, the material of every node
(part "weak") or of each element (part "laws", which also has 21 constants and attenuation). Four tests as in Komatitsch et al. (2010):
"overlap", outer elements first and the exchange behind the inner ones; "waits", the same, but inner elements wait for it; "after", all
elements, then the exchange; "none", all elements and no exchange. Seconds are wall clock of whole steps between two barriers, of the
slowest rank; fields are random; median of --repeats.
"""
import argparse
import json
import sys
import time
from dataclasses import replace

import numpy as np
from gpu_scaling import exchange_of, finish, free, repeats, some, waiting_of

from craton import api, benchmark, sem_benchmark
from craton.comm import Together, ranks
from craton.comm.local import Alone, spawn
from craton.comm.placement import machine, place, planner
from craton.methods.spectral_element.build import build
from craton.scenario import Scenario

PARTS = ("parity", "weak", "laws")
WAYS = ("overlap", "waits", "after", "none")
LAWS = {
    "material at each node": sem_benchmark.VARYING, "material of each element": {},
    "21 constants of each element": sem_benchmark.THOMSEN, "attenuation of each element": sem_benchmark.LOSS,
}  # fmt: skip


def options_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--threads", type=int, help="ranks as threads of this process, without MPI")
    parser.add_argument("--elements", type=int, default=400_000, help="of each GPU, about")
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 2, 4, 8], help="GPUs that work together, one after another")
    parser.add_argument("--partition", default="slices")
    parser.add_argument("--seconds", type=float, default=0.7, help="of each repeat, about")
    parser.add_argument("--repeats", type=int, default=5)
    return parser.parse_args()


def changed(scenario, **run):
    """The scenario with other values of its table run."""
    tables = scenario.model_dump(by_alias=True, exclude_none=True)
    return Scenario(**tables | {"run": tables["run"] | run})


def plan_of(comm, options, law):
    """The plan of this rank, seconds that it took, scenario."""
    begin, side = time.perf_counter(), round(options.elements ** (1 / 3))
    case = sem_benchmark.Case(law, (side * comm.size, side, max(1, round(options.elements / side**2))), LAWS[law])
    scenario = changed(sem_benchmark.scenario_of(case), device=options.device, partition=options.partition)
    planned = build(scenario, sem_benchmark.irregular(scenario), Together(comm) if comm.size > 1 else None, planner())
    return planned, time.perf_counter() - begin


def all_first(plan):
    """The plan with all elements before its exchanges."""
    phases = [replace(phase, launches=tuple(replace(one, outer=True) for one in phase.launches)) for phase in plan.phases]
    return replace(plan, phases=tuple(phases))


def randomise(program):
    """Small random numbers everywhere: zeros can run faster than real data do."""
    rng = np.random.default_rng(1)
    for name, spec in program.plan.arrays.items():
        if spec.part_of == "state" and name in ("displacement", "velocity"):
            some_ = np.resize(rng.standard_normal(1 << 20) * (1e-9 if name == "displacement" else 1e-7), spec.shape)
            program.backend.fill(program.arrays[name], some_.astype(spec.dtype))
    program.backend.finish()


def measure(comm, options, law, ways):
    """Rows of a law, one for each way, the same on all ranks."""
    planned, built = plan_of(comm, options, law)
    here = machine(options.device, comm, place(comm), 1 if options.device == "cpu" else None)
    parts = planned.partition
    common = {
        "law": law, "gpus": comm.size, "elements": sum(p.elements for p in parts) if parts else planned.grid.elements,
        "elements_of_ranks": [p.elements for p in parts] if parts else [planned.grid.elements], "partition": options.partition,
        "outer_share": [p.outer / p.elements for p in parts] if parts else [0.0], "neighbours": [len(p.neighbours) for p in parts],
        "shared_points": [sum(n.shared for n in p.neighbours) for p in parts],
        "bytes_sent_largest_rank": max(comm.gather(sum(planned.arrays[m.out].shape[0] * 4 for p in planned.phases for m in p.messages))),
        "nbytes_largest_rank": max(comm.gather(planned.nbytes)), "built_seconds": max(comm.gather(built)),
    }  # fmt: skip
    for way in ways if comm.size > 1 else ("none",):
        begin = time.perf_counter()
        program = here.commit(all_first(planned) if way == "after" else planned)
        exchange = Alone() if way == "none" else exchange_of(program, comm, way != "waits")
        randomise(program)
        here.finish()
        ready = time.perf_counter() - begin
        seconds = repeats(comm, options, program, exchange, here)
        waited = waiting_of(comm, program, exchange, here) if way != "none" else 0.0
        median = float(np.median(seconds))
        yield common | {
            "way": way, "exchange": getattr(exchange, "name", "none"), "seconds_per_step": median,
            "spread": float((max(seconds) - min(seconds)) / median), "elements_per_second": common["elements"] / median,
            "waiting_fraction": waited, "ready_seconds": ready,
        }  # fmt: skip
        finish(exchange, here)
        del program, exchange
        free(here)


def parity(comm, options):
    """Relative L2 differences of all GPUs from one, in colouring mode, in both precisions."""
    out = {"gpus": comm.size}
    for precision in ("float32", "float64"):
        case = sem_benchmark.Case("parity", (16, 12, 10), sem_benchmark.VARYING)
        tables = sem_benchmark.scenario_of(case).model_dump(by_alias=True, exclude_none=True)
        tables["time"] = {"duration": 2.0}
        tables["receivers"] = [{"name": "R", "line": {"from": [310, 420, -120], "to": [1330, 910, -770], "count": 8}}]
        tables["run"] |= {"device": options.device, "partition": options.partition, "assembly": "colour", "precision": precision}
        many = api.run(Scenario(**tables), progress=False, comm=comm)
        if comm.rank == 0:
            one = api.run(Scenario(**tables), progress=False, comm=Alone())
            a, b = (r.samples.astype(float) for r in (many, one))
            out[precision] = {"steps": len(a), "velocity": float(np.linalg.norm(a - b) / np.linalg.norm(b)),
                              "displacement": float(np.linalg.norm(np.cumsum(a - b, 0)) / np.linalg.norm(np.cumsum(b, 0)))}  # fmt: skip
    return comm.gather(out)[0]


def work(comm, options):
    """What every rank does."""
    here = machine(options.device, comm, place(comm), 1 if options.device == "cpu" else None)
    results = benchmark.provenance(here) | {"argv": sys.argv[1:], "parity": None, "rows": []}
    wanted = options.parts.split(",")
    if "parity" in wanted and comm.size > 1:
        results["parity"] = parity(comm, options)
        show(comm, results["parity"])
    for part in [p for p in wanted if p != "parity"]:
        for count in [n for n in options.counts if n <= comm.size]:
            team = some(comm, count, options.threads)
            for law in list(LAWS)[:1] if part == "weak" else list(LAWS)[1:]:
                ways = WAYS if part == "weak" else ("overlap", "none")
                rows = comm.gather(list(measure(team, options, law, ways)) if team is not None else [])[0]
                for row in rows:
                    results["rows"].append({"part": part, **row})
                    show(comm, results["rows"][-1])
                if comm.rank == 0 and options.out:
                    with open(options.out, "w", encoding="utf-8") as file:
                        json.dump(results | {"efficiency": efficiencies(results["rows"])}, file, indent=1)
    show(comm, efficiencies(results["rows"]))


def efficiencies(rows):
    """Rate of n GPUs over n times that of one, by law and way."""
    one = {row["law"]: row["elements_per_second"] for row in rows if row["gpus"] == 1}
    return {f"{row['law']}, {row['way']}, {row['gpus']} GPUs": row["elements_per_second"] / row["gpus"] / one[row["law"]]
            for row in rows if row["law"] in one}  # fmt: skip


def show(comm, row):
    """A line."""
    if comm.rank == 0:
        print(json.dumps(row), flush=True)


def main():
    options = options_of()
    if options.threads:
        spawn(options.threads, lambda comm: work(comm, options))
        return
    from craton.comm import mpi

    work(ranks(mpi.world()), options)


if __name__ == "__main__":
    main()
