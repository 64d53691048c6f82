"""The command `metta`: runs a file of MeTTa and prints the results of each form."""

from __future__ import annotations

import argparse
import os
import sys
from typing import List, Optional

from .. import __version__
from .runner import Environment, MeTTa


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="metta", description="Run a file of MeTTa.")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--version", action="store_true", help="print the version")
    group.add_argument("file", nargs="?", metavar="FILE", help="the file")
    found = parser.parse_args(arguments)
    if found.version:
        print(__version__)
        return 0
    if not found.file:
        parser.print_usage()
        return 2
    try:
        with open(found.file, encoding="utf-8") as file:
            program = file.read()
    except (OSError, UnicodeDecodeError) as error:
        print(f"metta: {found.file} cannot be read: {error}", file=sys.stderr)
        return 2
    environment = Environment.custom_env(working_dir=os.path.dirname(found.file), config_dir="")
    try:
        for results in MeTTa(env_builder=environment).run(program):
            print(results)
    except RuntimeError as error:
        print(f"metta: {found.file}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
