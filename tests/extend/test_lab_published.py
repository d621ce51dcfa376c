"""Published comparisons of methods are those of the papers, and what is said of them follows from their figures."""

from __future__ import annotations

import csv
import json
import math
import shlex
import shutil
from pathlib import Path
from statistics import fmean

import pytest

import fathom.benchmarks
from command_line import Call
from fathom import api
from fathom.cli.app import commands
from fathom.extend.methods import METHODS
from fathom.extend.published import PublishedComparison, PublishedScore, published_comparisons, read_comparisons
from fathom.report.published import WIDEST, published_tables, remarks_of
from fathom.types import FathomError

FOLDER = Path(fathom.benchmarks.__file__).parent
COMPARISONS = {comparison.id: comparison for comparison in published_comparisons()}
ADA, TRAINED_ALIKE = COMPARISONS["ada-table-9"], COMPARISONS["leader-table-7"]
PI_NTK, THETA = COMPARISONS["hundred-table-6-methods"], COMPARISONS["hundred-table-6-theta"]


def boards(paper: str) -> list[dict[str, str]]:
    """The rows of a paper's ``published.csv``, which were transcribed independently."""
    with (FOLDER / paper / "published.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def value(comparison: PublishedComparison, model: str, printed: str, column: str, metric: str = "") -> float:
    found = [
        score.value
        for score in comparison.scores
        if (score.model, score.printed, score.column) == (model, printed, column) and metric in ("", score.metric)
    ]
    assert len(found) == 1
    assert found[0] is not None
    return found[0]


def rows(comparison: PublishedComparison) -> dict[tuple[str, str], list[PublishedScore]]:
    """The figures of each model and method."""
    found: dict[tuple[str, str], list[PublishedScore]] = {}
    for score in comparison.scores:
        found.setdefault((score.model, score.printed), []).append(score)
    return found


def number(score: PublishedScore) -> float:
    assert score.value is not None
    return score.value


def check_average(score: PublishedScore, recomputed: float, tolerance: float) -> None:
    """A printed average is that of its cells, or its note says what they give."""
    agrees = abs(recomputed - number(score)) <= tolerance
    assert score.note == ("" if agrees else f"The cells give {recomputed:.2f}."), score


# ----------------------------------------------------------------------------------------------------- figures


@pytest.mark.parametrize(
    ("comparison", "model", "printed", "column", "metric", "expected"),
    [
        ("leader-table-7", "Llama-2-7b", "YaRN", "Passkey 1000", "exact match", 55.0),
        ("leader-table-7", "Llama-2-13b", "ABF", "Dialog - RE", "F1", 14.1),
        ("leader-table-7", "Llama-2-13b", "PoI", "AVG", "mean", 28.06),
        ("leader-table-12", "Llama-2-7b-chat", "SelfExtend", "Needle @32k", "not stated, 0 to 1", 0.685),
        ("ada-table-9", "Vicuna-7b-v1.5", "NTK", "1k", "accuracy", 32.5),
        ("ada-table-9", "Vicuna-13b-v1.5", "ReRoPE", "8k", "accuracy of valid replies", 2.8),
        ("ada-table-9", "Vicuna-7b-v1.5", "Original(4k)", "2k", "accuracy of valid replies", 11.0),
        ("ada-table-9", "", "Random Guess", "8k", "accuracy", 2.3),
        ("hundred-table-6-methods", "Llama-2-7b", "PI", "128k / 256k", "score", 0.44),
        ("hundred-table-6-methods", "Llama-2-7b", "NTK", "avg(LONGSCORE)", "LongScore", -18.4),
        ("hundred-table-6-theta", "LLaMA3-8B", "ratio=64", "24k / 32k", "score", 26.08),
        ("hundred-table-6-vendor", "Gemini-1.5-Pro", "Gemini-1.5-Pro", "avg(score)", "score", 57.77),
    ],
)
def test_figures_are_those_of_the_papers(
    comparison: str, model: str, printed: str, column: str, metric: str, expected: float
) -> None:
    assert value(COMPARISONS[comparison], model, printed, column, metric) == expected


def test_every_table_is_whole() -> None:
    counts = {name: (len(rows(one)), len(one.scores)) for name, one in COMPARISONS.items()}
    assert counts == {
        "leader-table-7": (6, 6 * 20),
        "leader-table-12": (3, 3 * 2),
        "ada-table-9": (11, 10 * 4 * 2 + 4),
        "hundred-table-6-methods": (2, 2 * 8),
        "hundred-table-6-theta": (2, 2 * 8),
        "hundred-table-6-vendor": (2, 2 * 8),
    }


def test_longleader_is_equal_to_the_leaderboard() -> None:
    there = {
        (board["model"], board["variant"], board["task"]): board["value"]
        for board in boards("leader")
        if board["table"] == "Table 7"
    }
    assert {(score.model, score.printed, score.task): score.text for score in TRAINED_ALIKE.scores} == there


def test_longleader_averages_are_recomputed() -> None:
    for scores in rows(TRAINED_ALIKE).values():
        kinds: list[float] = []
        cells: list[float] = []
        for score in scores:
            if score.task.startswith("category/"):
                check_average(score, fmean(cells), 0.0051)
                kinds.append(number(score))
                cells = []
            elif score.task == "overall":
                check_average(score, fmean(kinds), 0.0051)
            else:
                cells.append(number(score))
        assert (len(kinds), cells) == (5, [])


@pytest.mark.parametrize("name", [name for name in COMPARISONS if name.startswith("hundred")])
def test_averages_and_longscores_of_100_longbench_are_recomputed(name: str) -> None:
    for scores in rows(COMPARISONS[name]).values():
        by = {score.column: score for score in scores}
        cells = [score.value for score in scores if score.task == "overall" and not score.column.startswith("avg")]
        mean = fmean(cell for cell in cells if cell is not None)
        base = number(by["base"])
        # The paper truncates some figures and rounds others.
        check_average(by["avg(score)"], mean, 0.0101)
        check_average(by["avg(LONGSCORE)"], 100 * (mean - base) / base, 0.0101)


def test_seven_of_48_averages_disagree_with_their_cells() -> None:
    averages = [
        score
        for name in COMPARISONS
        for score in COMPARISONS[name].scores
        if score.column.lower().startswith("avg") or score.column.endswith(" AVG")
    ]
    assert (len(averages), sum("The cells give" in average.note for average in averages)) == (48, 7)


def test_lengths_of_table_6_are_those_of_the_notebook() -> None:
    notebook: dict[tuple[str, int], list[float]] = {}
    for row in boards("hundred"):
        if row["table"] == "notebooks" and row["model"] == "Llama-2-7b" and row["length"]:
            notebook.setdefault((row["variant"], int(row["length"])), []).append(float(row["value"]))
    checked = [score for score in PI_NTK.scores if score.length]
    assert {one.length for one in checked} == {8192, 16384, 24576, 31744, 49152}
    for one in checked:
        assert one.length is not None
        cells = notebook[one.printed, one.length]
        assert len(cells) == 8
        assert 0 <= fmean(cells) - number(one) < 0.0101, one


def test_ada_accuracies_agree_with_table_3_or_have_a_note() -> None:
    table_3 = {
        (board["model"], int(board["length"])): float(board["value"])
        for board in boards("ada")
        if board["table"] == "Table 3" and board["task"] == "bestanswer"
    }
    tuned = [score for score in ADA.scores if score.printed == "Original(16k)" and score.metric == "accuracy"]
    for one in tuned:
        assert one.length is not None
        other = table_3[f"{one.model}-16k", one.length]
        expected = "" if other == one.value else f"Table 3 prints {other} for the same model and length."
        assert one.note == expected
    assert sum(bool(one.note) for one in tuned) == 2


def test_accuracies_of_valid_replies_are_no_lower() -> None:
    for (model, printed), scores in rows(ADA).items():
        for column in {score.column for score in scores} if model else ():
            of_all = value(ADA, model, printed, column, "accuracy")
            assert of_all <= value(ADA, model, printed, column, "accuracy of valid replies")


# ------------------------------------------------------------------------------------------------- differences


def test_differences_are_to_the_untrained_model_on_the_same_questions() -> None:
    found = {
        (difference.score.model, difference.score.printed, difference.score.column): difference.difference
        for difference in ADA.differences
    }
    assert len(found) == len(ADA.differences) == 2 * 3 * 4
    assert found["Vicuna-7b-v1.5", "NTK", "1k"] == -7.0
    assert found["Vicuna-13b-v1.5", "Leaky ReRoPE", "2k"] == 6.1
    for one in ADA.differences:
        assert (one.score.trained, one.score.metric) == ("zero-shot", "accuracy")
        assert one.without.printed == "Original(4k)"
        assert one.difference == pytest.approx(number(one.score) - number(one.without))


def test_only_tables_with_a_row_without_a_method_have_differences() -> None:
    with_differences = {name for name, one in COMPARISONS.items() if one.differences}
    assert with_differences == {"ada-table-9", "hundred-table-6-theta"}
    assert "LongScore" not in {difference.score.metric for difference in THETA.differences}
    assert len(THETA.differences) == 7


# ----------------------------------------------------------------------------------------------- what is said


def test_yarn_leads_longleader_by_passkeys_alone() -> None:
    kinds = ("F-QA AVG", "MC-QA AVG", "ICL AVG", "SUM AVG")
    without: dict[str, dict[str, float]] = {}
    for model in ("Llama-2-7b", "Llama-2-13b"):
        overall = {name: value(TRAINED_ALIKE, model, name, "AVG") for name in ("PoI", "YaRN", "ABF")}
        without[model] = {name: fmean(value(TRAINED_ALIKE, model, name, kind) for kind in kinds) for name in overall}
        assert max(overall, key=overall.__getitem__) == "YaRN"
        assert max(without[model], key=without[model].__getitem__) == "PoI"
        assert value(TRAINED_ALIKE, model, "YaRN", "Needle") < value(TRAINED_ALIKE, model, "PoI", "Needle")
    assert min(without["Llama-2-7b"], key=without["Llama-2-7b"].__getitem__) == "YaRN"
    assert {number(score) for score in TRAINED_ALIKE.scores if score.column == "Retrieve.KV"} == {0}


def test_one_length_decides_between_pi_and_ntk() -> None:
    columns = dict.fromkeys(score.column for score in PI_NTK.scores if score.length)
    gaps = [
        round(value(PI_NTK, "Llama-2-7b", "PI", column) - value(PI_NTK, "Llama-2-7b", "NTK", column), 2)
        for column in columns
    ]
    assert gaps[-1] < -12
    assert (round(min(gaps[:-1]), 1), round(max(gaps[:-1]), 1)) == (0.4, 1.1)


def test_a_sixth_score_would_explain_the_averages_of_llama_3() -> None:
    missing = []
    for scores in rows(THETA).values():
        cells = [number(score) for score in scores if score.task == "overall" and not score.column.startswith("avg")]
        missing.append(round(6 * value(THETA, scores[0].model, scores[0].printed, "avg(score)") - sum(cells), 2))
    assert missing == [0.87, 1.05]
    assert all(str(one) in " ".join(THETA.not_comparable) for one in missing)


def test_methods_of_ada_are_near_guessing_at_8k() -> None:
    with_method = [
        number(score)
        for score in ADA.scores
        if (score.column, score.metric, score.trained) == ("8k", "accuracy", "zero-shot") and score.method != "none"
    ]
    assert (len(with_method), min(with_method), max(with_method)) == (6, 1.3, 3.9)
    told = " ".join(ADA.not_comparable)
    assert "the six rows with a method have 1.3 to 3.9" in told
    by_chance = [round(100 * 1.96 * math.sqrt(2 * p * (1 - p) / 1000), 1) for p in (0.023, 0.10, 0.40)]
    words = "near 2.3 differ by up to {} points by chance, near 10 by {}, near 40 by {}."
    assert words.format(*by_chance) in told


# ---------------------------------------------------------------------------------------------------- command


def test_the_command_prints_tables_with_source_and_remarks(call: Call) -> None:
    code, out, _ = call("lab", "published", "--paper", "ada")
    flat = " ".join(out.split())
    assert code == 0
    assert "Ada-LEval, Table 9: methods for Vicuna v1.5, whose window is 4k (differences to no method)" in flat
    assert "https://arxiv.org/abs/2404.06480" in flat
    assert "Vicuna-7b-v1.5 NTK ntk zero-shot −7.0 +0.9 +1.6 +3.9" in flat
    assert "¹ Table 3 prints 1.8 for the same model and length." in flat
    for heading, sentences in remarks_of(ADA).items():
        assert heading in out
        for sentence in sentences:
            assert sentence in flat
    assert "LongLeader" not in out


def test_json_and_python_have_the_same(call: Call) -> None:
    code, out, _ = call("lab", "published", "--json")
    found = json.loads(out)
    assert code == 0
    assert [one["id"] for one in found] == [one.id for one in api.lab_published()] == list(COMPARISONS)
    assert sum(len(one["scores"]) for one in found) == sum(len(one.scores) for one in COMPARISONS.values())
    assert found[0]["differences"][0]["difference"] == ADA.differences[0].difference
    assert [one.paper for one in api.lab_published(paper="leader")] == ["leader"] * 2


def test_an_unknown_paper_is_named(call: Call) -> None:
    code, _, error = call("lab", "published", "--paper", "hundret")
    assert code == 2
    assert "unknown paper 'hundret'; did you mean hundred?" in error


@pytest.mark.parametrize("name", COMPARISONS)
def test_the_nearest_suite_can_be_built(name: str) -> None:
    nearest = COMPARISONS[name].nearest
    if not nearest:
        assert name == "hundred-table-6-vendor"
        return
    program, command, *words = shlex.split(nearest)
    assert program == "fathom"
    commands()[command].make_context(command, words)


def test_methods_are_those_of_the_lab() -> None:
    named = {score.method for each in COMPARISONS.values() for score in each.scores}
    assert named == {"", "none", "pi", "ntk", "yarn", "abf", "rerope", "leaky", "selfextend"}
    assert named - {""} <= set(METHODS)


# ----------------------------------------------------------------------------------------------------- tables


def test_tables_are_whole_and_folded() -> None:
    tables = published_tables(list(COMPARISONS.values()))
    names = [table.name for table in tables]
    assert len(set(names)) == len(names)
    for table in tables:
        assert table.detail
        assert table.section == "published"
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}
        assert len({column.label for column in table.columns}) == len(table.columns)


def test_tasks_are_rows_where_there_are_many() -> None:
    wide, *_ = published_tables([TRAINED_ALIKE], remarks=False)
    assert len(wide.rows) == 20 > WIDEST
    assert [column.label for column in wide.columns][2:4] == ["Llama-2-7b PoI (pi)", "Llama-2-7b YaRN"]
    row = {row[0].text: [cell.text for cell in row] for row in wide.rows}["SYR AVG"]
    assert row == ["SYR AVG", "mean", "46.32", "63.83", "39.50", "45.94", "73.42", "42.60"]


def test_differences_say_that_they_have_no_interval() -> None:
    found = {table.name: table for table in published_tables([THETA])}["published-hundred-table-6-theta-differences"]
    assert "without intervals, because the paper gives none" in found.about
    assert [cell.text for cell in found.rows[0]][3:] == [
        *("−2.85", "−5.14", "+23.89", "+24.21", "+26.42", "+0.64", "+11.70")
    ]
    assert found.notes == ("ratio=64: The cells give 22.39. ratio=1: The cells give 8.38.",)


# ------------------------------------------------------------------------------------------------------ faults


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("extension.csv", ",ntk,NTK,", ",nkt,NTK,", "method = 'nkt'"),
        ("extension.csv", "accuracy,32.5,", "accuracy,32;5,", "value = '32;5'"),
        ("extension.csv", "accuracy,32.5,", "accuracy,nan,", "value = 'nan'"),
        ("extension.csv", "zero-shot,bestanswer,1024", "untrained,bestanswer,1024", "trained = 'untrained'"),
        ("extension.csv", "bestanswer,1024", "bestanswer,1k", "length = '1k'"),
        ("extension.csv", "table,model", "model,table", "expected the columns table, model"),
        ("extension.csv", "Table 3,,", "Table 8,,", "toml: Table 8, Random Guess, 1k is in none"),
        ("extension.toml", "title =", "titel =", "titel"),
        ("extension.toml", 'nearest = "', '# nearest = "', "nearest is missing"),
        ("extension.toml", '"Table 9", "Table 3"', '"Table 2"', "has no rows"),
        ("extension.toml", "[[comparisons]]", "[[comparison]]", "expected comparisons"),
        ("published.toml", "title =", "title ", "not valid TOML"),
    ],
)
def test_faults_of_files_are_named(tmp_path: Path, file: str, old: str, new: str, message: str) -> None:
    for name in ("extension.csv", "extension.toml", "published.toml"):
        shutil.copy(FOLDER / "ada" / name, tmp_path / name)
    changed = tmp_path / file
    text = changed.read_text("utf-8")
    assert old in text
    changed.write_text(text.replace(old, new), "utf-8")
    with pytest.raises(FathomError, match=r"(extension|published)\.") as raised:
        read_comparisons(tmp_path / "extension.csv")
    assert message in str(raised.value)
    (tmp_path / file).unlink()
    with pytest.raises(FathomError, match="cannot be read"):
        read_comparisons(tmp_path / "extension.csv")
