"""What Python has by itself, and urllib3 without a word about proxies where it is installed."""

import http.client
import ssl
import urllib.request

import seen

with urllib.request.urlopen(seen.BASE + "/json") as answer:
    seen.body("urllib", answer.read())
connection = http.client.HTTPSConnection("api.metroon.test", context=ssl.create_default_context())
for _ in range(2):
    connection.request("GET", "/count")
    seen.body("http.client", connection.getresponse().read())
connection.close()
try:
    import urllib3
except ImportError:
    pass
else:
    seen.body("urllib3", urllib3.PoolManager().request("GET", seen.BASE + "/bytes/1000").data)
