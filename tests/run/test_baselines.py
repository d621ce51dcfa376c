"""Offline baselines on real prompts: guessing gives chance, matching words gives most, a window takes it away again."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from math import sqrt
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_calls import configure
from fathom.benchmarks.starter.single_doc_qa import PROMPTS
from fathom.models.baselines import baseline_client, baselines, get_baseline
from fathom.models.baselines.parsing import numbered, parse_prompt
from fathom.models.baselines.retrieval import rank, sentences
from fathom.models.form import Heading, PromptForm, form_of
from fathom.models.overflow import fit
from fathom.models.protocol import Call
from fathom.suites.build import build
from fathom.suites.registry import get_task, tasks
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import render
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import AnswerKind, FathomError, Sample

pytestmark = pytest.mark.slow

TASKS = (
    "kv_retrieval,passkey,passkey_100,counting_stars,counting_stars_corrected,passage_count,passage_retrieval,"
    "single_doc_qa,multi_doc_qa,single_doc_summary,multi_doc_summary"
)
LEADER: dict[str, AnswerKind] = {
    "passkey_5": "digits",
    "passkey_100": "digits",
    "passkey_1000": "digits",
    "kv": "uuid",
    "needle": "sentence",
}
# The kind of answer that each task asks for: a new task, or a new wording of its prompt, has to be understood.
KINDS: dict[str, AnswerKind] = {
    "kv_retrieval": "uuid",
    "passkey": "digits",
    "passkey_100": "digits",
    "passkey_1000": "digits",
    "counting_stars": "option",
    "counting_stars_corrected": "option",
    "passage_count": "count",
    "passage_retrieval": "passage",
    "single_doc_qa": "words",
    "multi_doc_qa": "words",
    "single_doc_summary": "summary",
    "multi_doc_summary": "summary",
    **{f"leader_{task}_{name}": kind for name in ("short", "long") for task, kind in LEADER.items()},
}
WORDS = ("words", "summary")
# Tasks of Ada-LEval have texts of their own (see test_ada_baselines.py), and so have published records. What follows
# the words of its benchmark is read by exact readers (see test_frontier_generated.py, test_world_tasks.py and
# test_memory.py).
ASKED_OTHERWISE = (
    "studio_",
    "mrcr_",
    "graphwalks_",
    "ruler_",
    "ruler2_",
    "nolima_",
    "babilong_",
    "longproc_",
    "oolong_",
    "loft_",
    "world_",
    "memory_",
)
OF_ANY_TEXT = sorted(
    name
    for name in tasks()
    if not ({"book", "thread", "case", "record"} & {*get_task(name).gold} or name.startswith(ASKED_OTHERWISE))
    or name in KINDS
)
PASSAGE = Heading("Passage ", ":")
SHORT, LONG, WINDOW = 1024, 8192, 2048

Prompts = list[tuple[Sample, str]]


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prompts]:
    """Every task in both languages at two lengths, six items each."""
    folder = tmp_path_factory.mktemp("baselines")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FATHOM_CACHE", str(folder / "cache"))
        wanted = configure(TASKS, lengths=(SHORT, LONG), items=6, languages=("en", "zh"), tokenizer="words")
        suite = open_suite(build(wanted, folder / "suite").folder)
        texts = suite.texts()
        yield [(sample, render(sample, texts)) for sample in suite.samples()]


def known(sample: Sample) -> PromptForm:
    return form_of(sample, get_task(sample.task).answer)


def mean_score(baseline: str, prompts: Prompts, name: str, length: int | None = None) -> float:
    client = baseline_client(baseline, lambda: get_tokenizer("words"))
    values = []
    for sample, prompt in prompts:
        if sample.task == name and length in (None, sample.length):
            call = Call(sample.id, 1, 0, 64, answer=get_task(name).answer, form=known(sample))
            reply = asyncio.run(client.complete(prompt, call))
            verdict = get_task(name).score(reply.text, sample)
            assert verdict.valid, (sample.id, reply.text)
            values.append(verdict.value or 0.0)
    assert values
    return sum(values) / len(values)


def test_lists_and_finds_the_baselines() -> None:
    assert list(baselines()) == ["fathom/guess", "fathom/lexical", "fathom/longest", "fathom/first", "fathom/copy"]
    assert all(line and "\n" not in line for line in baselines().values())
    assert all(callable(get_baseline(name)) for name in baselines())


def test_names_the_known_baselines_where_one_is_unknown() -> None:
    with pytest.raises(FathomError, match=r"offline baseline 'fathom/gues'; did you mean fathom/guess .*list models"):
        get_baseline("fathom/gues")


def test_guesses_reach_the_chance_level(prompts: Prompts) -> None:
    guess, rounds = get_baseline("fathom/guess"), 100
    checked = set()
    for sample, prompt in prompts:
        if KINDS[sample.task] in WORDS or sample.length != SHORT:
            continue
        rng = Random(f"chance/{sample.id}")
        verdicts = [
            get_task(sample.task).score(guess(prompt, get_task(sample.task).answer, rng, known(sample)), sample)
            for _ in range(rounds)
        ]
        assert all(verdict.valid for verdict in verdicts)
        mean = sum(verdict.value or 0.0 for verdict in verdicts) / rounds
        band = 4.5 * sqrt(sample.chance * (1 - sample.chance) / rounds)
        assert abs(mean - sample.chance) <= band, (sample.id, mean, sample.chance)
        checked.add(sample.task)
    assert len(checked) == 7


def test_guesses_behind_a_window_are_still_at_chance(prompts: Prompts) -> None:
    sample, prompt = next((s, p) for s, p in prompts if s.task == "passage_retrieval" and s.length == LONG)
    fitted = fit(prompt, WINDOW, "middle", get_tokenizer("words"))
    assert fitted is not None
    assert fitted.removed
    guess, rng = get_baseline("fathom/guess"), Random(0)
    seen = {guess(fitted.prompt, "passage", rng, known(sample)) for _ in range(400)}
    assert len(seen) > 0.9 * int(sample.facets["passages"])


@pytest.mark.parametrize("name", TASKS.split(","))
def test_matching_words_reads_whole_prompts(prompts: Prompts, name: str) -> None:
    by_kind = {"words": 0.2, "summary": 0.1, "passage": 0.9}
    least = by_kind.get(KINDS[name], 1.0)
    assert mean_score("fathom/lexical", prompts, name) >= least


@pytest.mark.parametrize("name", ["kv_retrieval", "passkey", "passage_retrieval", "passage_count"])
def test_a_window_bounds_what_is_read(prompts: Prompts, name: str) -> None:
    baseline = f"fathom/lexical?window={WINDOW}&truncate=middle"
    assert mean_score(baseline, prompts, name, SHORT) == mean_score("fathom/lexical", prompts, name, SHORT)
    # 12 items, each with a chance of 1 in 4 to lie within the window.
    assert mean_score(baseline, prompts, name, LONG) <= 0.67


def test_the_same_dice_give_the_same_reply(prompts: Prompts) -> None:
    for name in baselines():
        for sample, prompt in prompts[::7]:
            kind = get_task(sample.task).answer
            said = {get_baseline(name)(prompt, kind, Random(3), known(sample)) for _ in range(2)}
            assert len(said) == 1


def test_reading_prints_nothing(prompts: Prompts, capfd: pytest.CaptureFixture[str]) -> None:
    for sample, prompt in prompts[::9]:
        get_baseline("fathom/lexical")(prompt, get_task(sample.task).answer, Random(0), known(sample))
    assert capfd.readouterr() == ("", "")


@given(st.text(), st.sampled_from(get_args(AnswerKind)), st.sampled_from(sorted(baselines())))
def test_any_text_gets_a_reply(prompt: str, kind: AnswerKind, baseline: str) -> None:
    assert get_baseline(baseline)(prompt, kind, Random(0))


def test_a_summary_does_not_end_with_the_heading_of_what_was_cut_out(prompts: Prompts) -> None:
    """A reader takes such an end for an announcement of an answer that did not come."""
    sample, prompt = next((sample, prompt) for sample, prompt in prompts if sample.task == "multi_doc_summary")
    question = prompt.rfind("\n\n")
    heading = prompt.index("Passage 2:")
    left = prompt[prompt.index("Passage 1:") : heading + len("Passage 2:")] + prompt[question:]
    for baseline in baselines():
        for seed in range(20):
            reply = get_baseline(baseline)(left, "summary", Random(seed), known(sample))
            assert not reply.endswith("Passage 2:"), baseline


@given(st.integers(0, 9999), st.floats(0, 1), st.floats(0, 1))
def test_any_remainder_gets_a_valid_reply(prompts: Prompts, number: int, first: float, second: float) -> None:
    """Whatever is cut out before the question, the reply has the asked form."""
    sample, prompt = prompts[number % len(prompts)]
    question = prompt.rfind("\n\n")
    start, end = sorted((round(first * question), round(second * question)))
    for baseline in baselines():
        left = prompt[:start] + prompt[end:]
        reply = get_baseline(baseline)(left, get_task(sample.task).answer, Random(0), known(sample))
        assert get_task(sample.task).score(reply, sample).valid, reply


@pytest.fixture(scope="module")
def of_every_task(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prompts]:
    """Two items of every registered task in each of its languages."""
    folder = tmp_path_factory.mktemp("every")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FATHOM_CACHE", str(folder / "cache"))
        wanted = configure(",".join(OF_ANY_TEXT), lengths=(SHORT,), items=2, languages=("en", "zh"), tokenizer="words")
        suite = open_suite(build(wanted, folder / "suite").folder)
        texts = suite.texts()
        yield [(sample, render(sample, texts)) for sample in suite.samples()]


@pytest.mark.parametrize("name", OF_ANY_TEXT)
def test_the_prompts_of_every_task_are_understood(of_every_task: Prompts, name: str) -> None:
    kind = get_task(name).answer
    assert kind == KINDS[name]
    found = [
        (sample, prompt, parse_prompt(prompt, kind, known(sample)))
        for sample, prompt in of_every_task
        if sample.task == name
    ]
    assert {(asked.language, asked.kind) for _, _, asked in found} == {
        (language, kind) for language in get_task(name).languages
    }
    for sample, prompt, asked in found:
        assert asked.language == sample.language
        assert asked.context
        assert asked.question or asked.kind == "summary"
        assert prompt.startswith(asked.context)
        assert not any(reply in asked.question for reply in ("Reply with", "请只回答"))
        assert asked.digits == (sample.inputs["digits"] if asked.kind == "digits" else 0)
        assert bool(asked.options) == (asked.kind == "option")
        assert asked.kind != "option" or sample.targets[0] in map(str, asked.options)
        if "passages" in sample.facets:
            assert len(numbered(asked.context, asked.heading)) == sample.facets["passages"]
        assert bool(asked.passages) == (asked.kind in WORDS)
        if asked.passages:
            assert ", ".join(map(str, asked.passages)) == str(sample.facets["gold"])


def test_understands_a_question_about_a_named_passage() -> None:
    prompt = (
        "Below are numbered passages.\n\nPassage 1:\nOne.\n\nTwo.\n\nPassage 2:\nThree.\n\n"
        "Answer the following question about Passage 2 from what the passage says.\nQuestion: Which\n\ncame last?\n"
        "Reply with the answer only, in as few words as possible.\nAnswer:"
    )
    form = PromptForm("en", ending=prompt[prompt.index("Answer the") :], asked="Which\n\ncame last?", heading=PASSAGE)
    asked = parse_prompt(prompt, "words", form)
    assert (asked.kind, asked.passages, asked.question) == ("words", (2,), "Which\n\ncame last?")
    assert [(found.number, found.text) for found in numbered(asked.context, PASSAGE)] == [
        (1, "One.\n\nTwo."),
        (2, "Three."),
    ]


@pytest.mark.parametrize(
    ("ending", "passages", "request_of"),
    [
        ("Summarise Passage 2 from what the passage says.\n", (2,), ""),
        ("Write one summary of what Passages 1, 2 say together.\n", (1, 2), ""),
        (
            "Write a summary of Passage 1 that answers the following request.\nRequest: On\n\nhats.\n",
            (1,),
            "On\n\nhats.",
        ),
    ],
)
def test_understands_a_request_for_a_summary(ending: str, passages: tuple[int, ...], request_of: str) -> None:
    context = "Below are passages.\n\nPassage 1:\nHats are worn.\n\nPassage 2:\nPassage 1 is about hats.\n\n"
    prompt = f"{context}{ending}Reply with a summary of a few sentences only.\nSummary:"
    form = PromptForm("en", ending=prompt.removeprefix(context), asked=request_of, heading=PASSAGE)
    asked = parse_prompt(prompt, "summary", form)
    assert (asked.kind, asked.passages, asked.question) == ("summary", passages, request_of)
    assert asked.context.rstrip().endswith("about hats.")
    assert get_baseline("fathom/lexical")(prompt, "summary", Random(0), form).startswith(
        "Hats" if 1 in passages else "Passage 1 is"
    )


def test_a_baseline_reads_alike_in_every_process() -> None:
    code = (
        "from random import Random; from fathom.models.baselines import get_baseline; "
        "text = ' '.join(f'Alpha{n} wrote beta{n % 7} and gamma{n % 5}.' for n in range(40)); "
        "prompt = f'Read.\\n\\nPassage 1:\\n{text}\\n\\nSummarise Passage 1 from what the passage says.\\n"
        "Reply with a summary of about 50 words only.\\nSummary:'; "
        "print(get_baseline('fathom/lexical')(prompt, 'summary', Random(0)))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
    assert said != {b"None\n"}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_cannot_be_known_without_the_text_is_said_to_be_unanswerable(language: str) -> None:
    asked = PROMPTS[language]["closed"].format(question="Who keeps volume 3?")
    facets = {"context": "none"}
    question = "Who keeps volume 3?"
    sample = Sample("a", "a", "single_doc_qa", (asked,), ("x",), 0, 9, language=language, facets=facets, asked=question)
    form = known(sample)
    understood = parse_prompt(asked, "words", form)
    assert (understood.question, understood.context) == ("Who keeps volume 3?", "")
    assert (
        get_baseline("fathom/lexical")(asked, "words", Random(0), form)
        == {"en": "unanswerable", "zh": "无法回答"}[language]
    )
    assert get_baseline("fathom/guess")(asked, "words", Random(0), form)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Mr. Hale paid 3.5 crowns. “Why?” He left.", ["Mr. Hale paid 3.5 crowns.", "“Why?”", "He left."]),
        ("他来了。“真的？”她问……然后走了", ["他来了。", "“真的？”", "她问……", "然后走了"]),
        ("", []),
    ],
)
def test_cuts_sentences(text: str, pieces: list[str]) -> None:
    assert sentences(text) == pieces


def test_word_order_decides_between_texts_of_the_same_words() -> None:
    key, other = "0f8fad5b", "7c9e6679"
    texts = [f"The value of the key {other} is {key}.", f"The value of the key {key} is {other}."]
    first, second = rank(f"What is the value of the key {key}?", texts)
    assert second > first > 0
    assert rank("nothing like that", texts) == [0.0, 0.0]


@pytest.mark.parametrize("baseline", sorted(baselines()))
def test_a_number_is_asked_for_where_there_are_no_passages(baseline: str) -> None:
    prompt = "Read this.\n\nThe umbrella is at counter 7.\n\nWhich counter? Reply with one number only.\nCounter:"
    assert get_baseline(baseline)(prompt, "count", Random(0)).strip()
