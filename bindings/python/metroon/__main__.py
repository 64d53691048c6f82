"""`python -m metroon`: the program `metroon`, which came with this package."""

import os
import sys

from ._program import program

found = program()
try:
    os.execv(found, [found, *sys.argv[1:]])
except OSError as error:
    sys.exit(f"{found} cannot be run: {error.strerror}\nhelp: install metroon from its wheel, or name the program in METROON")
