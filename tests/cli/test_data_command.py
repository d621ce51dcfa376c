"""``fathom data fetch`` and ``verify``, and a build from what they brought."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from engine_calls import configure
from fathom.cli import main
from fathom.documents.sources import HubFile, Source, registry
from fathom.documents.sources.lock import place_of
from fathom.suites.registry import get_suite
from fathom.suites.suitefile import open_suite
from loopback_hub import LoopbackHub, source_of
from made import make_document

LARGE = b'{"text": "some words"}\n' * 1000
DECLARED = registry.sources
SHA = hashlib.sha256(LARGE).hexdigest()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LoopbackHub]:
    """A hub with two data sets, which are the only declared sources."""
    with LoopbackHub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
        declared = [
            source_of(HubFile("large.jsonl", SHA), revision=hub.publish({"large.jsonl": LARGE}), name="pinned"),
            source_of("other.jsonl", dataset="someone/others", name="newest"),
        ]
        hub.publish({"other.jsonl": b"{}\n"}, "someone/others")
        declare(monkeypatch, declared)
        yield hub


def declare(monkeypatch: pytest.MonkeyPatch, sources: list[Source]) -> None:
    monkeypatch.setattr(registry, "sources", lambda: {source.name: source for source in sources})


class Call:
    """Calls the command as a shell would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        self.monkeypatch.setattr(sys, "argv", ["fathom", *words])
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        printed = self.capsys.readouterr()
        return int(str(code or 0)), printed.out, printed.err


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return Call(monkeypatch, capsys)


@pytest.mark.slow
def test_fetch_says_what_came_from_where_and_under_which_licence(hub: LoopbackHub, call: Call, tmp_path: Path) -> None:
    code, out, err = call("data", "fetch", "pinned", "newest", "--to", "data")
    assert (code, err) == (0, "")
    assert "pinned" in out
    assert "newest" in out
    assert "someone--texts/large.jsonl" in out
    assert out.endswith("files are in data\n")
    assert hub.heads["someone/texts"][:12] in out
    assert hub.heads["someone/others"][:12] in out
    assert "CC-BY-4.0" in out
    assert call("data", "fetch", "pinned", "--to", "data")[1].count("was there") == 1
    code, out, err = call("data", "verify", "--in", "data", "--json")
    assert code == 0
    assert [(one["source"], one["status"]) for one in json.loads(out)] == [("pinned", "ok"), ("newest", "ok")]


def test_fetch_as_json_has_every_file(hub: LoopbackHub, call: Call) -> None:
    files = json.loads(call("data", "fetch", "pinned", "--to", "data", "--json")[1])
    assert files == [
        {
            "source": "pinned",
            "dataset": "someone/texts",
            "revision": hub.heads["someone/texts"],
            "path": "data/someone--texts/large.jsonl",
            "size": len(LARGE),
            "sha256": SHA,
            "received": len(LARGE),
            "licence": "CC-BY-4.0",
        }
    ]


def test_without_a_folder_the_cache_is_the_place(hub: LoopbackHub, call: Call, tmp_path: Path) -> None:
    assert call("data", "verify")[0] == 2
    assert call("data", "fetch", "pinned")[0] == 0
    assert place_of(tmp_path / "cache" / "data", "someone/texts", "large.jsonl").read_bytes() == LARGE
    code, out, _ = call("data", "verify")
    assert code == 0
    assert "newest" not in out


def test_verify_exits_1_where_a_file_is_changed_or_missing(hub: LoopbackHub, call: Call) -> None:
    call("data", "fetch", "pinned", "newest", "--to", "data")
    hub.log.clear()
    place_of(Path("data"), "someone/texts", "large.jsonl").write_bytes(b"{}")
    code, out, err = call("data", "verify", "pinned", "--in", "data")
    assert code == 1
    assert "changed" in out
    assert f"expected sha256 {SHA}" in err
    assert "`fathom data fetch pinned --to data`" in err
    place_of(Path("data"), "someone/others", "other.jsonl").unlink()
    code, out, err = call("data", "verify", "--in", "data")
    assert code == 1
    assert "missing" in out
    assert "2 of 2 files are changed or missing" in err
    assert not hub.log


def test_what_came_is_shown_where_another_source_fails(hub: LoopbackHub, call: Call) -> None:
    hub.fail("HEAD", "other.jsonl", status=403, code="GatedRepo")
    code, out, err = call("data", "fetch", "newest", "pinned", "--to", "data")
    assert code == 2
    assert "pinned" in out
    assert "fathom: newest: someone/others is gated" in err


def test_names_that_are_not_known_and_no_names_at_all(hub: LoopbackHub, call: Call) -> None:
    code, _, err = call("data", "fetch", "pinnd")
    assert code == 2
    assert "unknown data source 'pinnd'; did you mean pinned?" in err
    assert "name data sources to fetch" in call("data", "fetch")[2]
    assert "it has no data sources" in call("data", "fetch", "--suite", "starter")[2]
    assert call("data", "fetch", "--suite", "startr")[0] == 2
    assert "fetch" in call("data")[1]


@pytest.mark.slow
def test_a_suite_means_all_its_sources(hub: LoopbackHub, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    names = sorted({name for some in get_suite("hundred").sources.values() for name in some})
    commit = hub.publish({f"{name}.jsonl": LARGE for name in names})
    declare(monkeypatch, [source_of(f"{name}.jsonl", revision=commit, name=name) for name in names])
    files = json.loads(call("data", "fetch", "--suite", "hundred", "--to", "data", "--json")[1])
    assert sorted(file["source"] for file in files) == names


def long_bench(numbers: range) -> bytes:
    """Records of made-up documents as LongBench publishes them."""
    records = [
        {"input": one.questions[0].text, "context": one.text, "answers": list(one.questions[0].answers)}
        for one in (make_document(number) for number in numbers)
    ]
    return "".join(json.dumps(record) + "\n" for record in records).encode()


@pytest.mark.slow
def test_a_suite_is_built_from_what_was_fetched(
    hub: LoopbackHub, call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    archive = BytesIO()
    with ZipFile(archive, "w") as stream:
        stream.writestr("data/qasper.jsonl", long_bench(range(20)))
    articles = [make_document(number) for number in range(100, 180)]
    news = [{"article": one.text, "highlights": one.summary, "id": one.title} for one in articles]
    lines = "".join(json.dumps(record) + "\n" for record in news).encode()
    commit = hub.publish({"data.zip": archive.getvalue(), "test.jsonl": lines}, "someone/cnn_dailymail")
    placed = {"qasper": "data.zip", "cnn_dailymail": "test.jsonl"}
    real = DECLARED()
    here = {
        name: replace(real[name], dataset="someone/cnn_dailymail", revision=commit, files=(HubFile(path),))
        for name, path in placed.items()
    }
    declare(monkeypatch, [*here.values(), *(source for name, source in real.items() if name not in here)])
    build = ["build", "hundred", "--lengths", "1k,2k", "--items", "3", "--tokenizer", "words", "--quiet"]
    code, _, err = call(*build, "--out", "before")
    assert code == 2
    assert "fathom data fetch --suite hundred" in err
    assert call("data", "fetch", *placed)[0] == 0
    code, _, err = call(*build, "--out", "suite")
    assert code == 0, err
    assert "missing data sources" in err
    built = open_suite(Path("suite"))
    assert {"single_doc_qa", "passage_retrieval", "kv_retrieval"} <= set(built.manifest["samples"])
    assert any("volume" in text for text in built.texts().values())
    assert configure("hundred").data == (str(tmp_path / "cache" / "data"),)
    assert configure("hundred", corpus=["world"]).data == ()
    assert configure("starter").data == ()
