"""A Slurm of one node for tests: munged, slurmctld and slurmd as processes of the test, in a folder of its own."""

import os
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "sinfo")
CONFIGURATION = """\
ClusterName=craton
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={port1}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
KillWait=5
InactiveLimit=0
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


def path_of(program):
    """Path of a program, also where daemons live."""
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def missing():
    """Why there can be no Slurm here, or nothing."""
    absent = [name for name in PROGRAMS if path_of(name) is None]
    if absent:
        return f"{', '.join(absent)} not installed (Debian: slurmctld slurmd slurm-client munge)"
    return "" if os.geteuid() == 0 else "slurmd needs root"


def free_port():
    """Number of a port that nobody listens on, with the next one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return min(probe.getsockname()[1], 60000)


@contextmanager
def slurm(folder):
    """Start a Slurm whose node is idle; SLURM_CONF of it is in the environment inside."""
    folder.chmod(0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key, host, port = folder / "munge.key", socket.gethostname(), free_port()
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    values = {"folder": folder, "host": host, "port": port, "port1": port + 1, "cores": os.cpu_count()}
    (folder / "slurm.conf").write_text(CONFIGURATION.format(**values))
    sockets = {"socket": "munge.socket", "pid-file": "munge.pid", "log-file": "munge.log", "seed-file": "munge.seed"}
    munge = [f"--{name}={folder / file}" for name, file in sockets.items()]
    before = os.environ.get("SLURM_CONF")
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    try:
        with ExitStack() as running:
            daemon(running, folder, ["munged", "-F", "--force", f"--key-file={key}", *munge])
            until(lambda: (folder / "munge.socket").exists(), folder)
            daemon(running, folder, ["slurmctld", "-D", "-c"])
            daemon(running, folder, ["slurmd", "-D"])
            until(lambda: "idle" in state(), folder)
            yield
    finally:
        os.environ.pop("SLURM_CONF")
        if before is not None:
            os.environ["SLURM_CONF"] = before


def daemon(running, folder, words):
    """Start a daemon that ends with the stack."""
    with open(folder / f"{words[0]}.out", "w") as output:
        process = subprocess.Popen([path_of(words[0]), *words[1:]], stdout=output, stderr=output)
    running.callback(process.wait, 20)
    running.callback(process.terminate)


def state():
    """State of the node, as sinfo has it."""
    return subprocess.run(["sinfo", "--noheader", "--format=%T"], capture_output=True, text=True, timeout=20).stdout


def until(true, folder, seconds=40):
    """Wait for something; the logs where it does not come."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            logs = "\n".join(path.read_text()[-2000:] for path in folder.glob("*.[lo][ou][gt]"))
            raise RuntimeError(f"no Slurm within {seconds} s: {state()}\n{logs}")
        time.sleep(0.1)
