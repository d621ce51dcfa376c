"""Results of LongBench Pro's released code as rows: what is in them is there, and what is damaged is said."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import Call
from fathom.analysis import GroupScore
from fathom.analysis.breakdown import RUN, breakdown
from fathom.benchmarks.pro.results import Published, averages_of
from fathom.benchmarks.pro.secondary_tasks import LANGUAGES
from fathom.rows import SCHEMA, read_rows, to_frame
from fathom.types import FathomError
from made_results_pro import (
    GROUPS,
    falling,
    make_reply,
    make_summary,
    rows_from_longbench_pro,
    write_replies,
    write_results,
    write_summary,
)

MEASURES = ("mean", "best_of", "pass_at")
OURS = {"token_length": "length"}
BY = ("overall", RUN, *(OURS.get(name, name) for name in GROUPS))


def figures(scores: list[GroupScore]) -> dict[tuple[str, str, str, int], float]:
    """Scores of one model by dimension, group, measure and n."""
    return {(one.dimension, one.group, one.measure, one.n): one.score for one in scores}


def expected(summary: Mapping[str, Any]) -> dict[tuple[str, str, str, int], float]:
    """The same of a summary, read without the code that is tested."""
    repeats = summary["inference_iterations"]
    found = {("overall", "all", "mean", repeats): summary["average_overall_metric"]}
    for run in range(1, repeats + 1):
        found[RUN, str(run), "mean", 1] = summary[f"inference_iteration_{run}_overall_metric"]
        found["overall", "all", "best_of", run] = summary[f"BoN-{run}"]["overall_metric"]
        found["overall", "all", "pass_at", run] = summary[f"pass@{run}"]
    for name in GROUPS:
        for group, score in summary[f"average_{name}_metric"].items():
            found[OURS.get(name, name), LANGUAGES.get(group, group), "mean", repeats] = score
        for n in range(1, repeats + 1):
            for group, score in summary[f"BoN-{n}"][name].items():
                found[OURS.get(name, name), LANGUAGES.get(group, group), "best_of", n] = score
    return found


# ------------------------------------------------------------------------------------------------------ summaries


def test_summaries_become_averages_under_the_names_of_models_and_modes(tmp_path: Path) -> None:
    rows = rows_from_longbench_pro(write_results(tmp_path))
    assert len(rows) == 5 * 110
    assert set(rows.select("model", "variant").unique().rows()) == {
        ("deep-1", "thinking"),
        ("deep-1", "non-thinking"),
        ("small-7b", "thinking"),
        ("small-7b", "non-thinking"),
        ("only-thinks", "thinking"),
    }
    assert rows.columns == list(SCHEMA)
    for name, value in {"suite": "longbench_pro", "source": "longbench-pro", "length": 0, "rule": "official"}.items():
        assert rows[name].unique().to_list() == [value]
    first = json.loads(rows.filter(model="deep-1", variant="thinking", item="overall/all/mean@3")["facets"][0])
    assert first == {
        **{"aggregate": "overall", "group": "all", "measure": "mean", "n": 3, "thinking": "on", "model_kind": "mixed"},
        **{"max_context": 120000, "questions": 1500, "replies": 4500, "failed_replies": 4, "uneven_questions": 0},
    }
    assert not rows.select("model", "variant", "sample").is_duplicated().any()
    tasks = rows.filter(rows["item"].str.starts_with("primary_task/"))
    assert set(tasks["task"]) == {f"T{number}" for number in range(1, 12)}


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.floats(0, 1) | st.integers(0, 1), min_size=1, max_size=60), st.integers(1, 4))
def test_every_score_of_a_summary_is_a_score_of_the_breakdown(scores: list[float], repeats: int) -> None:
    summary = make_summary(cycle(scores), repeats=repeats)
    rows = to_frame(averages_of(summary, Published("one", True, 120000, repeats), "here"))
    assert figures(breakdown(rows, by=BY, measures=MEASURES)) == expected(summary)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_averages_stay_what_they_are_in_every_kind_of_table(call: Call, tmp_path: Path, suffix: str) -> None:
    code, out, _ = call("rows", "--from", "longbench-pro", write_results(tmp_path / "in"), "-o", f"t.{suffix}")
    assert (code, out) == (0, f"t.{suffix}: 550 rows, scored by the rule official\n")
    assert read_rows(tmp_path / f"t.{suffix}").equals(rows_from_longbench_pro(tmp_path / "in"))


def test_collected_summaries_are_read_like_the_files(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "files")
    collected = tmp_path / "collected" / "summaries.jsonl"
    collected.parent.mkdir()
    lines = [
        {"model": file.parent.name, "file": file.name, "summary": json.loads(file.read_text()), "more": 1}
        for file in folder.rglob("*_summary.json")
    ]
    collected.write_text("\n".join(map(json.dumps, lines)))
    (collected.parent / "model_info.json").write_text((folder / "model_info.json").read_text())
    (collected.parent / "notes.md").write_text("what else lies there is no result")
    assert rows_from_longbench_pro(collected.parent).equals(rows_from_longbench_pro(folder))
    assert rows_from_longbench_pro(collected).equals(rows_from_longbench_pro(folder))


def test_one_model_and_one_file_are_read_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_results(tmp_path)
    whole = rows_from_longbench_pro(folder)
    assert rows_from_longbench_pro(folder / "deep-1").equals(whole.filter(model="deep-1"))
    (file,) = (folder / "only-thinks").iterdir()
    assert rows_from_longbench_pro(file).equals(whole.filter(model="only-thinks"))
    monkeypatch.chdir(folder / "deep-1")
    assert rows_from_longbench_pro(Path()).equals(whole.filter(model="deep-1"))


def test_names_of_models_may_have_a_maker_before_them(tmp_path: Path) -> None:
    write_summary(tmp_path, "maker/model", "thinking")
    rows = rows_from_longbench_pro(tmp_path)
    assert rows["model"].unique().to_list() == ["maker/model"]
    assert "model_kind" not in rows["facets"][0]


def test_a_summary_whose_groups_do_not_recombine_is_named_beside_its_scores(tmp_path: Path) -> None:
    for mode, hard in (("thinking", 0.5), ("nonthinking", 0.51)):
        summary: Any = make_summary(cycle([0.5]))
        summary["average_difficulty_metric"]["Hard"] = hard
        write_summary(tmp_path, "one", mode).write_text(json.dumps(summary))
    told: list[str] = []
    rows = rows_from_longbench_pro(tmp_path, told.append)
    said = "the published scores by difficulty do not recombine: weighted by their questions they give 0.193 points"
    assert told == [f"one, non-thinking: {said} more overall"]  # 289 of 1,500 questions, one point each
    noted = [score for score in breakdown(rows, by=("overall", "difficulty", "length")) if score.note]
    assert [(score.variant, score.dimension, score.note) for score in noted] == [
        ("non-thinking", "difficulty", f"{said} more overall")
    ] * 4


# -------------------------------------------------------------------------------------------------------- replies


def test_replies_become_rows_under_the_names_of_our_tasks(tmp_path: Path) -> None:
    file = write_replies(tmp_path / "one", [make_reply(6, 2, prediction=""), make_reply(0, id=17, difficulty=None)])
    empty, row = rows_from_longbench_pro(file).rows(named=True)
    assert (row["item"], row["sample"], row["task"]) == ("pro_t1_1/en/17", "pro_t1_1/en/17@8192", "pro_t1_1")
    assert (row["length"], row["language"], row["epoch"], row["value"]) == (8192, "en", 1, 0.0)
    assert (row["metric"], row["grader"], row["answer"], row["valid"]) == ("ndcg", "longbench_pro/NDCG", "", True)
    assert json.loads(row["facets"]) == {
        **{"dataset": "T1.1 Global Cohesive Retrieval", "secondary_task": "T1.1 Global Cohesive Retrieval"},
        **{"primary_task": "T1. Retrieval & Ranking", "contextual_requirement": "Full"},
        **{"thinking": "off", "max_context": 120000},
    }
    assert (empty["epoch"], empty["value"], empty["valid"]) == (2, 0.6, False)
    assert empty["detail"] == "no reply: the released code scores it 0"
    assert json.loads(empty["facets"])["pass_above"] == 0.65


def test_where_there_are_replies_their_summary_is_not_read(tmp_path: Path) -> None:
    folder = write_results(tmp_path)
    write_replies(folder / "deep-1", [make_reply(number) for number in range(5)])
    (folder / "deep-1" / "nonthinking_context-120000_bon-3_inference_1-of-1.jsonl").write_text("no result\n")
    rows = rows_from_longbench_pro(folder)
    assert len(rows) == 4 * 110 + 5
    plain = rows.filter(model="deep-1", variant="non-thinking")
    assert not plain["facets"].str.contains("aggregate").any()
    assert plain["facets"].str.contains('"model_kind": "mixed"').all()


@pytest.mark.parametrize("replies", [300])
def test_many_replies_are_read_line_by_line(tmp_path: Path, replies: int) -> None:
    lines = [make_reply(number, repeat) for number in range(replies) for repeat in (1, 2, 3)]
    write_replies(tmp_path / "one", lines)
    rows = rows_from_longbench_pro(tmp_path)
    assert len(rows) == 3 * replies
    assert rows["value"].sum() == pytest.approx(sum((number % 11) / 10 for number in range(replies)) * 3)


# --------------------------------------------------------------------------------------------------------- damage


def damaged(path: str, value: object) -> dict[str, Any]:
    """A summary with something else in one place; None takes the place away."""
    summary: dict[str, Any] = make_summary(falling(0.5))
    *parts, last = path.split("/")
    inner = summary
    for part in parts:
        inner = inner[part]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return summary


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("average_overall_metric", None, r"'average_overall_metric' is missing"),
        ("average_overall_metric", "0.5", r"'average_overall_metric' is '0\.5'; expected a number from 0 to 1"),
        ("average_overall_metric", float("nan"), r"'average_overall_metric' is nan; expected a number"),
        ("average_overall_metric", True, r"'average_overall_metric' is True; expected a number"),
        ("average_overall_metric", 51.4, r"'average_overall_metric' is 51\.4; expected a number from 0 to 1"),
        ("average_overall_metric", 10**400, r"'average_overall_metric' is 1000\d*; expected a number from 0 to 1"),
        ("average_language_metric/English", None, r"average_language_metric: the field 'English' is missing"),
        ("average_language_metric/English", -0.1, r"average_language_metric: the field 'English' is -0\.1; expected"),
        ("average_language_metric", [0.1], r"'average_language_metric' holds a value of type list; expected an object"),
        ("average_language_metric/Klingon", "x", r"average_language_metric: the field 'Klingon' is 'x'; expected"),
        ("inference_iteration_3_overall_metric", None, r"'inference_iteration_3_overall_metric' is missing"),
        ("inference_iterations", 2, r"'inference_iterations' is 2, but the name of the file says 3"),
        ("inference_iterations", 3.5, r"'inference_iterations' is 3\.5; expected a whole number, 1 or more"),
        ("total_questions_num", -1, r"'total_questions_num' is -1; expected a whole number"),
        ("fail_samples_num", None, r"'fail_samples_num' is missing"),
        ("BoN-2", None, r"'BoN-2' is missing"),
        (
            "BoN-2/overall_metric",
            {},
            r"BoN-2: the field 'overall_metric' holds a value of type dict; expected a number",
        ),
        ("BoN-2/difficulty/Hard", 2, r"BoN-2: difficulty: the field 'Hard' is 2; expected a number"),
        ("pass@3", None, r"'pass@3' is missing"),
    ],
)
def test_a_damaged_summary_says_where_and_what(tmp_path: Path, path: str, value: object, said: str) -> None:
    file = write_summary(tmp_path, "one", "thinking")
    file.write_text(json.dumps(damaged(path, value)))
    with pytest.raises(FathomError, match=rf"^{re.escape(str(file))}: .*{said}"):
        rows_from_longbench_pro(tmp_path)


def test_groups_that_are_new_are_kept_and_keys_that_are_new_are_not_read(tmp_path: Path) -> None:
    summary = damaged("average_difficulty_metric/Impossible", 0.01) | {"seconds": "many"}
    write_summary(tmp_path, "one", "thinking").write_text(json.dumps(summary))
    rows = rows_from_longbench_pro(tmp_path)
    assert len(rows) == 111
    assert figures(breakdown(rows, by=("difficulty",)))["difficulty", "Impossible", "mean", 3] == 0.01


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"metric": 1.5}, r"'metric' is 1\.5; expected a number from 0 to 1"),
        ({"metric": None}, r"'metric' is missing; expected a number"),
        ({"metric": float("inf")}, r"'metric' is inf; expected a number"),
        ({"bon_idx": 0}, r"'bon_idx' is 0; expected a whole number, 1 or more"),
        ({"bon_idx": "1"}, r"'bon_idx' is '1'; expected a whole number"),
        ({"language": "French"}, r"'language' is 'French'; expected one of English, Chinese"),
        ({"token_length": "512k"}, r"'token_length' is '512k'; expected one of 8k, 16k"),
        ({"token_length": ["8k"]}, r"'token_length' holds a value of type list; expected one of"),
        ({"secondary_task": "T12.1 New"}, r"'secondary_task' is 'T12\.1 New'; expected one of 25 names, from 'T1\.1"),
        ({"primary_task": "T2. Other"}, r"'primary_task' is 'T2\. Other'; expected T1\. Retrieval"),
        ({"contextual_requirement": "Half"}, r"'contextual_requirement' is 'Half'; expected one of Full, Partial"),
        ({"difficulty": "easy"}, r"'difficulty' is 'easy'; expected one of Easy"),
        ({"id": ""}, r"'id' is empty; expected the name of a question"),
        ({"id": None}, r"'id' is missing"),
        ({"prediction": 3}, r"'prediction' is 3; expected a text"),
    ],
)
def test_a_damaged_reply_says_where_and_what(tmp_path: Path, fields: dict[str, object], said: str) -> None:
    file = write_replies(tmp_path / "one", [make_reply(1), make_reply(0) | fields])
    with pytest.raises(FathomError, match=rf"^{re.escape(str(file))}: line 2: the field {said}"):
        rows_from_longbench_pro(tmp_path)


def test_a_question_has_one_reply_a_repeat(tmp_path: Path) -> None:
    file = write_replies(tmp_path / "one", [make_reply(1), make_reply(2), make_reply(1, metric=0.3)])
    with pytest.raises(FathomError, match=r"line 3: a second reply to question 'q1' in repeat 1, beside .*: line 1"):
        rows_from_longbench_pro(file)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("one/thinking_context-1_bon-3_summary.json", b"[1]", "row 1: expected a JSON object .*, found a number"),
        ("one/thinking_context-1_bon-3_summary.json", b'{"a": ', "not valid JSON"),
        (
            "one/thinking_context-1_bon-3_summary.json",
            b"\xff\xfe\x00",
            "starts as UTF-16 but does not continue as such",
        ),
        ("one/thinking_context-1_bon-3_summary.json", b"", "expected one JSON object, found nothing"),
        ("one/deep_summary.json", b"{}", r"the file's name is 'deep_summary\.json', expected MODE_context-N_bon-K"),
        ("one/thinking_context-x_bon-3_evaluation.jsonl", b"{}", "the file's name is"),
        ("one/thinking_context-1_bon-3_evaluation.jsonl", b"", "it contains no replies"),
        (
            "one/thinking_context-1_bon-3_evaluation.jsonl",
            b'{"id": 1}\n',
            "line 1: the field 'secondary_task' is missing",
        ),
        (
            "one/thinking_context-1_bon-3_evaluation.jsonl",
            b"\n\n7\n",
            "line 3: expected a JSON object .*found a number",
        ),
        ("one/thinking_context-1_bon-3_evaluation.jsonl.gz", b"no gzip", "the file "),
        ("summaries.jsonl", b'{"model": "a", "summary": {}}', "line 1: the field 'file' is missing"),
        (
            "summaries.jsonl",
            b'{"model": "", "file": "thinking_context-1_bon-3_summary.json"}',
            "'model' is empty; expected",
        ),
        ("summaries.jsonl", b'{"model": "a", "file": "x", "summary": {}}', "line 1: the file's name is 'x', expected"),
        ("summaries.jsonl.zst", b"no zstd", "the file "),
    ],
)
def test_a_file_that_is_none_is_named(tmp_path: Path, name: str, text: bytes, said: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text)
    with pytest.raises(FathomError, match=said) as caught:
        rows_from_longbench_pro(tmp_path)
    assert str(file) in str(caught.value)


def test_a_damaged_list_of_models_is_named(tmp_path: Path) -> None:
    folder = write_results(tmp_path)
    for text, said in (
        (
            '{"deep-1": {"type": "Sleeping"}}',
            "'type' of the field 'deep-1' is 'Sleeping'; expected one of Thinking, Mixed, Instruct",
        ),
        ('{"deep-1": 3}', "'deep-1' is 3; expected an object"),
        ("{", "not valid JSON"),
    ):
        (folder / "model_info.json").write_text(text)
        with pytest.raises(FathomError, match=rf"model_info\.json: .*{re.escape(said)}"):
            rows_from_longbench_pro(folder)


def test_two_results_of_one_model_and_mode_are_not_mixed(tmp_path: Path) -> None:
    folder = write_results(tmp_path)
    one = folder / "deep-1" / "thinking_context-120000_bon-3_summary.json"
    other = one.with_name("thinking_context-224000_bon-3_summary.json")
    other.write_text(one.read_text())
    with pytest.raises(FathomError, match=r"224000.*: a second file of model 'deep-1', thinking .*120000"):
        rows_from_longbench_pro(folder)


def test_a_folder_without_results_says_what_is_expected(call: Call, tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("")
    code, _, error = call("rows", "--from", "longbench-pro", tmp_path)
    assert code == 2
    assert "no results of LongBench Pro here; expected MODEL/MODE_context-N_bon-K_summary.json" in error
    with pytest.raises(FathomError, match="no such file or folder"):
        rows_from_longbench_pro(tmp_path / "absent")
    known = "fathom, inspect, lm-eval, lighteval, opencompass, helmet, nemo-evaluator, table, longbench-pro"
    assert f"choose {known}" in call("rows", "--from", "elsewhere", tmp_path)[2]


# ------------------------------------------------------------------------------------------- what others published


@pytest.mark.slow
def test_table_3_of_the_paper_comes_out_of_the_published_summaries(shared: Path) -> None:
    """All 560 printed figures: 46 models, with thinking and without, overall, by language and by difficulty."""
    rows = rows_from_longbench_pro(shared / "data" / "longbench_pro")
    assert len(rows) == 80 * 110
    scores = {
        (one.model, one.variant, one.group): one.score
        for one in breakdown(rows, by=("overall", "language", "difficulty"))
    }
    groups = {"overall": "all", **LANGUAGES}
    variants = {"thinking": "thinking", "nonthinking": "non-thinking"}
    with (shared / "golden" / "published" / "paper_longbench_pro.csv").open(newline="") as stream:
        printed = [line for line in csv.DictReader(stream) if line["table"] == "Table 3" and line["task"] != "info"]
    assert len(printed) == 560
    found = {}
    for line in printed:
        key = line["model"], variants[line["setting"]], groups.get(line["task"], line["task"])
        found[(*key, line["value"])] = f"{100 * scores[key]:.2f}"
    assert {key: said for key, said in found.items() if float(said) != float(key[-1])} == {}
    # All but these two are printed with two decimals.
    assert {key: said for key, said in found.items() if said != key[-1]} == {
        ("GPT-OSS-120B", "thinking", "Extreme", "35.4"): "35.40",
        ("Qwen3-30B-A3B-Instruct-2507", "non-thinking", "zh", "44.5"): "44.50",
    }
    assert len(scores) == 560


@pytest.mark.slow
def test_replies_give_the_averages_of_the_released_code(shared: Path, tmp_path: Path) -> None:
    """Replies and the summaries that the released code made of them, also with repeats that are missing."""
    cases = json.loads((shared / "golden" / "aggregate" / "longbench_pro_summary.json").read_text())
    compared = 0
    for case in cases:
        if "summary" not in case:
            continue
        folder = tmp_path / case["name"] / "one"
        write_replies(folder, case["rows"])
        found = figures(breakdown(rows_from_longbench_pro(folder.parent), by=BY, measures=MEASURES))
        # Where repeats are missing, the number behind a mean is that of most questions.
        repeats = next(key[3] for key in found if key[:3] == ("overall", "all", "mean"))
        for (dimension, group, measure, n), score in expected(case["summary"]).items():
            one = (dimension, group, measure, repeats if measure == "mean" and dimension != RUN else n)
            assert found[one] == pytest.approx(score, abs=1e-12), (case["name"], one)
            compared += 1
    assert compared > 500
