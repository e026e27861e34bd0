"""A quick form of the attacks of tests/attack: a few damaged inputs and run folders, the same ones each time."""

from pathlib import Path
from random import Random

import pytest
from attack import corpus, folders
from attack.mutate import damage_folder, damaged
from attack.server import Server
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

QUICK = {"derandomize": True, "deadline": None, "database": None}
CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
CHEAP = (
    "source",
    "stations",
    "wavelet",
    "mesh",
    "prisms",
    "topography asc",
    "topography tif",
    "model segy",
    "radial",
)


@pytest.fixture(scope="module")
def server():
    with Server() as opened:
        yield opened


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """Sound inputs whose plans take a tenth of a second."""
    return corpus.build(tmp_path_factory.mktemp("corpus"), CHEAP)


def test_sound_inputs_are_read(server, cases):
    """Otherwise damage would not reach the readers."""
    read = [
        name
        for name, (place, toml, _) in cases.items()
        if server.ask(["plan", toml], place).code == 0
    ]
    assert len(read) >= 10, sorted(set(cases) - set(read))


@settings(max_examples=25, suppress_health_check=CHECKS, **QUICK)
@given(number=st.integers(0, 10**6), seed=st.integers(0, 10**6))
def test_damaged_input_is_refused_or_planned(server, cases, number, seed):
    names = sorted(cases)
    place, toml, file = cases[names[number % len(names)]]
    path = place / (file if seed % 3 else toml)
    if path.is_dir():
        inside = sorted(p for p in path.rglob("*") if p.is_file())
        path = inside[seed % len(inside)]
    sound = path.read_bytes()
    path.write_bytes(damaged(sound, Random(seed)))
    try:
        answer = server.ask(["plan", toml], place)
    finally:
        path.write_bytes(sound)
    assert not answer.failures, (answer.failures, answer.error)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    return folders.build(tmp_path_factory.mktemp("folders"))


@settings(max_examples=8, suppress_health_check=CHECKS, **QUICK)
@given(
    kind=st.sampled_from(sorted(folders.COMMANDS)),
    number=st.integers(0, 10**6),
    seed=st.integers(0, 10**6),
)
def test_damaged_folder_is_refused_or_read(server, kinds, tmp_path, kind, number, seed):
    copied = folders.copy(kinds, kind, Path(tmp_path) / "copy")
    file = damage_folder(copied / "out", Random(seed))
    words = folders.commands(kind)
    answer = server.ask(words[number % len(words)], copied)
    assert not answer.failures, (kind, file, answer.failures, answer.error)
