"""Asks twice, with nothing but what Python has: `metroon record -o visit.cassette -- python3 examples/traffic/visit.py`."""

from urllib.request import Request, urlopen

for agent in ["a frog", "a toad"]:
    with urlopen(Request("https://example.com/", headers={"User-Agent": agent})) as answer:
        print(agent, "got", answer.status, len(answer.read()), "bytes")
