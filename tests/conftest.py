"""Order of test files, the longest first, so that no process is left alone with one of them at the end; a compiler in less of a hurry
to optimise; files that need not outlive a power cut.
"""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

# Passes of GCC's -O3 that take a quarter of the time of a thousand compilations, and no bit changes without them
# (test_machines.py: `test_flags_of_the_package_give_the_same_bits`). $CXX takes them to every process. Without "ivopts" differences
# of order 8 take 16 % longer: it stays.
LEFT_OUT = (
    "unswitch-loops",
    "tree-partial-pre",
    "predictive-commoning",
    "gcse-after-reload",
    "split-loops",
    "split-paths",
    "ipa-cp-clone",
    "loop-unroll-and-jam",
    "loop-interchange",
    "version-loops-for-strides",
)
# Registers are given out function by function, not loop by loop: a tenth of the time of compilations, 2 % more of the kernels'.
QUICKER = ("-fira-region=one",)

# Files of more than 10 s of CPU time or of waiting, the longest first; `make test` hands files out in this order.
LONGEST = (
    "test_docs",
    "test_gradients",
    "test_stability",
    "test_kernels",
    "test_physics",
    "test_ranks",
    "test_sem_kernels",
    "test_checkpoint",
    "test_gravity_ranks",
    "test_survey_cluster",
    "test_processes",
    "test_cli",
    "test_vti",
    "test_chunk_ranks",
    "test_sem_ranks",
    "test_gravity",
    "test_sem_physics",
    "test_acoustic",
    "test_earth_scenario",
    "test_chunk_physics",
    "test_stable_step",
    "test_sphere",
    "test_sem_layers",
    "test_attack",
    "test_shots",
    "test_full_space",
    "test_streamed",
    "test_attenuation",
    "test_chunk_waves",
    "test_sem_gpu_text",
    "test_a1",
)


def pytest_configure():
    """Let kernels be compiled in less time, where $CXX is not set and the compiler is GCC.

    Nor does a test wait for a disk: what is written is read again by processes of the same machine. Thousands of files cost 10 ms
    each; processes that tests start wait as users' do.
    """
    os.fsync = lambda handle: None
    compiler = next(filter(None, map(shutil.which, ("c++", "g++"))), None)
    if compiler and "CXX" not in os.environ:
        told = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
        if "Free Software Foundation" in told:
            os.environ["CXX"] = shlex.join([compiler, *(f"-fno-{name}" for name in LEFT_OUT), *QUICKER])


def pytest_collection_modifyitems(items):
    """Sort by file; the order within a file stays."""
    place = {name: n for n, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(Path(item.path).stem, len(place)))
