"""The sides of vcrpy and cassetter: reads commands, a line each, and answers with nanoseconds and a checksum.

A command is what to do, by which library, the path of the cassette, and how many interactions it has. The interactions are those of
the report. The checksum is the sum of the bytes of the URLs that were loaded, so that each was there; of what was recorded, how
many they were. `record-large` records texts of 64 KiB instead, `first` loads and sums up the first URL and the body of its answer, and
`nothing` does nothing. What is imported is imported before. What is recorded takes no older file's place, as on the other side: that one is taken
away before. `record-synced` has the file and its name on the disk as well."""

import os
import sys
import time

import cassetter._core as core
import vcr.serializers.jsonserializer as vcr_json
import vcr.serializers.yamlserializer as vcr_yaml
from vcr.cassette import Cassette
from vcr.record_mode import RecordMode
from vcr.request import Request

SERIALIZERS = {"vcrpy-yaml": vcr_yaml, "vcrpy-json": vcr_json}
RECORDED_AT = "2025-10-09T08:53:20.123456Z"


def url(number):
    return f"https://api.example.com/resource/{number}"


def request_body(number):
    return f'{{"request": {number}, "data": "test data"}}'


def response_body(number):
    return f'{{"response": {number}, "result": [1,2,3,4,5], "message": "success"}}'


def request_headers(number):
    return {"Content-Type": ["application/json"], "Authorization": [f"Bearer token-{number}"]}


def record_vcrpy(serializer, path, count):
    cassette = Cassette(path, serializer=serializer, record_mode=RecordMode.ALL)
    for number in range(count):
        headers = {name: values[0] for name, values in request_headers(number).items()}
        response = {
            "status": {"code": 200, "message": "OK"},
            "headers": {"Content-Type": ["application/json"]},
            "body": {"string": response_body(number).encode()},
        }
        cassette.append(Request("GET", url(number), request_body(number).encode(), headers), response)
    cassette._save()
    return len(cassette)


def load_vcrpy(serializer, path, _):
    cassette = Cassette.load(path=path, serializer=serializer)
    return sum(sum(request.uri.encode()) for request in cassette.requests)


def record_cassetter(path, count):
    cassette = core.Cassette()
    for number in range(count):
        body = core.process_body(request_body(number).encode(), "application/json", None)
        request = core.HttpRequest("GET", url(number), request_headers(number), body)
        body = core.process_body(response_body(number).encode(), "application/json", None)
        response = core.HttpResponse(200, {"Content-Type": ["application/json"]}, body)
        cassette.add_interaction(core.HttpInteraction(request, response, RECORDED_AT))
    cassette.save(path)
    return len(cassette)


def load_cassetter(path, _):
    cassette = core.Cassette.load(path)
    return sum(sum(interaction.request.uri.encode()) for interaction in cassette.interactions)


def large_body(number):
    """Texts that no recorder can share or make much shorter, the same in Rust."""
    first = number * 4096 + 1
    words = ((at * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF for at in range(first, first + 4096))
    return "".join(f"{word:016x}" for word in words)


def record_large(library, path, count):
    if library == "cassetter":
        cassette = core.Cassette()
        for number in range(count):
            request = core.HttpRequest("GET", url(number), {}, core.process_body(b"", "text/plain", None))
            body = core.process_body(large_body(number).encode(), "text/plain", None)
            response = core.HttpResponse(200, {"Content-Type": ["text/plain"]}, body)
            cassette.add_interaction(core.HttpInteraction(request, response, RECORDED_AT))
        cassette.save(path)
        return len(cassette)
    cassette = Cassette(path, serializer=SERIALIZERS[library], record_mode=RecordMode.ALL)
    for number in range(count):
        response = {
            "status": {"code": 200, "message": "OK"},
            "headers": {"Content-Type": ["text/plain"]},
            "body": {"string": large_body(number).encode()},
        }
        cassette.append(Request("GET", url(number), b"", {}), response)
    cassette._save()
    return len(cassette)


def first(library, path):
    if library == "cassetter":
        interaction = core.Cassette.load(path).interactions[0]
        uri, body = interaction.request.uri, interaction.response.body.content.encode()
    else:
        cassette = Cassette.load(path=path, serializer=SERIALIZERS[library])
        uri, body = cassette.requests[0].uri, cassette.responses[0]["body"]["string"]
    return sum(uri.encode()) + sum(body)


def sync(path):
    for synced in (path, os.path.dirname(path)):
        descriptor = os.open(synced, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def work(command, library, path, count):
    if command == "record-synced":
        recorded = work("record", library, path, count)
        sync(path)
        return recorded
    if command == "nothing":
        return 0
    if command == "record-large":
        return record_large(library, path, count)
    if command == "first":
        return first(library, path)
    if library == "cassetter":
        return {"record": record_cassetter, "load": load_cassetter}[command](path, count)
    return {"record": record_vcrpy, "load": load_vcrpy}[command](SERIALIZERS[library], path, count)


for line in sys.stdin:
    command, library, path, count = line.split()
    if command.startswith("record") and os.path.exists(path):
        os.remove(path)
    began = time.perf_counter_ns()
    checksum = work(command, library, path, int(count))
    print(time.perf_counter_ns() - began, checksum, flush=True)
