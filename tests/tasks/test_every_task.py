"""Every promise that tasks make, walked over the registry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine_calls import configure
from fathom.benchmarks.leader import icl_tasks
from fathom.benchmarks.nolima import published as nolima
from fathom.score.registry import metrics
from fathom.suites.build import build
from fathom.suites.registry import get_suite, get_task, suites, tasks
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import render
from fathom.types import FathomError, Sample
from made import write_corpus
from made_books import write_books
from made_frontier import write_frontier
from made_infinitebench import write_infinite
from made_records import write_records
from made_records_v2 import write_v2
from made_shots import write_shots
from made_threads import write_cases, write_threads

LENGTHS = (2048, 4096)
# LongBench Pro's stand at lengths of their own, and have answers of many lines, as have those of the world, which begin
# at 8k: see test_pro and test_world_tasks. So do LOFT's papers: see test_loft. Conversations have six questions each:
# see test_memory. The studio's samples are exported and cannot be built. HELMET's: see test_helmet.
OTHERWISE = ("pro_", "studio_", "world_", "memory_", "loft_retrieval", "loft_rag", "helmet_")
NAMES = sorted(name for name in tasks() if not name.startswith(OTHERWISE))
# Published cases and records have the length that they have; NoLiMa's needles are hidden in as much of its books.
PUBLISHED = {name for name, task in tasks().items() if task.gold in (("case",), ("record",))} - set(icl_tasks.GRIDS)
PUBLISHED -= {task.name for task in nolima.TASKS}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltSuite:
    folder = tmp_path_factory.mktemp("every")
    for name in ("books", "threads", "cases"):
        (folder / name).mkdir()
    wanted = configure(
        ",".join(NAMES),
        corpus=[str(write_corpus(folder, 150, ("en", "zh")))],
        books=[str(write_books(folder / "books"))],
        threads=[str(write_threads(folder / "threads", 120, languages=("en", "zh")))],
        cases=[str(write_cases(folder / "cases", 8, ("en", "zh")))],
        data=[
            str(write_records(folder / "records")),
            str(write_v2(folder / "v2")),
            str(write_infinite(folder / "infinite")),
            str(write_shots(folder / "shots")),
            str(write_frontier(folder / "frontier")),
        ],
        lengths=LENGTHS,
        items=4,
    )
    return open_suite(build(wanted, folder / "suite").folder)


def samples_of(built: BuiltSuite, task: str) -> list[Sample]:
    return list(built.samples(tasks=[task]))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_items_exist_at_every_length_in_every_language(built: BuiltSuite, name: str) -> None:
    found = samples_of(built, name)
    assert {sample.language for sample in found} == set(get_task(name).languages)
    items = {sample.item for sample in found}
    lengths = LENGTHS if name not in PUBLISHED else LENGTHS[:1]
    assert len(found) == len(items) * len(lengths) == 4 * len(lengths) * len(get_task(name).languages)
    assert len({sample.id for sample in found}) == len(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_gold_reply_scores_one_and_an_empty_reply_is_invalid(built: BuiltSuite, name: str) -> None:
    task = get_task(name)
    for full in samples_of(built, name):
        sample = replace(full, facets={})  # they are for reports
        for target in sample.targets:
            scored = task.score(target, sample)
            assert scored.value == pytest.approx(1)  # ROUGE never quite gives 1
            assert scored.valid
        for empty in ("", "   \n"):
            scored = task.score(empty, sample)
            assert scored.value == 0
            assert not scored.valid
        assert task.score("I cannot tell, sorry!", sample).value in (0, pytest.approx(0, abs=0.5))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_chance_is_a_share_and_depth_is_recorded_where_it_is_set(built: BuiltSuite, name: str) -> None:
    for sample in samples_of(built, name):
        # A copy of another entry of MRCR shares words with the one that is asked for; these documents have few words.
        assert 0 <= sample.chance <= (0.9 if sample.task.startswith("mrcr_") else 0.5)
        if get_task(name).positioned:
            assert 0 <= float(sample.facets["depth"]) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_gold_text_is_in_the_prompt_and_the_question_does_not_give_it_away(built: BuiltSuite, name: str) -> None:
    texts = built.texts()
    for sample in samples_of(built, name):
        prompt = render(sample, texts)
        question = prompt.rsplit("\n\n", 1)[1]
        if name.startswith(("kv", "passkey")) or name.endswith("_qa"):
            assert any(target in prompt for target in sample.targets), sample.id
            assert not any(target in question for target in sample.targets), sample.id


@pytest.mark.parametrize("name", ["single_doc_qa", "multi_doc_qa", "single_doc_summary", "multi_doc_summary"])
def test_the_prompt_names_the_gold_passages(built: BuiltSuite, name: str) -> None:
    import re

    texts = built.texts()
    for sample in samples_of(built, name):
        prompt = render(sample, texts)
        named = re.findall(r"(?:Passages? |文章)(\d+(?:(?:, |、)\d+)*)", prompt.rsplit("\n\n", 1)[1])
        gold = str(sample.facets["gold"])
        assert [found.replace("、", ", ") for found in named] == [gold]
        assert ("," in gold) == name.startswith("multi")


def test_counting_stars_offers_five_different_lists_of_which_one_is_right(built: BuiltSuite) -> None:
    import re

    texts = built.texts()
    for sample in [*samples_of(built, "counting_stars"), *samples_of(built, "counting_stars_corrected")]:
        prompt = render(sample, texts)
        options = re.findall(r"^\((\d)\) ([\d, ]+)$", prompt, re.MULTILINE)
        assert [number for number, _ in options] == list("12345")
        assert len({option for _, option in options}) == 5
        pattern = r"(?:counted|found|数到了|数出是) ?(\d+) ?颗?★"
        counts = re.findall(pattern, prompt)
        if sample.task.endswith("corrected"):
            counts = re.findall(r"(?:and found|重新数出是) ?(\d+) ?颗?★", prompt)
        assert dict(options)[sample.targets[0]] == ", ".join(counts)


def test_passage_count_counts_different_paragraphs(built: BuiltSuite) -> None:
    import re

    texts = built.texts()
    for sample in samples_of(built, "passage_count"):
        prompt = render(sample, texts)
        body = re.split(r"\n\n(?:Paragraph|段落)\d* ?\d+[:：]\n", prompt.rsplit("\n\n", 1)[0])[1:]
        assert len(body) == sample.facets["passages"]
        assert len(set(body)) == int(sample.targets[0])


def test_unknown_names_suggest_known_ones() -> None:
    with pytest.raises(FathomError, match="kv_retrieval"):
        get_task("kv_retreival")
    with pytest.raises(FathomError, match="starter"):
        get_suite("startr")


def test_suites_name_known_tasks() -> None:
    for suite in suites().values():
        assert all(get_task(name) for name in suite.tasks)
        assert suite.lengths == tuple(sorted(suite.lengths))


def test_every_official_rule_is_a_metric() -> None:
    assert {task.official for task in tasks().values() if task.official} <= set(metrics())
