"""Systems around a model: prompts are split without loss, passages are cut and joined, runs are kept apart."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom import api
from fathom.models.baselines.retrieval import sentences
from fathom.run.systems import Request, SplitPrompt, Task, Unit, passages_of, split_prompt
from fathom.run.systems.prompts import GAP, joined
from fathom.run.systems.retrieval import Retrieval
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import render
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError, Reply, Sample

TOKENIZER = get_tokenizer("words")
TEXTS = st.text(alphabet="ab .!?\n", max_size=80)
TOWNS = SplitPrompt(
    before="Read this.\n\n",
    units=(
        Unit("Passage 1:\n", "Alder stands on a hill. It has two mills."),
        Unit("\n\nPassage 2:\n", "Birch lies on the river Tew. Its bridge has nine arches. Boats go to sea."),
    ),
    after="\n\nOn which river does Birch lie?",
)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("systems") / "suite"
    api.build("starter", folder, lengths="1k,2k", items=2, seed=3)
    return folder


def answered(system: Retrieval, prompt: SplitPrompt, room: int | None = None) -> tuple[list[str], Reply]:
    """What a system sends, and its reply."""
    sent = []

    async def send(request: Request) -> Reply:
        sent.append(request.prompt)
        return Reply(status="ok", text="Tew", tokens_in=TOKENIZER.count(request.prompt))

    task = Task(prompt, 8, lambda cap: room, TOKENIZER, send)
    return sent, asyncio.run(system.answer(task))


@pytest.mark.slow
def test_three_parts_are_the_prompt_and_the_question_comes_last(suite: Path) -> None:
    built = open_suite(suite)
    for sample in built.samples():
        split = split_prompt(sample, built.texts())
        assert split.whole == render(sample, built.texts())
        assert split.after.strip()
        assert split.units
        assert split.before.strip()
        assert len(split.after) < 1_000


@pytest.mark.slow
def test_passages_of_numbered_texts_have_their_headings(suite: Path) -> None:
    built = open_suite(suite)
    sample = next(one for one in built.samples() if one.task == "single_doc_qa")
    split = split_prompt(sample, built.texts())
    assert [unit.heading.strip() for unit in split.units] == [
        f"Passage {number}:" for number in range(1, 1 + len(split.units))
    ]


def test_a_prompt_without_documents_is_split_at_its_last_empty_line() -> None:
    def sample(text: str, length: int = 1024) -> Sample:
        return Sample("i@1k", "i", "t", (text,), ("x",), length, 9)

    assert split_prompt(sample("a b\n\nc\n\nwhat?"), {}) == SplitPrompt("a b\n\n", (Unit("", "c"),), "\n\nwhat?")
    assert split_prompt(sample("what?"), {}) == SplitPrompt("", (), "what?")
    assert split_prompt(sample("a\n\nwhat?", length=0), {}).units == ()


@given(texts=st.lists(TEXTS, min_size=1, max_size=4), tokens=st.integers(1, 12))
def test_all_passages_joined_are_the_text(texts: list[str], tokens: int) -> None:
    units = [Unit(f"{'' if number == 0 else ' '}H{number}:", text) for number, text in enumerate(texts)]
    found = passages_of(units, tokens, TOKENIZER)
    assert joined(found) == "".join(unit.heading + unit.text for unit in units)
    assert joined(found[::-1]) == joined(found)


@given(text=TEXTS, tokens=st.integers(1, 12))
def test_no_passage_of_several_sentences_is_too_long(text: str, tokens: int) -> None:
    for one in passages_of([Unit("", text)], tokens, TOKENIZER):
        assert one.text == text[one.place : one.place + len(one.text)]
        assert one.tokens <= tokens or len(sentences(one.text)) <= 1


def test_retrieval_sends_what_resembles_the_question_in_its_place() -> None:
    sent, reply = answered(Retrieval(top=1, passage=8), TOWNS)
    expected = f"Read this.\n\nPassage 2:\nBirch lies on the river Tew.{TOWNS.after}"
    assert sent == [expected]
    assert reply.text == "Tew"
    assert reply.tokens_in == TOKENIZER.count(expected)
    (two,), _ = answered(Retrieval(top=2, passage=8, rank=lambda asked, texts: [1, 0, 0, 1, 0]), TOWNS)
    assert two.startswith(f"Read this.\n\nPassage 1:\nAlder stands on a hill.\n\nPassage 2:\n{GAP}Its bridge")


def test_retrieval_keeps_to_the_window() -> None:
    whole = TOKENIZER.count(TOWNS.whole)
    (all_of_it,), _ = answered(Retrieval(top=9, passage=8), TOWNS, room=whole)
    assert all_of_it == TOWNS.whole
    (less,), _ = answered(Retrieval(top=9, passage=8), TOWNS, room=whole - 1)
    assert TOKENIZER.count(less) <= whole - 1
    assert "river Tew" in less
    sent, reply = answered(Retrieval(top=9, passage=8), TOWNS, room=5)
    assert not sent
    assert reply.status == "overflow"
    assert "exceed the window" in reply.error


def test_the_forecast_of_retrieval_counts_headings() -> None:
    units = [Unit(f"\n\nPassage {number} of the old book of rivers:\n", "a b.") for number in range(100)]
    system = Retrieval(top=100, passage=3, rank=lambda asked, texts: [1.0] * len(texts))
    (prompt,), _ = answered(system, SplitPrompt("Read this.", tuple(units), "\n\nwhat?"))
    assert 100 * 3 + 512 < TOKENIZER.count(prompt) <= system.most(1_000_000, 8, None).tokens_in


@pytest.mark.slow
def test_a_run_with_retrieval_reads_less_and_is_kept_apart(suite: Path, tmp_path: Path) -> None:
    api.run(suite, "fathom/lexical", tmp_path / "whole", tasks=["passkey"])
    api.run(suite, "fathom/lexical", tmp_path / "found", tasks=["passkey"], system="retrieval?top=2&passage=64")
    rows = api.rows([tmp_path / "whole", tmp_path / "found"])
    whole, found = rows.partition_by("variant", maintain_order=True)
    assert found["variant"].unique().to_list() == ["retrieval?top=2&passage=64"]
    assert max(found["tokens_in"].to_list()) < 300 < min(whole["tokens"].to_list())
    assert found["value"].to_list() == whole["value"].to_list() == [1.0] * 4
    with pytest.raises(FathomError, match="`system`"):
        api.run(suite, "fathom/lexical", tmp_path / "found", tasks=["passkey"], system="retrieval?top=3")


@pytest.mark.parametrize(
    ("system", "words"),
    [
        ("retreival", "did you mean retrieval"),
        ("retrieval?top=0", "expected 1 or more"),
        ("retrieval?depth=3", "no option 'depth'"),
        ("retrieval?top=3&top=4", "each once"),
    ],
)
def test_wrong_systems_are_refused_before_anything_is_written(
    suite: Path, tmp_path: Path, system: str, words: str
) -> None:
    with pytest.raises(FathomError, match=words):
        api.run(suite, "fathom/lexical", tmp_path / "run", system=system)
    assert not (tmp_path / "run").exists()
