"""Fetching data sources: the real loading code against a hub on the loopback."""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from fathom.documents.sources import HubFile, Source
from fathom.documents.sources.fetching import Fetched, fetch
from fathom.documents.sources.finder import claims, known_names
from fathom.documents.sources.lock import LOCK, Checked, Pin, data_folder, place_of, read_pins, verify, write_pin
from fathom.documents.sources.registry import sources
from fathom.types import FathomError
from loopback_hub import DATASET, LoopbackHub, source_of
from processes import Program, start_program, until

LARGE = random.Random(1).randbytes(400_000)
SMALL = b'{"text": "small"}\n'


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    with LoopbackHub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield hub


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def take(source: Source, folder: Path) -> list[Fetched]:
    """Fetch one source without waiting between tries."""
    return fetch([source], folder, sleep=lambda seconds: None)


def environment_of_tests() -> dict[str, str]:
    """The environment of a process that imports the same package as this one, and what tests share."""
    places = (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", ""))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}


def parts(folder: Path) -> list[Path]:
    return list(folder.rglob("*.part"))


def status(source: Source, folder: Path) -> list[str]:
    return [checked.status for checked in verify([source], folder)]


# ------------------------------------------------------------------------------------- what is there and why


def test_files_lie_under_the_data_set_and_are_recorded(hub: LoopbackHub, tmp_path: Path) -> None:
    commit = hub.publish({"data/large.jsonl": LARGE, "small.jsonl": SMALL})
    source = source_of(HubFile("data/large.jsonl", sha256(LARGE)), "small.jsonl", revision=commit)
    told: list[tuple[str, int, int | None]] = []
    files = fetch([source], tmp_path, progress=lambda *step: told.append(step))
    assert [(file.path, file.size, file.sha256, file.received) for file in files] == [
        (tmp_path / "someone--texts/data/large.jsonl", len(LARGE), sha256(LARGE), len(LARGE)),
        (tmp_path / "someone--texts/small.jsonl", len(SMALL), sha256(SMALL), len(SMALL)),
    ]
    assert files[0].path.read_bytes() == LARGE
    assert files[1].path.read_bytes() == SMALL
    assert {file.revision for file in files} == {commit}
    assert ("texts large.jsonl", len(LARGE), len(LARGE)) in told
    assert read_pins(tmp_path) == {
        (DATASET, "data/large.jsonl"): Pin(DATASET, "data/large.jsonl", commit, len(LARGE), sha256(LARGE)),
        (DATASET, "small.jsonl"): Pin(DATASET, "small.jsonl", commit, len(SMALL), sha256(SMALL)),
    }
    assert status(source, tmp_path) == ["ok", "ok"]
    assert not parts(tmp_path)


def test_what_is_there_is_not_asked_for_again(hub: LoopbackHub, tmp_path: Path) -> None:
    source = source_of("large.jsonl", "small.jsonl", revision=hub.publish({"large.jsonl": LARGE, "small.jsonl": SMALL}))
    take(source, tmp_path)
    hub.log.clear()
    assert [file.received for file in take(source, tmp_path)] == [0, 0]
    assert not hub.log


def test_without_a_pinned_revision_the_newest_is_recorded_and_taken_ever_after(
    hub: LoopbackHub, tmp_path: Path
) -> None:
    first = hub.publish({"large.jsonl": LARGE})
    source = source_of("large.jsonl")
    assert take(source, tmp_path)[0].revision == first
    hub.publish({"large.jsonl": b"newer"})
    place_of(tmp_path, DATASET, "large.jsonl").unlink()
    again = take(source, tmp_path)[0]
    assert (again.revision, again.sha256) == (first, sha256(LARGE))


def test_another_declared_revision_replaces_what_was_fetched(hub: LoopbackHub, tmp_path: Path) -> None:
    take(source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE})), tmp_path)
    newer = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE[::-1]}))
    assert status(newer, tmp_path) == ["changed"]
    assert take(newer, tmp_path)[0].sha256 == sha256(LARGE[::-1])
    assert status(newer, tmp_path) == ["ok"]


@pytest.mark.parametrize("declared", [True, False])
def test_whole_files_of_an_unrecorded_folder_are_taken_over(hub: LoopbackHub, tmp_path: Path, declared: bool) -> None:
    large = HubFile("large.jsonl", sha256(LARGE) if declared else "")
    source = source_of(large, "small.jsonl", revision=hub.publish({"large.jsonl": LARGE, "small.jsonl": SMALL}))
    take(source, tmp_path)
    pins = read_pins(tmp_path)
    (tmp_path / LOCK).unlink()
    assert status(source, tmp_path) == ["ok" if declared else "unrecorded", "unrecorded"]
    assert [file.received for file in take(source, tmp_path)] == [0, 0]
    assert read_pins(tmp_path) == pins


def test_the_declared_checksum_counts_more_than_the_recorded_one(hub: LoopbackHub, tmp_path: Path) -> None:
    source = source_of(HubFile("large.jsonl", sha256(LARGE)), revision=hub.publish({"large.jsonl": LARGE}))
    take(source, tmp_path)
    forged = Pin(DATASET, "large.jsonl", source.revision, 5, sha256(b"other"))
    write_pin(tmp_path, forged)
    assert status(source, tmp_path) == ["ok"]
    assert take(source, tmp_path)[0].received == 0
    assert read_pins(tmp_path)[DATASET, "large.jsonl"].sha256 == sha256(LARGE)


def test_a_changed_or_lost_file_is_seen_and_fetched_anew(hub: LoopbackHub, tmp_path: Path) -> None:
    source = source_of("large.jsonl", "small.jsonl", revision=hub.publish({"large.jsonl": LARGE, "small.jsonl": SMALL}))
    large, small = (file.path for file in take(source, tmp_path))
    large.write_bytes(LARGE[:-1] + b"x")
    small.unlink()
    hub.log.clear()
    found: list[Checked] = verify([source], tmp_path)
    assert not hub.log
    assert [checked.status for checked in found] == ["changed", "missing"]
    assert sha256(LARGE) in found[0].detail
    assert [file.received for file in take(source, tmp_path)] == [len(LARGE), len(SMALL)]
    assert status(source, tmp_path) == ["ok", "ok"]


def test_the_default_folder_is_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path))
    assert data_folder() == tmp_path / "data"


def test_an_empty_file_is_a_file(hub: LoopbackHub, tmp_path: Path) -> None:
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": b""}))
    assert take(source, tmp_path)[0].path.read_bytes() == b""
    assert status(source, tmp_path) == ["ok"]


def test_every_declared_file_is_found_where_it_is_fetched_to() -> None:
    known = known_names(sources())
    for source in sources().values():
        for file in source.files:
            place = PurePosixPath(place_of(Path(), source.dataset, file.path))
            if place.suffix != ".zip":
                assert source.name in [name for name, _ in claims(place, known)], place


# ------------------------------------------------------------------------------------------ wrong checksums


def test_content_that_is_not_the_declared_one_is_refused_before_it_is_downloaded(
    hub: LoopbackHub, tmp_path: Path
) -> None:
    source = source_of(HubFile("large.jsonl", sha256(b"other")), revision=hub.publish({"large.jsonl": LARGE}))
    with pytest.raises(FathomError) as failure:
        take(source, tmp_path)
    for words in ("texts:", "large.jsonl", DATASET, sha256(b"other"), sha256(LARGE), "fetch it again"):
        assert words in str(failure.value)
    assert not hub.downloads()


@pytest.mark.parametrize("name", ["large.jsonl", "small.jsonl"])
@pytest.mark.parametrize("declared", [True, False])
def test_a_wrong_checksum_leaves_nothing_behind(hub: LoopbackHub, tmp_path: Path, name: str, declared: bool) -> None:
    source = source_of(HubFile(name, sha256(LARGE) if declared else ""), revision=hub.publish({name: LARGE}))
    hub.fail("GET", name, body=LARGE[:-1] + b"x")
    with pytest.raises(FathomError, match=f"{name} of {DATASET} .* expected [0-9a-f]+, the download has [0-9a-f]+"):
        take(source, tmp_path)
    assert status(source, tmp_path) == ["missing"]
    assert not parts(tmp_path)
    assert not (tmp_path / LOCK).exists()
    assert take(source, tmp_path)[0].sha256 == sha256(LARGE)


def test_where_the_hub_announces_no_checksum_the_first_download_is_the_measure(
    hub: LoopbackHub, tmp_path: Path
) -> None:
    hub.announce = False
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    assert take(source, tmp_path)[0].sha256 == sha256(LARGE)
    place_of(tmp_path, DATASET, "large.jsonl").unlink()
    hub.fail("GET", "large.jsonl", body=LARGE[::-1])
    with pytest.raises(FathomError, match=f"expected {sha256(LARGE)}, the download has {sha256(LARGE[::-1])}"):
        take(source, tmp_path)


# ------------------------------------------------------------------------------------- what the hub refuses


def test_refusals_say_what_is_wrong_and_what_to_do(hub: LoopbackHub, tmp_path: Path) -> None:
    commit = hub.publish({"large.jsonl": LARGE})

    def refusal(source: Source) -> str:
        with pytest.raises(FathomError) as failure:
            take(source, tmp_path)
        assert "`data` FOLDER" in str(failure.value) or "HF_TOKEN" in str(failure.value)
        return str(failure.value)

    assert f"has no revision {'0' * 40}" in refusal(source_of("large.jsonl", revision="0" * 40))
    assert f"has no file lost.jsonl at revision {commit}" in refusal(source_of("lost.jsonl", revision=commit))
    assert "has no data set someone/lost" in refusal(source_of("large.jsonl", dataset="someone/lost"))
    assert "has no data set someone/lost" in refusal(source_of("a.jsonl", dataset="someone/lost", revision=commit))
    for status in (401, 403):
        hub.fail("HEAD", "large.jsonl", status=status, code="GatedRepo")
        gated = refusal(source_of("large.jsonl", revision=commit))
        assert f"{DATASET} is gated: accept its terms on {hub.url.removeprefix('http://')}/datasets/{DATASET}" in gated
        assert "HF_TOKEN" in gated
        hub.fail("HEAD", "large.jsonl", status=status)
        assert f"(HTTP {status}): set HF_TOKEN" in refusal(source_of("large.jsonl", revision=commit))
    assert not read_pins(tmp_path)


def test_one_refused_source_does_not_keep_the_others_back(hub: LoopbackHub, tmp_path: Path) -> None:
    good = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}), name="good")
    lost, gone = (
        source_of("lost.jsonl", revision=good.revision, name="lost"),
        source_of("a", dataset="a/b", name="gone"),
    )
    seen: list[Fetched] = []
    with pytest.raises(FathomError) as failure:
        fetch([lost, good, gone], tmp_path, fetched=seen.append)
    assert [file.source for file in seen] == ["good"]
    assert [line.partition(":")[0] for line in str(failure.value).splitlines()] == ["lost", "gone"]
    assert status(good, tmp_path) == ["ok"]


def test_a_recorded_revision_that_is_gone_says_how_to_take_the_newest(hub: LoopbackHub, tmp_path: Path) -> None:
    first = hub.publish({"large.jsonl": LARGE})
    source = source_of("large.jsonl")
    take(source, tmp_path)
    newest = hub.publish({"large.jsonl": LARGE[::-1]})
    del hub.revisions[DATASET][first]
    assert take(source, tmp_path)[0].revision == first  # what is there stays usable
    place_of(tmp_path, DATASET, "large.jsonl").unlink()
    with pytest.raises(FathomError, match=f"no longer has revision {first}") as failure:
        take(source, tmp_path)
    assert f"remove its records from {tmp_path / LOCK}" in str(failure.value)
    assert "update fathom" not in str(failure.value)
    (tmp_path / LOCK).write_text('{"files": []}')
    again = take(source, tmp_path)[0]
    assert (again.revision, again.sha256) == (newest, sha256(LARGE[::-1]))


def test_a_data_set_that_moved_is_fetched_from_where_it_is_now(hub: LoopbackHub, tmp_path: Path) -> None:
    commit = hub.publish({"large.jsonl": LARGE, "small.jsonl": SMALL}, "someone/renamed")
    hub.moved[DATASET] = "someone/renamed"
    files = take(source_of("large.jsonl", "small.jsonl"), tmp_path)
    assert [(file.revision, file.sha256) for file in files] == [(commit, sha256(LARGE)), (commit, sha256(SMALL))]
    assert files[0].path == place_of(tmp_path, DATASET, "large.jsonl")


def test_small_files_behind_a_redirect_within_the_hub_come_with_their_checksum(
    hub: LoopbackHub, tmp_path: Path
) -> None:
    hub.cached = True
    source = source_of("small.jsonl", revision=hub.publish({"small.jsonl": SMALL}))
    hub.fail("GET", f"resolve-cache/datasets/{DATASET}/{source.revision}/small.jsonl", body=SMALL[::-1])
    with pytest.raises(FathomError, match="is not the expected file"):
        take(source, tmp_path)
    assert take(source, tmp_path)[0].sha256 == sha256(SMALL)


def test_an_address_that_is_none_and_a_hub_that_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "huggingface.co")
    with pytest.raises(FathomError, match=r"HF_ENDPOINT='huggingface\.co': expected an address such as https://"):
        take(source_of("large.jsonl"), tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", "http://user:secret@127.0.0.1:9")
    with pytest.raises(FathomError, match=r"127\.0\.0\.1:9 cannot be reached") as failure:
        take(source_of("large.jsonl"), tmp_path)
    assert "secret" not in str(failure.value)


def test_offline_mode_is_named(hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(FathomError, match="HF_HUB_OFFLINE is set, so someone/texts cannot be fetched"):
        take(source_of("large.jsonl"), tmp_path)
    assert not hub.log


@pytest.mark.slow
def test_offline_what_is_there_is_used_and_what_is_missing_is_named(hub: LoopbackHub, tmp_path: Path) -> None:
    commit = hub.publish({"large.jsonl": LARGE, "lost.jsonl": LARGE})
    take(source_of("large.jsonl", revision=commit), tmp_path)
    hub.log.clear()
    program = """
import sys
from pathlib import Path
from fathom.documents.sources.fetching import fetch
from fathom.types import FathomError
from loopback_hub import source_of
sources = [source_of(f"{name}.jsonl", revision=sys.argv[1], name=name) for name in ("lost", "large")]
try:
    fetch(sources, Path(sys.argv[2]), fetched=lambda file: print(file.source, file.received))
except FathomError as error:
    print(error)
"""
    environment = {**environment_of_tests(), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", program, commit, str(tmp_path)]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed[0] == "large 0"
    assert printed[1].startswith(f"lost: HF_HUB_OFFLINE is set, so {DATASET} cannot be fetched: unset it, or put")
    assert len(printed) == 2
    assert not hub.log


def test_a_page_that_is_no_hub_is_named(hub: LoopbackHub, tmp_path: Path) -> None:
    hub.publish({"large.jsonl": LARGE})
    hub.fail("GET", f"datasets/{DATASET}", page=b"<p>Log in to the network</p>")
    with pytest.raises(FathomError, match="does not answer as a hub does: is HF_ENDPOINT its address"):
        take(source_of("large.jsonl"), tmp_path)


def test_without_huggingface_hub_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub.utils", None)
    with pytest.raises(FathomError, match=r"pip install 'fathom-eval\[hub\]'"):
        take(source_of("large.jsonl"), tmp_path)


def test_the_token_goes_to_the_hub_and_nowhere_else(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    caplog.set_level("DEBUG")
    hub.publish({"large.jsonl": LARGE})
    take(source_of("large.jsonl"), tmp_path)
    assert {one.token for one in hub.log if not one.storage} == {"Bearer hf_secret"}
    assert {one.token for one in hub.log if one.storage} == {""}
    assert "hf_secret" not in (tmp_path / LOCK).read_text() + caplog.text


# ------------------------------------------------------------------------------------ cuts, retries, resuming


@pytest.mark.parametrize(
    ("method", "path"), [("HEAD", "large.jsonl"), ("GET", "large.jsonl"), ("GET", f"datasets/{DATASET}")]
)
@pytest.mark.parametrize("status", [500, 503, 429])
def test_an_error_that_passes_is_tried_again(
    hub: LoopbackHub, tmp_path: Path, method: str, path: str, status: int
) -> None:
    hub.publish({"large.jsonl": LARGE})
    hub.fail(method, path, status=status, times=2)
    pauses: list[float] = []
    assert fetch([source_of("large.jsonl")], tmp_path, sleep=pauses.append)[0].sha256 == sha256(LARGE)
    assert pauses == [1, 2]


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"RateLimit": '"resolvers";r=0;t=55'}, 56),
        ({"RateLimit": '"resolvers";r=9;t=55'}, 1),  # requests are left: another limit was reached
        ({"Retry-After": "20"}, 21),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 1),
        ({"Retry-After": "3600"}, 301),
    ],
)
def test_a_hub_that_limits_requests_is_waited_for_as_long_as_it_says(
    hub: LoopbackHub, tmp_path: Path, headers: dict[str, str], pause: int
) -> None:
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    hub.fail("HEAD", "large.jsonl", status=429, headers=headers)
    pauses: list[float] = []
    told: list[str] = []
    fetch([source], tmp_path, sleep=pauses.append, progress=lambda what, done, total: told.append(what))
    assert pauses == [pause]
    assert (f"texts: the hub limits requests, waiting {pause} seconds" in told) == (pause > 10)


def test_a_transfer_that_stands_still_is_ended_and_resumed(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT", 0.2)
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    hub.fail("GET", "large.jsonl", stall=150_000)
    assert take(source, tmp_path)[0].sha256 == sha256(LARGE)
    assert [(one.range, one.sent) for one in hub.downloads()] == [("", 150_000), ("bytes=150000-", 250_000)]


def test_an_error_that_stays_ends_the_fetch(hub: LoopbackHub, tmp_path: Path) -> None:
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    hub.fail("HEAD", "large.jsonl", status=503, times=99)
    with pytest.raises(FathomError, match=r"answers HTTP 503 .* try again later"):
        take(source, tmp_path)
    assert len(hub.log) == 4


def test_a_connection_cut_in_the_middle_goes_on_where_it_stopped(hub: LoopbackHub, tmp_path: Path) -> None:
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    hub.fail("GET", "large.jsonl", cut=150_000)
    assert take(source, tmp_path)[0].received == len(LARGE)
    first, second = hub.downloads("large.jsonl")
    assert (first.range, first.sent) == ("", 150_000)
    assert (second.range, second.sent) == ("bytes=150000-", 250_000)


def test_a_download_that_comes_on_is_not_given_up(hub: LoopbackHub, tmp_path: Path) -> None:
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    hub.fail("GET", "large.jsonl", cut=50_000, times=7)
    pauses: list[float] = []
    assert fetch([source], tmp_path, sleep=pauses.append)[0].received == len(LARGE)
    assert pauses == [0.5] * 7


def test_an_answer_that_ends_early_without_a_length_is_a_cut(hub: LoopbackHub, tmp_path: Path) -> None:
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    hub.fail("GET", "large.jsonl", cut=150_000, sized=False)
    take(source, tmp_path)
    assert [one.range for one in hub.downloads()] == ["", "bytes=150000-"]


def test_a_part_that_is_whole_is_not_asked_for(hub: LoopbackHub, tmp_path: Path) -> None:
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    hub.fail("GET", "large.jsonl", cut=150_000)
    hub.fail("GET", "large.jsonl", cut=0, times=4)
    with pytest.raises(FathomError):
        take(source, tmp_path)
    parts(tmp_path)[0].write_bytes(LARGE)
    hub.log.clear()
    assert take(source, tmp_path)[0].received == 0
    assert {one.method for one in hub.log} == {"HEAD"}
    assert status(source, tmp_path) == ["ok"]


def test_what_came_before_the_fetch_gave_up_is_not_asked_for_again(hub: LoopbackHub, tmp_path: Path) -> None:
    source = source_of(HubFile("large.jsonl", sha256(LARGE)), revision=hub.publish({"large.jsonl": LARGE}))
    hub.fail("GET", "large.jsonl", cut=150_000)
    hub.fail("GET", "large.jsonl", cut=0, times=4)
    with pytest.raises(FathomError, match="the partial download is kept, run the same command again to resume"):
        take(source, tmp_path)
    assert status(source, tmp_path) == ["missing"]
    assert [part.stat().st_size for part in parts(tmp_path)] == [150_000]
    hub.log.clear()
    assert take(source, tmp_path)[0].received == 250_000
    assert [(one.range, one.sent) for one in hub.downloads()] == [("bytes=150000-", 250_000)]
    assert status(source, tmp_path) == ["ok"]
    assert not parts(tmp_path)


def test_parts_of_other_contents_are_cleared_away(hub: LoopbackHub, tmp_path: Path) -> None:
    hub.fail("GET", "large.jsonl", cut=150_000)
    hub.fail("GET", "large.jsonl", cut=0, times=4)
    with pytest.raises(FathomError):
        take(source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE[::-1]})), tmp_path)
    newer = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    assert take(newer, tmp_path)[0].received == len(LARGE)
    assert not parts(tmp_path)


def test_a_server_that_knows_no_ranges_is_read_from_the_start(hub: LoopbackHub, tmp_path: Path) -> None:
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    hub.fail("GET", "large.jsonl", cut=150_000)
    hub.fail("GET", "large.jsonl", whole=True)
    assert take(source, tmp_path)[0].sha256 == sha256(LARGE)
    assert [one.sent for one in hub.downloads()] == [150_000, len(LARGE)]


@pytest.mark.parametrize("extra", [b"", b"too much"])
def test_a_part_that_is_no_start_of_the_file_is_thrown_away(hub: LoopbackHub, tmp_path: Path, extra: bytes) -> None:
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    hub.fail("GET", "large.jsonl", cut=150_000)
    hub.fail("GET", "large.jsonl", cut=0, times=4)
    with pytest.raises(FathomError):
        take(source, tmp_path)
    parts(tmp_path)[0].write_bytes(bytes(len(LARGE) if extra else 150_000) + extra)
    if extra:  # longer than the file: seen at once
        assert take(source, tmp_path)[0].sha256 == sha256(LARGE)
        return
    with pytest.raises(FathomError, match="is not the expected file"):
        take(source, tmp_path)
    assert not parts(tmp_path)
    assert take(source, tmp_path)[0].received == len(LARGE)


PROGRAM = """
import sys
from pathlib import Path
from fathom.documents.sources.fetching import fetch
from loopback_hub import source_of
fetch([source_of("large.jsonl", revision=sys.argv[1])], Path(sys.argv[2]))
"""


def process(source: Source, folder: Path) -> Program:
    """A process that fetches a source."""
    return start_program(PROGRAM, source.revision, folder, stderr=None, env=environment_of_tests())


def wait_for_part(hub: LoopbackHub, folder: Path, size: int) -> None:
    """Until the transfer stands still and all that was sent is on the disk."""
    hub.reached.wait()
    until(lambda: sum(part.stat().st_size for part in parts(folder)) == size)


@pytest.mark.slow
def test_kill_9_loses_nothing_that_came(hub: LoopbackHub, tmp_path: Path) -> None:
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    hub.fail("GET", "large.jsonl", stall=150_000)
    victim = process(source, tmp_path)
    try:
        wait_for_part(hub, tmp_path, 150_000)
    finally:
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    assert status(source, tmp_path) == ["missing"]
    hub.log.clear()
    assert take(source, tmp_path)[0].received == 250_000
    assert [(one.range, one.sent) for one in hub.downloads()] == [("bytes=150000-", 250_000)]
    assert status(source, tmp_path) == ["ok"]


# ------------------------------------------------------------------------------- several processes, full disks


@pytest.mark.slow
def test_two_processes_fetch_a_file_once(hub: LoopbackHub, tmp_path: Path) -> None:
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    both = [process(source, tmp_path) for _ in range(2)]
    assert [one.wait() for one in both] == [0, 0]
    assert [one.sent for one in hub.downloads()] == [len(LARGE)]
    assert status(source, tmp_path) == ["ok"]


@pytest.mark.slow
def test_a_fetch_says_that_it_waits_for_another(hub: LoopbackHub, tmp_path: Path) -> None:
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    hub.fail("GET", "large.jsonl", stall=150_000)
    waits = threading.Event()
    received: list[int] = []

    def second() -> None:
        def told(what: str, done: int, total: int | None) -> None:
            if "another process is fetching it" in what:
                waits.set()

        received.extend(file.received for file in fetch([source], tmp_path, progress=told))

    first = process(source, tmp_path)
    try:
        wait_for_part(hub, tmp_path, 150_000)
        thread = threading.Thread(target=second)
        thread.start()
        waits.wait()
    finally:
        first.kill()
        first.wait()
    thread.join()
    assert received == [250_000]


def test_what_many_write_into_the_lock_file_is_all_there(tmp_path: Path) -> None:
    pins = [Pin(DATASET, f"{number}.jsonl", "0" * 40, number, sha256(b"")) for number in range(24)]

    def write(some: list[Pin]) -> None:
        for pin in some:
            write_pin(tmp_path, pin)

    threads = [threading.Thread(target=write, args=(pins[start::4],)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(read_pins(tmp_path).values()) == set(pins)


@pytest.mark.parametrize(
    "damage", ["", "[]", "{}", '{"files": [{}]}', '{"files": [{"dataset": 1}]}', '{"files": 3}', "\xff"]
)
def test_a_damaged_lock_file_is_named(tmp_path: Path, damage: str) -> None:
    (tmp_path / LOCK).write_text(damage, "latin-1")
    with pytest.raises(FathomError, match=r"data\.lock\.json is damaged: delete it and fetch again"):
        verify([source_of("large.jsonl")], tmp_path)


def test_the_lock_file_is_plain_json(tmp_path: Path) -> None:
    pin = Pin(DATASET, "a.jsonl", "0" * 40, 3, sha256(b"abc"))
    write_pin(tmp_path, pin)
    assert json.loads((tmp_path / LOCK).read_text())["files"] == [
        {"dataset": DATASET, "path": "a.jsonl", "revision": "0" * 40, "size": 3, "sha256": sha256(b"abc")}
    ]


def test_too_little_room_is_said_before_the_download(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(0, 0, 1000))
    with pytest.raises(FathomError, match=r"large\.jsonl needs .* are free: make room"):
        take(source, tmp_path)
    assert not hub.downloads()


def test_a_disk_that_fills_up_keeps_what_came(hub: LoopbackHub, tmp_path: Path) -> None:
    source = source_of("large.jsonl", revision=hub.publish({"large.jsonl": LARGE}))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with pytest.raises(
            FathomError, match=r"large\.jsonl: cannot be read or written: .*the same command again to resume"
        ):
            take(source, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert status(source, tmp_path) == ["missing"]
    hub.log.clear()
    assert take(source, tmp_path)[0].received == 200_000
    assert [one.range for one in hub.downloads()] == ["bytes=200000-"]


def test_a_folder_that_is_a_file_is_named(hub: LoopbackHub, tmp_path: Path) -> None:
    hub.publish({"large.jsonl": LARGE})
    (tmp_path / "file").write_text("")
    with pytest.raises(FathomError, match=r"file.*cannot be written"):
        take(source_of("large.jsonl"), tmp_path / "file")
