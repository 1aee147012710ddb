"""The right handler as a program of its own: `python worker.py FOLDER`."""

import sys
from pathlib import Path

from right import handler

print(handler(Path(sys.argv[1])))
