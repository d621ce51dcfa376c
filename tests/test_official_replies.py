"""Prompts in the authors' wording: what baselines make of them, and what replies in the form they ask for score.

The wording is made up; its headings and the forms of answers are those of the authors' prompts.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine_calls import configure, run
from fathom.models.baselines import baseline_client, baselines, get_baseline
from fathom.models.baselines.parsing import numbered, parse_prompt
from fathom.models.form import PromptForm, form_of
from fathom.models.protocol import Call, Settings, is_baseline
from fathom.score.registry import get_scorer, row_of
from fathom.suites.build import build
from fathom.suites.registry import get_task
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import render
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Reply, Sample
from made_books import write_books
from made_infinitebench import write_infinite
from made_official import write_ada, write_hundred, write_infinite_code, write_tsort
from made_threads import write_threads

pytestmark = pytest.mark.slow

HUNDRED = (
    "kv_retrieval,counting_stars,counting_stars_corrected,passage_count,passage_retrieval,single_doc_qa,multi_doc_qa,"
    "single_doc_summary,multi_doc_summary"
)
ADA = "tsort,bestanswer"
LEADER = "leader_en_qa,leader_en_mc,leader_en_sum,leader_code_debug,leader_math_find"

Prompts = list[tuple[Sample, str]]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Every task whose prompt can be replaced, with the authors' wording."""
    folder = tmp_path_factory.mktemp("official")
    root = write_infinite_code(write_ada(write_hundred(folder / "copies")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FATHOM_CACHE", str(folder / "cache"))
        wanted = configure(
            f"{HUNDRED},{ADA},{LEADER}",
            corpus=["world"],
            books=[str(write_books(folder))],
            threads=[str(write_threads(folder, 60))],
            data=[str(write_infinite(folder / "data", 4))],
            lengths=[1024, 2048],
            items=6,
            languages=("en",),
            closed_book=True,
            tokenizer="words",
            prompts="official",
            templates=[str(root), str(write_tsort(folder / "tsort.toml"))],
        )
        yield build(wanted, folder / "suite").folder
    assert not (root / "executed").exists()


@pytest.fixture(scope="module")
def prompts(suite: Path) -> Prompts:
    opened = open_suite(suite)
    texts = opened.texts()
    found = [(sample, render(sample, texts)) for sample in opened.samples()]
    assert {sample.task for sample, _ in found} == set(f"{HUNDRED},{ADA},{LEADER}".split(","))
    return found


def of_task(prompts: Prompts, name: str) -> Prompts:
    found = [(sample, prompt) for sample, prompt in prompts if sample.task == name and sample.length]
    assert all(sample.facets["prompt"] == "official" for sample, _ in found)
    return found


def known(sample: Sample) -> PromptForm:
    return form_of(sample, get_task(sample.task).answer)


# ----------------------------------------------------------------------------------------------------- baselines


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("kv_retrieval", 1.0),
        ("passage_count", 1.0),
        ("passage_retrieval", 0.9),
        ("counting_stars", 0.5),
        ("single_doc_qa", 0.2),
        ("multi_doc_qa", 0.2),
        ("single_doc_summary", 0.1),
        ("multi_doc_summary", 0.1),
    ],
)
def test_matching_words_reads_prompts_in_any_wording(prompts: Prompts, name: str, least: float) -> None:
    task, values = get_task(name), []
    for sample, prompt in of_task(prompts, name):
        reply = get_baseline("fathom/lexical")(prompt, task.answer, Random(0), known(sample))
        values.append(task.score(reply, sample).value or 0.0)
    assert sum(values) / len(values) >= least


def test_passages_and_questions_are_found_by_the_form(prompts: Prompts) -> None:
    for sample, prompt in prompts:
        kind = get_task(sample.task).answer
        parsed = parse_prompt(prompt, kind, known(sample))
        if "passages" in sample.facets:
            assert len(numbered(parsed.context, parsed.heading)) == sample.facets["passages"]
        if kind in ("words", "summary") and "gold" in sample.facets:
            assert ", ".join(map(str, parsed.passages)) == str(sample.facets["gold"])
            assert parsed.question == sample.asked
        if sample.task == "leader_en_qa" and sample.length:
            assert parsed.question == sample.asked
        if sample.task in ADA.split(","):
            assert parsed.pieces is not None
            number = int(sample.inputs["segments" if kind == "order" else "answers"])
            assert (parsed.pieces.number, list(parsed.pieces.texts)) == (number, list(range(1, number + 1)))
            assert parsed.pieces.example == sample.facets["example"]
            assert kind == "order" or parsed.question == sample.asked
        if kind in ("option", "letter") and sample.length:
            assert len(parsed.options) == (5 if kind == "option" else 4)


@pytest.mark.parametrize("truncate", ["middle", "left", "right"])
def test_what_a_window_leaves_gets_a_reply(prompts: Prompts, truncate: str) -> None:
    for name in baselines():
        client = baseline_client(f"{name}?window=300&truncate={truncate}", lambda: get_tokenizer("words"))
        for sample, prompt in prompts[::3]:
            call = Call(sample.id, 1, 0, 64, answer=get_task(sample.task).answer, form=known(sample))
            assert asyncio.run(client.complete(prompt, call)).text.strip(), sample.id


def test_a_form_has_no_gold_answer(prompts: Prompts) -> None:
    """It has nothing that is not in the prompt, but for the question, which the prompt may put differently."""
    for sample, prompt in prompts:
        form = known(sample)
        heading = form.heading
        texts = [form.intro, form.ending, form.closing, form.example]
        texts += [heading.before, heading.after, heading.lead] if heading else []
        assert all(text in prompt for text in texts)
        assert form.asked == sample.asked
    assert {one.name for one in fields(PromptForm)} == {
        *("language", "reworded", "intro", "ending", "asked", "heading", "closing", "number", "example", "closed")
    }


@dataclass
class Listening:
    """A client that keeps what it is given."""

    asked: list[tuple[str, Call]]
    window: None = None
    policy: str = "refuse"

    async def complete(self, prompt: str, call: Call) -> Reply:
        self.asked.append((prompt, call))
        return Reply("ok", "1")

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("model", ["openai/some-model", "hf/some-model", "fathom/lexical"])
def test_models_get_the_prompt_and_nothing_of_its_form(
    suite: Path, prompts: Prompts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    client = Listening([])

    def opened(settings: Settings, tokenizer: Callable[[], object]) -> Listening:
        return client

    monkeypatch.setattr("fathom.run.executors.open_client", opened)
    run(suite, model, out=tmp_path / "run", limit=1)
    known_prompts = {prompt for _, prompt in prompts}
    assert client.asked
    for prompt, call in client.asked:
        assert prompt in known_prompts
        assert (call.form is not None) == is_baseline(model)


# ----------------------------------------------------------------------------------------------- official scorers

# For each task the official scorer, and what its authors' prompt asks for; {} is the answer.
FORMS = [
    ("passage_retrieval", "100longbench", "first_number", "{}"),
    ("passage_retrieval", "100longbench", "first_number", "Paragraph {}"),
    ("passage_count", "100longbench", "first_number", "{}"),
    ("counting_stars", "100longbench", "first_number", "{}"),
    ("counting_stars_corrected", "100longbench", "first_number", "{}"),
    ("kv_retrieval", "100longbench", "last_uuid", "{}"),
    ("single_doc_qa", "100longbench", "qa_f1", "{}"),
    ("multi_doc_qa", "100longbench", "qa_f1", "{}"),
    ("single_doc_summary", "100longbench", "rouge", "{}"),
    ("multi_doc_summary", "100longbench", "rouge", "{}"),
    ("bestanswer", "ada_leval", "bestanswer", "Answer: {}"),
    ("bestanswer", "ada_leval", "bestanswer", "{}"),
    ("tsort", "ada_leval", "tsort", "Answer: {}"),
    ("leader_en_qa", "infinitebench", "longbook_qa_eng", "{}"),
    ("leader_en_mc", "infinitebench", "longbook_choice_eng", "{}"),
    ("leader_code_debug", "infinitebench", "code_debug", "{}."),
    ("leader_code_debug", "infinitebench", "code_debug", "answer: {}"),
    ("leader_math_find", "infinitebench", "math_find", "{}"),
]


def golden(shared: Path, file: str, metric: str) -> list[dict[str, Any]]:
    """The golden rows of a metric."""
    with gzip.open(shared / "golden" / "edge" / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if row["metric"] == metric]


def golden_score(shared: Path, file: str, metric: str, form: str) -> float:
    """What the released scorer gives a reply of a form with the right answer."""
    for row in golden(shared, file, metric):
        answers = row["answers"] if isinstance(row["answers"], list) else [row["answers"]]
        if metric == "tsort":
            answers = [json.dumps(row["answers"])]
        if row["prediction"] in [form.format(answer) for answer in answers if answer != ""]:
            return float(row["score"])
    raise AssertionError(f"no golden reply {form!r} of {file} {metric}")


@pytest.mark.parametrize(("name", "file", "metric", "form"), FORMS)
def test_replies_in_the_form_asked_for_score_as_the_released_scorers_say(
    prompts: Prompts, shared: Path, name: str, file: str, metric: str, form: str
) -> None:
    score, task = golden_score(shared, file, metric, form), get_task(name)
    found = of_task(prompts, name)
    assert found
    for sample, _ in found:
        reply = form.format(sample.targets[-1] if len(sample.targets[-1]) == 1 else sample.targets[0])
        official = get_scorer(task.official, "official")(row_of(reply, sample))
        assert official.value == pytest.approx(score, abs=1e-6), reply
        assert task.score(reply, sample).valid


@pytest.mark.parametrize(
    ("name", "reply", "file", "metric"),
    [
        ("passage_retrieval", "Paragraph 112", "100longbench", "first_number"),
        ("kv_retrieval", "Sure, here it is:\n{}", "100longbench", "last_uuid"),
        ("single_doc_qa", "Sure, here it is:\n{}", "100longbench", "qa_f1"),
        ("bestanswer", "{} ... A9", "ada_leval", "bestanswer"),
        ("leader_en_mc", "({})", "infinitebench", "longbook_choice_eng"),
    ],
)
def test_replies_in_other_forms_score_as_the_released_scorers_say(
    prompts: Prompts, shared: Path, name: str, reply: str, file: str, metric: str
) -> None:
    score, task = golden_score(shared, file, metric, reply), get_task(name)
    for sample, _ in of_task(prompts, name):
        if name == "bestanswer" and not int(sample.targets[0].removeprefix("A")) < 9 <= int(sample.inputs["answers"]):
            continue
        target = sample.targets[-1] if len(sample.targets[-1]) == 1 else sample.targets[0]
        official = get_scorer(task.official, "official")(row_of(reply.format(target), sample))
        assert official.value == pytest.approx(score), reply


def test_a_letter_alone_answers_code_debug_unlike_in_the_released_scorer(prompts: Prompts, shared: Path) -> None:
    """A documented difference of LongLeader's rule, which our own prompt needs; InfiniteBench's rule is there too."""
    released = golden_score(shared, "infinitebench", "code_debug", "{}")
    assert released == 0
    for sample, _ in of_task(prompts, "leader_code_debug"):
        letter = next(target for target in sample.targets if len(target) == 1)
        row = row_of(letter, replace(sample, targets=("a_function", letter)))
        assert get_scorer("infinitebench/code_debug", "official")(row).value == released
        assert get_scorer("leader/exact_match", "official")(row).value == 1


@pytest.mark.parametrize(
    ("name", "file", "metric"),
    [
        ("single_doc_qa", "100longbench", "qa_f1"),
        ("single_doc_summary", "100longbench", "rouge"),
        ("leader_en_sum", "infinitebench", "longbook_sum_eng"),
    ],
)
def test_texts_score_as_the_released_scorers_say(
    prompts: Prompts, shared: Path, name: str, file: str, metric: str
) -> None:
    """All golden replies to a question or a request, put to a sample with the authors' prompt."""
    sample, _ = of_task(prompts, name)[0]
    scorer, checked = get_scorer(get_task(name).official, "official"), 0
    for row in golden(shared, file, metric):
        answers = row["answers"]
        if row["score"] is None or not isinstance(row["prediction"], str) or "note" in row:
            continue
        if not isinstance(answers, list) or not all(answers):  # which no sample has
            continue
        one = replace(sample, targets=tuple(answers), language=row.get("language", "en"))
        score = scorer(row_of(row["prediction"], one))
        assert score.value == pytest.approx(row["score"], abs=1e-6), row["case_id"]
        checked += 1
    assert checked > 20
