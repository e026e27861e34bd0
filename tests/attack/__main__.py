"""python -m attack inputs|folders|flips|soak|survey|kills: an attack for some seconds, told in JSON, and how to see failures again."""

import argparse
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "cases"))  # what tests share


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m attack", description=__doc__)
    parser.add_argument("kind", choices=("inputs", "folders", "flips", "soak", "survey", "kills"))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--most", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for inputs that fail")
    parser.add_argument("--only", default="", help="inputs and kills: regular expression for names of cases")
    chosen = parser.parse_args()
    describe = ["git", "describe", "--always", "--dirty=+"]  # at the start: files may change under a long attack
    commit = subprocess.run(describe, capture_output=True, text=True, cwd=Path(__file__).parent).stdout.strip()
    module = import_module(f"attack.{chosen.kind if chosen.kind in ('soak', 'survey') else 'trials'}")
    result = {"commit": commit, "kind": chosen.kind} | module.attack(chosen)
    print(json.dumps(result, indent=1))
    return 1 if result["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
