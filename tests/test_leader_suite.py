"""The suite ``leader`` as a whole: its tasks and grids, what it is made from, and what choices make of it."""

from __future__ import annotations

import json
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from command_line import Call
from engine_calls import configure
from fathom.benchmarks.leader.suite import TOKENIZER
from fathom.documents.sources.lock import LOCK, data_folder
from fathom.suites.build import BuildConfig, build
from fathom.suites.compose import compose
from fathom.suites.registry import get_suite, get_task
from fathom.tokens.length import format_length
from fathom.tokens.tokenizers import DEFAULT, is_at_hand
from fathom.types import FathomError, Plan
from made import write_corpus
from made_infinitebench import write_infinite
from made_threads import write_threads

CONFIG = import_module("fathom.suites.build.config")

# Table 3 of the paper; a number that five lengths do not divide is missed by one.
SAMPLES = {
    **{"leader_passkey_5_short": 160, "leader_passkey_100_short": 160, "leader_passkey_1000_short": 80},
    **{"leader_passkey_5_long": 640, "leader_passkey_100_long": 640, "leader_passkey_1000_long": 320},
    **{"leader_needle_short": 176, "leader_needle_long": 704, "leader_kv_short": 90, "leader_kv_long": 360},
    **{"leader_bestchoice": 4200, "leader_fewnerd": 1500, "leader_dialogre": 355},
}
CATEGORIES = {"SYR": 10, "F-QA": 4, "MC-QA": 2, "ICL": 3, "SUM": 3, "LGR": 2}


@pytest.fixture(autouse=True)
def no_fetched_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's own data and tokenizers decide what is built."""
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(CONFIG, "is_at_hand", lambda name: False)


def made(out: Path, **choices: Any) -> dict[str, Any]:
    """The manifest of a small build."""
    choices = {"tokenizer": "words", "items": 1, **choices}
    return dict(build(configure("leader", **choices), out / "suite", force=True).manifest)


def test_the_suite_has_the_tasks_of_table_3_in_its_categories_and_sets() -> None:
    suite = get_suite("leader")
    tasks = [get_task(name) for name in suite.tasks]
    assert len(tasks) == 24
    assert Counter(task.facets["category"] for task in tasks) == CATEGORIES
    assert Counter(task.facets["set"] for task in tasks) == {"32k": 14, "128k": 10}
    assert set(suite.grids) == set(suite.tasks)
    for name, count in SAMPLES.items():
        grid = suite.grids[name]
        assert grid.items * len(grid.lengths) == count


def test_averages_of_the_grids_are_those_of_table_3() -> None:
    grids = get_suite("leader").grids
    for task, average in (("passkey_5_short", 16_986.5), ("needle_short", 16_801), ("passkey_5_long", 64_988.19)):
        lengths = grids[f"leader_{task}"].lengths
        assert sum(lengths) / len(lengths) == pytest.approx(average, rel=0.015)


def test_depths_are_dealt_in_turn_and_lie_apart_however_few_there_are() -> None:
    for name, grid in get_suite("leader").grids.items():
        if grid.depths:
            assert grid.items % len(grid.depths) == 0
            assert {0.0, 1.0} < set(grid.depths)
            wanted = configure("leader")
            assert [wanted.depth_of(name, index) for index in range(2 * len(grid.depths))] == [*grid.depths] * 2
            assert max(grid.depths[:3]) - min(grid.depths[:3]) == 1


def test_lengths_that_are_asked_for_stay_within_the_set_of_a_task() -> None:
    wanted = configure("leader", lengths=(131_072, 4096, 32_768))
    assert wanted.of("leader_needle_short").lengths == (4096, 32_768)
    assert wanted.of("leader_needle_long").lengths == (4096, 32_768, 131_072)
    assert wanted.of("leader_bestchoice").lengths == (4096,)
    assert configure("leader", items=3).of("leader_kv_short") == configure("leader", items=3).of("leader_kv_short")
    assert configure("leader", items=3).of("leader_kv_short").items == 3


def test_orders_without_grids_are_the_same_for_all_tasks() -> None:
    wanted = configure("starter", items=4)
    assert wanted.grids == ()
    assert wanted.of("passkey") is wanted
    assert wanted.depth_of("passkey", 0) is None


def test_without_any_data_the_generated_tasks_are_built_and_the_others_named(tmp_path: Path) -> None:
    manifest = made(tmp_path, lengths=(2000, 4000))
    assert all(name.startswith(("leader_passkey", "leader_needle", "leader_kv")) for name in manifest["samples"])
    assert set(manifest["samples"].values()) == {2}
    assert len(manifest["samples"]) == 10
    notes = {note for note in manifest["notes"] if "skipped" in note}
    assert len(notes) == 2
    assert any("leader_bestchoice: skipped; give --threads FILE" in note for note in notes)
    assert any("leader_musique, " in note and "skipped; give --data FOLDER" in note for note in notes)


@pytest.mark.slow
def test_records_and_threads_stand_beside_the_generated_world(tmp_path: Path) -> None:
    data = write_infinite(tmp_path / "records", 3)
    threads = write_threads(tmp_path, 60)
    wanted = configure("leader", data=[str(data)], threads=[str(threads)])
    assert wanted.corpus == ("world",)
    assert configure("leader", noise=["essays"], data=[str(data)]).corpus == ()
    assert configure("leader", corpus=["essays"], data=[str(data)]).corpus == ("essays",)
    manifest = made(tmp_path, data=[str(data)], threads=[str(threads)], lengths=(2000,), items=2)
    assert manifest["samples"]["leader_math_find"] == 2
    assert manifest["samples"]["leader_needle_long"] == 2
    assert manifest["samples"]["leader_bestchoice"] == 2


def test_contexts_are_filled_with_what_is_given_and_never_with_records(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, 30)
    data = write_infinite(tmp_path / "records", 3)
    wanted = configure("leader", noise=[str(corpus)], data=[str(data)], lengths=(2000,), items=1, tokenizer="words")
    folder = build(wanted, tmp_path / "suite").folder
    manifest = json.loads((folder / "manifest.json").read_text())
    import polars as pl

    sources = pl.read_parquet(folder / "documents.parquet")["source"].to_list()
    assert manifest["samples"]["leader_passkey_5_short"] == 1
    needed = {name.split(":")[0].rpartition("/")[2] for name in sources}
    assert {"corpus.jsonl", "pairs", "refrain"} <= needed
    alone = configure("leader", noise=[str(corpus)], data=[str(data)], lengths=(2000,), items=1, tokenizer="words",
                  where={"category": ("SYR",)})  # fmt: skip
    folder = build(alone, tmp_path / "alone").folder
    sources = pl.read_parquet(folder / "documents.parquet")["source"].to_list()
    assert {name.split(":")[0].rpartition("/")[2] for name in sources} == {"corpus.jsonl", "pairs", "refrain"}


def test_fetched_data_are_used_where_none_are_named() -> None:
    assert configure("leader").data == ()
    fetched = data_folder()
    fetched.mkdir(parents=True)
    (fetched / LOCK).write_text("{}")
    assert configure("leader").data == (str(fetched),)
    assert configure("leader", threads=["some"]).data == (str(fetched),)
    assert configure("leader", data=["mine"]).data == ("mine",)
    assert configure("starter").data == ()
    assert configure("passkey").data == ()


@pytest.mark.slow
def test_a_choice_of_a_set_composes_no_other_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    composed = []

    def counted(plan: Plan, *given: Any, **more: Any) -> Any:
        composed.append(plan)
        return compose(plan, *given, **more)

    monkeypatch.setattr("fathom.suites.build.items.compose", counted)
    manifest = made(tmp_path, lengths=(2000,), where={"set": ("32K",)})
    assert set(manifest["samples"]) == {
        *(f"leader_passkey_{digits}_short" for digits in (5, 100, 1000)),
        *("leader_needle_short", "leader_kv_short"),
    }
    assert len(composed) == 5
    assert not any("128k" in note for note in manifest["notes"])
    with pytest.raises(FathomError, match=r"(?s)one of these values of set\..*  set: 32k, 128k"):
        made(tmp_path, where={"set": ("64k",)})
    with pytest.raises(FathomError, match="exceed its longest"):
        made(tmp_path, where={"set": ("32k",)}, lengths=(65_536,))


def test_swept_depths_take_the_place_of_dealt_ones(tmp_path: Path) -> None:
    choices: dict[str, Any] = {"lengths": (2000,), "where": {"task": ("leader_needle_short",)}}
    assert made(tmp_path, **choices, items=4)["samples"] == {"leader_needle_short": 4}
    assert made(tmp_path, **choices, items=4, depths=(0.0, 0.5, 1.0))["samples"] == {"leader_needle_short": 12}


def test_tasks_by_name_keep_their_grids() -> None:
    wanted = configure("leader_kv_short,leader_passkey_5_short")
    assert wanted.corpus == ("world",)
    assert {name for name, _ in wanted.grids} == {"leader_kv_short", "leader_passkey_5_short"}
    with pytest.raises(FathomError, match="--threads FILE"):
        configure("leader_bestchoice")
    with pytest.raises(FathomError, match="fathom data fetch --suite leader"):
        configure("leader_en_qa")


def test_the_tokenizer_of_the_paper_is_used_where_it_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    assert configure("leader").tokenizer == DEFAULT
    monkeypatch.setattr(CONFIG, "is_at_hand", lambda name: name == TOKENIZER)
    assert configure("leader").tokenizer == TOKENIZER
    assert configure("leader", tokenizer="words").tokenizer == "words"
    assert configure("starter").tokenizer == DEFAULT


def test_a_build_in_other_tokens_says_so(tmp_path: Path) -> None:
    only = {"task": ("leader_passkey_5_short",)}
    told = made(tmp_path, lengths=(2000,), where=only, tokenizer=None)["notes"]
    assert [note for note in told if f"--tokenizer {TOKENIZER}" in note and f"tokens of {DEFAULT}" in note]
    assert not any("--tokenizer" in note for note in made(tmp_path, lengths=(2000,), where=only)["notes"])


def test_a_downloaded_tokenizer_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub
    import tokenizers

    from fathom.tokens.tokenizers import get_tokenizer

    assert not is_at_hand("hf:nobody/nothing-of-this-name")
    assert not is_at_hand("tekken")
    assert not is_at_hand("")
    file = tmp_path / "tokenizer.json"
    tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "?": 1}, unk_token="?")).save(str(file))
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *given: str(file))
    assert is_at_hand("hf:nobody/downloaded-before")
    assert get_tokenizer("hf:nobody/downloaded-before").count("a") == 1


def test_the_command_builds_without_anything(call: Call) -> None:
    code, printed, told = call(
        "build",
        "leader",
        "--out",
        "suite",
        "--items",
        "1",
        "--lengths",
        "2k",
        "--where",
        "set=32k",
        "--tokenizer",
        "words",
    )
    assert (code, "5 samples" in printed) == (0, True)
    assert "leader_bestchoice: skipped; give --threads FILE" in told


@pytest.mark.parametrize("tokens", [1000, 2000, 32_000, 128_000, 1_024_000])
def test_thousands_are_named_as_they_are(tokens: int) -> None:
    assert format_length(tokens) == str(tokens)


@pytest.mark.slow
def test_equal_orders_have_equal_contents(tmp_path: Path) -> None:
    choices: dict[str, Any] = {"lengths": (2000, 4000), "where": {"category": ("SYR",)}}
    first, second = made(tmp_path / "a", **choices), made(tmp_path / "b", **choices)
    assert first["fingerprint"] == second["fingerprint"]
    assert made(tmp_path / "c", **choices, seed=1)["fingerprint"] != first["fingerprint"]
    assert isinstance(configure("leader"), BuildConfig)
