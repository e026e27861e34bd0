"""Surveys on clusters: workers that die, schedulers that are unknown, batch jobs, ports that strangers cannot use, outcomes of shots."""

import contextlib
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
from importlib.util import find_spec
from pathlib import Path

import dask
import numpy as np
import pytest
import slurm
from common import linux, refused, stored
from smallcase import write

import craton
from craton import shots as surveys
from craton.errors import ScenarioError
from craton.output.store import read_run
from craton.shots import runs
from craton.shots import task as tasks
from craton.shots.task import ShotLog, outcomes_in
from craton.versions import versions

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

SHOTS = 'name = "S"\nshots = {{ from = [1200, 1500, -1000], to = [1800, 1500, -1000], count = {} }}'
PLANTED = ("multiprocessing", "bisect", "random")


def survey_file(folder, count, duration=0.3):
    """A small survey of so many shots."""
    changes = ("at = [1500, 1500, -1000]", SHOTS.format(count)), ("duration = 1.0", f"duration = {duration}")
    return write(folder, *changes, ('device = "cpu"', 'device = "cpu"\nthreads = 1'), name="survey.toml")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of its own with survey.toml, three shots in space."""
    monkeypatch.chdir(tmp_path)
    survey_file(tmp_path, 3)
    return tmp_path


@pytest.fixture
def survey(folder, cli):
    """Run `craton survey ...`, which must end with a code; what it printed, both streams together."""
    return lambda code, words: "".join(cli(f"survey {words}", code=code))


def run_here(out="out", **options):
    """Run survey.toml in this process."""
    return craton.run_survey("survey.toml", out, workers=1, progress=False, **options)


def noted(**changes):
    """Change what run.json of out says; what it said before."""
    state = read_run("out")
    Path("out/run.json").write_text(json.dumps(state | changes))
    return state


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


def open_to_others(path):
    """Whether another user may have put something there: owner, or mode of the path from its root, but for sticky folders."""
    for place in (path.resolve(), *path.resolve().parents):
        if place.exists():
            mode = place.stat()
            sticky = place != path.resolve() and mode.st_mode & stat.S_ISVTX
            if mode.st_uid not in (0, os.getuid()) or (mode.st_mode & stat.S_IWOTH and not sticky):
                return True
    return False


def answer(place, context):
    """What a port says to a process that trusts anything and shows nothing; b"" where it hangs up."""
    for speak in (context.wrap_socket, lambda plain: plain):
        with socket.create_connection(place, 5) as plain, contextlib.suppress(OSError):
            plain.settimeout(0.3)
            connection = speak(plain)
            connection.sendall(b"GET /info/main/workers.html HTTP/1.0\r\n\r\n")
            reply = connection.recv(4096)
            if reply and b"404" not in reply and not reply.startswith(b"\x15\x03"):  # TLS alert
                return reply
    return b""


@pytest.mark.long
def test_workers_are_for_this_survey_alone(client):
    """No module of other users is imported, neither of the working folder nor of Dask's, which by default any user may have made before.

    Ports are on loopback only, and whoever has no certificate of this survey is not heard.
    """
    psutil = pytest.importorskip("psutil")
    paths = client.run(lambda: [Path(p) for p in sys.path]).values()
    writable = [p for places in (map(Path, filter(None, sys.path)), *paths) for p in places if open_to_others(p)]
    assert len(paths) == 2 and not writable, writable
    assert all(Path.cwd() not in places for places in paths)
    connections = [psutil.Process(pid).net_connections("tcp") for pid in client.run(os.getpid).values()]
    places = {tuple(c.laddr) for some in connections for c in some if c.status == psutil.CONN_LISTEN}
    host, port = client.scheduler.address.removeprefix("tls://").rsplit(":", 1)
    places.add((host, int(port)))
    assert len(places) >= 3 and {host for host, _ in places} == {"127.0.0.1"}
    stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
    assert [answer(place, stranger) for place in places] == [b""] * len(places)


@linux
def test_a_worker_that_hangs_up_does_not_end_this_process():
    """Whatever library has let SIGPIPE do so, unknown to Python; Gmsh does."""
    from craton.comm.workers import ignore_broken_pipes

    def ignored():
        (line,) = re.findall(r"SigIgn:\s(\w+)", Path("/proc/self/status").read_text())
        return bool(int(line, 16) >> signal.SIGPIPE - 1 & 1)

    c = ctypes.CDLL(None)
    c.signal.argtypes, c.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    try:
        c.signal(signal.SIGPIPE, None)
        assert not ignored()
        ignore_broken_pipes()
        assert ignored()
    finally:
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


@pytest.mark.long
def test_killed_worker_costs_one_shot(client, folder):
    """Twenty shots, one worker killed: all are there, one began twice, and they are those of single runs."""
    survey, ended = surveys.prepare(craton.load(survey_file(folder, 20))), []
    work = threading.Thread(target=lambda: ended.append(surveys.run(survey, "out", client=client, progress=False)))
    work.start()
    while not list(Path("out/shots").glob("*.log")):
        time.sleep(0.005)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    work.join(120)
    shots = read_run("out")["shots"]
    again, velocity = [name for name, shot in shots.items() if shot.get("attempts", 1) > 1], ended[0].dataset.velocity
    assert len(shots) == 20 and not ended[0].failed and len(again) <= 1
    assert np.isfinite(velocity).all() and not list(Path("out/shots").iterdir())
    for shot in (shot for shot in survey.shots if shot.name in (again or ["S.1"])):
        single = craton.run(shot.scenario, progress=False).dataset.velocity
        np.testing.assert_array_equal(velocity.sel(shot=shot.name).values, single.values)


@pytest.mark.long
def test_workers_that_are_given_up_come_back(client):
    """One that fails to start is gone for Dask: without all of them a survey would wait for ever."""
    client.cluster.sync(next(iter(client.cluster.workers.values())).close)
    client.wait_for_workers(2, timeout=60)
    assert sorted(client.map(abs, [-1, -2], pure=False)[n].result() for n in (0, 1)) == [1, 2]


def fatal(task):
    """End the process that runs it, where the task says so."""
    if task == "bad":
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGKILL)
    return task


@pytest.mark.long
def test_tasks_that_kill_their_workers_or_lose_results(client):
    """Tried three times and set aside, while tasks beside it are not blamed; a worker that dies after its task, before anybody has
    asked for the result, loses no scheduler: the task is run again.
    """
    from craton.comm.workers import LostWorker, outcomes

    ended = dict(outcomes(client, fatal, {name: name for name in ("bad", *"abcdefgh")}))
    assert isinstance(ended.pop("bad"), LostWorker) and ended == {n: n for n in "abcdefgh"}
    ended = outcomes(client, abs, {n: -n for n in range(6)})
    first = next(ended)
    while client.processing() and any(client.processing().values()):
        time.sleep(0.01)
    for pid in client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.3)
    assert sorted([first, *ended]) == [(-n, n) for n in range(5, -1, -1)]


def test_shot_that_has_finished_is_not_run_again(folder):
    ends = iter(({"state": "finished", "device": "here"}, {"state": "failed", "reason": "", "code": 1}))
    Path("out/shots").mkdir(parents=True)
    here, work = versions(*tasks.COMPARED), lambda task, log: next(ends)
    shot = tasks.Task("S.1", 0, "", "out/result.zarr", here, "this start", 1, work)
    first = tasks.run_shot(shot)
    assert tasks.run_shot(shot) == first and first["device"] == "here"
    assert tasks.run_shot(replace(shot, start="the next"))["state"] == "failed"


@pytest.mark.costly("the only run on workers of a cluster")
def test_shot_that_lost_three_workers_is_set_aside_and_status_tells(survey, monkeypatch):
    """Also where another program's scheduler would go on; the next start tries it anew."""
    assert "there is no survey in out" in survey(2, "status out")
    tasks_of, log = runs.tasks_of, ShotLog("out", 1, "S.2")

    def lost_before(store, survey, ranks):
        by_name = tasks_of(store, survey, ranks)
        for _ in range(3):
            log.begin(by_name["S.2"].start)
        return by_name

    with monkeypatch.context() as patch:
        patch.setattr(runs, "tasks_of", lost_before)
        message = survey(3, "survey.toml -o out --workers 1 -q")
    assert "S.2: set aside: its worker was lost each of the 3 times" in message
    assert f"see {log.path.absolute()}" in message and log.path.read_text().count(" attempt ") == 4
    status = survey(0, "status out")
    assert "3: 2 finished, 1 failed, 0 to run" in status and "S.2: set aside" in status
    assert run_here().ran == 1 and not log.path.exists()
    state = read_run("out")
    del state["shots"]["S.3"]
    noted(shots=state["shots"], state="running")
    ShotLog("out", 2, "S.3").begin(state["start"])
    status = survey(0, "status out")
    assert "3: 2 finished, 0 failed, 1 to run" in status and "shots an hour" in status
    assert f"00002-S.3 on {socket.gethostname()}:{os.getpid()}" in status


# --- what workers leave when the survey is gone -----------------------------------------------------------------------------------------


@pytest.mark.long
def test_outcomes_of_workers_are_taken_over(folder, monkeypatch):
    """The command was killed before it noted anything: shots that ended are not run again, unless their waveforms are not there."""
    whole, run_shot, names = run_here().dataset.load(), runs.run_shot, []
    shots = noted(shots={}, state="running", pid=2**22 + 1)["shots"]
    for number, (name, outcome) in enumerate(shots.items()):
        ShotLog("out", number, name).end(outcome)
    assert len(outcomes_in("out")) == 3
    Path("out/shots/00001-S.2.json").write_text('{"name": "S.2", "state": ["finished"]}')
    next(Path("out/result.zarr/velocity").glob("2.*")).unlink()
    monkeypatch.setattr(runs, "run_shot", lambda task: names.append(task.name) or run_shot(task))
    outcome = run_here()
    assert names == ["S.2", "S.3"] and outcome.ran == 2
    np.testing.assert_array_equal(outcome.dataset.velocity.values, whole.velocity.values)


@pytest.mark.long
def test_damaged_stores_and_lists_of_shots(survey):
    """A store is refused; of a list, all are run again."""
    survey_file(Path(), 2)
    run_here()
    for file in (".zgroup", "velocity/.zarray"):
        text = Path("out/result.zarr", file).read_text()
        Path("out/result.zarr", file).write_text("{")
        message = survey(2, "survey.toml -o out --workers 1")
        assert "result.zarr is damaged" in message and "--force" in message
        Path("out/result.zarr", file).write_text(text)
    for shots in ([], {"S.1": 5}, {"S.1": {"state": []}}, {"x": {"state": "finished"}}):
        noted(shots=shots)
        assert run_here().ran == 2 and set(read_run("out")["shots"]) == {"S.1", "S.2"}, shots


@pytest.mark.long
def test_snapshots_of_each_shot_and_two_ranks(survey, monkeypatch):
    """Snapshots lie in a run folder for each shot; waveforms are those without, and those of one rank."""
    survey_file(Path(), 2)
    expected = run_here().dataset.velocity.values
    np.testing.assert_array_equal(run_here("kept", snapshots=True).dataset.velocity.values, expected)
    assert float(abs(stored("kept/shots/00001-S.2", "snapshots/section").velocity).max()) > 0
    refused(ScenarioError, "holds a survey of another scenario", run_here, "kept")
    np.testing.assert_array_equal(run_here("two", ranks=2).dataset.velocity.values, expected)
    monkeypatch.setattr("craton.comm.placement.cores", lambda: 2)
    assert "there are 2 cores here" in survey(2, "survey.toml -o many --ranks 3")
    assert not Path("many").exists()


# --- schedulers that are not there, batch systems ---------------------------------------------------------------------------------------


def test_unknown_scheduler_is_told_at_once(survey):
    Path("garbage.json").write_text("{")
    Path("list.json").write_text('{"address": 5}')
    before = dask.base.get_scheduler()
    with socket.socket() as taken:  # a port that nobody listens on, nor can
        taken.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{taken.getsockname()[1]}"
        places = f"tcp://{closed}", f"tls://{closed}", closed, "odd://x", "absent.json", "garbage.json", "list.json"
        for place in places:
            began = time.monotonic()
            message = survey(3, f"survey.toml -o out --scheduler {place}")
            assert time.monotonic() - began < 3 and "scheduler" in message and not Path("out").exists(), place
    assert dask.base.get_scheduler() == before  # what does not start is not Dask's default


jobqueue = pytest.mark.skipif(not find_spec("dask_jobqueue"), reason="needs dask-jobqueue")


@jobqueue
def test_wrong_jobs_are_refused(survey):
    Path("bad.yaml").write_text("jobqueue: [")
    Path("pbs.yaml").write_text("jobqueue: {pbs: {cores: 4}}")
    for words, message in (
        ("--jobs 4", "add --slurm or --pbs"),
        ("--slurm --job memmory=1GB", 'did you mean "memory"'),
        ("--slurm --job memory=1GB", "cores of a job are not given"),
        ("--slurm --job cores=many", "cores = many is not a number"),
        ("--slurm --job cores", "is not KEY=VALUE"),
        ("--slurm --job-file absent.yaml", "absent.yaml: No such file"),
        ("--slurm --job-file bad.yaml", "is not YAML"),
        ("--slurm --job-file pbs.yaml", "has no options under jobqueue.slurm"),
        ("--slurm --workers 2", "--workers and --slurm both say where shots run"),
    ):
        assert message in survey(2, f"survey.toml -o out {words}") and not Path("out").exists(), words


@jobqueue
@pytest.mark.parametrize("system, cores", [("slurm", "--cpus-per-task=16"), ("pbs", "ncpus=16:mem=60GB")])
def test_job_script(system, cores, folder):
    """Cores go to the kernels, a worker has one thread; what the user says comes last."""
    import dask_jobqueue

    from craton.comm import jobs

    file = {"jobqueue": {system: {"queue": "gpu", "cores": 4, "job_extra_directives": ["-x"]}}}
    Path("jobs.yaml").write_text(json.dumps(file))
    words = ["cores=16", "memory=60GB", "processes=2", "job-extra-directives=--gres=gpu:1"]
    arguments = jobs.arguments_of(system, jobs.options_of(system, "jobs.yaml", words), 2, folder)
    arguments.pop("scheduler_options"), arguments.pop("shared_temp_directory")
    job = getattr(getattr(dask_jobqueue, system), f"{system.upper()}Job")
    script = job("tls://192.0.2.1:8786", name="n", **arguments).job_script()
    expected = "export OMP_NUM_THREADS=4", "export PYTHONSAFEPATH=1", 'DASK_TEMPORARY_DIRECTORY="$(mktemp -d)"'
    for text in (*expected, " -x\n", " --gres=gpu:1\n", "--nthreads 1", "--nworkers 2", "gpu", cores, "craton"):
        assert text in script, (text, script)


def test_gpus_of_a_job_are_dealt_out(monkeypatch):
    from craton.comm import placement
    from craton.comm.workers import gpus_of, place_in_job

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
    """Two jobs on a real Slurm, one of which is killed: no shot is lost, all are those of this process; a job that cannot be is options."""
    survey_file(folder, 6, 3)
    words = [sys.executable, "-m", "craton", "survey", "survey.toml", "-q", "--slurm"]
    words += ["--job", "cores=1", "--job", "walltime=00:10:00"]
    options = {"capture_output": True, "text": True, "timeout": 60}
    (folder / "slurm").mkdir()
    with slurm.slurm(folder / "slurm"):
        large = subprocess.run([*words, "--job", "memory=900GB", "-o", "large"], **options)
        assert large.returncode == 3 and "sbatch takes no job" in large.stderr, large.stderr
        running = subprocess.Popen([*words, "--job", "memory=1GB", "--jobs", "2", "-o", "out"])
        end = time.monotonic() + 60
        while len(list(Path("out/shots").glob("*.log"))) < 2 and time.monotonic() < end:
            time.sleep(0.02)
        numbers = subprocess.run(["squeue", "-h", "-o", "%i"], **options)
        subprocess.run(["scancel", "--signal=KILL", "--full", numbers.stdout.split()[0]], check=True)
        assert running.wait(120) == 0
    state = read_run("out")
    assert state["state"] == "finished" and len(state["shots"]) == 6
    np.testing.assert_array_equal(stored("out").velocity.values, run_here("here").dataset.velocity.values)
