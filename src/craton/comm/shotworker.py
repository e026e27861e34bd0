"""What a Dask worker of a cluster does beside its tasks: take its GPUs, end its task when the
scheduler is lost.
"""

import asyncio
import os

LOOK = 0.2  # s between looks at whether a task has ended


def shot_worker(gpus=0):
    """Return the plugin of a worker that runs one task at a time: distributed.WorkerPlugin.

    Parameters
    ----------
    gpus : int
        That a task uses. Where a batch job has several workers and GPUs, they are dealt out in
        turn; 0: workers keep what the batch system gave them.
    """
    from distributed import WorkerPlugin

    class ShotWorker(WorkerPlugin):
        """Takes its GPUs when it begins, and ends its task before it ends."""

        name = "craton-shot-worker"

        def setup(self, worker):
            """Leave this process its GPUs, before any library looks for them."""
            visible = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
            chosen = gpus_of(visible, place_in_job(worker.name), gpus)
            if chosen:
                os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(chosen)

        async def teardown(self, worker):
            """Wait for the task that runs: it writes its result itself, and nobody would run it
            again.
            """
            while worker.active_threads:
                await asyncio.sleep(LOOK)

    return ShotWorker()


def place_in_job(name):
    """Return the number of a worker among those of its batch job, which dask worker appends to the
    name: ``craton-3-1`` is the second one of job 3.

    Parameters
    ----------
    name : object
        Name of a worker.
    """
    *job, number = str(name).rsplit("-", 2)
    return int(number) if len(job) == 2 and number.isdecimal() else 0


def gpus_of(visible, place, count):
    """Return the GPUs of one worker of a job: list of str; empty where there is nothing to choose.

    Parameters
    ----------
    visible : list of str
        GPUs of the job.
    place : int
        Of the worker among those of the job.
    count : int
        GPUs for each worker.
    """
    if not count or len(visible) <= count:
        return []
    groups = len(visible) // count
    first = place % groups * count
    return visible[first : first + count]
