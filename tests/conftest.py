"""Order of test files: the longest first, so that no process is left alone with one of them at the end."""

from pathlib import Path

# Files of more than 20 s, the longest first; `make test` hands files out in this order.
LONGEST = (
    "test_kernels",
    "test_docs",
    "test_physics",
    "test_stability",
    "test_vti",
    "test_full_space",
    "test_ranks",
    "test_survey_cluster",
    "test_checkpoint",
    "test_sem_ranks",
    "test_sem_layers",
    "test_shots",
    "test_streamed",
    "test_gravity_ranks",
    "test_sem_kernels",
    "test_attack",
    "test_stable_step",
    "test_chunk_ranks",
    "test_sphere",
    "test_earth_scenario",
    "test_cli",
    "test_processes",
    "test_adjoint",
    "test_attenuation",
)


def pytest_collection_modifyitems(items):
    """Sort by file; the order within a file stays."""
    place = {name: n for n, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(Path(item.path).stem, len(place)))
