"""Host compilation: the C++ compiler that is there, flags, a cache by digest that racing ranks can
share.
"""

import ctypes
import hashlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from craton.errors import ResourceError

# No -ffast-math: it drops nan checks, reorders sums (a point's value then depends on the box it
# falls in) and, with gcc, switches the whole process to flushing denormals.
FLAGS = (
    "-std=c++17",
    "-O3",
    "-march=native",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fPIC",
    "-shared",
    "-x",
    "c++",
)


def cache_folder():
    """Where compiled kernels are kept: $CRATON_CACHE or the user's cache folder."""
    base = (
        os.environ.get("CRATON_CACHE")
        or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "craton"
    )
    return Path(base)


@cache
def compiler():
    """Command of the host's C++ compiler: $CXX, c++, g++, clang++, else the ziglang wheel.

    Raises
    ------
    ResourceError
        If there is none.
    """
    for words in (shlex.split(os.environ.get("CXX", "")), ["c++"], ["g++"], ["clang++"]):
        if words and shutil.which(words[0]):
            command = (shutil.which(words[0]), *words[1:])
            return (*command, "-fopenmp" if _works((*command, "-fopenmp")) else "-fopenmp-simd")
    if importlib.util.find_spec("ziglang"):
        return (sys.executable, "-m", "ziglang", "c++", "-fopenmp-simd")
    raise ResourceError(
        "no C++ compiler found: craton compiles its kernels for this machine at the first run.\n"
        "    install one (apt-get install g++, or Xcode's command line tools), set CXX, or `pip install craton[compiler]` (ziglang)"
    )


def has_openmp():
    """Return True where the compiler links OpenMP threads."""
    return "-fopenmp" in compiler()


def _works(command):
    probe = "#include <omp.h>\nint probe() { return omp_get_max_threads(); }\n"
    with tempfile.TemporaryDirectory() as folder:
        words = [*command, "-shared", "-fPIC", "-x", "c++", "-", "-o", f"{folder}/probe.so"]
        done = subprocess.run(words, input=probe, text=True, capture_output=True)
    return done.returncode == 0


@cache
def machine():
    """Return what -march=native depends on, for the cache's key."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().split("\n\n")[0].splitlines() if info.exists() else []
    return platform.machine() + "".join(
        line for line in lines if line.startswith(("model name", "flags", "Features"))
    )


def with_entries(source):
    """Return the text with a uniform entry ``call_NAME(arrays, box, params)`` for every kernel in
    it.
    """
    entries = []
    for name, arguments in re.findall(
        r"^KERNEL\s+(\w+)\s*\((.*?)\)\s*\{", source, flags=re.S | re.M
    ):
        *arrays, _, params = [a.strip() for a in arguments.split(",")]
        types = [a.split("*")[0].replace("const", "").strip() for a in arrays]
        values = "".join(f"({kind}*)a[{n}], " for n, kind in enumerate(types))
        params_type = params.replace("const", "").split()[0]
        body = f"{name}({values}*box, *(const {params_type}*)p);"
        entries.append(
            f'extern "C" void call_{name}(void** a, const Box* box, const void* p) {{ {body} }}'
        )
    return source + "\n".join(entries) + "\n"


def library(source):
    """Compile a text, or find it in the cache, and load it."""
    # Threads that wait should not spin for milliseconds where others want the core; read when
    # OpenMP is loaded.
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    command = [*compiler(), *FLAGS]
    digest = hashlib.sha256("\0".join([*command, machine(), source]).encode()).hexdigest()[:24]
    path = cache_folder() / f"{digest}.so"
    if not path.exists():
        with _alone(path):
            if not path.exists():
                _compile(command, source, path)
    return ctypes.CDLL(str(path))


def libraries(sources):
    """Compile several texts side by side; {text: library}."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(sources, pool.map(library, sources)))


@contextmanager
def _alone(path):
    """Ranks that want one library at once: the first compiles, the others wait.

    Where files cannot be locked, all compile.
    """
    try:
        import fcntl

        path.parent.mkdir(parents=True, exist_ok=True)
        lock = open(path.with_suffix(".lock"), "w")  # noqa: SIM115 (closed below)
        fcntl.flock(lock, fcntl.LOCK_EX)
    # no such system call; a file system without locks; a folder that _compile will say cannot be
    # written
    except (ImportError, OSError):
        yield
        return
    try:
        yield
    finally:
        path.with_suffix(".lock").unlink(missing_ok=True)
        lock.close()


def _compile(command, source, path):
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    except OSError as e:
        remedy = "set CRATON_CACHE to a folder that can be written"
        raise ResourceError(
            f"cannot write compiled kernels to {path.parent}: {e.strerror}\n    {remedy}"
        ) from e
    os.close(handle)
    done = subprocess.run([*command, "-", "-o", name], input=source, text=True, capture_output=True)
    if done.returncode:
        os.unlink(name)
        raise ResourceError(
            f"the C++ compiler failed on a kernel: {' '.join(command)}\n{done.stderr}"
        )
    os.replace(name, path)  # ranks that compile at once never see half a file
