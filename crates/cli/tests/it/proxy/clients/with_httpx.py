import httpx

import seen

with httpx.Client(http2=True) as client:
    answer = client.get(seen.BASE + "/json")
    seen.line("version", answer.http_version)
    seen.body("json", answer.content)
    for path in ["/bytes/200000", "/encoded/br", "/encoded/gzip", "/twice"]:
        with client.stream("GET", seen.BASE + path) as answer:
            seen.line(path, answer.headers.get_list("x-twice"))
            seen.body(path, b"".join(answer.iter_raw()))
    seen.body("echo", client.post(seen.BASE + "/upload", content=b"croak" * 50_000).content)
    with client.stream("GET", seen.BASE + "/sse?n=5&gap=100") as answer:
        for piece in answer.iter_raw():
            seen.piece("sse", piece)
