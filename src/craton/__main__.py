"""`python -m craton` is the command `craton`."""

import sys

from craton.cli import main

sys.exit(main())
