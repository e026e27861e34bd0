"""What pyproject.toml cannot say: the examples of the repository and its commit are parts of the wheel."""

import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

EXAMPLES = Path("examples")


class BuildWithExamples(build_py):
    """Copies the examples into the package, from where `craton new NAME` takes them, and writes its commit."""

    def run(self):
        """Build the package, then copy."""
        super().run()
        if self.editable_mode:  # craton.cli.scenarios finds them in the clone
            return
        for path in sorted(p for p in EXAMPLES.rglob("*") if p.is_file()):
            target = Path(self.build_lib) / "craton" / path
            self.mkpath(str(target.parent))
            self.copy_file(str(path), str(target))
        if commit := commit_of_clone():
            (Path(self.build_lib) / "craton" / "COMMIT").write_text(commit + "\n", encoding="utf-8")


def commit_of_clone():
    """Return what git says of this folder: str, empty where it is no clone or git is missing."""
    if not Path(".git").exists():
        return ""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


setup(cmdclass={"build_py": BuildWithExamples})
