"""What pyproject.toml cannot say: the examples of the repository are a part of the wheel."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

EXAMPLES = Path("examples")


class BuildWithExamples(build_py):
    """Copies the examples into the package, from where `craton new NAME` takes them."""

    def run(self):
        """Build the package, then copy."""
        super().run()
        if self.editable_mode:  # craton.cli.new finds them in the clone
            return
        for path in sorted(p for p in EXAMPLES.rglob("*") if p.is_file()):
            target = Path(self.build_lib) / "craton" / path
            self.mkpath(str(target.parent))
            self.copy_file(str(path), str(target))


setup(cmdclass={"build_py": BuildWithExamples})
