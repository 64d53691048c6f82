"""Writes a recording of mitmproxy: GET requests to api.example.com and what they were answered, as the tape beside it has them.

Arguments: the file, how many, and the scheme."""

import sys

from mitmproxy import http
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow


def response_body(number):
    return f'{{"response": {number}, "result": [1,2,3,4,5], "message": "success"}}'


def flow(number, scheme):
    recorded = tflow.tflow(resp=True)
    recorded.request = http.Request.make("GET", f"{scheme}://api.example.com/resource/{number}")
    recorded.response = http.Response.make(200, response_body(number), {"Content-Type": "application/json"})
    return recorded


path, count, scheme = sys.argv[1:]
with open(path, "wb") as file:
    writer = FlowWriter(file)
    for number in range(int(count)):
        writer.add(flow(number, scheme))
