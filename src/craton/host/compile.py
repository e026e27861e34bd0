"""Host compilation: the C++ compiler that is there, flags, libraries by the digest of their text and flags; helpers of set-up,
whose functions take arrays of NumPy.
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
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from craton.errors import ResourceError
from craton.host import kernel_cache

# No -ffast-math: it drops nan checks, reorders sums (a point's value then depends on the box it
# falls in) and, with gcc, switches the whole process to flushing denormals.
_FLAGS = "-std=c++17 -O3 -march=native -fno-math-errno -fno-trapping-math -ffp-contract=fast -fPIC -shared -x c++"
FLAGS = tuple(_FLAGS.split())
RUNNER = Path(__file__).parent / "runner.cpp"  # of the CPU machine
COMPILER_PATIENCE = 600  # s: a kernel takes seconds, tens of them on a busy machine
LOADED: dict[tuple, ctypes.CDLL] = {}  # libraries of this process by folder and digest
TEXTS = 512  # kernels' texts of which what follows from them is remembered


@cache
def compiler():
    """Command of the host's C++ compiler: $CXX, c++, g++, clang++, else the ziglang wheel.

    Raises
    ------
    ResourceError
        If there is none, or $CXX is no command.
    """
    for words in (chosen_compiler(), ["c++"], ["g++"], ["clang++"]):
        if words and shutil.which(words[0]):
            command = (shutil.which(words[0]), *words[1:])
            with_openmp = (*command, "-fopenmp")
            works = _has_compiled(with_openmp) or _works(with_openmp)
            return with_openmp if works else (*command, "-fopenmp-simd")
    if importlib.util.find_spec("ziglang"):
        return (sys.executable, "-m", "ziglang", "c++", "-fopenmp-simd")
    raise ResourceError(
        "no C++ compiler found: craton compiles its kernels for this machine at the first run.\n"
        "    install one (apt-get install g++, or Xcode's command line tools), set CXX, or `pip install craton[compiler]` (ziglang)"
    )


def chosen_compiler():
    """Return the words of $CXX; none where it is not set.

    Raises
    ------
    ResourceError
        It is no command: an unbalanced quote, words for a shell, a program that is not there.
    """
    text, remedy = os.environ.get("CXX", ""), "set CXX to a C++ compiler and its options, or unset it"
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ResourceError(f"CXX = {text} cannot be read: {error}\n    {remedy}") from error
    if words and shutil.which(words[0]) is None:
        shell = " (no shell reads it)" if any(c in text for c in "|&;<>$`(){}") else ""
        raise ResourceError(f'CXX = {text}: there is no program "{words[0]}"{shell}\n    {remedy}')
    return words


def has_openmp():
    """Return True where the compiler links OpenMP threads."""
    return "-fopenmp" in compiler()


def _has_compiled(command):
    """Return True where the cache has the runner as a command compiled it: the command need not be
    tried again, which takes a twentieth of a second in every process.
    """
    if not kernel_cache.folder().is_dir():
        return False
    try:
        digest = digest_of(RUNNER.read_text(), (*command, *FLAGS))
        return kernel_cache.find(kernel_cache.checked_folder(), digest) is not None
    except (OSError, ResourceError):  # who compiles next says what is wrong with the folder
        return False


def _works(command):
    """Return True where a command compiles and links a probe of OpenMP."""
    probe = "#include <omp.h>\nint probe() { return omp_get_max_threads(); }\n"
    with tempfile.TemporaryDirectory() as folder:
        words = [*command, "-shared", "-fPIC", "-x", "c++", "-", "-o", f"{folder}/probe.so"]
        try:
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            done = subprocess.run(words, input=probe, text=True, timeout=COMPILER_PATIENCE, **quiet)
        except (OSError, subprocess.TimeoutExpired):
            return False
    return done.returncode == 0


@cache
def machine():
    """Return what -march=native depends on, for the cache's key."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().split("\n\n")[0].splitlines() if info.exists() else []
    return platform.machine() + "".join(line for line in lines if line.startswith(("model name", "flags", "Features")))


@lru_cache(TEXTS)
def with_entries(source):
    """Return the text with a uniform entry ``call_NAME(arrays, box, params)`` for every kernel in it."""
    entries = []
    for name, arguments in re.findall(r"^KERNEL\s+(\w+)\s*\((.*?)\)\s*\{", source, flags=re.S | re.M):
        *arrays, _, params = [a.strip() for a in arguments.split(",")]
        types = [a.split("*")[0].replace("const", "").strip() for a in arrays]
        values = "".join(f"({kind}*)a[{n}], " for n, kind in enumerate(types))
        params_type = params.replace("const", "").split()[0]
        body = f"{name}({values}*box, *(const {params_type}*)p);"
        entries.append(f'extern "C" void call_{name}(void** a, const Box* box, const void* p) {{ {body} }}')
    return source + "\n".join(entries) + "\n"


def library(source, flags=FLAGS):
    """Compile a text, or find it in the cache, and load it.

    Parameters
    ----------
    source : str
        C++.
    flags : tuple of str
        Of the compiler.

    Raises
    ------
    ResourceError
        The cache is not safe, the compiler fails, or what it wrote cannot be loaded.
    """
    # Threads that wait should not spin where others want the core: three runs side by side with a
    # thread a core took 25 times as long with 20,000 turns as with 1,000, which cost a run that is
    # alone nothing (bench/NOTES.md). Read when OpenMP is loaded.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    command, place = (*compiler(), *flags), kernel_cache.checked_folder()
    digest = digest_of(source, command)
    if (place, digest) not in LOADED:
        LOADED[place, digest] = _load(command, source, place, digest)
    return LOADED[place, digest]


@lru_cache(TEXTS)
def digest_of(source, command):
    """Return the name under which the cache has a text, compiled by a command on this machine: str."""
    text = "\0".join([*command, machine(), source])
    return hashlib.sha256(text.encode()).hexdigest()[: kernel_cache.DIGITS]


def _load(command, source, place, digest):
    """Return the library of a digest, compiled where the cache has no whole one."""
    for _ in range(3):  # another process may remove an entry before it is loaded
        path = kernel_cache.find(place, digest)
        if path is None:
            with kernel_cache.alone(place, digest):
                if kernel_cache.find(place, digest) is None:
                    _compile(command, source, place, digest)
            continue
        try:
            return ctypes.CDLL(str(path))
        except OSError as error:
            if path.exists():
                raise ResourceError(
                    f"a compiled kernel cannot be loaded: {error}\n    compiled by "
                    f"{' '.join(command)}\n    {kernel_cache.REMEDY}"
                ) from error
    raise ResourceError(f"compiled kernels do not stay in {place}\n    {kernel_cache.REMEDY}")


def libraries(sources):
    """Compile several texts side by side; {text: library}.

    As `library`, which raises the errors.
    """
    command, place = (*compiler(), *FLAGS), kernel_cache.checked_folder()
    loaded = {source: LOADED.get((place, digest_of(source, command))) for source in sources}
    if all(loaded.values()):
        return loaded
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(sources, pool.map(library, sources)))


def _compile(command, source, place, digest):
    """Compile a text into the cache."""
    temporary, words = kernel_cache.temporary_file(place), " ".join(command)
    try:
        done = subprocess.run(
            [*command, "-", "-o", temporary],
            input=source,
            text=True,
            errors="replace",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=COMPILER_PATIENCE,
        )
        if done.returncode:
            raise ResourceError(f"the C++ compiler failed on a kernel: {words}\n{done.stderr}")
        if not os.path.getsize(temporary):
            remedy = "set CXX to a C++ compiler, or unset it"
            raise ResourceError(f"the C++ compiler said nothing and wrote nothing: {words}\n    {remedy}")
        # under its final name at once: ranks that compile together never see half a file
        kernel_cache.keep(place, digest, temporary)
    except subprocess.TimeoutExpired as error:
        raise ResourceError(f"the C++ compiler did not end within {COMPILER_PATIENCE} s: {words}") from error
    except OSError as error:
        reason = f"could not compile a kernel into {place}: {error.strerror or error}"
        raise ResourceError(f"{reason}\n    {kernel_cache.REMEDY}") from error
    finally:
        Path(temporary).unlink(missing_ok=True)


# --- helpers of set-up: C++ texts that modules call from NumPy ---------------------------------------

# sums and products are rounded one by one, as NumPy rounds them: the compiler must not contract them
ROUNDING_FLAGS = tuple("-ffp-contract=off" if flag == "-ffp-contract=fast" else flag for flag in FLAGS)


class Helper:
    """The functions of a compiled text, which take addresses, 64-bit integers and doubles, and return nothing or an integer.

    Each takes a batch of elements or points on one thread; threads take batches side by side, as they do with NumPy.
    """

    def __init__(self, library: ctypes.CDLL):
        self.library = library

    def call(self, name, *arguments):
        """Call a function with contiguous arrays, integers and floats; what it returns, if anything, is an integer."""
        function = getattr(self.library, name)
        function.restype = ctypes.c_longlong
        return function(*map(argument, arguments))


def argument(value):
    """Return an array, a number or None as a function of a `Helper` takes it."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise ValueError(f"an array {value.shape} for a compiled helper is not contiguous")
        return ctypes.c_void_p(value.__array_interface__["data"][0])
    if value is None:
        return ctypes.c_void_p()
    return (ctypes.c_double if isinstance(value, float) else ctypes.c_longlong)(value)


@cache
def helper(path):
    """Return the `Helper` of a C++ text, a Path."""
    return Helper(library(path.read_text(), ROUNDING_FLAGS))
