from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from simulated import row

from command_line import Call
from fathom import api
from fathom.analysis import CategoryScore, categories
from fathom.rows import to_frame, write_rows
from fathom.score.registry import ScoringRow, get_scorer
from fathom.types import FathomError, Row

METRICS = {
    "qa_f1": ("narrativeqa", "qasper", "multifieldqa_en", "hotpotqa", "2wikimqa", "musique", "triviaqa"),
    "qa_f1_zh": ("multifieldqa_zh",),
    "rouge": ("gov_report", "qmsum", "multi_news", "samsum"),
    "rouge_zh": ("dureader", "vcsum"),
    "classification": ("trec", "lsht"),
    "count": ("passage_count",),
    "retrieval": ("passage_retrieval_en",),
    "retrieval_zh": ("passage_retrieval_zh",),
    "code_sim_difflib": ("lcc", "repobench-p"),
}
METRIC_OF = {task: metric for metric, tasks in METRICS.items() for task in tasks}


def grouped(value: float | None, group: str, task: str, item: int = 0, **facts: object) -> Row:
    return row(value, task=task, item=item, facets={"category": group}, **facts)  # type: ignore[arg-type]  # of a test


def means(found: list[CategoryScore]) -> dict[tuple[str, str], float]:
    return {(one.group, one.task): one.score for one in found}


def test_items_within_tasks_tasks_within_categories_categories_in_all() -> None:
    rows = [grouped(1.0, "code", "a", item) for item in range(3)] + [grouped(0.0, "code", "b")]
    rows += [grouped(value, "synthetic", "c", item) for item, value in enumerate([0.0, 0.5])]
    found = categories(to_frame(rows))
    assert [(one.group, one.task) for one in found] == [
        ("synthetic", "c"), ("synthetic", "all"), ("code", "a"), ("code", "b"), ("code", "all"), ("all", "all"),
    ]  # fmt: skip
    assert means(found) == {
        ("synthetic", "c"): 0.25, ("synthetic", "all"): 0.25,
        ("code", "a"): 1.0, ("code", "b"): 0.0, ("code", "all"): 0.5, ("all", "all"): 0.375,
    }  # fmt: skip
    assert [(one.tasks, one.items) for one in found if one.task == "all"] == [(1, 2), (2, 4), (3, 6)]
    assert all(one.interval.low <= one.score <= one.interval.high and not one.note for one in found)


def test_the_tasks_of_a_category_come_in_the_order_of_the_rows() -> None:
    tasks = [f"task {number * 7 % 31}" for number in range(31)]
    found = categories(to_frame(grouped(1.0, "one", task) for task in tasks))
    assert [one.task for one in found] == [*tasks, "all", "all"]


def test_by_another_facet_the_whole_is_over_tasks_with_all_their_items() -> None:
    values = [(1.0, "easy"), (1.0, "easy"), (1.0, "easy"), (0.0, "hard")]
    rows = [row(value, item=item, facets={"difficulty": level}) for item, (value, level) in enumerate(values)]
    found = categories(to_frame(rows), by="difficulty")
    assert means(found)["easy", "all"] == 1.0
    assert means(found)["all", "all"] == 0.75
    assert (found[-1].tasks, found[-1].items) == (1, 4)


def test_epochs_count_once_and_replies_without_an_answer_are_wrong() -> None:
    rows = [grouped(1.0, "code", "a", epoch=epoch) for epoch in (1, 2, 3)] + [grouped(0.0, "code", "a", 1)]
    rows += [grouped(None, "code", "a", 2, status="refused"), grouped(None, "code", "a", 3, status="overflow")]
    assert means(categories(to_frame(rows)))["code", "a"] == 0.25
    assert means(categories(to_frame(rows), unanswered="drop"))["code", "a"] == 0.5


def test_means_with_a_cell_that_is_not_measured_are_left_out() -> None:
    rows = [grouped(1.0, group, task, item) for group, task in (("code", "a"), ("synthetic", "b")) for item in range(3)]
    rows += [grouped(1.0, "synthetic", "c"), grouped(None, "synthetic", "c", 1, status="error")]
    assert set(means(categories(to_frame(rows)))) == {("code", "a"), ("code", "all"), ("synthetic", "b")}
    assert means(categories(to_frame(rows), unanswered="drop"))["all", "all"] == 1.0


def test_compensated_gives_chance_to_replies_without_an_answer_only() -> None:
    rows = [grouped(0.0, "code", "a", item, chance=0.25, valid=item > 0) for item in range(4)]
    # As in the released code, which leaves out what is empty: only a reply that says something can be guessed from.
    rows += [grouped(None, "code", "a", 4, chance=0.25, valid=False, status="refused")]
    assert means(categories(to_frame(rows)))["code", "a"] == 0.0
    assert means(categories(to_frame(rows), compensated=True))["code", "a"] == 0.05
    # A reply that was cut off says something too; one that is right already has more than chance.
    rows += [grouped(0.0, "code", "b", 0, chance=0.25, valid=False, status="incomplete")]
    rows += [grouped(1.0, "code", "b", 1, chance=0.25, valid=False, status="incomplete")]
    assert means(categories(to_frame(rows), compensated=True))["code", "b"] == 0.625


def test_means_over_something_else_are_marked() -> None:
    rows = [grouped(1.0, "code", "a", model="x"), grouped(1.0, "code", "b", model="x")]
    rows += [grouped(1.0, "synthetic", "c", model="x"), grouped(1.0, "code", "a", model="y")]
    rows += [row(1.0, task="d", model="y")]
    notes = {(one.model, one.group): one.note for one in categories(to_frame(rows)) if one.note}
    assert notes == {
        ("y", "code"): "1 of the 2 tasks of these rows",
        ("y", "all"): "1 of the 3 tasks of these rows; items without category, left out: 1",
    }


def test_a_model_without_one_of_the_groups_is_marked_too() -> None:
    rows = [row(1.0, item=n, model="x", facets={"v2_length": name}) for n, name in enumerate(("short", "long"))]
    rows += [row(1.0, model="y", facets={"v2_length": "short"})]
    found = categories(to_frame(rows), by="v2_length")
    assert [(one.model, one.group) for one in found if one.task == "all"] == [
        ("x", "short"), ("x", "long"), ("x", "all"), ("y", "short"), ("y", "all"),
    ]  # fmt: skip
    assert [one.note for one in found if one.note] == ["1 of the 2 groups of these rows"]


def test_what_cannot_be_grouped_is_said() -> None:
    rows = to_frame([row(1.0, facets={"difficulty": "easy"})])
    with pytest.raises(FathomError, match=r"'category'.*have difficulty: choose one with `by`"):
        categories(rows)
    with pytest.raises(FathomError, match="no facets"):
        categories(to_frame([row(1.0)]))
    with pytest.raises(FathomError, match="not the name of a facet"):
        categories(rows, by="a[0")
    with pytest.raises(FathomError, match="named 'all'"):
        categories(to_frame([grouped(1.0, "all", "a")]))
    assert categories(rows.clear()) == []


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.floats(0, 1), min_size=1, max_size=6), min_size=1))
def test_the_whole_is_the_mean_of_means_and_within_its_interval(scores: Mapping[str, list[float]]) -> None:
    rows = [
        grouped(value, "even" if task in "ace" else "odd", task, item)
        for task, values in scores.items()
        for item, value in enumerate(values)
    ]
    found = categories(to_frame(rows))
    groups = {one.group: one.score for one in found if one.task == "all"}
    whole = groups.pop("all")
    assert whole == pytest.approx(sum(groups.values()) / len(groups))
    assert found == categories(to_frame(rows))
    assert all(one.interval.low <= one.score <= one.interval.high for one in found)
    assert found[-1].interval.low < found[-1].interval.high


def test_the_command_prints_groups_and_tasks(tmp_path: Path, call: Call) -> None:
    path = tmp_path / "rows.jsonl"
    write_rows(to_frame([grouped(1.0, "code", "lcc"), grouped(0.0, "synthetic", "count_it")]), path)
    printed = {}
    for options in ((), ("--tasks",), ("--json",)):
        _, printed[options], _ = call("analyze", "categories", path, *options)
    assert " 50.0 " in printed[()]
    assert "count_it" not in printed[()]
    assert "count_it" in printed["--tasks",]
    assert [one["task"] for one in json.loads(printed["--json",])] == ["count_it", "all", "lcc", "all", "all"]
    assert means(list(api.analyze("categories", [path])))["all", "all"] == 0.5


# ------------------------------------------------------------------------------------- the released averages


def golden(shared: Path, name: str) -> object:
    return json.loads((shared / "golden" / "aggregate" / f"{name}.json").read_text("utf-8"))


def scored(suite: str, dataset: str, record: Mapping[str, object]) -> float:
    said = ScoringRow(record["pred"], record["answers"], record.get("all_classes"), dataset=dataset)
    value = get_scorer(f"{suite}/{METRIC_OF[dataset]}")(said).value
    assert value is not None
    return value


@pytest.mark.parametrize(("suite", "figure"), [("longbench_v1", "lb_score"), ("minilongbench", "mini_score")])
def test_category_means_and_overall_are_those_of_the_papers(shared: Path, suite: str, figure: str) -> None:
    stated = golden(shared, "longbench_v1_and_mini_overall")
    assert isinstance(stated, dict)
    category = {task: name for name, tasks in stated["categories"].items() for task in tasks}
    with gzip.open(shared / "golden" / "real" / "minilongbench.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [record for record in map(json.loads, lines) if record["suite"] == suite]
    rows = [grouped(one["score"], category[one["dataset"]], one["dataset"], n) for n, one in enumerate(records)]
    found = means(categories(to_frame(rows)))
    expected = stated["sets"]["shared_subset"]
    assert found["all", "all"] == pytest.approx(expected[f"{figure}_overall"], abs=1e-9)
    for name, value in expected[f"{figure}_categories"].items():
        assert found[name, "all"] == pytest.approx(value, abs=1e-9)
    for name, score in expected["datasets"].items():
        assert found[category[name], name] == pytest.approx(score[figure], abs=1e-9)


def test_length_buckets_are_those_of_longbench_e(shared: Path) -> None:
    cases = golden(shared, "longbench_e_buckets")
    assert isinstance(cases, list)
    assert len(cases) == 4
    for case in cases:
        rows = []
        for number, (words, pred, gold) in enumerate(
            zip(case["lengths"], case["predictions"], case["answers"], strict=True)
        ):
            record = {"pred": pred, "answers": gold, "all_classes": case["all_classes"]}
            bucket = "0-4k" if words < 4000 else "4-8k" if words < 8000 else "8k+"
            value = scored("longbench_v1", case["dataset"], record)
            rows.append(row(value, task=case["dataset"], item=number, facets={"bucket": bucket}))
        found = means(categories(to_frame(rows), by="bucket"))
        for bucket, percent in case["official"].items():
            # An empty bucket is not a number there and nothing here.
            assert ((bucket, "all") in found) == (percent != "nan")
            assert percent == "nan" or round(100 * found[bucket, "all"], 2) == percent


@pytest.mark.slow
def test_result_of_v2_is_that_of_its_released_code(shared: Path) -> None:
    cases = golden(shared, "longbench_v2_result")
    assert isinstance(cases, list)
    seen = 0
    for case in cases:
        text = case["official_result_txt"]
        rows = to_frame(
            row(
                float(one["judge"]),
                task="v2",
                item=n,
                facets={"difficulty": one["difficulty"], "v2_length": one["length"]},
            )
            for n, one in enumerate(case["rows"])
        )
        found = means(categories(rows, by="difficulty")) | means(categories(rows, by="v2_length"))
        if text.startswith("raises"):  # an empty group stops the released code
            assert len(found) < 2 * 5 + 2
            continue
        heads, figures = (line.split("\t")[1:] for line in text.splitlines())
        for head, figure in zip(heads, figures, strict=True):
            group = "all" if head == "Overall" else head.lower()
            assert round(100 * found[group, "all"], 1) == float(figure)
            seen += 1
    assert seen == 12


def predictions(path: Path) -> Iterator[dict[str, object]]:
    with path.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
        yield from map(json.loads, io.TextIOWrapper(stream, encoding="utf-8"))


@pytest.mark.slow
def test_tasks_have_their_published_scores_in_every_file_of_predictions(shared: Path) -> None:
    files = sorted((shared / "data" / "predictions" / "longbench").glob("*/*.jsonl.zst"))
    rows = [
        grouped(scored("longbench_v1", task, record), "any", task, number, model=path.parent.name)
        for path in files
        for task in [path.name.removesuffix(".jsonl.zst")]
        for number, record in enumerate(predictions(path))
    ]
    found = {(one.model, one.task): one for one in categories(to_frame(rows)) if one.task != "all"}
    assert len(found) == len(files) == 58
    official = golden(shared, "longbench_v1_file_scores")
    assert isinstance(official, dict)
    for path in files:
        task = path.name.removesuffix(".jsonl.zst")
        stated = json.loads((path.parent / "result.json").read_text())
        one = found[path.parent.name, task]
        assert round(100 * one.score, 2) == stated[task]
        whole = official.get(f"{path.parent.name}/{task}")
        assert whole is None or (one.items, stated[task]) == (whole["n"], whole["result_json_of_the_source"])


@pytest.mark.slow
def test_published_accuracies_of_v2_replies(shared: Path) -> None:
    folder = shared / "data" / "predictions" / "longbench_v2"
    lines = (line.split("\t") for line in (folder / "result.txt").read_text().splitlines()[1:])
    published = {name: figures for name, *figures in lines}
    for name in ("oneshot", "quotes", "quotes_chunked"):
        records = [record for record in predictions(folder / f"{name}.jsonl.zst") if not record.get("error")]
        rows = to_frame(
            row(
                float(one["pred"] == one["gold"]),
                task="v2",
                item=number,
                facets={"difficulty": str(one["difficulty"]), "v2_length": str(one["length"])},
            )
            for number, one in enumerate(records)
        )
        found = means(categories(rows, by="difficulty")) | means(categories(rows, by="v2_length"))
        for group, figure in zip(("all", "easy", "hard", "short", "medium", "long"), published[name], strict=False):
            assert figure == "none" or round(100 * found[group, "all"], 1) == float(figure), (name, group)
