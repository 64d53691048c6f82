"""A session of requests, through a proxy or with vcrpy: reads commands, a line each, and answers with nanoseconds and a checksum.

`make CASSETTE COUNT` writes a cassette of vcrpy, `vcrpy CASSETTE COUNT` replays it, `proxy URL AUTHORITY COUNT` asks a proxy. The
checksum is the sum of the bytes of the answers."""

import sys
import time

import requests
import vcr
from vcr.cassette import Cassette
from vcr.record_mode import RecordMode
from vcr.request import Request


def url(number):
    return f"https://api.example.com/resource/{number}"


def response_body(number):
    return f'{{"response": {number}, "result": [1,2,3,4,5], "message": "success"}}'


def make(path, count):
    cassette = Cassette(path, record_mode=RecordMode.ALL)
    for number in range(int(count)):
        response = {
            "status": {"code": 200, "message": "OK"},
            "headers": {"Content-Type": ["application/json"]},
            "body": {"string": response_body(number).encode()},
        }
        cassette.append(Request("GET", url(number), None, {}), response)
    cassette._save()
    return 0


def asked(session, count):
    return sum(sum(session.get(url(number)).content) for number in range(int(count)))


def with_vcrpy(path, count):
    with vcr.use_cassette(path, record_mode="none"), requests.Session() as session:
        return asked(session, count)


def with_proxy(proxy, authority, count):
    with requests.Session() as session:
        session.trust_env = False
        session.proxies = {"http": proxy, "https": proxy}
        session.verify = authority
        return asked(session, count)


COMMANDS = {"make": make, "vcrpy": with_vcrpy, "proxy": with_proxy}

for line in sys.stdin:
    command, *words = line.split()
    began = time.perf_counter_ns()
    checksum = COMMANDS[command](*words)
    print(time.perf_counter_ns() - began, checksum, flush=True)
