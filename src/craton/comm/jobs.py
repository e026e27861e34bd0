"""Dask workers that a batch system starts: Slurm or PBS, through dask-jobqueue."""

import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from craton.comm.workers import (
    LOOPBACK,
    SETTINGS,
    SILENT,
    available,
    deaf,
    ignore_broken_pipes,
    private_folder,
    refilled,
    shot_worker,
    silent,
)
from craton.errors import ResourceError, refuse
from craton.text import listed, nearest

SYSTEMS = {"slurm": ("SLURMCluster", "sbatch"), "pbs": ("PBSCluster", "qsub")}
INSTALL = "pip install 'craton[survey]' (dask, distributed, cryptography and dask-jobqueue)"
LISTS = ("job-extra-directives", "job-script-prologue", "worker-extra-args")
NUMBERS = ("cores", "processes", "job-cpu", "death-timeout")
LARGEST = 1 << 20  # bytes of a file with options
# of a job: no modules of the working folder, and none of a folder that another user may have made
SAFE_JOB = (
    "export PYTHONSAFEPATH=1",
    'DASK_TEMPORARY_DIRECTORY="$(mktemp -d)" || exit 1',
    "export DASK_TEMPORARY_DIRECTORY",
    """trap 'rm -rf "$DASK_TEMPORARY_DIRECTORY"' EXIT""",
)


def options_of(system, file=None, words=()):
    """Return the options of the batch jobs: those of dask-jobqueue's own configuration, with those
    of a file and of the command line before them.

    Parameters
    ----------
    system : str
        ``"slurm"`` or ``"pbs"``.
    file : path-like, optional
        YAML as of dask-jobqueue: ``jobqueue: {slurm: {queue: gpu, memory: 60GB}}``.
    words : sequence of str
        ``KEY=VALUE`` each; lists grow by a repeated key.

    Returns
    -------
    dict
        Key as in the YAML -> value.

    Raises
    ------
    ScenarioError
        dask-jobqueue is missing, a file cannot be read, a key is unknown, cores or memory are not
        given.
    """
    if not available() or find_spec("dask_jobqueue") is None:
        refuse(f"--{system}", "dask-jobqueue is not installed", INSTALL)
    import dask
    import dask_jobqueue  # noqa: F401  (brings its defaults)

    known = {key.replace("_", "-"): value for key, value in dask.config.get(f"jobqueue.{system}").items()}
    more = in_file(system, file) if file is not None else {}
    for key, value in (*more.items(), *(pair(word) for word in words)):
        if key not in known:
            close = nearest(key, list(known))
            hint = f'; did you mean "{close}"?' if close else ""
            refuse("--job", f'{system} jobs have no option "{key}"{hint}', f"write one of {listed(sorted(known))}")
        known[key] = value_of(key, value, known[key], replace=key in more and value is more[key])
    for key, example in (("cores", "cores=16"), ("memory", "memory=60GB")):
        if known.get(key) is None:
            refuse("--job", f"{key} of a job are not given", f"add --job {example}")
    return known


def in_file(system, file):
    """Return the options of one batch system in a YAML file: dict."""
    import yaml

    remedy = f"write jobqueue: {{{system}: {{cores: 16, memory: 60GB}}}}"
    try:
        if Path(file).stat().st_size > LARGEST:
            refuse("--job-file", f"{file} is larger than {LARGEST >> 20} MiB", remedy)
        tree = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        refuse("--job-file", f"{file}: {error.strerror or error}", remedy)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        refuse("--job-file", f"{file} is not YAML: {reason}", remedy)
    for key in ("jobqueue", system):
        tree = tree.get(key) if isinstance(tree, dict) else None
    if not isinstance(tree, dict):
        refuse("--job-file", f"{file} has no options under jobqueue.{system}", remedy)
    return {str(key).replace("_", "-"): value for key, value in tree.items()}


def pair(word):
    """(key, value) of a word KEY=VALUE."""
    key, sign, value = word.partition("=")
    if not sign or not key.strip():
        refuse("--job", f'"{word}" is not KEY=VALUE', "write --job memory=60GB")
    return key.strip().replace("_", "-"), value.strip()


def value_of(key, value, before, replace):
    """Return the value of an option: a number, a list that grows, or text."""
    if key in LISTS:
        values = value if isinstance(value, list) else [value]
        return [*([] if replace else before or []), *map(str, values)]
    if key not in NUMBERS:
        return value
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1:
        refuse("--job", f"{key} = {value} is not a number above 0", f"write {key}=1")
    return number


def arguments_of(system, options, ranks, folder):
    """Return the arguments of dask-jobqueue's cluster: dict.

    A worker has one thread, as it runs one shot at a time; the cores of the job go to the kernels.

    Parameters
    ----------
    system : str
    options : dict
        Of `options_of`.
    ranks : int
        Of each shot.
    folder : pathlib.Path
        For logs and certificates, seen by all.
    """
    options = dict(options)
    cores, processes = options.pop("cores"), options.pop("processes") or 1
    threads = max(cores // (processes * ranks), 1)
    if system == "slurm":
        options["job-cpu"] = options.get("job-cpu") or cores
    elif options.get("resource-spec") is None:
        options["resource-spec"] = f"select=1:ncpus={cores}:mem={options['memory']}"
    options["job-script-prologue"] = [
        *SAFE_JOB,
        f"export OMP_NUM_THREADS={threads}",
        *(options["job-script-prologue"] or []),
    ]
    # what a shot needs is known before it runs: no worker is to be paused or started again for it
    options["worker-extra-args"] = [
        *(options["worker-extra-args"] or []),
        *("--memory-limit", "0", "--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0"),
    ]
    options["log-directory"] = options.get("log-directory") or str(folder)
    options["shared-temp-directory"] = options.get("shared-temp-directory") or str(folder)
    options["python"] = options.get("python") or sys.executable
    scheduler = {"dashboard": False, "dashboard_address": f"{LOOPBACK}:0"}
    options["scheduler-options"] = scheduler | (options.get("scheduler-options") or {})
    passed = {key.replace("-", "_"): value for key, value in options.items() if value is not None}
    passed["job_name"] = passed.pop("name").replace("dask-worker", "craton")
    return passed | {"cores": processes, "processes": processes}


async def submit_jobs(cluster, jobs):
    """Ask for so many jobs; the error of the batch system where it takes none, which `scale` alone
    would only log.
    """
    from distributed.core import Status

    cluster.scale(jobs=jobs)
    try:
        await cluster._correct_state()
    except (OSError, RuntimeError):
        for name, job in list(cluster.workers.items()):
            if job.job_id is None:  # never begun: there is nothing to cancel
                job.status = Status.failed
                del cluster.workers[name], cluster.worker_spec[name]
        raise


@contextmanager
def batch(system, jobs, options, out, ranks=1, gpus=True):
    """Open a Dask client whose workers are jobs of a batch system; connections take TLS with
    certificates made for this survey.

    Parameters
    ----------
    system : str
        ``"slurm"`` or ``"pbs"``.
    jobs : int
        That are asked for; lost ones are asked for again.
    options : dict
        Of `options_of`.
    out : path-like
        Folder of the survey, for the logs of the jobs.
    ranks : int
        Of each shot.
    gpus : bool
        Deal out the GPUs of a job among its workers.

    Raises
    ------
    ResourceError
        The batch system takes no job.
    """
    import dask
    import dask_jobqueue
    from distributed import Client

    ignore_broken_pipes()
    folder = (Path(out) / "jobs").absolute()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    kind, submit = SYSTEMS[system]
    with silent("asyncio"), silent("tornado.application"), private_folder(), dask.config.set(SETTINGS):
        arguments = arguments_of(system, options, ranks, folder)
        try:
            with deaf():
                cluster = getattr(dask_jobqueue, kind)(security=True, silence_logs=SILENT, **arguments)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise ResourceError(f"--{system}: {error}") from error
        with cluster, Client(cluster) as client:
            client.register_plugin(shot_worker(ranks if gpus else 0))
            try:
                cluster.sync(submit_jobs, cluster, jobs)
            except (OSError, RuntimeError) as error:
                reason = " ".join(str(error).split())
                raise ResourceError(f"{submit} takes no job: {reason}") from error
            with refilled(cluster):
                yield client
