"""Faults of samples: what each is, where it refuses an action, and that what is released is what was reviewed."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.benchmarks.pro.secondary_tasks import SECONDARY
from fathom.studio.auditing import audit
from fathom.studio.exports import Collection, ExportOptions, pro_record, sample_lines
from fathom.studio.faults import faults_of
from fathom.studio.people import People
from fathom.studio.records import as_record
from fathom.studio.states import RefusedError
from fathom.studio.store import FaultyError, Store
from fathom.studio.tasks import find_task, proposed_prompts, read_task, standard_prompts
from fathom.studio.transfer import export_samples, import_samples
from fathom.studio.types import (
    Adjudicate,
    Audit,
    Candidate,
    Component,
    Content,
    Create,
    Edit,
    Evidence,
    ExpertPass,
    ExpertReturn,
    Reconstruct,
    Reject,
    Reopen,
    ReviewDocument,
    Sample,
    Select,
    Standardise,
    StudioDocument,
    SubmitForReview,
    SubmitReview,
)
from fathom.studio.web.app import make_app
from fathom.studio.web.forms import FORMS
from fathom.studio.web.visit import Settings
from made_records_pro import make_pro
from made_studio import OWN, TASKS
from studio_browser import Browser
from studio_stores import (
    DOCUMENT,
    IN_BOTH,
    OPERATOR,
    PASSWORD,
    TEXT,
    content,
    person,
    quick_hasher,
    review,
    usual_place,
)

sys.path.insert(0, str(Path(__file__).parents[2] / "performance"))

from pro_records import WORDS

place = pytest.fixture(usual_place)
CHOICE = "Which?\nA. one\nB. two\nC. three\nD. four"
QA, SUMMARY, LISTED = (find_task(TASKS, code) for code in ("T3.2", "T4.1", "T5.2"))


def written(question: str, *answer: str, **changes: Any) -> Content:
    return replace(Content(question, tuple(map(Component, answer))), **changes)


def names(content: Content, task: Any = LISTED, language: str = "en", **options: bool) -> list[str]:
    return [fault.name for fault in faults_of(content, task, language, **options)]


@pytest.mark.parametrize(
    ("task", "made", "expected"),
    [
        (LISTED, written("Which?", "[1]", "[2]"), []),
        (LISTED, written(" ", "[1]"), ["question"]),
        (LISTED, written("Which?"), ["answer"]),
        (LISTED, written("Which?", "[1]", " "), ["empty component"]),
        (LISTED, written("Which?", "a b", "A  b"), ["repeated component"]),
        (LISTED, written("Which?", "[1]\n[2]"), ["lines"]),
        (None, written("Which?", "[1]\n[2]", "[1]\n[2]"), []),
        (find_task(TASKS, "T8.2"), written("Which numbers, in order?", "3", "3"), []),
        (QA, written(CHOICE, "B"), []),
        (QA, written("Which?", "B"), ["options"]),
        (QA, written("Which?\nA. the only one", "A"), ["options"]),
        (QA, written(CHOICE, "E"), ["choice"]),
        (QA, written(CHOICE, "two"), ["choice"]),
        (QA, written(CHOICE, "A", "B"), ["choice"]),
        (QA, written(CHOICE, "AB"), ["choice"]),
        (SUMMARY, written("Sum up.", "One.\nTwo.", "Uno.", "Eins."), []),
        (SUMMARY, written("Sum up.", "One."), ["references"]),
        (SUMMARY, written("Sum up.", *"abcd"), ["references"]),
        (SUMMARY, written("Sum up.", "One.", "One.", "Two."), ["repeated component"]),
    ],
)
def test_question_and_answer_fit_the_form_of_the_task(task: Any, made: Content, expected: list[str]) -> None:
    assert names(made, task) == expected


def test_several_letters_are_an_answer_where_the_task_has_them() -> None:
    several = read_task(
        b"""name = "Several"
metric = "Accuracy"
requirement = "partial"
guideline = "Ask."
[en]
task = "Choose all that are right."
output = "The letters, in order."
example = ["AC"]
""",
        "several.toml",
    )
    assert [names(written(CHOICE, answer), several) for answer in ("AB", "ABCD", "C")] == [[], [], []]
    assert [names(written(CHOICE, answer), several) for answer in ("BA", "AA", "AE")] == [["choice"]] * 3
    shown = f"{CHOICE}\nWrite [Answer], as in\n[Answer]\nA/AC/BCD"
    assert names(written(shown, "BD"), QA) == [], "a record whose prompt shows several"


GOOD = dict(zip(("prompt_thinking", "prompt_answering"), standard_prompts(LISTED, "en", "Which?"), strict=True))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda text: text, []),
        (lambda text: "Hello, what is 1+1?", ["question in the prompts", "marker"]),
        (lambda text: text.replace("Which?", "Who?"), ["question in the prompts", "difference of the prompts"]),
        (lambda text: text.replace("[Answer]", "the end"), ["marker"]),
        (lambda text: f"{text}\nThe answer is in chapter 3.", ["difference of the prompts"]),
        (lambda text: f"Read chapter 3 first.\n{text}", ["difference of the prompts"]),
        (lambda text: text.replace("\n\n", " \n\n\n"), []),
        (lambda text: text.replace("Which?", "  Which?\n"), []),
        (lambda text: "", ["prompts"]),
    ],
)
@pytest.mark.parametrize("which", list(GOOD))
def test_the_question_stands_in_both_prompts_which_differ_in_the_reasoning_only(
    which: str, change: Any, expected: list[str]
) -> None:
    made = written("Which?", "[1]", **GOOD | {which: change(GOOD[which])})
    assert [name for name in names(made) if name in expected or not expected] == expected
    assert all(fault.todo for fault in faults_of(made, LISTED, "en"))


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("[1]", "The right answer is [1], no need to explain."),
        ("[1]", "Answer [1] directly."),
        ("[1]", "Think step by step about chapter 3."),
        ("[1]", "Do not answer at once if it is about lamps."),
        ("[1]", "Explain [Answer]."),
        ("first", "Answer: first."),
        ("Step by step", "Think, then answer step by step."),
        ("explain", "Do not explain."),
        ("do not think", "Think."),
        ("the first", "First."),
        ("3", "Step. Step. Step."),
        ("3", "Step, step, step."),
        ("?", "?"),
    ],
)
@pytest.mark.parametrize("which", list(GOOD))
def test_words_on_reasoning_hide_no_sentence_that_says_more(which: str, answer: str, sentence: str) -> None:
    made = written("Which?", answer, **GOOD)
    assert names(made) == [], "the standard prompts are never at fault"
    more = written("Which?", answer, **GOOD | {which: f"{GOOD[which]}\n{sentence}"})
    (fault,) = faults_of(more, LISTED, "en")
    assert (fault.name, sentence.split()[0] in fault.what) == ("difference of the prompts", True)


@pytest.mark.parametrize(
    ("language", "question", "answer", "sentence"),
    [
        ("en", "Before or after the storm?", "before the storm", "Before."),
        ("en", "Before or after the storm?", "at noon", "After."),
        ("en", "Which?\nA. now\nB. then\nC. at once\nD. never", "C", "Answer: at once."),
        ("en", "Which?\nA. !\nB. ?\nC. .\nD. ,", "B", "?"),
        ("zh", "什么时候？", "风暴之后", "之后。"),
        ("zh", "他是谁？", "先生", "先。"),
        ("zh", "写了什么？", "分析报告", "分析。"),
        ("zh", "什么时候？\nA. 从不\nB. 之后\nC. 现在\nD. 明天", "B", "之后。"),
    ],
)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("which", [0, 1])
def test_a_prompt_has_no_word_of_the_answer_or_the_question_alone(
    language: str, question: str, answer: str, sentence: str, which: int, whole: bool
) -> None:
    task = QA if "\nD." in question else LISTED
    prompts = list(standard_prompts(task, language, question))
    prompts[which] += f"\n{sentence}"
    made = written(question, answer, prompt_thinking=prompts[0], prompt_answering=prompts[1])
    (fault,) = faults_of(replace(made, question=prompts[1]) if whole else made, task, language)
    assert (fault.name, repr(sentence) in fault.what) == ("difference of the prompts", True)


def test_the_sentence_that_is_named_stands_in_one_prompt_only() -> None:
    thinking, answering = "Which?\nWrite [Answer].\nUse digits.", "Which?\nIt is late.\nWrite [Answer].\nUse digits."
    (fault,) = faults_of(written("Which?", "[1]", prompt_thinking=thinking, prompt_answering=answering), LISTED, "en")
    assert "'It is late.'" in fault.what
    moved = written("Which?", "[1]", prompt_thinking=thinking, prompt_answering="Which?\nUse digits.\nWrite [Answer].")
    assert names(moved) == ["difference of the prompts"]


@pytest.mark.parametrize(
    ("language", "thinking", "answering"),
    [
        *((language, words["think"], words["direct"]) for language, words in WORDS.items()),
        ("en", "Let's think step by step. Then write [Answer].", "Write [Answer]."),
        ("en", "Let us think, step by step.\nWrite [Answer].", "Write [Answer] and nothing else."),
        (
            "en",
            "Think about the question, then write [Answer].",
            "Write [Answer] without any reasoning or explanation.",
        ),
        ("en", "Show your reasoning in detail, then write [Answer].", "Don’t explain. Write [Answer]."),
        ("en", "You may think first. Write [Answer].", "Don't explain. Write [Answer]."),
        ("zh", "请你一步一步思考，然后写出[答案]。", "请直接写出[答案]。"),
        ("zh", "请仔细思考后写出[答案]。", "请直接写出[答案]，不要写其他内容。"),
        ("zh", "让我们逐步思考，最后写出[答案]。", "请写出[答案]，无需解释。"),
        (
            "en",
            "Think step by step first, and then write [Answer] before 3 letters.",
            "Write [Answer] before 3 letters.",
        ),
        ("en", "Explain your reasoning. Then write [Answer].", "Without explanation, write [Answer] directly."),
        ("en", "Please think carefully.\nWrite [Answer].", "Do not explain.\nWrite [Answer]."),
        ("zh", "请先逐步思考，然后输出[答案]，每行一个。", "请直接输出[答案]，每行一个。"),
        ("zh", "先思考并写出推理过程，再输出[答案]。", "无需解释，输出[答案]。"),
    ],
)
def test_other_words_on_whether_to_reason_are_no_fault(language: str, thinking: str, answering: str) -> None:
    prompts = {"prompt_thinking": f"Which?\n{thinking}", "prompt_answering": f"Which?\n{answering}"}
    assert names(written("Which?", "[1]", **prompts), language=language) == []
    assert names(written(prompts["prompt_answering"], "[1]", **prompts), language=language) == [], "a published record"


@pytest.mark.parametrize(
    ("language", "question", "answer", "thinking"),
    [
        ("en", "Which lamp?", "The first", "Please think first, then write [Answer]."),
        ("en", "Which lamp was lit first?", "the red one", "Think step by step first, then write [Answer]."),
        ("en", "What is the reason of it?", "the storm", "First, explain your reasoning, then write [Answer]."),
        ("zh", "他是谁？", "王先生", "请先逐步思考，然后写出[答案]。"),
    ],
)
def test_to_think_first_is_no_answer(language: str, question: str, answer: str, thinking: str) -> None:
    marker = {"en": "Write [Answer].", "zh": "写出[答案]。"}[language]
    prompts = {"prompt_thinking": f"{question}\n{thinking}", "prompt_answering": f"{question}\n{marker}"}
    assert names(written(question, answer, **prompts), language=language) == []


def test_equal_prompts_and_none_are_faults() -> None:
    same = written("Which?", "[1]", prompt_thinking=GOOD["prompt_answering"], prompt_answering=GOOD["prompt_answering"])
    assert names(same) == ["difference of the prompts"]
    assert names(written("Which?", "[1]")) == []
    assert names(written("Which?", "[1]"), standardised=True) == ["prompts"]


@pytest.mark.parametrize("task", SECONDARY, ids=lambda task: task.task)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_standard_prompts_and_records_of_longbench_pro_have_no_fault(task: Any, language: str) -> None:
    found = find_task(TASKS, task.code)
    question = CHOICE if task.metric == "Accuracy" else "Which step, and why directly?"
    answer = {"Accuracy": ("B",), "Summary": ("One.", "Two.", "Three.")}.get(task.metric, ("x", "y"))
    thinking, answering = standard_prompts(found, language, question)
    made = written(question, *answer, prompt_thinking=thinking, prompt_answering=answering)
    assert names(made, found, language, standardised=True) == []
    record = make_pro(1, task, {"en": "English", "zh": "Chinese"}[language])
    both = {"prompt_thinking": record["question_thinking"], "prompt_answering": record["question_nonthinking"]}
    assert names(written(record["question_nonthinking"], *record["answer"], **both), found, language) == []


@given(st.builds(Content, st.text(), st.lists(st.builds(Component, st.text())).map(tuple), prompt_thinking=st.text(),
                 prompt_answering=st.text()), st.sampled_from([None, QA, SUMMARY, LISTED, OWN]))  # fmt: skip
def test_every_content_has_a_list_of_faults(made: Content, task: Any) -> None:
    for fault in faults_of(made, task, "en", standardised=True):
        assert str(fault) == f"{fault.what}; {fault.todo}"


# ----------------------------------------------------------------------------------------------------- where it refuses


@pytest.fixture
def store(studio: Store) -> Store:
    studio.tasks = TASKS
    return studio


def begun(store: Store, made: Content, id: str = "s-1", task: Any = LISTED) -> Sample:
    """A sample that ann selected."""
    drafts = (Candidate("c1", "model/a", made),)
    now = store.act(Create(id, task.name, "en", 8192, (DOCUMENT,), drafts), OPERATOR)
    return store.act(Select(id, now.version, "c1"), person("ann"))


def do(store: Store, name: str, kind: Any, *values: object, id: str = "s-1") -> Sample:
    return store.act(kind(id, store.sample(id).version, *values), person(name))


ANSWER = content("[1]", "[2]", question="Which?")
STANDARD = replace(ANSWER, prompt_thinking="", prompt_answering="")


@IN_BOTH
def test_the_finding_cannot_be_done_again(store: Store) -> None:
    """Both prompts were replaced after the review, reviewed by who did it, and exported."""
    begun(store, STANDARD)
    do(store, "ann", SubmitForReview)
    do(store, "eve", ExpertPass)
    hello = "Hello, what is 1+1?"
    with pytest.raises(FaultyError, match="others than those that were reviewed"):
        do(store, "ann", Standardise, hello, hello)
    now = store.sample("s-1")
    free = replace(now.content, prompt_thinking=f"{hello} Which? Think. [Answer]", prompt_answering="Which? [Answer]")
    edited = do(store, "ann", Edit, free)
    assert (edited.state, edited.writers) == ("revision", ("ann",))
    with pytest.raises(FaultyError, match="1\\+1"):
        do(store, "ann", SubmitForReview)
    mended = replace(free, prompt_thinking="Which? Think. [Answer]")
    do(store, "ann", Edit, mended)
    do(store, "ann", SubmitForReview)
    do(store, "eve", ExpertPass)
    now = do(store, "ann", Standardise, mended.prompt_thinking, mended.prompt_answering)
    with pytest.raises(RefusedError, match="wrote or edited"):
        store.act(review(now), person("ann"))
    assert audit(store).problems == ()


@IN_BOTH
def test_two_empty_prompts_are_confirmed_as_the_standard_ones(store: Store) -> None:
    begun(store, STANDARD)
    do(store, "ann", SubmitForReview)
    passed = do(store, "eve", ExpertPass)
    now = do(store, "ann", Standardise, "", " ")
    assert now.state == "answer_review"
    assert (now.content.prompt_thinking, now.content.prompt_answering) == proposed_prompts(TASKS, passed)
    assert audit(store).problems == ()


@IN_BOTH
def test_prompts_that_nobody_changed_are_no_writing(store: Store) -> None:
    begun(store, replace(STANDARD, prompt_thinking="", prompt_answering=""))
    do(store, "ann", SubmitForReview)
    passed = do(store, "eve", ExpertPass)
    people = People(store, hasher=quick_hasher())
    people.set_password("ann", PASSWORD)
    ann = Browser(make_app(store, people, Settings(tasks=TASKS))).log_in("ann")
    thinking, answering = proposed_prompts(TASKS, passed)
    shown: dict[str, Any] = {"version": passed.version, "prompt_thinking": thinking, "prompt_answering": answering}
    for then in ("submit", ""):
        refused = ann.post("/samples/s-1/edit", **shown, then=then)
        assert refused.status_code == 409
        assert "nothing was changed" in refused.text
    assert store.sample("s-1").writers == passed.writers
    assert ann.post("/samples/s-1/edit", **shown | {"prompt_thinking": f"{thinking} Think."}).status_code == 303


@IN_BOTH
def test_a_question_without_options_is_handed_to_nobody(store: Store) -> None:
    begun(store, written("Who lit the lamp?", "Ida"), task=QA)
    with pytest.raises(FaultyError, match="no options") as refused:
        do(store, "ann", SubmitForReview)
    assert [fault.name for fault in refused.value.faults] == ["options"]
    do(store, "ann", Edit, written("Who lit the lamp?\nA. Ida\nB. Bo", "A"))
    assert do(store, "ann", SubmitForReview).state == "expert_review"


@IN_BOTH
def test_the_same_question_written_by_hand_over_another_sample_of_one_document_is_refused(store: Store) -> None:
    question = "Which steps does somebody take who lights the lamp every evening before the boats come in, and why so?"
    people = People(store, hasher=quick_hasher())
    app = make_app(store, people, Settings(tasks=TASKS))
    browsers = {}
    for name in ("ann", "bo"):
        people.set_password(name, PASSWORD)
        browsers[name] = Browser(app).log_in(name)
    for id in ("s-1", "s-2", "s-3"):
        store.act(Create(id, LISTED.name, "en", 8192, (DOCUMENT,)), person("ann"))
    filled = {"component-0": "[1]", "rationale": "Why.", "solution": "How.", "then": "submit", "version": "1"}
    assert browsers["ann"].post("/samples/s-1/write", **filled, question=question).status_code == 303
    refused = browsers["bo"].post("/samples/s-2/write", **filled, question=f" {question.upper()} ")
    assert refused.status_code == 409
    assert "sample s-1 asks the same over the same document; ask another" in refused.text
    assert store.sample("s-2").state == "selected", "what they wrote is kept"
    assert browsers["ann"].post("/samples/s-3/write", **filled, question=f"{question[:-1]} then?").status_code == 303
    do(store, "eve", Reject, "No.")
    assert do(store, "bo", SubmitForReview, id="s-2").state == "expert_review"
    assert audit(store).problems == ()


@IN_BOTH
def test_a_repeated_question_of_an_earlier_version_is_not_passed_on(store: Store) -> None:
    for id in ("s-1", "s-2"):
        begun(store, ANSWER if id == "s-1" else replace(ANSWER, question="Which one?", prompt_thinking="",
                                                        prompt_answering=""), id)  # fmt: skip
        do(store, "ann", SubmitForReview, id=id)
    put(store, replace(store.sample("s-2"), content=ANSWER))
    with pytest.raises(FaultyError, match="s-2 asks the same"):
        do(store, "eve", ExpertPass)
    assert do(store, "eve", ExpertReturn, "Ask another.", id="s-2").state == "revision"


@IN_BOTH
def test_of_two_equal_questions_of_an_earlier_version_one_is_accepted_and_one_exported(
    store: Store, tmp_path: Path
) -> None:
    first = Sample("s-1", LISTED.name, "en", 8192, (DOCUMENT,), "adjudication", 3, ANSWER, "ann")
    put(store, first)
    put(store, replace(first, id="s-2"))
    assert do(store, "eve", Adjudicate, "accept", "It is.", id="s-2").state == "accepted"
    with pytest.raises(FaultyError, match="s-2 asks the same over the same document"):
        do(store, "eve", Adjudicate, "accept", "It is.")
    assert do(store, "eve", Adjudicate, "reconstruct", "It repeats s-2.").state == "reconstruct"
    put(store, replace(first, state="accepted"))
    exported = export_samples(store, TASKS, tmp_path / "out", ExportOptions(formats=("jsonl",)))
    assert exported.samples == 1
    (reason,) = exported.left_out
    assert reason == "sample s-2: left out: sample s-1 asks the same over the same document; ask another"


def put(store: Store, sample: Sample) -> None:
    """A sample of an earlier version of fathom, which checked less."""
    from fathom.studio.schema import sample_row, samples

    with store.engine.begin() as connection:
        connection.execute(samples.delete().where(samples.c.id == sample.id))
        connection.execute(samples.insert(), sample_row(sample))


FAULTY = written("Who?", prompt_thinking="Hello", prompt_answering="Hello")


@IN_BOTH
@pytest.mark.parametrize(
    ("state", "name", "onward", "back"),
    [
        ("expert_review", "eve", (ExpertPass, ""), (ExpertReturn, "Write the answer.")),
        ("standardised", "ann", (Standardise, "Hello", "Hello"), (Edit, content("[1]", question="Which?"))),
        ("answer_review", "bo", (SubmitReview, (), (), "pass"), (SubmitReview, (), (), "problem", "No answer.")),
        ("adjudication", "eve", (Adjudicate, "accept", "It is."), (Adjudicate, "reconstruct", "No answer.")),
        ("accepted", "eve", (Audit, "pass"), (Audit, "answer", "No answer.")),
    ],
)
def test_a_faulty_sample_of_an_earlier_version_opens_and_only_leads_back(
    store: Store, state: Any, name: str, onward: tuple[Any, ...], back: tuple[Any, ...]
) -> None:
    put(store, Sample("s-1", LISTED.name, "en", 8192, (DOCUMENT,), state, 3, FAULTY, "ann"))
    people = People(store, hasher=quick_hasher())
    people.set_password(name, PASSWORD)
    page = Browser(make_app(store, people, Settings(tasks=TASKS))).log_in(name).page("/samples/s-1")
    assert "What keeps it from going on" in page
    assert "It lacks an answer: write at least one component." in page
    with pytest.raises(FaultyError, match="lacks an answer"):
        do(store, name, *onward)
    assert do(store, name, *back).version == 4 - (state == "answer_review")


@IN_BOTH
@pytest.mark.parametrize("state", ["accepted", "audited"])
def test_an_expert_opens_an_accepted_sample_with_a_fault_again(store: Store, state: Any) -> None:
    done = Sample("s-1", LISTED.name, "en", 8192, (DOCUMENT,), state, 3, FAULTY, "ann", writers=("ann", "eve"))
    put(store, replace(done, policy="two"))
    people = People(store, hasher=quick_hasher())
    app = make_app(store, people, Settings(tasks=TASKS))
    for name in ("ann", "eve"):
        people.set_password(name, PASSWORD)
    assert "An expert can open it again." in Browser(app).log_in("ann").page("/samples/s-1")
    with pytest.raises(RefusedError, match="needs the role expert"):
        do(store, "ann", Reopen)
    assert Browser(app).log_in("eve").send("/samples/s-1", "/samples/s-1/reopen").status_code == 303
    assert store.sample("s-1").state == "reconstruct"
    assert do(store, "ann", Reconstruct).state == "selected"
    put(store, replace(done, id="s-2", content=ANSWER))
    with pytest.raises(RefusedError, match="it has no fault"):
        do(store, "eve", Reopen, id="s-2")


@IN_BOTH
def test_an_export_leaves_out_what_is_over_a_document_that_was_excluded_since(store: Store, tmp_path: Path) -> None:
    done = Sample("s-1", LISTED.name, "en", 8192, (DOCUMENT,), "accepted", 3, ANSWER, "ann")
    put(store, done)
    store.add_document(StudioDocument("second", "The second", "en", state="available"), SECOND)
    other = replace(ANSWER, components=tuple(Component(part.text) for part in ANSWER.components))
    put(store, replace(done, id="s-2", documents=("second",), content=other))
    options = ExportOptions(formats=("jsonl", "card"))
    assert export_samples(store, TASKS, tmp_path / "out", options).left_out == ()
    store.review_document(ReviewDocument(DOCUMENT, "excluded", "A private letter."), person("eve"))
    exported = export_samples(store, TASKS, tmp_path / "out", options)
    assert exported.left_out == (f"sample s-1: left out: document {DOCUMENT} is excluded: A private letter.",)
    assert DOCUMENT not in (tmp_path / "out" / "documents.jsonl").read_text("utf-8")


@IN_BOTH
def test_an_export_leaves_out_what_has_a_fault(store: Store, tmp_path: Path) -> None:
    done = Sample("s-1", LISTED.name, "en", 8192, (DOCUMENT,), "accepted", 3, ANSWER, "ann")
    put(store, replace(done, content=FAULTY))
    options = ExportOptions(formats=("jsonl", "card"))
    with pytest.raises(Exception, match=r"no accepted sample is without fault.*lacks an answer"):
        export_samples(store, TASKS, tmp_path / "out", options)
    put(store, replace(done, id="s-2"))
    exported = export_samples(store, TASKS, tmp_path / "out", options)
    assert exported.samples == 1
    assert [line.partition(": left out")[0] for line in exported.left_out] == ["sample s-1"]
    (line,) = (tmp_path / "out" / "samples.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["id"] == "s-2"


# ------------------------------------------------------------------------------------- what is released was reviewed

SECOND = "Another text.\nIt says nothing of lamps.\n"
PASSAGE = Evidence("second", 8, 12, "text")
CHANGES: dict[str, dict[str, str]] = {
    "question": {"question": "Which other one?"},
    "components.text": {"component-0": "[9]"},
    "components.evidence": {"component-evidence-0": json.dumps([as_record(PASSAGE)])},
    "rationale": {"rationale": "Another."},
    "solution": {"solution": "Another."},
    "requirement": {"requirement": "full"},
    "prompt_thinking": {"prompt_thinking": "Which? Think well. [Answer]"},
    "prompt_answering": {"prompt_answering": "Which? At once. [Answer]"},
}
"""A change of each field, as fields of a form."""
REVIEWED = ("standardised", "answer_review", "adjudication", "accepted", "audited")


def editable(kind: Any = Content) -> list[str]:
    """The fields that people edit, from the types; evidence is one value, whose fields are checked together."""
    names = []
    for field in fields(kind):
        inside = [one for one in get_args(get_type_hints(kind)[field.name]) if is_dataclass(one)]
        deeper = [f"{field.name}.{name}" for one in inside if one is not Evidence for name in editable(one)]
        names += deeper or [field.name]
    return names


def collection(*samples: Sample) -> Collection:
    documents = {id: StudioDocument(id, id, "en", state="available") for id in (DOCUMENT, "second")}
    return Collection(samples, documents, {DOCUMENT: TEXT, "second": SECOND}, TASKS)


DONE = Sample("s-1", LISTED.name, "en", 8192, (DOCUMENT, "second"), "accepted", 3, ANSWER, "bo")
(LINE,) = (line for line in sample_lines(collection(DONE)) if isinstance(line, dict))
RELEASED = tuple(one.name for one in fields(Sample) if one.name in LINE and one.name not in ("difficulty", "version"))
"""All that exports have of a sample, but for its measured difficulty; their version is that of the format."""


def fields_of_form(made: Content) -> dict[str, str]:
    parts = {f"component-{at}": part.text for at, part in enumerate(made.components)}
    parts |= {
        f"component-evidence-{at}": json.dumps(as_record(part.evidence)) for at, part in enumerate(made.components)
    }
    texts = {name: str(getattr(made, name)) for name in CHANGES if "." not in name}
    decisions = {"reason": "so", "verdict": "pass", "decision": "accept", "candidate": "c1", "then": "submit"}
    return texts | parts | decisions | {f"mark-{at}": "right" for at in range(len(made.components))}


def released(sample: Sample) -> tuple[object, ...]:
    return tuple(getattr(sample, name) for name in RELEASED)


def test_every_field_that_people_edit_has_a_change() -> None:
    assert set(CHANGES) == set(editable())
    (before,) = ANSWER.components[0].evidence
    assert all(getattr(before, field.name) != getattr(PASSAGE, field.name) for field in fields(Evidence))


def test_exports_depend_on_what_is_compared_and_on_the_measured_difficulty_only() -> None:
    """Whatever else a sample has, also in a field that comes later, changes nothing in a record or a line."""
    others = [field.name for field in fields(Sample) if field.name not in (*RELEASED, "difficulty", "state")]
    changes: dict[str, Any] = {name: "other" if isinstance(getattr(DONE, name), str) else 9 for name in others}
    changed = replace(DONE, **changes)
    assert pro_record(changed, collection(changed)) == pro_record(DONE, collection(DONE))
    assert list(sample_lines(collection(changed))) == [LINE]


@IN_BOTH
@pytest.mark.slow
@pytest.mark.parametrize(
    "state", [state if state == "standardised" else pytest.param(state, marks=pytest.mark.long) for state in REVIEWED]
)
def test_what_is_released_is_what_was_reviewed_or_the_sample_went_back(store: Store, state: Any) -> None:
    store.add_document(StudioDocument("second", "The second", "en"), SECOND)
    people = People(store, hasher=quick_hasher())
    app = make_app(store, people, Settings(tasks=TASKS))
    browsers = {}
    for name in ("ann", "ada"):
        people.set_password(name, PASSWORD)
        browsers[name] = Browser(app).log_in(name)
    made = ANSWER if state != "standardised" else STANDARD
    drafts = (Candidate("c1", "model/a", replace(ANSWER, question="Another draft?")),)
    before = replace(DONE, state=state, content=made, candidates=drafts)
    went_back = set()
    for field, change in CHANGES.items():
        thinking, answering = proposed_prompts(TASKS, before)
        sent = fields_of_form(replace(made, prompt_thinking=thinking, prompt_answering=answering)) | change
        for name, browser in browsers.items():
            for form in (*FORMS, "merge"):
                put(store, before)
                browser.post(f"/samples/s-1/{form}", version="3", **sent)
                after = store.sample("s-1")
                if released(after) != released(before) and form != "standardise":
                    assert after.state in ("revision", "expert_review"), (field, form)
                    assert after.writers == (name,), "who changed it has written it"
                    went_back.add(field)
                elif released(after) != released(before):
                    assert field not in ("prompt_thinking", "prompt_answering")
                    asked = (after.content.prompt_thinking, after.content.prompt_answering)
                    assert asked == proposed_prompts(TASKS, before), "only standard prompts are confirmed at once"
                    assert replace(after.content, prompt_thinking="", prompt_answering="") == made
    assert went_back == (set(CHANGES) if state == "standardised" else set())


@IN_BOTH
def test_what_the_reviewers_of_the_last_round_saw_is_exported(store: Store, tmp_path: Path) -> None:
    """Each field is changed in the second round, after everything was reviewed in the first."""
    begun(store, STANDARD)
    for round, reviewers in ((1, ("bo", "cy")), (2, ("bo", "cy"))):
        do(store, "ann", SubmitForReview)
        now = do(store, "eve", ExpertPass)
        now = do(store, "ann", Standardise, *proposed_prompts(TASKS, now))
        saw = store.sample("s-1").content
        for name in reviewers:
            now = store.act(review(now, good=round == 2), person(name))
        if round == 1:
            do(store, "ed", Adjudicate, "reconstruct", "Another question.")
            do(store, "ann", Reconstruct)
            do(store, "ann", Edit, replace(STANDARD, question="Which of them?", components=(Component("[3]"),)))
    assert now.state == "accepted"
    export_samples(store, TASKS, tmp_path / "out", ExportOptions(formats=("pro", "jsonl")))
    record = json.loads((tmp_path / "out" / "longbench_pro.jsonl").read_text("utf-8"))
    line = json.loads((tmp_path / "out" / "samples.jsonl").read_text("utf-8"))
    assert (record["question_thinking"], record["question_nonthinking"]) == standard_prompts(LISTED, "en", saw.question)
    assert record["answer"] == ["[3]"]
    assert line["content"] == json.loads(json.dumps(as_record(saw)))


def test_a_summary_has_three_fields_for_its_references(store: Store) -> None:
    begun(store, written("Sum up.", "One."), task=SUMMARY)
    people = People(store, hasher=quick_hasher())
    people.set_password("ann", PASSWORD)
    ann = Browser(make_app(store, people, Settings(tasks=TASKS))).log_in("ann")
    form = ann.forms("/samples/s-1")["/samples/s-1/edit"]
    assert [name for name in form if re.fullmatch(r"component-\d", name)] == [f"component-{at}" for at in range(3)]
    assert "Reference 3" in ann.page("/samples/s-1")
    refused = ann.send("/samples/s-1", "/samples/s-1/edit", component_1="Two.", then="submit")
    assert (refused.status_code, "has 2 reference summaries" in refused.text) == (409, True)
    assert ann.send("/samples/s-1", "/samples/s-1/edit", component_2="Three.", then="submit").status_code == 303


def test_a_record_with_a_fault_is_imported_and_the_fault_named(store: Store, tmp_path: Path) -> None:
    record = make_pro(0, SECONDARY[5], "English") | {"answer": ["E"]}
    assert SECONDARY[5].metric == "Accuracy"
    (tmp_path / "longbench_pro.json").write_text(json.dumps([record]), "utf-8")
    imported = import_samples(store, tmp_path)
    assert len(imported.samples) == 1
    (problem,) = imported.problems
    assert "has a fault, to be mended: the answer 'E' is none of the options" in problem


def test_a_published_pair_that_differs_in_more_is_imported_and_the_fault_named(store: Store, tmp_path: Path) -> None:
    record = make_pro(0, SECONDARY[0], "English")
    record["question_thinking"] = record["question_thinking"].replace("Think first", "Work it out on paper first")
    (tmp_path / "longbench_pro.json").write_text(json.dumps([record]), "utf-8")
    imported = import_samples(store, tmp_path)
    assert len(imported.samples) == 1
    (problem,) = imported.problems
    assert "has a fault, to be mended: the prompts differ in more than the reasoning" in problem
