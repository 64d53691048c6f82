"""Clients that are told to use no proxy, or another one, and one that trusts nobody but the proxy, by what is added to it."""

import asyncio
import ssl
import urllib.request

import aiohttp
import httpx
import requests
import urllib3

import seen

URL = seen.BASE + "/count"

context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
with httpx.Client(trust_env=False, http2=True, verify=context) as client:
    seen.line("httpx", [client.get(URL).text for _ in range(2)])
session = requests.Session()
session.trust_env = False
seen.line("requests", session.get(URL).text)
seen.line("another", requests.get(URL, proxies={"https": "http://192.0.2.1:3128"}).text)
seen.line("urllib3", urllib3.PoolManager().request("GET", URL).data)
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
with opener.open(URL) as answer:
    seen.line("urllib", answer.read())


async def main():
    async with httpx.AsyncClient(trust_env=False) as client:
        seen.line("httpx", (await client.get(URL)).text)
    async with aiohttp.ClientSession(trust_env=False) as asking, asking.get(URL) as answer:
        seen.line("aiohttp", await answer.text())


asyncio.run(main())
