"""Sound folders of runs: one that was killed, one that was interrupted, a finished one, a survey. They are damaged, and commands that
read them must end well.
"""

import shutil

import pytest
from smallcase import changed, write

import craton
from attack.mutate import damage_folder
from attack.trials import Outcome
from craton.driver.observers.guard import Guard
from craton.errors import Interrupted
from craton.scenario import loads

SHORT = (("duration = 1.0", "duration = 0.3"), ('device = "cpu"', 'device = "cpu"\nthreads = 1'))
KEPT, LAST = (10, 20), 28  # of 38 steps: those after which a checkpoint is written; the last one
RESUME = ["resume", "out", "-q"]
COMMANDS = {
    "killed": (RESUME, RESUME, RESUME, ["check", "out"]),
    "stopped": (RESUME, RESUME, ["check", "out"], ["plot", "out", "records"]),
    "finished": (["convert", "out", "g.sgy"], ["plot", "out", "records"], ["resume", "out"], ["check", "out"]),
    "survey": (["survey", "status", "out"], ["survey", "survey.toml", "-o", "out", "--workers", "1", "-q"]),
}


def shots(count):
    """The change of the small scenario that makes a survey of it."""
    line = f'name = "S"\nshots = {{ from = [1200, 1500, -1000], to = [1800, 1500, -1000], count = {count} }}'
    return "at = [1500, 1500, -1000]", line


def build(folder):
    """Write the folders: kind -> path. A run writes checkpoints, its folder is copied as a kill would leave it, then it is stopped."""
    kinds, due = {kind: folder / kind for kind in COMMANDS}, Guard.due
    outs = {kind: path / "out" for kind, path in kinds.items()}
    for path in kinds.values():
        path.mkdir(parents=True)
    scenario = loads(changed(*SHORT))
    craton.run(scenario, out=outs["finished"], progress=False, warn=False)
    file = write(kinds["survey"], *SHORT, shots(2), name="survey.toml")
    craton.run_survey(file, outs["survey"], workers=1, progress=False)

    def watched(self, step):
        if step - 1 in KEPT:
            self.timed[0].see(step, self.growth.program)
        if step - 1 == LAST:
            self.timed[0].settle(step)
            shutil.copytree(outs["stopped"], outs["killed"])
            self.stop.name = "SIGTERM"
        return due(self, step)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Interrupted):
        patch.setattr(Guard, "due", watched)
        craton.run(scenario, out=outs["stopped"], progress=False, warn=False)
    return kinds


class Trials:
    """Trials of damaged folders: parameters as of those of inputs."""

    def __init__(self, server, place, chosen):
        self.server, self.place, self.kinds = server, place / "copy", build(place / "folders")

    def trial(self, random):
        """A command on a damaged copy of a folder."""
        kind = random.choice(sorted(self.kinds))
        words = random.choice(COMMANDS[kind])
        folder = self.copied(kind)
        file = damage_folder(folder / "out", random)
        return self.outcome(kind, file, words, self.server.ask(words, folder), [])

    def copied(self, kind):
        """A copy of a folder to damage."""
        shutil.rmtree(self.place, ignore_errors=True)
        return shutil.copytree(self.kinds[kind], self.place)

    def outcome(self, kind, file, words, answer, wrong):
        """What came of a command after a file was damaged, with more that is wrong."""
        wrong = answer.failures + wrong
        case = f"{kind}: craton {words[0]}: {answer.code}"
        return Outcome(case, f"{file}: craton {' '.join(words)}", wrong, answer.error, answer.measures)
