import asyncio

import websockets

import seen


async def main():
    async with websockets.connect(seen.SOCKET + "/ws") as socket:
        for message in ["one", b"\0\1\2", "croak " * 2000]:
            await socket.send(message)
            answer = await socket.recv()
            seen.body("echo", answer if isinstance(answer, bytes) else answer.encode())
        await (await socket.ping())
        seen.line("pong", "came")
    async with websockets.connect(seen.SOCKET + "/ws/ticker?n=5&gap=100") as socket:
        async for message in socket:
            seen.piece("tick", message.encode())
    seen.line("closed", socket.close_code)


asyncio.run(main())
