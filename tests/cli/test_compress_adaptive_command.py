"""``fathom compress select``, ``adaptive`` and ``validate`` on a tiny suite that offline readers were scored on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import Call
from fathom import api
from fathom.compress.tables import read_matrix, write_matrix
from made import write_corpus
from made_scores import made_scores

pytestmark = pytest.mark.slow

NEW = "fathom/lexical?window=600&truncate=middle"
KNOWN = ["fathom/lexical", "fathom/guess", *(f"fathom/lexical?window={n}00&truncate=middle" for n in (3, 5, 8))]
TASKS = "single_doc_qa,passage_count,single_doc_summary"


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a suite of 60 items, the scores of five readers on it, and the score of a sixth."""
    folder = tmp_path_factory.mktemp("scored")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FATHOM_CACHE", str(folder / "cache"))
        corpus = write_corpus(folder, 80)
        api.build(TASKS, folder / "suite", lengths=[1024], items=20, corpus=[str(corpus)])
        for number, model in enumerate([*KNOWN, NEW]):
            api.run(folder / "suite", model, folder / f"run-{number}")
    write_matrix(read_matrix([folder / f"run-{number}" for number in range(5)]), folder / "known.parquet")
    return folder


def truth(scored: Path) -> float:
    return float(read_matrix(scored / "run-5").totals()[0])


# --------------------------------------------------------------------------------------------------------- a subset


def test_a_subset_is_chosen_run_and_estimated(call: Call, scored: Path, tmp_path: Path) -> None:
    code, out, err = call("compress", "select", scored / "known.parquet", "--budget", "24", "--out", "small.json")
    assert (code, err) == (0, "note: small.json: 24 items, sampled\n")
    assert "single_doc_qa" in out
    assert (tmp_path / "small.known.parquet").is_file()
    assert call("run", scored / "suite", "-m", NEW, "--subset", "small.json", "--out", "new", "--quiet")[0] == 0
    code, out, _ = call("compress", "estimate", "new", "--subset", "small.json", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["subset"], found["method"], found["items"], found["agreement"]) == ("sampled", "sampled", 24, [])
    (model,) = found["models"]
    assert (model["items"], model["full"], model["ranks"], model["group"]) == (24, None, [1, 1], 1)
    assert model["overall"]["low"] < model["overall"]["value"] < model["overall"]["high"]
    assert model["overall"]["value"] == pytest.approx(truth(scored), abs=0.1)
    # Without the known scores beside it the subset says what it lacks, and takes them from elsewhere.
    (tmp_path / "small.known.parquet").rename(tmp_path / "elsewhere.parquet")
    code, _, err = call("compress", "estimate", "new", "--subset", "small.json")
    assert code == 2
    assert "give the scores with --known" in err
    again = call("compress", "estimate", "new", "--subset", "small.json", "--known", "elsewhere.parquet", "--json")
    assert json.loads(again[1]) == found
    code, _, err = call("compress", "estimate", "new", "--subset", "small.json", "--known", scored / "run-0")
    assert code == 2
    assert "was chosen with other scores" in err


def test_full_runs_are_ranked_and_compared_with_the_truth(call: Call, scored: Path) -> None:
    words = ["compress", "select", scored / "known.parquet", "--budget", "30", "--out", "small.json", "--json"]
    record = json.loads(call(*words, "--models", ",".join(KNOWN[:4]))[1])
    assert (record["method"], record["items"], sum(record["strata"].values())) == ("sampled", 30, 30)
    runs = [scored / f"run-{number}" for number in range(6)]
    code, out, _ = call("compress", "estimate", *runs, "--subset", "small.json", "--out", "table.csv", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["models"][0]["model"] == "fathom/lexical"
    assert [one["group"] for one in found["models"]][:2] == [1, 2]  # nobody else is nearly as good
    (own,) = (one for one in found["agreement"] if one["estimate"] == "estimate")
    assert own["count"] == 6
    assert own["error"] < 0.06
    table = pl.read_csv("table.csv")
    assert table["estimate"].to_list() == pytest.approx([one["overall"]["value"] for one in found["models"]])
    out = call("compress", "estimate", *runs, "--subset", "small.json")[1]
    assert "tie group" in out
    assert "Spearman" in out


def test_a_suite_without_scores_is_sampled_by_shares_and_costs(call: Call, scored: Path) -> None:
    words = ["compress", "select", scored / "suite", "--out", "cold.json"]
    assert call(*words, "--budget", "18")[0] == 0
    code, out, _ = call("compress", "estimate", scored / "run-5", "--subset", "cold.json", "--json")
    (model,) = json.loads(out)["models"]
    assert code == 0
    assert model["overall"]["low"] <= truth(scored) <= model["overall"]["high"]
    assert model["full"] == pytest.approx(truth(scored))
    assert call(*words, "--budget", "9000", "--unit", "cost", "--json")[0] == 0
    assert 6 <= len(json.loads(Path("cold.json").read_text("utf-8"))["members"]) <= 12  # of about 1,000 tokens each


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--budget", "61"], "a budget of 61: expected a whole number of items, 1 to 60"),
        (["--budget", "2.5"], "a budget of 2.5"),
        (["--budget", "nan"], "a budget of nan"),
        (["--budget", "10", "--method", "magic"], "--method magic: expected sampled, minilongbench"),
        (["--budget", "10", "--unit", "hours"], "--unit hours: expected items, cost"),
        (["--budget", "10", "--models", "lexical"], "unknown model 'lexical'"),
        (["--budget", "10", "--method", "minilongbench", "--unit", "cost"], "method minilongbench counts items"),
        (["--budget", "inf", "--method", "minilongbench"], "--budget inf: expected a whole number of items"),
    ],
)
def test_what_cannot_be_chosen(call: Call, scored: Path, tmp_path: Path, words: list[str], message: str) -> None:
    code, out, err = call("compress", "select", scored / "known.parquet", "--out", "small.json", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------------------------------------- adaptive


def adaptive(scored: Path, **more: object) -> list[str | Path]:
    options = {"known": scored / "known.parquet", "out": "rounds", "width": 0.004, "first": 12, "step": 6} | more
    named = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return ["compress", "adaptive", scored / "suite", "-m", NEW, *named]


def test_adaptive_rounds_stop_resume_and_are_estimated(call: Call, scored: Path, tmp_path: Path) -> None:
    code, out, err = call(*adaptive(scored, budget=20), "--json")
    short = json.loads(out)
    assert code == 0
    assert (short["items"], short["of"], short["reached"], len(short["rounds"])) == (18, 60, False, 2)
    assert "  12 items: " in err
    assert err.count("free of charge") == 1  # the first round looks ahead for all
    code, out, err = call(*adaptive(scored, budget=60))
    rounds = len([path for path in tmp_path.glob("rounds/round-*") if path.is_dir()])
    assert code == 0
    assert out.startswith(f"{NEW}: ")
    assert "of 60 items" in out
    assert err.count("free of charge") == 1  # nothing was asked again, and the next round looks ahead
    found = json.loads(call(*adaptive(scored, budget=60), "--quiet", "--json")[1])
    assert found["rounds"][:2] == short["rounds"]
    assert len(found["rounds"]) == rounds
    assert found["items"] > 18
    assert found["reached"]
    assert found["half_width"] <= 0.004
    estimate = found["estimate"]
    assert estimate["overall"]["value"] == pytest.approx(truth(scored), abs=0.015)
    members = [member["item"] for member in json.loads(Path(found["subset"]).read_text("utf-8"))["members"]]
    assert len(set(members)) == len(members) == found["items"]
    # The command that is printed at the end gives the same estimate.
    code, out, _ = call("compress", "estimate", *found["rounds"], "--subset", found["subset"], "--json")
    (model,) = json.loads(out)["models"]
    assert code == 0
    assert model["overall"] == pytest.approx(estimate["overall"])
    assert model["items"] == found["items"]


def test_single_draws_are_recorded_and_their_proved_interval_is_the_headline(call: Call, scored: Path) -> None:
    words = [*adaptive(scored, budget=30, width=0.2), "--proved"]
    code, out, err = call(*words)
    assert code == 0
    lines = out.splitlines()
    assert ", proved at any look, after " in lines[0]
    assert lines[1].startswith("calibrated on the known models, not proved: ")
    found = json.loads(call(*words, "--quiet", "--json")[1])
    assert found["proved"]["low"] <= truth(scored) <= found["proved"]["high"]
    assert found["half_width"] < (found["proved"]["high"] - found["proved"]["low"]) / 2
    assert found["reached"] == ((found["proved"]["high"] - found["proved"]["low"]) / 2 <= 0.2)
    first = json.loads(Path("rounds/round-001.json").read_text("utf-8"))
    assert first["design"]["draw"] == "one by one"
    assert all(0 < member["probability"] < 0.2 for member in first["members"])
    assert json.loads(Path(found["subset"]).read_text("utf-8"))["design"]["proved"][0] == found["proved"]["low"]
    code, _, err = call(*adaptive(scored, budget=30, width=0.2))
    assert (code, "this round asked other items than it would now" in err) == (2, True)
    code, _, err = call(*words, "--unanswered", "drop")
    assert (code, "counts unanswered replies as 0" in err) == (2, True)


def test_another_width_in_the_same_folder_does_not_change_bets_that_were_made(call: Call, scored: Path) -> None:
    first, other = (
        json.loads(call(*adaptive(scored, budget=30, width=width), "--proved", "--quiet", "--json")[1])
        for width in (0.06, 0.02)
    )
    assert (first["items"], first["proved"]) == (other["items"], other["proved"])


def test_rounds_of_an_earlier_version_are_resumed(call: Call, scored: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:  # rounds without the mark, drawn as they were
        patch.setattr("fathom.compress.adaptive._is_topped_up", lambda folder: True)
        assert call(*adaptive(scored, budget=18), "--quiet")[0] == 0
    code, out, _ = call(*adaptive(scored, budget=24), "--quiet", "--json")
    found = json.loads(out)
    assert (code, found["items"]) == (0, 24)
    assert "draw" not in json.loads(Path(found["subset"]).read_text("utf-8"))["design"]
    code, out, _ = call("compress", "estimate", *found["rounds"], "--subset", found["subset"], "--json")
    assert code == 0
    assert json.loads(out)["models"][0]["overall"] == pytest.approx(found["estimate"]["overall"])


def test_other_choices_need_another_folder(call: Call, scored: Path) -> None:
    assert call(*adaptive(scored, budget=12), "--quiet")[0] == 0
    code, _, err = call(*adaptive(scored, budget=12, seed=1), "--quiet")
    assert code == 2
    assert "round-001.json: this round asked other items than it would now" in err
    words = ["fathom/guess" if word == NEW else word for word in adaptive(scored, budget=12)]
    code, _, err = call(*words, "--quiet")
    assert code == 2
    assert "round-001" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0.0}, "--width 0.0: expected a half-width between 0 and 0.5"),
        ({"width": 0.5}, "--width 0.5: expected"),
        ({"width": "nan"}, "--width nan: expected"),
        ({"budget": 1}, "--budget 1: expected a number of at least 2"),
        ({"first": 0}, "--first 0: expected a number of at least 2"),
        ({"step": 0}, "--step 0: expected a positive number"),
        ({"known": "nowhere.csv"}, "nowhere.csv"),
    ],
)
def test_what_cannot_be_evaluated(call: Call, scored: Path, options: dict[str, object], message: str) -> None:
    code, out, err = call(*adaptive(scored, **options))
    assert (code, out) == (2, "")
    assert message in err
    assert not Path("rounds").exists()


def test_known_scores_of_another_suite_are_refused(call: Call, scored: Path, tmp_path: Path) -> None:
    write_matrix(made_scores(6, 60), tmp_path / "other.parquet")
    code, _, err = call(*adaptive(scored, known="other.parquet"))
    assert code == 2
    assert "12 of its 12 members are in no sample of" in err


# --------------------------------------------------------------------------------------------------------- validate


def test_methods_are_validated(call: Call, tmp_path: Path) -> None:
    write_matrix(made_scores(8, 60), tmp_path / "scores.parquet")
    words = ["compress", "validate", "scores.parquet", "--budget", "12,24", "--splits", "2", "--quiet"]
    code, out, _ = call(*words, "--methods", "random,clustered,sampled", "--width", "0.1", "--out", "all.csv", "--json")
    found = json.loads(out)
    assert code == 0
    assert len(found["summary"]) == 2 * 2 * 3 * 3  # kinds of split, budgets, targets, methods
    assert {line["draws"] for line in found["summary"]} == {2}
    assert {line["coverage"] is None for line in found["summary"] if line["method"] == "clustered"} == {True}
    assert len(found["reach"]) == 2 * 2 * 3
    assert len(pl.read_csv("all.csv")) == 2 * len(found["summary"])
    code, out, _ = call(*words, "--methods", "random,sampled", "--categories")
    assert code == 0
    heads = [line for line in out.splitlines() if line.endswith(" draws")]
    assert len(heads) == 2 * 2 * 3
    assert any(line.startswith("Random halves of the models, 12 items, b, ") for line in heads)
    assert any(line.startswith("The weakest half known, the strongest half new, 24 items, ") for line in heads)


def test_all_methods_are_those_that_the_scores_allow(call: Call, tmp_path: Path) -> None:
    write_matrix(made_scores(6, 40), tmp_path / "scores.parquet")
    words = ["compress", "validate", "scores.parquet", "--budget", "12", "--splits", "1", "--quiet", "--json"]
    code, out, _ = call(*words)
    assert code == 0
    lines = json.loads(out)["summary"]
    methods = [line["method"] for line in lines if (line["split"], line["target"]) == ("random", "overall")]
    assert methods == ["random", "stratified", "neyman", "best_of", "clustered", "minilongbench", "sampled"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--methods", "sampeld"], "did you mean sampled"),
        (["--methods", "published", "--budget", "12"], "the published items of MiniLongBench are 237"),
        (["--budget", "x"], "--budget x: expected numbers of items separated by commas"),
        (["--budget", ","], "--budget ,: expected numbers of items"),
        (["--budget", "0"], "a budget of 0: expected 1 to 60 items"),
        (["--budget", "61"], "a budget of 61: expected 1 to 60 items"),
        (["--budget", "12", "--splits", "0"], "--splits 0: expected a positive number"),
        (["--budget", "12", "--width", "2"], "--width 2: expected a half-width between 0 and 0.5"),
        (["--budget", "12", "--plot", "x.doc"], "x.doc"),
    ],
)
def test_what_cannot_be_validated(call: Call, tmp_path: Path, words: list[str], message: str) -> None:
    write_matrix(made_scores(6, 60), tmp_path / "scores.parquet")
    code, out, err = call("compress", "validate", "scores.parquet", "--methods", "random", "--quiet", *words)
    assert (code, out) == (2, "")
    assert message in err


def test_too_few_models_cannot_be_split(call: Call, tmp_path: Path) -> None:
    write_matrix(made_scores(3, 20), tmp_path / "three.parquet")
    code, _, err = call("compress", "validate", "three.parquet", "--budget", "12", "--quiet")
    assert code == 2
    assert "scores of 3 models (model 0, model 1, model 2); 4 or more are needed" in err


def test_values_of_random_splits_depend_on_the_seed(call: Call, tmp_path: Path) -> None:
    write_matrix(made_scores(8, 60), tmp_path / "scores.parquet")
    words = ["compress", "validate", "scores.parquet", "--budget", "12", "--splits", "1", "--methods", "sampled"]
    first, same, other = (
        [line["error"] for line in json.loads(call(*words, "--seed", seed, "--quiet", "--json")[1])["summary"]]
        for seed in ("1", "1", "2")
    )
    assert first == same
    assert not np.allclose(first, other)
