"""Sound folders of runs, to be damaged: one that was killed, one that was interrupted, a finished one, a survey."""

import shutil

import pytest
from smallcase import changed, write

LINE = 'name = "S"\nshots = { from = [1200, 1500, -1000], to = [1800, 1500, -1000], count = 2 }'
SHORT = (("duration = 1.0", "duration = 0.3"), ('device = "cpu"', 'device = "cpu"\nthreads = 1'))
KEPT, LAST = (10, 20), 28  # of 38 steps: those after which a checkpoint is written; the last one
RESUME = ["resume", "out", "-q"]
COMMANDS = {
    "killed": (RESUME, RESUME, RESUME, ["check", "out"]),
    "stopped": (RESUME, RESUME, ["check", "out"], ["plot", "out", "records"]),
    "finished": (["convert", "out", "g.sgy"], ["plot", "out", "records"], ["resume", "out"], ["check", "out"]),
    "survey": (["survey", "status", "out"], ["survey", "survey.toml", "-o", "out", "--workers", "1", "-q"]),
}


def build(folder):
    """Write the folders: kind -> path. A run writes checkpoints, its folder is copied as a kill would leave it, then it is stopped."""
    import craton
    from craton.driver.recorder import Recorder
    from craton.errors import Interrupted
    from craton.scenario import loads

    kinds, sample = {kind: folder / kind for kind in COMMANDS}, Recorder.sample
    outs = {kind: path / "out" for kind, path in kinds.items()}
    for path in kinds.values():
        path.mkdir(parents=True)
    scenario = loads(changed(*SHORT))
    craton.run(scenario, out=outs["finished"], progress=False, warn=False)
    file = write(kinds["survey"], *SHORT, ("at = [1500, 1500, -1000]", LINE), name="survey.toml")
    craton.run_survey(file, outs["survey"], workers=1, progress=False)

    def looked(self, step):
        if step in KEPT:
            self.done = step + 1
            self.drain()
            self.checkpoints.save(self.done, self.recorded)
        if step == LAST:
            self.snapshots.settle()
            shutil.copytree(outs["stopped"], outs["killed"])
            self.stopped = "SIGTERM"
        sample(self, step)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Interrupted):
        patch.setattr(Recorder, "sample", looked)
        craton.run(scenario, out=outs["stopped"], progress=False, warn=False)
    return kinds


def copy(kinds, kind, place):
    """A copy of a folder to damage."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(kinds[kind], place)
    return place
