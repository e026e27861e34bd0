"""Surveys on clusters: workers that die, schedulers that are unknown, batch jobs, ports that strangers cannot use, outcomes of shots."""

import ctypes
import json
import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import slurm
from smallcase import write

import craton
from craton.cli import main
from craton.errors import ScenarioError
from craton.output.store import read_run
from craton.shots.log import ShotLog, outcomes_in

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

AT = "at = [1500, 1500, -1000]"
LINE = 'name = "S"\nshots = {{ from = [1200, 1500, -1000], to = [1800, 1500, -1000], count = {} }}'
PLANTED = ("multiprocessing", "bisect", "random")
THREAD = ('device = "cpu"', 'device = "cpu"\nthreads = 1')
SHORT = ("duration = 1.0", "duration = 0.3")


def survey_file(folder, count, *changes, name="survey.toml"):
    """A small survey of so many shots."""
    return write(folder, (AT, LINE.format(count)), THREAD, *(changes or [SHORT]), name=name)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of its own with survey.toml, three shots in space."""
    monkeypatch.chdir(tmp_path)
    survey_file(tmp_path, 3)
    return tmp_path


@pytest.fixture
def counted(monkeypatch):
    """Names of the shots that this process runs."""
    from craton.shots import runs

    names, inner = [], runs.run_shot
    monkeypatch.setattr(runs, "run_shot", lambda task: (names.append(task.name), inner(task))[1])
    return names


def run_here(out="out", **options):
    """Run survey.toml in this process."""
    return craton.run_survey("survey.toml", out, workers=1, progress=False, **options)


# --- workers of this computer -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Two workers, begun in a folder with a module that hides one of the standard library."""
    from craton.comm.workers import local

    folder = tmp_path_factory.mktemp("planted")
    for name in PLANTED:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'ran')!r}, 'a')\nraise ImportError")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with local([{}, {}]) as opened:
            assert not (folder / "ran").exists()
            yield opened


def test_no_module_of_other_users_is_imported(client):
    """Neither of the working folder nor of Dask's, which by default any user may have made before."""
    paths = [sys.path, *client.run(lambda: sys.path).values()]
    writable = [p for places in paths for p in places if p and open_to_others(Path(p))]
    assert len(paths) == 3 and not writable, writable
    assert all(Path.cwd() != Path(p) for places in paths[1:] for p in places)


def open_to_others(path):
    """Whether another user may have put something there: owner, or mode of the path from its root, but for sticky folders."""
    for place in (path.resolve(), *path.resolve().parents):
        if place.exists():
            mode = place.stat()
            sticky = place != path.resolve() and mode.st_mode & stat.S_ISVTX
            if mode.st_uid not in (0, os.getuid()) or (mode.st_mode & stat.S_IWOTH and not sticky):
                return True
    return False


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks into /proc")
def test_a_worker_that_hangs_up_does_not_end_this_process():
    """Whatever library has let SIGPIPE do so, unknown to Python; Gmsh does."""
    from craton.comm.workers import ignore_broken_pipes

    def ignored():
        (line,) = re.findall(r"SigIgn:\s(\w+)", Path("/proc/self/status").read_text())
        return bool(int(line, 16) >> signal.SIGPIPE - 1 & 1)

    c = ctypes.CDLL(None)
    c.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    c.signal.restype = ctypes.c_void_p
    try:
        c.signal(signal.SIGPIPE, None)
        assert not ignored()
        ignore_broken_pipes()
        assert ignored()
    finally:
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def listening(pids):
    """(host, port) of the sockets that processes listen on."""
    import psutil

    return {
        tuple(connection.laddr)
        for pid in pids
        for connection in psutil.Process(pid).net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }


def test_ports_are_for_this_survey_alone(client):
    """Loopback only, and whoever has no certificate of this survey is not heard."""
    scheduler = client.scheduler.address.removeprefix("tls://").rsplit(":", 1)
    places = listening(client.run(os.getpid).values()) | {(scheduler[0], int(scheduler[1]))}
    assert len(places) >= 3 and {host for host, _ in places} == {"127.0.0.1"}
    stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
    answers = [answer(place, stranger) for place in places]
    assert not any(answers), answers


def answer(place, context):
    """What a port says to a process that trusts anything and shows nothing: bytes, empty where it hangs up."""
    for wrapped in (True, False):
        with socket.create_connection(place, 5) as plain:
            plain.settimeout(0.3)
            try:
                speaking = context.wrap_socket(plain) if wrapped else plain
                speaking.sendall(b"GET /info/main/workers.html HTTP/1.0\r\n\r\n")
                said = speaking.recv(4096)
            except OSError:
                continue
            if said and b"404" not in said and not said.startswith(b"\x15\x03"):  # TLS alert
                return said
    return b""


def test_killed_worker_costs_one_shot(client, folder):
    """Twenty shots, one worker killed: all are there, one began twice, and they are those of single runs."""
    from craton import shots

    path = survey_file(folder, 20)
    survey, outcomes = shots.prepare(craton.load(path)), []
    thread = threading.Thread(target=lambda: outcomes.append(shots.run(survey, "out", client=client, progress=False)))
    thread.start()
    while not list(Path("out/shots").glob("*.log")):
        time.sleep(0.005)
    pids = set(client.run(os.getpid).values())
    os.kill(next(iter(pids)), signal.SIGKILL)
    thread.join(120)
    shots_noted = read_run("out")["shots"]
    assert len(shots_noted) == 20 and not outcomes[0].failed
    again = [name for name, shot in shots_noted.items() if shot.get("attempts", 1) > 1]
    assert len(again) <= 1
    assert np.isfinite(outcomes[0].dataset.velocity).all() and not list(Path("out/shots").iterdir())


def test_workers_that_are_given_up_come_back(client):
    """One that fails to start is gone for Dask: without all of them a survey would wait for ever."""
    cluster = client.cluster
    for name in list(cluster.workers):
        cluster.sync(cluster.workers[name].close)
    client.wait_for_workers(2, timeout=60)
    assert sorted(client.map(abs, [-1, -2], pure=False)[n].result() for n in (0, 1)) == [1, 2]


def fatal(task):
    """End the process that runs it, where the task says so."""
    if task == "bad":
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def test_task_that_kills_its_workers_is_set_aside(client):
    """Tried three times; tasks that wait beside it are not blamed."""
    from craton.comm.workers import LostWorker, outcomes

    tasks = {name: name for name in ("bad", *"abcdefgh")}
    ended = dict(outcomes(client, fatal, tasks))
    assert isinstance(ended.pop("bad"), LostWorker) and ended == {n: n for n in "abcdefgh"}


def test_result_that_is_lost_with_its_worker(client):
    """A worker dies after its task, before anybody has asked for the result: no scheduler is lost, the task is run again."""
    from craton.comm.workers import outcomes

    ended = outcomes(client, abs, {n: -n for n in range(6)})
    first = next(ended)
    while client.processing() and any(client.processing().values()):
        time.sleep(0.01)
    for pid in client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.3)
    assert sorted([first, *ended]) == [(-n, n) for n in range(5, -1, -1)]


def test_shot_that_has_finished_is_not_run_again(folder, monkeypatch):
    from craton.shots import task as tasks
    from craton.versions import versions

    ends = iter(({"state": "finished", "device": "here"}, {"state": "failed", "reason": "", "code": 1}))
    monkeypatch.setattr(tasks.Task, "perform", lambda task, log: next(ends))
    Path("out/shots").mkdir(parents=True)
    shot = tasks.Task("S.1", 0, "", "out/result.zarr", versions(*tasks.COMPARED), "this start")
    first = tasks.run_shot(shot)
    assert tasks.run_shot(shot) == first and first["device"] == "here"
    assert tasks.run_shot(replace(shot, start="the next"))["state"] == "failed"


def test_shot_that_lost_three_workers_is_not_tried_again(folder, monkeypatch, capsys):
    """Also where another program's scheduler would go on; the next start tries it anew."""
    from craton.shots import runs

    real, first = runs.tasks_of, []

    def lost_before(store, survey, ranks):
        tasks = real(store, survey, ranks)
        log = ShotLog("out", 1, "S.2")
        for _ in range(0 if first else 3):
            log.begin(tasks["S.2"].start)
        first.append(log.path)
        return tasks

    monkeypatch.setattr(runs, "tasks_of", lost_before)
    assert main(["survey", "survey.toml", "-o", "out", "--workers", "1", "-q"]) == 3
    err = capsys.readouterr().err
    assert "S.2: set aside: its worker was lost each of the 3 times" in err
    assert f"see {first[0].absolute()}" in err and first[0].read_text().count(" attempt ") == 4
    assert main(["survey", "status", "out"]) == 0
    text = capsys.readouterr().out
    assert "3: 2 finished, 1 failed, 0 to run" in text and "S.2: set aside" in text
    assert run_here().ran == 1 and not first[0].exists()


# --- what workers leave when the survey is gone -----------------------------------------------------------------------------------------


def test_outcomes_of_workers_are_taken_over(folder, counted):
    """The command was killed before it noted anything: shots that ended are not run again, unless their waveforms are not there."""
    whole = run_here().dataset.load()
    state = read_run("out")
    noted, state["shots"], state["state"] = state["shots"], {}, "running"
    Path("out/run.json").write_text(json.dumps(state | {"pid": 2**22 + 1}))
    for number, (name, outcome) in enumerate(noted.items()):
        ShotLog("out", number, name).end(outcome)
    lines = (len(noted), "3: 3 finished")
    assert len(outcomes_in("out")) == lines[0]
    Path("out/shots/00001-S.2.json").write_text('{"name": "S.2", "state": ["finished"]}')
    next(Path("out/result.zarr/velocity").glob("2.*")).unlink()
    del counted[:]
    outcome = run_here()
    assert counted == ["S.2", "S.3"] and outcome.ran == 2
    np.testing.assert_array_equal(outcome.dataset.velocity.values, whole.velocity.values)


@pytest.mark.parametrize("file", [".zgroup", "velocity/.zarray"])
def test_damaged_store_is_refused(file, folder, capsys):
    run_here()
    Path("out/result.zarr", file).write_text("{")
    assert main(["survey", "survey.toml", "-o", "out", "--workers", "1"]) == 2
    err = capsys.readouterr().err
    assert "result.zarr is damaged" in err and "--force" in err


@pytest.mark.parametrize("shots", [[], {"S.1": 5}, {"S.1": {"state": []}}, {"x": {"state": "finished"}}])
def test_damaged_list_of_shots_is_run_again(shots, folder, counted):
    run_here()
    Path("out/run.json").write_text(json.dumps(read_run("out") | {"shots": shots}))
    assert run_here().ran == 3 and set(read_run("out")["shots"]) == {"S.1", "S.2", "S.3"}


def test_status_of_nothing(folder, capsys):
    assert main(["survey", "status", "out"]) == 2
    assert "there is no survey in out" in capsys.readouterr().err


def test_status_while_running(folder, capsys):
    run_here()
    state = read_run("out")
    del state["shots"]["S.3"]
    Path("out/run.json").write_text(json.dumps(state | {"state": "running"}))
    ShotLog("out", 2, "S.3").begin(state["start"])
    assert main(["survey", "status", "out"]) == 0
    text = capsys.readouterr().out
    assert "3: 2 finished, 0 failed, 1 to run" in text and "shots an hour" in text
    assert f"00002-S.3 on {socket.gethostname()}:{os.getpid()}" in text


def test_snapshots_of_each_shot(folder):
    """In a run folder for each shot; waveforms are those without."""
    import xarray as xr

    apart = run_here("kept", snapshots=True).dataset
    np.testing.assert_array_equal(apart.velocity.values, run_here().dataset.velocity.values)
    section = xr.open_zarr("kept/shots/00001-S.2/result.zarr", group="snapshots/section")
    assert float(abs(section.velocity).max()) > 0
    with pytest.raises(ScenarioError, match="holds a survey of another scenario"):
        run_here("kept")


def test_two_ranks_for_a_shot(folder, monkeypatch, capsys):
    from craton.backends import cpu

    one = run_here().dataset.velocity.values
    np.testing.assert_array_equal(run_here("two", ranks=2).dataset.velocity.values, one)
    monkeypatch.setattr("craton.comm.placement.cores", lambda: 2)
    assert cpu.cores() >= 1
    assert main(["survey", "survey.toml", "-o", "many", "--ranks", "3"]) == 2
    assert "there are 2 cores here" in capsys.readouterr().err and not Path("many").exists()


# --- schedulers that are not there ------------------------------------------------------------------------------------------------------


@pytest.fixture
def closed_port():
    """A port that nobody listens on, nor can while the test runs: it is taken."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:{port}", "tls://127.0.0.1:{port}", "127.0.0.1:{port}", "odd://x", "absent.json", "garbage.json",
     "list.json"],
)  # fmt: skip
def test_unknown_scheduler_is_told_at_once(address, closed_port, folder, capsys):
    Path("garbage.json").write_text("{")
    Path("list.json").write_text('{"address": 5}')
    began = time.monotonic()
    words = ["--scheduler", address.format(port=closed_port)]
    assert main(["survey", "survey.toml", "-o", "out", *words]) == 3
    err = capsys.readouterr().err
    assert time.monotonic() - began < 3 and "scheduler" in err and "Traceback" not in err
    assert not Path("out").exists()


# --- batch systems ----------------------------------------------------------------------------------------------------------------------

jobqueue = pytest.mark.skipif(
    not __import__("importlib.util").util.find_spec("dask_jobqueue"), reason="needs dask-jobqueue"
)
WRONG = {
    "unknown option": (["--job", "memmory=1GB"], 'did you mean "memory"'),
    "no cores": (["--job", "memory=1GB"], "cores of a job are not given"),
    "no number": (["--job", "cores=many"], "cores = many is not a number"),
    "no pair": (["--job", "cores"], "is not KEY=VALUE"),
    "no file": (["--job-file", "absent.yaml"], "absent.yaml: No such file"),
    "no YAML": (["--job-file", "bad.yaml"], "is not YAML"),
    "another section": (["--job-file", "pbs.yaml"], "has no options under jobqueue.slurm"),
    "two places": (["--workers", "2"], "--workers and --slurm both say where shots run"),
}


@jobqueue
@pytest.mark.parametrize("name", WRONG)
def test_wrong_jobs_are_refused(name, folder, capsys):
    Path("bad.yaml").write_text("jobqueue: [")
    Path("pbs.yaml").write_text("jobqueue: {pbs: {cores: 4}}")
    words, message = WRONG[name]
    assert main(["survey", "survey.toml", "-o", "out", "--slurm", *words]) == 2
    assert message in capsys.readouterr().err and not Path("out").exists()


def test_options_of_jobs_need_a_batch_system(folder, capsys):
    assert main(["survey", "survey.toml", "-o", "out", "--jobs", "4"]) == 2
    assert "add --slurm or --pbs" in capsys.readouterr().err


@jobqueue
@pytest.mark.parametrize("system", ["slurm", "pbs"])
def test_job_script(system, folder):
    """Cores go to the kernels, a worker has one thread; what the user says comes last."""
    import dask_jobqueue

    from craton.comm import jobs

    file = {"jobqueue": {system: {"queue": "gpu", "cores": 4, "job_extra_directives": ["-x"]}}}
    Path("jobs.yaml").write_text(json.dumps(file))
    words = ["cores=16", "memory=60GB", "processes=2", "job-extra-directives=--gres=gpu:1"]
    options = jobs.options_of(system, "jobs.yaml", words)
    arguments = jobs.arguments_of(system, options, 2, folder)
    arguments.pop("scheduler_options"), arguments.pop("shared_temp_directory")
    kind = getattr(dask_jobqueue, system).__dict__[f"{system.upper()}Job"]
    script = kind("tls://192.0.2.1:8786", name="n", **arguments).job_script()
    for line in (
        "export OMP_NUM_THREADS=4",
        "export PYTHONSAFEPATH=1",
        'DASK_TEMPORARY_DIRECTORY="$(mktemp -d)"',
        " -x\n",
        " --gres=gpu:1\n",
        "--nthreads 1",
        "--nworkers 2",
        "gpu",
    ):
        assert line in script, (line, script)
    cores = {"slurm": "--cpus-per-task=16", "pbs": "ncpus=16:mem=60GB"}[system]
    assert cores in script and "craton" in script


def test_gpus_of_a_job_are_dealt_out(monkeypatch):
    from craton.comm import placement
    from craton.comm.shotworker import gpus_of, place_in_job

    assert [place_in_job(name) for name in ("craton-3-1", "craton-3", 7, "tcp://a:1")] == [1, 0, 0, 0]
    visible = ["0", "1", "2", "3"]
    assert [gpus_of(visible, n, 2) for n in range(3)] == [["0", "1"], ["2", "3"], ["0", "1"]]
    assert gpus_of(["5"], 3, 1) == [] and gpus_of(visible, 1, 0) == []
    monkeypatch.setattr(placement, "devices", lambda: 4)
    monkeypatch.setattr(placement, "cores", lambda: 16)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5,6,7")
    dealt = placement.environments("auto", 2, 2)
    assert [env["CUDA_VISIBLE_DEVICES"] for env in dealt] == ["3,5", "6,7"]
    assert dealt[0]["OMP_NUM_THREADS"] == "4" and placement.crew("auto", 10, 1, 2) == 2


@jobqueue
@pytest.mark.long
@pytest.mark.skipif(bool(slurm.missing()), reason=slurm.missing())
def test_survey_in_slurm_jobs(folder):
    """Two jobs on a real Slurm, one of which is killed: no shot is lost, all are those of this process; a job that cannot be is told."""
    survey_file(folder, 6, ("duration = 1.0", "duration = 3"))
    words = [sys.executable, "-m", "craton", "survey", "survey.toml", "-q", "--slurm"]
    words += ["--job", "cores=1", "--job", "walltime=00:10:00"]
    (folder / "slurm").mkdir()
    with slurm.slurm(folder / "slurm"):
        refused = subprocess.run(
            [*words, "--job", "memory=900GB", "-o", "large"], capture_output=True, text=True, timeout=60
        )
        assert refused.returncode == 3 and "sbatch takes no job" in refused.stderr, refused.stderr
        running = subprocess.Popen([*words, "--job", "memory=1GB", "--jobs", "2", "-o", "out"])
        end = time.monotonic() + 60
        while len(list(Path("out/shots").glob("*.log"))) < 2 and time.monotonic() < end:
            time.sleep(0.02)
        numbers = subprocess.run(["squeue", "-h", "-o", "%i"], capture_output=True, text=True)
        subprocess.run(["scancel", "--signal=KILL", "--full", numbers.stdout.split()[0]], check=True)
        assert running.wait(120) == 0
    state = read_run("out")
    assert state["state"] == "finished" and len(state["shots"]) == 6
    import xarray as xr

    velocity = xr.open_zarr("out/result.zarr").velocity.values
    np.testing.assert_array_equal(velocity, run_here("here").dataset.velocity.values)
