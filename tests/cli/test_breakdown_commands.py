"""``fathom analyze breakdown``, ``repeats``, ``neighbours``, ``thinking`` and ``difficulty``: what they print."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from command_line import Call
from fathom import api
from fathom.rows import to_frame
from fathom.types import Facet, FathomError, Row

SCORES = {"low": 0.3, "mid": 0.6, "high": 0.9}


def reply(model: str, mode: str, item: int, epoch: int, value: float) -> Row:
    name = f"t/en/q{item}"
    facets: dict[str, Facet] = {"difficulty": "Hard" if item % 2 else "Easy", "thinking": mode, "model_kind": "mixed"}
    variant = "thinking" if mode == "on" else "non-thinking"
    return Row(
        "pro", "t", name, name, model, 8192, value, variant, epoch,
        valid=True, facets=facets, tokens_reasoning=1200 if mode == "on" else None,
    )  # fmt: skip


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Six models, two a tier, that are right up to a question; with thinking up to one more."""
    made = [
        reply(f"{tier} {number}", mode, item, epoch, float(item < 10 * skill + (mode == "on")))
        for tier, skill in SCORES.items()
        for number in (1, 2)
        for mode in ("off", "on")
        for item in range(10)
        for epoch in (1, 2)
    ]
    path = tmp_path / "rows.parquet"
    to_frame(made).write_parquet(path)
    return path


@pytest.fixture
def tiers(tmp_path: Path) -> Path:
    path = tmp_path / "tiers.toml"
    path.write_text("".join(f'{tier} = ["{tier} 1 · thinking", "{tier} 2 · thinking"]\n' for tier in SCORES))
    return path


@pytest.mark.slow
def test_breakdown_prints_groups_and_measures(call: Call, rows: Path) -> None:
    code, out, _ = call("analyze", "breakdown", rows, "--by", "overall,difficulty", "--measures", "mean,pass_at")
    assert code == 0
    assert [
        word for word in ("Score by difficulty", "Easy", "Hard", "Pass at 1 by difficulty", "90.0") if word not in out
    ] == []
    assert "note" not in out
    code, out, _ = call("analyze", "breakdown", rows, "--json")
    assert code == 0
    found = json.loads(out)
    assert {one["dimension"] for one in found} == {"overall", "language", "difficulty", "length"}
    assert {one["group"] for one in found if one["dimension"] == "length"} == {"8k"}
    assert [one.score for one in api.analyze("breakdown", [rows])] == [one["score"] for one in found]


def test_repeats_prints_errors_and_trends(call: Call, rows: Path) -> None:
    code, out, _ = call("analyze", "repeats", rows)
    assert code == 0
    words = ("Runs and errors", "Standard", "replies", "90.0", "0.00", "Best of n, pass at n", "first: 90.0")
    assert [word for word in words if word not in out] == []
    code, out, _ = call("analyze", "repeats", rows, "--json")
    assert [one["n"] for one in json.loads(out)[0]["trend"]] == [1, 2]


@pytest.mark.slow
def test_neighbours_prints_ranks_and_ties(call: Call, rows: Path) -> None:
    code, out, _ = call("analyze", "neighbours", rows)
    assert code == 0
    assert len(re.findall(r"\bno\n", re.sub(r" +\n", "\n", out))) >= 6
    assert "whether two models are distinguishable, come from one test of all differences" in " ".join(out.split())
    code, out, _ = call("analyze", "neighbours", rows, "--json")
    assert [one["rank"] for one in json.loads(out)] == list(range(1, 13))


def test_thinking_prints_gains_and_tokens(call: Call, rows: Path) -> None:
    code, out, _ = call("analyze", "thinking", rows)
    assert code == 0
    assert [word for word in ("+10.0", "1,200", "mixed", "Questions") if word not in out] == []
    code, out, _ = call("analyze", "thinking", rows, "--by", "difficulty")
    assert code == 0
    assert [word for word in ("Gain by difficulty", "Easy", "Hard", "1,200 tokens", " → ") if word not in out] == []
    assert "Without" not in out
    code, out, _ = call("analyze", "thinking", rows, "--by", "difficulty", "--json")
    assert {one["group"] for one in json.loads(out)} == {"Easy", "Hard"}


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["40", "80", "120"])
def test_nothing_is_cut_in_a_narrow_terminal(
    call: Call, rows: Path, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for study, figure in (
        ("repeats", r"\[\d+\.\d, \d+\.\d\]"),
        ("neighbours", r"\[[+−]?\d+\.\d, [+−]?\d+\.\d\]"),
        ("thinking", r"\[[+−]\d+\.\d, [+−]\d+\.\d\]"),
    ):
        code, out, _ = call("analyze", study, rows)
        assert code == 0
        assert "…" not in out
        assert out.count("[") == out.count("]") == len(re.findall(figure, out)) >= 6
        assert max(map(len, out.splitlines())) <= int(columns)


def test_notes_of_repeats_are_printed(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "once.parquet"
    to_frame([reply("m", "on", item, 1, item % 2) for item in range(4)]).write_parquet(path)
    code, out, _ = call("analyze", "repeats", path)
    assert code == 0
    assert "¹ No question has two scored repeats" in out


def test_names_of_models_stay_whole_in_the_list_of_settings(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = call("list", "settings")
    assert code == 0
    shown = {line.split()[0]: line.split()[1:] for line in out.splitlines()[1:] if line.strip()}
    names = [one["model"] for one in json.loads(call("list", "settings", "--json")[1])]
    assert list(shown) == names
    assert shown["Qwen3-32B"] == ["mixed", "120000", "1024/8192", "0.7/0.6"]
    assert shown["GPT-5"] == ["thinking", "272000", "-/32768", "-/1.0"]
    assert "without/with thinking" in err


def test_difficulty_prints_and_writes_labels(call: Call, rows: Path, tiers: Path, tmp_path: Path) -> None:
    out_file = tmp_path / "labels.jsonl"
    code, out, _ = call("analyze", "difficulty", rows, "--tiers", tiers, "--out", out_file)
    assert code == 0
    words = ("Moderate", "→Hard", "the same label", "as in their records")
    assert [word for word in words if word not in out] == []
    lines = [json.loads(line) for line in out_file.read_text().splitlines()]
    assert [(one["id"], one["label"]) for one in lines] == [
        *((f"q{number}", "Easy") for number in range(4)),
        *((f"q{number}", "Moderate") for number in range(4, 7)),
        *((f"q{number}", "Hard") for number in range(7, 10)),
    ]
    code, out, _ = call("analyze", "difficulty", rows, "--tiers", tiers, "--json")
    found = json.loads(out)
    assert found["counts"] == {"Easy": 4, "Moderate": 3, "Hard": 3, "Extreme": 0}
    (moved,) = (one["share"] for one in found["moved"] if (one["from"], one["to"]) == ("Easy", "Hard"))
    assert 0 < moved < 0.1
    assert found["labels"] == lines
    table = tmp_path / "labels.csv"
    call("analyze", "difficulty", rows, "--tiers", tiers, "--allowed", "0", "--correct", "all", "--out", table)
    assert pl.read_csv(table)["label"].to_list() == [one["label"] for one in lines]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["breakdown", "--by", "dificulty"], "'dificulty' to group by"),
        (["breakdown", "--measures", "median"], "unknown measure 'median'"),
        (["repeats", "--unscored", "half"], "--unanswered half: expected zero, drop"),
        (["difficulty", "--tiers", "none.toml"], "none.toml: cannot be read"),
        (["difficulty", "--tiers", "tiers.toml", "--correct", "most"], "expected majority, any, all, mean"),
        (["difficulty", "--tiers", "tiers.toml", "--out", "labels.txt"], "a table of labels must be a .parquet"),
    ],
)
def test_mistakes_are_explained(call: Call, rows: Path, tiers: Path, words: list[str], said: str) -> None:
    code, _, err = call("analyze", words[0], rows, *words[1:])
    assert code == 2
    assert said in " ".join(err.split())


def test_rows_that_say_nothing_of_a_study_are_named(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "none.parquet"
    to_frame([Row("s", "t", "i", "i", "m", 8192, None, status="error")]).write_parquet(path)
    for study, said in (("breakdown", "no row has a score"), ("thinking", "both with thinking and without")):
        code, out, err = call("analyze", study, path)
        assert (code, out) == (0, "")
        assert said in err


def test_tiers_belong_to_difficulty_only(rows: Path, tiers: Path) -> None:
    with pytest.raises(TypeError, match=re.escape("difficulty() needs tiers")):
        api.analyze("difficulty", [rows])
    with pytest.raises(TypeError, match=re.escape("repeats() has no argument 'tiers'")):
        api.analyze("repeats", [rows], tiers=tiers)
    with pytest.raises(FathomError, match="expected text"):
        api.analyze("categories", [rows], by=("difficulty", "thinking"))
