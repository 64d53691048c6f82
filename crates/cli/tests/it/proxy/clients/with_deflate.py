"""WebSockets whose messages are compressed, as these libraries do unless told otherwise."""

import asyncio

import aiohttp
import websockets

import seen

URL = "wss://more.metroon.test/echo"
MESSAGES = ["one", "croak " * 2000, "one", "a frog croaks at night " * 50]


async def main():
    async with websockets.connect(URL) as socket:
        seen.line("extensions", [type(extension).__name__ for extension in socket.protocol.extensions])
        for message in MESSAGES:
            await socket.send(message)
            seen.body("websockets", (await socket.recv()).encode())
    async with aiohttp.ClientSession() as session, session.ws_connect(URL, compress=15) as socket:
        seen.line("compressed", socket.compress > 0)
        for message in MESSAGES:
            await socket.send_str(message)
            seen.body("aiohttp", (await socket.receive()).data.encode())


asyncio.run(main())
