"""The plugin, run by pytest itself: `METROON` names the program, `METROON_TEST_OPTIONS` says where it finds example.com."""

import os

import pytest
from metroon._guard import Guard, OutsideConnection
from pytest_metroon import _WORDS, _cassette_name

pytest_plugins = ["pytester"]

TEST = """
    import urllib.request
    import pytest
    import requests

    @pytest.mark.metroon
    def test_marked():
        for path in ["json", "count", "count"]:
            urllib.request.urlopen("https://example.com/" + path).read()

    @pytest.mark.parametrize("frog", ["Sam", "Fritz"])
    def test_fixture(metroon, frog):
        answer = requests.get("https://example.com/echo", params={"frog": frog})
        assert frog in answer.text
        assert metroon.proxy in metroon.env["HTTPS_PROXY"]
"""


@pytest.fixture
def project(pytester, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    pytester.makeini("[pytest]\nmetroon_options = " + os.environ["METROON_TEST_OPTIONS"])
    pytester.makepyfile(test_pond=TEST)
    return pytester


def run(project, *words):
    # A process of its own has its libraries to itself, as those of users do.
    return project.runpytest_subprocess("-p", "pytest_metroon", *words)


def test_recorded_then_answered(project):
    run(project).assert_outcomes(passed=3)
    cassettes = sorted(path.name for path in project.path.joinpath("cassettes/test_pond").iterdir())
    assert cassettes == ["test_fixture-Fritz.cassette", "test_fixture-Sam.cassette", "test_marked.cassette"]
    # Without the options nothing leads to the origin any more: whatever passes came from the cassettes.
    project.makeini("[pytest]")
    run(project, "--metroon-mode=none").assert_outcomes(passed=3)


def test_a_miss_fails_the_test(project):
    run(project).assert_outcomes(passed=3)
    source = project.path.joinpath("test_pond.py")
    source.write_text(source.read_text().replace('"json", ', '"other", '))
    result = run(project, "--metroon-mode=none", "-k", "marked")
    assert result.parseoutcomes().get("errors", 0) + result.parseoutcomes().get("failed", 0) >= 1
    result.stdout.fnmatch_lines(["*no recorded exchange answers GET https://example.com/other*"])


def test_nothing_is_recorded_in_ci(project, monkeypatch):
    monkeypatch.setenv("CI", "true")
    result = run(project, "-k", "marked")
    result.stdout.fnmatch_lines(["*there is no cassette at *"])


def test_a_missing_program_is_named(project):
    project.makeini("[pytest]\nmetroon_command = no-such-metroon")
    result = run(project, "-k", "marked")
    result.stdout.fnmatch_lines(["*there is no program no-such-metroon*"])


# Each is made before there is a proxy, and the second of a kind is told to know no variables.
CLIENTS = """
    import asyncio, http.client, ssl
    import aiohttp, httpx, openai, pytest, requests, urllib3

    URL = "https://example.com/json"
    context = ssl.create_default_context()
    plain, deaf = httpx.Client(), httpx.Client(trust_env=False, http2=True)
    unheard = httpx.AsyncClient(trust_env=False)
    session, deaf_session = requests.Session(), requests.Session()
    deaf_session.trust_env = False
    manager, pool = urllib3.PoolManager(), urllib3.HTTPSConnectionPool("example.com", 443)
    of_python = http.client.HTTPSConnection("example.com", context=context)
    of_openai = openai.OpenAI(base_url="https://example.com/v1", api_key="none", max_retries=0)

    def with_http_client():
        of_python.request("GET", "/json")
        return of_python.getresponse().read()

    async def with_aiohttp():
        async with aiohttp.ClientSession(trust_env=False) as asking:
            return await (await asking.get(URL)).read()

    async def with_httpx():
        return (await unheard.get(URL)).content

    WAYS = {
        "httpx": lambda: plain.get(URL).content,
        "httpx deaf": lambda: deaf.get(URL).content,
        "httpx async": lambda: asyncio.run(with_httpx()),
        "requests": lambda: session.get(URL).content,
        "requests deaf": lambda: deaf_session.get(URL).content,
        "requests told": lambda: requests.get(URL, proxies={"https": "http://192.0.2.1:3128"}).content,
        "urllib3": lambda: manager.request("GET", URL).data,
        "urllib3 pool": lambda: pool.request("GET", "/json").data,
        "http.client": with_http_client,
        "aiohttp": lambda: asyncio.run(with_aiohttp()),
        "plain": lambda: plain.get("http://example.com/json").content,
        "plain deaf": lambda: deaf_session.get("http://example.com/json").content,
    }

    @pytest.mark.metroon
    @pytest.mark.parametrize("way", WAYS)
    def test_way(way):
        assert WAYS[way]() == b'{"frog":"Sam","green":true}'

    @pytest.mark.metroon
    @pytest.mark.parametrize("turn", [1, 2])
    def test_openai(turn):
        question = [{"role": "user", "content": "What is a frog?"}]
        pieces = of_openai.chat.completions.create(model="frog-1", messages=question, stream=True)
        said = "".join(piece.choices[0].delta.content or "" for piece in pieces)
        assert said == "A frog croaks, and eats flies."
"""


def test_clients_made_before_the_test_are_recorded(project):
    project.makepyfile(test_pond=CLIENTS)
    run(project).assert_outcomes(passed=14)
    project.makeini("[pytest]")
    run(project, "--metroon-mode=none").assert_outcomes(passed=14)


NOTHING = """
    import pytest

    @pytest.mark.metroon
    def test_silent():
        pass

    @pytest.mark.metroon(allow_empty=True)
    def test_silent_by_intent():
        pass

    @pytest.mark.metroon
    def test_skipped():
        pytest.skip("not today")
"""


def test_a_test_that_asks_nothing_fails_and_seals_nothing(project):
    project.makepyfile(test_pond=NOTHING)
    result = run(project)
    result.assert_outcomes(passed=2, errors=1, skipped=1)
    result.stdout.fnmatch_lines(["*the proxy saw no request of the test*", "*allow_empty=True*"])
    assert [path.name for path in project.path.joinpath("cassettes/test_pond").iterdir()] == ["test_silent_by_intent.cassette"]
    run(project, "--metroon-mode=none", "-k", "intent").assert_outcomes(passed=1)


OUTSIDE = """
    import asyncio, socket, threading, urllib.request
    import pytest

    pytestmark = pytest.mark.metroon

    def test_address():
        socket.create_connection(("192.0.2.1", 9), timeout=1)

    def test_caught():
        urllib.request.urlopen("https://example.com/json").read()
        with pytest.raises(OSError):
            socket.create_connection(("pond.invalid", 5432), timeout=1)

    def test_asyncio():
        with pytest.raises(OSError):
            asyncio.run(asyncio.open_connection("192.0.2.2", 9))

    def test_loopback():
        urllib.request.urlopen("https://example.com/json").read()
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname()).close()
            socket.create_connection(("localhost", server.getsockname()[1])).close()
        ours, theirs = socket.socketpair()
        ours.close(), theirs.close()
"""


def test_connections_past_the_proxy_are_refused(project):
    project.makepyfile(test_pond=OUTSIDE)
    result = run(project)
    result.assert_outcomes(passed=3, failed=1, errors=2)
    result.stdout.fnmatch_lines(["*the test reaches for 192.0.2.1:9 past the proxy, which is refused*"])
    result.stdout.fnmatch_lines(["*the test reaches for pond.invalid:5432 past the proxy*", '*allow_hosts=?"pond.invalid"?*'])
    result.stdout.fnmatch_lines(["*the test reaches for 192.0.2.2:9 past the proxy*"])


def test_hosts_that_are_allowed_are_reached():
    guard = Guard(["db.internal", "192.0.2.0", "*.pond.test:443"], _WORDS)
    for host in ["db.internal", "one.db.internal", "192.0.2.0", "a.pond.test", "127.0.0.3", "::1", "localhost", b"localhost", None]:
        guard._check(host, 5432)
    for host in ["db.internal.test", "notdb.internal", "192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "example.com"]:
        with pytest.raises(OutsideConnection):
            guard._check(host, 5432)


def test_each_test_has_a_cassette_of_its_own():
    assert _cassette_name("test_pond") == "test_pond.cassette"
    assert _cassette_name("TestPond::test_frog") == "TestPond-test_frog.cassette"
    assert _cassette_name("test_p[a-b]") == "test_p-a-b.cassette"
    names = ["test_p[a-b]", "test_p[a/b]", "test_p[a b]", "test_p[-a-b]", "test_p[a-b-]", "test_p[a--b]", "test_p[]", "test_p"]
    names += ["test_p[" + "long" * 60 + end + "]" for end in "xy"]
    cassettes = [_cassette_name(name) for name in names]
    assert len(set(cassettes)) == len(names), cassettes
    assert all(len(cassette) < 140 and "/" not in cassette for cassette in cassettes), cassettes


def test_two_values_have_two_cassettes(project):
    test = """
        import urllib.request
        import pytest

        @pytest.mark.metroon
        @pytest.mark.parametrize("frog", ["a/b", "a-b"])
        def test_p(frog):
            urllib.request.urlopen("https://example.com/echo?frog=" + frog).read()
    """
    project.makepyfile(test_pond=test)
    run(project).assert_outcomes(passed=2)
    assert len(list(project.path.joinpath("cassettes/test_pond").iterdir())) == 2


def test_help_is_asked_for_in_the_words_of_pytest(project):
    script = project.path.joinpath("metroon")
    script.write_text('#!/bin/sh\necho "in the words of $METROON_HELP_STYLE" >&2\n')
    script.chmod(0o755)
    project.makeini(f"[pytest]\nmetroon_command = {script}")
    result = run(project, "-k", "marked")
    result.stdout.fnmatch_lines(["*metroon did not start:*", "*in the words of pytest*"])
