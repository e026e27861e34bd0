"""Damaged inputs, each given to `craton plan`: it must be refused or read, in bounds, and what is accepted must make sense."""

from attack import corpus
from attack.accepted import faults
from attack.mutate import damaged
from attack.trials import Outcome

NOT_YET = "not yet: "  # what a plan says of a gradient that would be refused


class Trials:
    """Trials of damaged inputs; the corpus is planned once in the server, from another folder.

    Parameters
    ----------
    server : Server
    place : Path
    chosen : argparse.Namespace
    """

    def __init__(self, server, place, chosen):
        self.server = server
        for name, (folder, toml, _) in corpus.build(place / "warm", chosen.only).items():
            assert server.warm(["plan", toml], folder) == 0, f"the sound {name} is not read"
        self.cases = corpus.build(place / "corpus", chosen.only)

    def trial(self, random):
        """Plan with a damaged file."""
        name = corpus.chosen(self.cases, random)
        folder, toml, file = self.cases[name]
        path = folder / random.choice((file, file, toml))
        if path.is_dir():
            path = random.choice(sorted(p for p in path.rglob("*") if p.is_file()))
        sound, wrong = path.read_bytes(), []
        data = damaged(sound, random)
        path.write_bytes(data)
        try:
            answer = self.server.ask(["plan", toml], folder)
            if answer.code == 0 and data != sound and NOT_YET not in answer.text:
                wrong = [f"accepted nonsense: {fault}" for fault in faults(name, self.cases[name], path)]
        finally:
            path.write_bytes(sound)
        wrong += answer.failures
        return Outcome(f"{name}: {answer.code}", path.name, wrong, answer.error, answer.measures, data)
