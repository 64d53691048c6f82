"""Runs `metroon record` at a terminal of its own, types Ctrl-C, and prints what the program behind it counted."""

import os
import pty
import sys
import time

PROGRAM = """
import signal, time
count = 0
def interrupted(*_):
    global count
    count += 1
signal.signal(signal.SIGINT, interrupted)
print("ready", flush=True)
end = time.monotonic() + 1
while time.monotonic() < end:
    time.sleep(0.05)
print("interrupts", count, flush=True)
"""

child, terminal = pty.fork()
if child == 0:
    os.execvp(sys.argv[1], [sys.argv[1], "record", "-o", "trip.cassette", "--", sys.executable, "-c", PROGRAM])
said = b""
while b"ready" not in said:
    said += os.read(terminal, 1000)
os.write(terminal, b"\x03")
try:
    while piece := os.read(terminal, 1000):
        said += piece
except OSError:
    pass
sys.stdout.write(said.decode())
print("code", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
