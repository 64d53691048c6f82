import requests

import seen

session = requests.Session()
for path in ["/json", "/bytes/200000", "/encoded/gzip", "/status/204", "/redirect?to=/json"]:
    answer = session.get(seen.BASE + path)
    seen.line(path, answer.status_code)
    seen.body(path, answer.content)
seen.line("cookies", [session.get(seen.BASE + "/cookies").text for _ in range(2)])
seen.line("twice", requests.get(seen.BASE + "/twice").raw.headers.getlist("x-twice"))
seen.line("count", [requests.get(seen.BASE + "/count").text for _ in range(3)])
seen.body("upload", requests.post(seen.BASE + "/upload", data=iter([b"croak"] * 1000)).content)
seen.line("head", requests.head(seen.BASE + "/bytes/7").headers["content-length"])
with requests.get(seen.BASE + "/sse?n=5&gap=100", stream=True) as answer:
    for piece in answer.raw.stream(decode_content=False):
        seen.piece("sse", piece)
