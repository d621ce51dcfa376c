"""Every LongScore that 100-LongBench prints, recomputed from its printed scores.

The paper cuts digits off as often as it rounds, so that a printed figure agrees when it is ours rounded or ours cut.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from fathom.analysis import LongScore, longscore_of, longscore_of_means, read_scores, score_profiles

NOTEBOOKS = {"Table 4": "100longbench_open_models.csv", "Table 7": "100longbench_open_models.csv"}
MODELS = {
    "llama-3.1-70B-Instruct": "llama-3.1-70B",
    "Qwen2.5-14B-Instruct": "Qwen2.5-14B",
    "Phi-3-128k-medium": "phi-3-128k-medium2",
    "Qwen2.5-7B-Instruct": "Qwen2.5-7B",
    "Llama3.2-3B-Instruct": "llama-3.2-3B",
    "Phi-3-128k-mini": "phi-3-128k-mini1",
    "Llama-3.1-8B-Instruct": "llama-3.1-8B",
    "Llama3.1-8B-Instruct": "llama-3.1-8B",
    "Llama3.2-1B-Instruct": "llama-3.2-1B",
}
Printed = dict[tuple[str, str], dict[tuple[str, str], str]]


def published(shared: Path, name: str) -> Path:
    return shared / "golden" / "published" / name


def paper(shared: Path) -> Printed:
    """By table and model, the printed text of each setting and metric."""
    found: Printed = {}
    with published(shared, "paper_100longbench.csv").open(encoding="utf-8") as stream:
        for line in csv.DictReader(stream):
            found.setdefault((line["table"], line["model"]), {})[line["setting"], line["metric"]] = line["value"]
    return found


def longscores(path: Path, **where: str) -> dict[tuple[str, str], LongScore]:
    return {(one.model, one.task): one for one in longscore_of(score_profiles(read_scores(path, where=where)))}


def agrees(ours: float, printed: str) -> bool:
    """Whether a printed figure is ours, rounded or cut to its digits; trailing zeros may have been added."""
    value = float(printed)
    return any(
        math.isclose(round(ours, digits), value, abs_tol=1e-9)
        or math.isclose(math.trunc(ours * 10**digits) / 10**digits, value, abs_tol=1e-9)
        for digits in {len(printed.partition(".")[2]), len(printed.rstrip("0").partition(".")[2])}
    )


def reachable(base: str, scores: Sequence[str]) -> tuple[float, float]:
    """The least and the greatest mean LongScore, in percent, whose scores and base print like this, rounded or cut."""

    def ends(text: str) -> tuple[float, float]:
        unit = 10.0 ** -len(text.partition(".")[2])
        return float(text) - unit / 2, float(text) + unit

    lowest, highest = ends(base)
    lows, highs = zip(*(ends(score) for score in scores), strict=True)
    return (
        100 * (sum(lows) / len(lows) / highest - 1),
        100 * (sum(highs) / len(highs) / lowest - 1),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["100longbench_open_models.csv", "100longbench_ntk_pi.csv"])
def test_the_notebooks_of_the_release(shared: Path, name: str) -> None:
    found = longscores(published(shared, name))
    checked = 0
    with published(shared, name).open(encoding="utf-8") as stream:
        for line in csv.DictReader(stream):
            if line["metric"] != "longscore_percent" or line["setting"] == "base":
                continue
            one = found[line["model"], "all" if line["task"] == "avg" else line["task"]]
            by_length = {f"{point.length // 1024}k": point.value for point in one.points}
            ours = by_length.get(line["setting"], one.average)
            assert ours is not None
            # Averages there are means of figures that were rounded before.
            slack = 0.0101 if line["setting"] == "average_excluding_base" else 0.00501
            assert 100 * ours == pytest.approx(float(line["value"]), abs=slack), line
            checked += 1
    assert checked == {"100longbench_open_models.csv": 432, "100longbench_ntk_pi.csv": 126}[name]


@pytest.mark.slow
def test_tables_of_the_data_folder(shared: Path) -> None:
    folder = shared / "data" / "100longbench"
    found = longscores(folder / "scores_per_length.csv")
    checked = 0
    with (folder / "longscore_tables.csv").open(encoding="utf-8") as stream:
        for line in csv.DictReader(stream):
            if line["table"] != "new_metrics" or int(line["length_k"]) <= 0:
                continue
            one = found[line["model"], "all" if line["task"] == "avg" else line["task"]]
            (value,) = [point.value for point in one.points if point.length == 1024 * int(line["length_k"])]
            assert value is not None
            assert 100 * value == pytest.approx(float(line["value"]), abs=0.00501)
            checked += 1
    assert checked == 468


@pytest.mark.slow
@pytest.mark.parametrize("table", ["Table 4", "Table 7"])
def test_tables_4_and_7_from_the_notebook(shared: Path, table: str) -> None:
    found = longscores(published(shared, NOTEBOOKS[table]))
    checked = 0
    for (name, model), cells in paper(shared).items():
        if name != table:
            continue
        ours = found[MODELS[model], "all"]
        assert ours.base is not None
        assert ours.average is not None
        assert agrees(100 * ours.base, cells["base", "score_percent"])
        assert agrees(100 * ours.average, cells["average_8k_128k", "longscore_percent"])
        mean = ours.base * (1 + ours.average)
        assert agrees(100 * mean, cells["average_8k_128k", "score_percent"])
        checked += 1
    assert checked == {"Table 4": 4, "Table 7": 8}[table]


@pytest.mark.parametrize("table", ["Table 5", "Table 8"])
def test_tables_5_and_8_from_their_printed_scores(shared: Path, table: str) -> None:
    found = longscores(published(shared, "paper_100longbench.csv"), table=table)
    checked = 0
    for (name, model), cells in paper(shared).items():
        if name != table:
            continue
        ours = found[model, "all"]
        by_length = {f"{point.length // 1024}k": point.value for point in ours.points}
        for (setting, metric), printed in cells.items():
            if metric == "longscore_percent":
                value = by_length.get(setting, ours.average)
                assert value is not None
                assert agrees(100 * value, printed), (model, setting)
                checked += 1
    assert checked == {"Table 5": 24, "Table 8": 2}[table]


def test_table_1_is_the_average_of_table_5(shared: Path) -> None:
    cells = paper(shared)
    first = [found["average", "longscore_percent"] for (name, _), found in cells.items() if name == "Table 1"]
    fifth = [found["average", "longscore_percent"] for (name, _), found in cells.items() if name == "Table 5"]
    assert first == fifth
    assert len(first) == 4


def scores_of(cells: dict[tuple[str, str], str]) -> list[str]:
    return [
        text
        for (setting, metric), text in cells.items()
        if metric == "score_percent" and setting not in ("base", "average")
    ]


def test_table_6_where_it_recomputes_and_where_not(shared: Path) -> None:
    outcome = {}
    for (name, model), cells in paper(shared).items():
        if name != "Table 6":
            continue
        base, printed = cells["base", "score_percent"], cells["average", "longscore_percent"]
        scores = scores_of(cells)
        low, high = reachable(base, scores)
        ours = longscore_of_means(float(base), sum(map(float, scores)) / len(scores))
        assert ours is not None
        outcome[model] = agrees(100 * ours, printed), low <= float(printed) <= high
    assert outcome == {
        "PI": (True, True),
        "Gemini-1.5-Flash": (True, True),
        "Gemini-1.5-Pro": (True, True),
        "NTK": (False, False),
        "LLaMA3-8B (ratio=1)": (False, False),
        "LLaMA3-8B (ratio=64)": (False, False),
    }


@pytest.mark.slow
def test_table_6_prints_other_lengths_than_it_says(shared: Path) -> None:
    # Columns "48k / 64k" and "128k / 256k" hold the notebook's 31k and 48k; its 64k is left out of the average.
    notebook = longscores(published(shared, "100longbench_ntk_pi.csv"))
    for model, name in (("NTK", "llama2-7b-ntk"), ("PI", "llama2-7b-pi")):
        ours = notebook[name, "all"]
        assert ours.base is not None
        points = [100 * ours.base * (1 + (point.value or 0)) for point in ours.points]
        printed = scores_of(paper(shared)["Table 6", model])
        assert [point.length // 1024 for point in ours.points] == [8, 16, 24, 31, 48, 64]
        assert all(agrees(point, text) for point, text in zip(points[:5], printed, strict=True))
        if model == "PI":
            average = 100 * (sum(points[:5]) / 5 / (100 * ours.base) - 1)
            assert agrees(average, paper(shared)["Table 6", model]["average", "longscore_percent"])


def test_a_sixth_score_would_explain_the_rows_of_llama3(shared: Path) -> None:
    for ratio, sixth in (("1", 0.87), ("64", 1.05)):
        cells = paper(shared)["Table 6", f"LLaMA3-8B (ratio={ratio})"]
        mean = (sum(map(float, scores_of(cells))) + sixth) / 6
        assert agrees(mean, cells["average", "score_percent"])
        low, high = reachable(cells["base", "score_percent"], [cells["average", "score_percent"]])
        assert low <= float(cells["average", "longscore_percent"]) <= high


def test_printed_ranks_that_are_wrong(shared: Path) -> None:
    columns: dict[tuple[str, str, str], list[tuple[str, float, int]]] = {}
    for (table, model), cells in paper(shared).items():
        for (setting, metric), text in cells.items():
            place = cells.get((setting, f"rank_by_{metric}"))
            if place is not None:
                columns.setdefault((table, setting, metric), []).append((model, float(text), int(place)))
    wrong = set()
    for (table, setting, metric), column in columns.items():
        for model, value, rank in column:
            best = 1 + sum(other > value for _, other, _ in column)
            worst = sum(other >= value for _, other, _ in column)
            if not best <= rank <= worst:
                wrong.add((table, setting, metric, model, rank, best))
    assert wrong == {
        ("Table 5", "16k", "score_percent", "Phi3-medium (14B)", 2, 3),
        ("Table 7", "base", "score_percent", "Llama3.2-3B-Instruct", 8, 5),
    }
