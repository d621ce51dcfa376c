from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from command_line import Call
from fathom.score.files import ScoreSummary, score_file
from fathom.score.registry import RULES, ScoringRow, get_scorer, metric_name, metrics
from fathom.types import FathomError

GOLDEN = Path(__file__).parents[2].parent / "shared" / "golden" / "edge" / "100longbench.jsonl.gz"
F1 = "100longbench/qa_f1"
PACK: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}


def scored(
    path: Path, *, metric: str | None = None, rule: str = "official", check: bool = False
) -> list[dict[str, object]]:
    out = io.StringIO()
    score_file(path, metric=metric, rule=rule, check=check, out=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def write(path: Path, rows: list[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_rows_are_scored_in_order_and_bad_ones_do_not_stop_the_rest(tmp_path: Path) -> None:
    good = {"prediction": "Paris", "answers": ["Paris"]}
    path = tmp_path / "rows.jsonl"
    lines = [
        json.dumps(good | {"case_id": "a"}),
        "{broken",
        "[1]",
        json.dumps({"answers": []}),
        "",
        json.dumps(good | {"prediction": None, "case_id": None}),
        json.dumps(good | {"answers": "Rome"}),
        json.dumps(good | {"answers": [5]}),
        "[" * 100_000,
        json.dumps(good | {"prediction": ""}),
    ]
    path.write_bytes("\n".join(lines).encode() + b"\n\xff\n")
    rows = scored(path, metric=F1)
    assert [row["index"] for row in rows] == list(range(10))
    assert rows[0] == {"index": 0, "case_id": "a", "score": 1.0, "valid": True, "rule": "official"}
    assert [row["score"] for row in rows[1:]] == [None, None, None, None, 0.0, None, None, 0.0, None]
    assert rows[4]["case_id"] is None
    assert rows[8] == {"index": 8, "score": 0.0, "valid": False, "rule": "official"}
    for index, says in {
        1: "not JSON",
        2: "expected a JSON object",
        3: "'prediction'",
        4: "AttributeError",
        9: "not UTF-8",
    }.items():
        assert says in str(rows[index]["error"])


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_compressed_and_damaged_files(tmp_path: Path, suffix: str) -> None:
    plain = b"".join(
        json.dumps({"prediction": f"{n} " * 50, "answers": [str(n)]}).encode() + b"\n" for n in range(3000)
    )
    packed = PACK[suffix](plain)
    path = tmp_path / f"rows.jsonl{suffix}"
    path.write_bytes(packed)
    assert len(scored(path, metric=F1)) == 3000
    if suffix:
        path.write_bytes(packed[: len(packed) // 2])
        rows = scored(path, metric=F1)
        assert 1 < len(rows) < 3000
        assert all(row["score"] is not None for row in rows[:-1])
        assert "is damaged" in str(rows[-1]["error"])


def test_every_format_is_scored_alike(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"prediction": 'the "Seine", in Paris', "answers": ["Paris"], "score": 0.5, "case_id": "a"},
        {"prediction": "", "answers": ["Rome", "Roma"], "score": 0.0, "case_id": "b"},
    ]
    expected = scored(write(tmp_path / "rows.jsonl", list(rows)), metric=F1)
    assert [row["score"] for row in expected] == [0.5, 0.0]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    pl.DataFrame(rows).write_parquet(tmp_path / "rows.parquet")
    pl.DataFrame(rows).write_ipc(tmp_path / "rows.arrow")
    texts = [row | {"answers": json.dumps(row["answers"])} for row in rows]
    pl.DataFrame(texts).write_csv(tmp_path / "rows.csv")
    pl.DataFrame(texts).write_csv(tmp_path / "rows.tsv", separator="\t")
    for name in ("rows.json", "rows.parquet", "rows.arrow", "rows.csv", "rows.tsv"):
        assert scored(tmp_path / name, metric=F1) == expected
        assert score_file(tmp_path / name, metric=F1, check=True).differing == 0
    (tmp_path / "one.csv").write_text("prediction,answers,score\nParis,Paris,1\n,Paris,\n")
    assert [row["score"] for row in scored(tmp_path / "one.csv", metric=F1)] == [1.0, 0.0]
    (tmp_path / "rows.log").write_text("")
    with pytest.raises(FathomError, match="unknown format"):
        score_file(tmp_path / "rows.log", metric=F1)


def test_a_row_names_its_own_metric_unless_one_is_given(tmp_path: Path) -> None:
    row = {"prediction": "12 or 13", "answers": ["12"]}
    own = row | {"suite": "100longbench", "metric": "first_number"}
    path = write(tmp_path / "rows.jsonl", [own, row, own | {"metric": "nonsense"}])
    first, second, third = scored(path)
    assert first["score"] == 1.0
    assert "has no metric" in str(second["error"])
    assert "did you mean hundred/" in str(third["error"])
    assert "fathom list metrics" in str(third["error"])
    assert scored(path, metric=F1)[0]["score"] == pytest.approx(0.5)


def test_what_cannot_be_scored_at_all_is_said_at_once(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [])
    with pytest.raises(FathomError, match="hundred/qa_f1"):
        score_file(path, metric="nobody/qa_f1")
    with pytest.raises(FathomError, match="official or strict"):
        score_file(path, metric=F1, rule="lenient")
    with pytest.raises(FathomError, match="no such file"):
        score_file(tmp_path / "missing.jsonl", metric=F1)
    with pytest.raises(FathomError, match="cannot be written"):
        score_file(path, metric=F1, out=path / "below" / "out.jsonl")


def test_check_counts_agreement_and_names_the_first_differences(tmp_path: Path) -> None:
    row = {"suite": "100longbench", "metric": "qa_f1", "prediction": "Paris", "answers": ["Paris"]}
    rows: list[object] = [
        row | {"score": 1},
        row | {"score": 1 - 1e-10},
        row | {"prediction": None, "score": None},
        row | {"score": 0.5, "case_id": "half"},
        row | {"score": None},
        row | {"score": "1"},
        row | {"score": 10**400},
        row,
        row | {"prediction": None, "score": 0.0},
        row | {"metric": "unheard", "score": None},
        {"score": None},
    ]
    summary = score_file(write(tmp_path / "rows.jsonl", rows), check=True)
    assert summary.rows == 11
    assert (summary.differing, summary.unchecked, summary.unscored) == (6, 2, 4)
    assert (summary.by_metric[F1].checked, summary.by_metric[F1].equal) == (9, 3)
    assert summary.differences[0].case_id == "half"
    assert [difference.index for difference in summary.differences] == list(range(3, 9))
    assert [index for index, _ in summary.failures] == [9, 10]
    said = [str(difference) for difference in summary.differences]
    assert said[0] == "expected 0.5, got 1.0"
    assert said[1] == "expected no score, got 1.0"
    assert said[4] == "the row has no score to compare with, got 1.0"
    assert said[5].startswith("expected 0.0, got no score (AttributeError")
    assert all(len(words) < 200 for words in said)
    assert summary.by_metric[F1].mean == pytest.approx(1.0)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "rows.jsonl", [{"prediction": "a", "answers": ["a"]}] * 3)
    target = tmp_path / "out.jsonl"
    score_file(path, metric=F1, out=target)
    before = target.read_text()
    assert len(before.splitlines()) == 3

    def stop(*_: object) -> ScoreSummary:
        raise KeyboardInterrupt

    monkeypatch.setattr(ScoreSummary, "add", stop)
    with pytest.raises(KeyboardInterrupt):
        score_file(path, metric=F1, out=target)
    assert target.read_text() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out.jsonl", "rows.jsonl"]


def test_an_unknown_metric_names_its_near_misses() -> None:
    with pytest.raises(FathomError, match=r"unknown metric 'hundred/qa_f'; did you mean hundred/qa_f1"):
        get_scorer("100longbench/qa_f")
    with pytest.raises(FathomError, match=r"known: ada/bestanswer, .*fathom list metrics"):
        get_scorer("zzzz")


@pytest.mark.parametrize("name", ["first_number", "qa_f1", "rouge"])
def test_strict_leaves_thoughts_aside_and_official_does_not(name: str) -> None:
    thought, plain = (ScoringRow(f"{start}12", ["12"]) for start in ("<think>3 of 40.</think>", ""))
    strict, official = (get_scorer(f"100longbench/{name}", rule) for rule in ("strict", "official"))
    assert strict(thought) == strict(plain)
    assert strict(plain).value == pytest.approx(1.0)
    assert official(thought).value != official(plain).value


def test_the_command_tells_rows_that_differ_from_rows_that_cannot_be_scored(tmp_path: Path, call: Call) -> None:
    path = write(tmp_path / "rows.jsonl", [{"prediction": "a", "answers": ["b"], "score": 1.0, "case_id": "x\x1b[2J"}])
    with path.open("a") as file:
        file.write("not JSON\n" * 2)
    code, out, err = call("score", str(path), "--metric", F1, "--check")
    assert code == 1
    assert "expected 1.0, got 0.0" in out
    assert "\x1b[2J" not in out
    assert "1 of 3 rows differ, 2 could not be scored" in err
    assert "row 1 could not be scored: not JSON" in err
    assert "absent" not in out + err
    assert "None" not in out + err
    path.write_text("not JSON\n")
    code, _, err = call("score", str(path), "--metric", F1, "--check")
    assert code == 1
    assert "0 of 1 rows differ, 1 could not be scored" in err


def test_the_command_says_how_many_rows_it_could_not_score(tmp_path: Path, call: Call) -> None:
    good = {"prediction": "a", "answers": ["a"]}
    path = write(tmp_path / "rows.jsonl", [good, [], {"answers": []}])
    code, out, err = call("score", str(path), "--metric", F1)
    assert code == 0
    assert len(out.splitlines()) == 3
    assert "2 of 3 rows were not scored: expected a JSON object" in err
    assert "not scored" not in call("score", str(write(path, [good])), "--metric", F1)[2]


def golden_rows() -> list[dict[str, object]]:
    if not GOLDEN.exists():
        pytest.skip("the golden vectors are not beside the repository (../shared/golden)")
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as file:
        return [row for row in map(json.loads, file) if metric_name(f"{row['suite']}/{row['metric']}") in metrics()]


def test_official_equals_the_released_code_on_every_golden_row(tmp_path: Path) -> None:
    rows = golden_rows()
    path = write(tmp_path / "golden.jsonl", list(rows))
    summary = score_file(path, check=True)
    assert summary.rows >= 200
    assert summary.differences == []
    for row, written in zip(rows, scored(path), strict=True):
        assert str(row.get("raises", "")) in str(written.get("error", ""))


def test_strict_differs_where_the_golden_rows_note_a_fault(tmp_path: Path) -> None:
    rows = golden_rows()
    noted = [row for row in rows if row.get("note")]
    assert noted
    for row, written in zip(noted, scored(write(tmp_path / "noted.jsonl", list(noted)), rule="strict"), strict=True):
        assert written["score"] != row["score"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@given(
    json_values, json_values, st.sampled_from(sorted(metrics())), st.sampled_from(RULES), st.sampled_from(["", "zh"])
)
def test_no_row_stops_a_scorer(prediction: object, answers: object, metric: str, rule: str, language: str) -> None:
    verdict = get_scorer(metric, rule)(ScoringRow(prediction, answers, language=language))
    assert verdict.grader == rule
    if verdict.value is None:
        assert verdict.detail
    else:
        assert 0.0 <= verdict.value <= 1.0


@pytest.mark.parametrize("name", sorted(metrics()))
def test_every_metric_has_both_rules_and_a_line_of_description(name: str) -> None:
    assert set(metrics()[name].rules) == set(RULES)
    assert metrics()[name].description
