"""Recordings of what must stay equal: the same behaviour gives the same texts, and a difference is shown."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "performance"))

from unchanged import Neutral, differences
from unchanged_runs import RUNS, OpenAI


def test_texts_of_two_recordings_are_equal(tmp_path: Path) -> None:
    first = Neutral(tmp_path / "a", "0.1.0", ("2026-01-02",))
    second = Neutral(tmp_path / "b", "0.2.0", ("2027-03-04",))
    text = "{}/run at http://127.0.0.1:{}/v1, fathom {}, {}, {}T10:11:12+00:00, scores 10.1.0"
    texts = [
        first.text(text.format(tmp_path / "a", 5000, "0.1.0", "2026-01-02", "2026-01-02")),
        second.text(text.format(tmp_path / "b", 6000, "0.2.0", "2027-03-04", "2027-03-04")),
    ]
    assert texts == ["<folder>/run at http://<server>/v1, fathom <version>, <day>, <time>, scores 10.1.0"] * 2


def test_every_difference_is_named_and_shown() -> None:
    before = {"help/run": "one\ntwo", "help/old": "", "report/html": "abc"}
    after = {"help/run": "one\nthree", "help/new": "", "report/html": "abc"}
    assert list(differences(before, after)) == [
        "help/new: new",
        "help/old: gone",
        "help/run: differs\n    @@ -1,2 +1,2 @@\n     one\n    -two\n    +three",
    ]
    assert not list(differences(before, before))


def test_servers_keep_requests_without_the_key() -> None:
    headers = {"Host": "127.0.0.1:1", "Authorization": "Bearer made-up-key"}
    with OpenAI() as server:
        server.answer("POST", "/v1/completions", headers, b'{"prompt": "a b", "echo": true}')
    expected = 'POST /v1/completions\nauthorization: Bearer <key>\n\n{\n "echo": true,\n "prompt": "a b"\n}'
    assert server.requests == [expected]


def test_runs_have_folders_of_their_own() -> None:
    assert len({"".join(filter(str.isalpha, name.lower())) for name in RUNS}) == len(RUNS)
