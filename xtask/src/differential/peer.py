"""Runs MeTTa programs in hyperon, one after the other, for `cargo xtask differential`.

A line of the input is a JSON object: the forms of a program, each as a text, and the seconds it may take. A line of the
output is what came of it: "status" ("finished", "stopped" or "ended": the process of the program did), and for each form
after `!` its results as texts; a form with an error among them is the last. "printed" is what the program printed.

Each program runs in a copy of this process, so that one that ends its process ends no other, and so that the library is
loaded once.
"""

import json
import os
import signal
import sys
import tempfile
import time

from hyperon import MeTTa


def run(metta, forms, results):
    """Evaluates the forms in order; a line of results for each that is asked."""
    for form in forms:
        for answer in metta.run(form):
            texts = [str(atom) for atom in answer]
            results.write(json.dumps(texts) + "\n")
            results.flush()
            if any(text.startswith("(Error ") for text in texts):
                return


def wait(child, seconds):
    """How a child ended: its status, or none if it was stopped."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def answer(metta, program):
    """What came of a program, run in a copy of this process."""
    with tempfile.TemporaryFile("w+") as results, tempfile.TemporaryFile("w+") as printed:
        child = os.fork()
        if child == 0:
            os.dup2(printed.fileno(), 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            run(metta, program["forms"], results)
            os._exit(0)
        status = wait(child, program["seconds"])
        results.seek(0)
        printed.seek(0)
        return {
            "status": "stopped" if status is None else "finished" if status == 0 else "ended",
            "answers": [json.loads(line) for line in results if line.endswith("\n")],
            "printed": printed.read().splitlines(),
        }


def main():
    """Serves until the input ends."""
    metta = MeTTa()
    for line in sys.stdin:
        print(json.dumps(answer(metta, json.loads(line))), flush=True)


main()
