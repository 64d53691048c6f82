import asyncio

import aiohttp

import seen


async def main():
    async with aiohttp.ClientSession() as session:
        for path in ["/json", "/bytes/200000", "/encoded/gzip"]:
            async with session.get(seen.BASE + path) as answer:
                seen.body(path, await answer.read())
        answers = await asyncio.gather(*(session.get(seen.BASE + f"/bytes/{number}") for number in range(100, 120)))
        for answer in answers:
            seen.body("at once", await answer.read())
        async with session.get(seen.BASE + "/sse?n=5&gap=100") as answer:
            async for piece, _ in answer.content.iter_chunks():
                # It gives an empty one if it reads the end of a piece later than the piece.
                if piece:
                    seen.piece("sse", piece)
        async with session.ws_connect(seen.SOCKET + "/ws") as socket:
            for message in ["one", "two"]:
                await socket.send_str(message)
                seen.line("ws", (await socket.receive()).data)
            await socket.send_bytes(b"\0\1")
            seen.body("ws", (await socket.receive()).data)


asyncio.run(main())
