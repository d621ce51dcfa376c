"""Pages of replies as a folder, and as a server: what they hold, what they refuse, and that nothing hostile runs."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import fathom.browse
from command_line import Call
from fathom import api
from fathom.browse import Pages, PagesServer, address, read_replies, write
from fathom.types import FathomError, Reply
from fathom.web import script
from made_replies import HOSTILE, Made, make_hostile, make_run, make_runs, passkey
from processes import start_program, until

PAGE = Path(fathom.browse.__file__).parent / "page"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make_runs(tmp_path_factory.mktemp("site"))


def data(path: Path) -> dict[str, object]:
    """The value of a data file."""
    text = path.read_text("utf-8")
    found = re.fullmatch(r'fathom\.add\("([a-z0-9/-]+)", (.*)\);\n', text)
    assert found
    assert found[1] == path.relative_to(path.parents[len(Path(found[1]).parts) - 1]).with_suffix("").as_posix()
    value: dict[str, object] = json.loads(found[2])
    return value


# -------------------------------------------------------------------------------------------------- a folder


@pytest.mark.slow
def test_a_folder_has_the_list_a_file_for_each_sample_and_the_texts_once(made: Made, tmp_path: Path) -> None:
    notes: list[str] = []
    steps: list[tuple[int, int]] = []
    written = write(made.runs, tmp_path / "out", tell=notes.append, progress=lambda *step: steps.append(step))
    entries = read_replies(made.runs).entries
    assert (written.samples, written.replies, notes) == (len(entries), 2 * len(entries), [])
    assert steps[-1] == (len(entries), len(entries))
    found = data(tmp_path / "out" / "data" / "list.js")
    assert found["samples"]["id"] == [entry.sample for entry in entries]  # type: ignore[index]
    for number, entry in enumerate(entries):
        assert data(tmp_path / "out" / "data" / "samples" / f"{number}.js")["id"] == entry.sample
    # Every prompt shares its documents with others: together they are less than the prompts.
    texts = sum(path.stat().st_size for path in (tmp_path / "out" / "data" / "texts").iterdir())
    prompts = sum(len(prompt["prompt"]) for prompt in map(json.loads, api_prompts(made.suite)))
    assert texts < prompts / 3
    assert written.size == sum(path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file())


def api_prompts(suite: Path) -> list[str]:
    out = suite.parent / "prompts.jsonl"
    api.export(suite, out)
    return out.read_text("utf-8").splitlines()


@pytest.mark.slow
def test_the_same_runs_give_the_same_bytes(made: Made, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(made.runs, tmp_path / name)
    one, other = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.js")}
        for name in ("a", "b")
    )
    assert one == other


@pytest.mark.slow
def test_only_some_scores_are_written(made: Made, tmp_path: Path) -> None:
    entries = read_replies(made.runs).entries
    wrong = [entry for entry in entries if any(reply.row.value == 0 for reply in entry.replies)]
    assert write(made.runs, tmp_path / "wrong", only=["wrong"]).samples == len(wrong) < len(entries)
    both = write(made.runs, tmp_path / "both", only=["partly", "differ"])
    assert 0 < both.samples < len(entries)
    with pytest.raises(FathomError, match="unknown score 'bad'"):
        write(made.runs, tmp_path / "none", only=["bad"])
    with pytest.raises(FathomError, match="none of 1 samples is left"):
        write([make_run(tmp_path / "run", [(passkey(), Reply("ok", "12345"))])], tmp_path / "none", only=["wrong"])
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_pages_replace_pages_and_nothing_else(made: Made, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(made.runs, out)
    first = sum(1 for _ in out.rglob("*"))
    write(made.runs[:1], out, only=["wrong"])
    assert sum(1 for _ in out.rglob("*")) < first
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    with pytest.raises(FathomError, match="the folder has other files and no page of replies"):
        write(made.runs, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "all of it"
    with pytest.raises(FathomError, match="this is a file"):
        write(made.runs, tmp_path / "mine" / "thesis.txt")


@pytest.mark.slow
def test_a_failure_leaves_the_old_pages(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    write(made.runs, out)
    before = {path: path.read_bytes() for path in out.rglob("*.js")}

    def full(self: Pages, piece: int) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Pages, "_piece", full)
    with pytest.raises(FathomError, match="No space left on device"):
        write(made.runs, out, only=["wrong"])
    assert {path: path.read_bytes() for path in out.rglob("*.js")} == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.slow
def test_a_large_folder_is_announced_before_it_is_written(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.browse.site.LARGE", 1000)
    notes: list[str] = []
    write(made.runs, tmp_path / "out", tell=notes.append)
    assert len(notes) == 1
    assert "--only wrong,differ writes less" in notes[0]


def test_addresses_hold_filters_and_refuse_others() -> None:
    link = address("../replies/", model="openai/gpt-5 (mini)&x", task="passkey", length=8192.0, depth=0.5, status=None)
    assert link == "../replies/index.html#model=openai%2Fgpt-5%20%28mini%29%26x&task=passkey&length=8192&depth=0.5"
    assert address("replies") == "replies/index.html"
    with pytest.raises(FathomError, match="unknown filter 'modell'; did you mean model"):
        address("replies", modell="x")


@pytest.mark.slow
def test_the_command_writes_and_says_what(made: Made, call: Call, tmp_path: Path) -> None:
    code, out, _ = call("browse", *made.runs, "--out", tmp_path / "out", "--only", "wrong,differ")
    assert code == 0
    assert re.search(r"out/index\.html: \d+ replies to \d+ samples, \d+ files, [\d.]+ MB", out)
    told = json.loads(call("browse", *made.runs, "--out", tmp_path / "out", "--json")[1])
    assert told["samples"] == len(read_replies(made.runs).entries)
    assert call("browse", tmp_path / "nothing")[0] == 2


# --------------------------------------------------------------------------------------------------- hostile text


def test_hostile_text_is_one_line_of_plain_data(tmp_path: Path) -> None:
    made = make_hostile(tmp_path)
    write(made.runs, tmp_path / "out", suites=[made.suite])
    for path in (tmp_path / "out" / "data").rglob("*.js"):
        text = path.read_bytes().decode("utf-8")
        assert text.count("\n") == 1
        assert len(text.splitlines()) == 1
        assert "<" not in text
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e\u2028]", text)
        data(path)
    detail = data(tmp_path / "out" / "data" / "samples" / "0.js")
    assert detail["replies"][0]["reasoning"] == HOSTILE  # type: ignore[index]


def test_a_name_that_would_change_a_prototype_does_not() -> None:
    assert b'"__proto__":' not in script("x", {"__proto__": {"hacked": True}, "text": '"__proto__":'})


def test_scripts_make_no_markup_and_ask_nobody() -> None:
    banned = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|fetch\(|XMLHttpRequest|import\("
    )
    scripts = sorted(PAGE.glob("*.js"))
    for path in scripts:
        text = path.read_text("utf-8")
        assert re.findall(banned, text) == [], path.name
        assert re.findall(r"https?://", text) == [], path.name
    page = (PAGE / "index.html").read_text("utf-8")
    named = set(re.findall(r'<script [^>]*src="([^"]+)"', page))
    assert named == {path.name for path in scripts} | {"data.js", "theme.js", "dom.js"}
    assert re.findall(r"<script(?![^>]* src=)", page) == []
    assert "default-src 'none'" in page
    assert "require-trusted-types-for 'script'" in page


# ------------------------------------------------------------------------------------------------------ a server


@contextmanager
def served(made: Made) -> Iterator[PagesServer]:
    with PagesServer(Pages(read_replies(made.runs, [made.suite]))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def get(server: PagesServer, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    found = answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
    connection.close()
    return found


@pytest.mark.slow
def test_the_server_gives_what_the_folder_holds(made: Made, tmp_path: Path) -> None:
    write(made.runs, tmp_path / "out")
    with served(made) as server:
        for path in sorted((tmp_path / "out").rglob("*")):
            if path.is_file():
                status, content, headers = get(server, f"/{path.relative_to(tmp_path / 'out').as_posix()}")
                assert (status, content) == (200, path.read_bytes())
                assert headers["x-content-type-options"] == "nosniff"
                assert headers["cross-origin-resource-policy"] == "same-origin"
                assert headers["cache-control"] == "no-store"
        assert get(server, "/")[1] == get(server, "/index.html?x=1")[1]
        assert server.address.startswith("http://127.0.0.1:")


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        *(
            "/../../etc/passwd",
            "/data/../index.html",
            "/data/texts/999999.js",
            "/data/texts/-1.js",
            "/data/samples/.js",
        ),
        *("/data/samples/99999.js", "/data/list", "/%2e%2e/pyproject.toml", "/data/samples/0.js/..", "//index.html/x"),
        *("/data/documents/0.js", "/run.json", "/data/samples/%30.js", "/browse/page/app.js", "/__init__.py"),
    ],
)
def test_only_known_names_are_served(made: Made, path: str) -> None:
    with served(made) as server:
        assert get(server, path)[0] == 404


@pytest.mark.slow
def test_other_names_other_sites_and_other_methods_are_refused(made: Made) -> None:
    with served(made) as server:
        port = server.server_address[1]
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port}.evil.example", ""):
            assert get(server, "/data/list.js", Host=host)[0] == 421, host
        assert get(server, "/", Host=f"localhost:{port}")[0] == 200
        assert get(server, "/data/list.js", Sec_Fetch_Site="cross-site", Sec_Fetch_Dest="script")[0] == 403
        assert get(server, "/data/list.js", Sec_Fetch_Site="same-site", Sec_Fetch_Dest="script")[0] == 403
        link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
        assert get(server, "/", **link, Sec_Fetch_Dest="document")[0] == 200
        assert get(server, "/", **link, Sec_Fetch_Dest="iframe")[0] == 403
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            assert get(server, "/", method)[0] == 501


@pytest.mark.slow
def test_garbage_on_the_wire_ends_only_its_own_connection(made: Made) -> None:
    with served(made) as server:
        for garbage in (
            b"\x00\xff\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 300 + b"\r\n",
            b"GET " + b"/" * 70_000,
        ):
            with socket.create_connection(("127.0.0.1", server.server_address[1])) as connection:
                connection.sendall(garbage)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass
        assert get(server, "/")[0] == 200


@pytest.mark.slow
def test_a_suite_that_is_gone_is_an_answer_and_a_note(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = make_hostile(tmp_path)
    with served(hostile) as server:
        (hostile.suite / "documents.parquet").write_bytes(b"PAR1 gone")
        status, content, _ = get(server, "/data/samples/0.js")
        assert status == 500
        assert b"build the suite again" in content
        assert get(server, "/data/list.js")[0] == 200
    assert "note:" in capsys.readouterr().err


def test_a_port_in_use_is_named(made: Made) -> None:
    pages = Pages(read_replies(made.runs[:1]))
    with PagesServer(pages) as server, pytest.raises(FathomError, match="choose another, or 0 for a free one"):
        PagesServer(pages, server.server_address[1])
    for port in (-1, 70_000):
        with pytest.raises(FathomError, match=f"`port` {port}: cannot be used"):
            PagesServer(pages, port)


@pytest.mark.slow
def test_the_command_serves_until_it_is_interrupted(made: Made, tmp_path: Path) -> None:
    program = (
        "import sys, os\nfrom fathom.cli import main\n"
        "os.dup2(os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT), 1)\n"
        "sys.argv = ['fathom', 'browse', sys.argv[1], '--no-open']\nmain()\n"
    )
    told = tmp_path / "told.txt"
    process = start_program(program, made.runs[0], told)
    until(lambda: told.is_file() and told.read_text().endswith("\n"), process)
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", told.read_text())
    assert found
    connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60)
    connection.request("GET", "/")
    assert connection.getresponse().status == 200
    connection.close()
    process.send_signal(2)
    assert process.wait() == 0
