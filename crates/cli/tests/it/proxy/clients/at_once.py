"""Asks for documents by several workers at once, each for the next one, and prints what it is answered as it comes.

    at_once.py threads|requests|tasks
"""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import seen

# How many milliseconds the answer to each document takes: no two come together, and the first three come last.
DOCUMENTS = [2600, 2300, 2000, 100, 50, 20, 100, 40, 110, 20, 20, 20, 60, 20, 60, 80]
WORKERS = 5


def target(number):
    return f"{seen.BASE}/slow?ms={DOCUMENTS[number]}&document={number % 6}"


def parting(number):
    return f"{seen.BASE}/status/404?worker={number}"


def in_threads(ask):
    left, partings, lock = iter(range(len(DOCUMENTS))), iter(range(WORKERS)), threading.Lock()

    def taken(numbers):
        with lock:
            return next(numbers, None)

    def work(_):
        while (number := taken(left)) is not None:
            answer = ask(target(number))
            with lock:
                seen.line(number, answer)
        ask(parting(taken(partings)))

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, range(WORKERS)))


def with_threads():
    from urllib.error import HTTPError
    from urllib.request import urlopen

    def ask(url):
        try:
            return urlopen(url).read()
        except HTTPError as error:
            return error.code

    in_threads(ask)


def with_requests():
    import requests

    with requests.Session() as session:
        in_threads(lambda url: session.get(url).content)


def with_tasks():
    import asyncio

    import httpx

    async def work(client, left, partings):
        for number in left:
            seen.line(number, (await client.get(target(number))).content)
        await client.get(parting(next(partings)))

    async def main():
        left, partings = iter(range(len(DOCUMENTS))), iter(range(WORKERS))
        async with httpx.AsyncClient(http2=True) as client:
            await asyncio.gather(*(work(client, left, partings) for _ in range(WORKERS)))

    asyncio.run(main())


{"threads": with_threads, "requests": with_requests, "tasks": with_tasks}[sys.argv[1]]()
