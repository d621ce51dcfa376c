"""Candidates of models: parsed strictly, quotes found in the documents, everything else reported."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.models.failures import Failure
from fathom.models.protocol import Call, RequestError
from fathom.models.settings import AskSettings
from fathom.studio import asking as asking_module
from fathom.studio.asking import Answer, Asking, Prompt, UnreadableReplyError, ask_model, read_json
from fathom.studio.candidates import Drafts
from fathom.studio.drafting import DraftSettings, draft, draft_prompt, find_quote, read_candidates
from fathom.studio.types import Candidate, Content
from fathom.types import FathomError, Reply
from made_studio import made_collection, made_sample, made_text

ONE, TWO = made_text(1), made_text(2)
SAMPLE = made_sample("s1", (ONE, TWO), task="T5.2", state="drafted")
COLLECTION = made_collection(SAMPLE, texts=(ONE, TWO))
QUOTE = ONE[200:260].strip()


def candidate(**changes: Any) -> dict[str, Any]:
    return {
        "question": "Which sources?",
        "answer": [{"text": "[2]", "quotes": [QUOTE]}, {"text": "[3]", "quotes": []}],
        "rationale": "It needs two places.",
        "solution": "Look at both.",
    } | changes


def said(value: object, task: str = "T5.2") -> Drafts:
    text = value if isinstance(value, str) else json.dumps(value)
    sample = made_sample("s1", (ONE, TWO), task=task, state="drafted")
    answer = Answer(Prompt("s1", "?"), Reply("ok", text, seconds=2.0), 0.5)
    return read_candidates(answer, sample, COLLECTION, drafter="openai/gpt")


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], str]], list[str]]:
    """Makes all models answer with a function of the prompt; the list receives the prompts."""
    asked: list[str] = []

    class Scripted:
        window = None
        policy = "refuse"

        def __init__(self, script: Callable[[str], str]) -> None:
            self.script = script

        async def complete(self, prompt: str, call: Call) -> Reply:
            asked.append(prompt)
            return Reply("ok", self.script(prompt), tokens_in=10, tokens_out=10)

        async def close(self) -> None:
            pass

    def use(script: Callable[[str], str]) -> list[str]:
        monkeypatch.setattr(asking_module, "open_client", lambda settings, tokenizer: Scripted(script))
        return asked

    return use


def test_the_prompt_has_task_requirement_and_whole_text() -> None:
    prompt = draft_prompt(SAMPLE, COLLECTION, requirement="full", count=2)
    assert "T5.2 Key-Statement Citation Alignment" in prompt
    assert "nobody who reads only parts of it can answer" in prompt
    assert "Write 2 candidates" in prompt
    context = prompt.partition("\nBEGIN TEXT\n")[2].rpartition("\nEND TEXT\n")[0]
    assert context == f"[Document 1] A made text\n\n{ONE}\n\n[Document 2] A made text\n\n{TWO}"


def test_a_text_with_braces_does_not_disturb_the_prompt() -> None:
    text = "{task} {0} {unknown} }} " + ONE
    sample = made_sample("s", (text,), state="drafted")
    assert text in draft_prompt(sample, made_collection(sample, texts=(text,)))


def test_candidates_with_evidence_at_their_quotes() -> None:
    found = said({"candidates": [candidate(), candidate(question="Another?")]})
    assert not found.rejected
    first, second = found.candidates
    assert (first.drafter, first.id, second.id) == ("openai/gpt", "openai-gpt-1", "openai-gpt-2")
    (evidence,) = first.content.components[0].evidence
    assert evidence.quote == ONE[evidence.start : evidence.end] == QUOTE
    assert evidence.document == SAMPLE.documents[0]
    assert first.content.requirement == "partial"
    assert (first.cost, first.seconds, found.cost) == (0.25, 1.0, 0.5)


def test_a_fenced_reply_is_read_and_reasoning_before_it_ignored() -> None:
    text = json.dumps({"candidates": [candidate()]})
    assert len(said(f"```json\n{text}\n```").candidates) == 1
    assert len(said(text + "\n").candidates) == 1
    answer = Answer(Prompt("s1", "?"), Reply("ok", f"<think>{{}}</think>\n{text}"), None)
    assert len(read_candidates(answer, SAMPLE, COLLECTION, drafter="m").candidates) == 1


def test_a_quote_that_is_not_in_the_documents_is_left_out_and_noted() -> None:
    found = said({"candidates": [candidate(answer=[{"text": "[2]", "quotes": ["made up", QUOTE]}])]})
    assert len(found.candidates[0].content.components[0].evidence) == 1
    assert found.notes == ("openai/gpt: candidate 1: answer[0]: a quote is not in the documents: 'made up'",)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "the reply is empty"),
        ("Here you are: {}", "not JSON alone"),
        ('{"candidates": []}', "at least one"),
        ("[]", '"candidates" only'),
        ({"candidates": [candidate()], "note": "hi"}, '"candidates" only'),
        ('{"candidates": [NaN]}', "contains NaN"),
        ('{"a": 1, "a": 2}', "names a field twice"),
        ("[" * 100_000, "nested too deeply"),
        ({"candidates": [candidate()] * 101}, "at most 100"),
        ({"candidates": ["text"]}, "expected an object"),
        ({"candidates": [{"question": "?"}]}, "answer is missing"),
        ({"candidates": [candidate(extra=1)]}, "unknown field 'extra'"),
        ({"candidates": [candidate(question=" ")]}, "question: it is empty"),
        ({"candidates": [candidate(question=5)]}, "question: expected text"),
        ({"candidates": [candidate(question="a\0b")]}, "NUL or a surrogate"),
        ({"candidates": [candidate(answer=[])]}, "answer: it is empty"),
        ({"candidates": [candidate(answer=["[2]"])]}, "answer[0]: expected an object"),
        ({"candidates": [candidate(answer=[{"text": "[2]", "quotes": [1]}])]}, "quotes[0]: expected text"),
        ({"candidates": [candidate(answer=[{"text": "a\nb", "quotes": []}])]}, "several lines"),
        ({"candidates": [candidate(answer=[{"text": "A", "quotes": []}] * 2)]}, "occurs twice"),
        ({"candidates": [candidate(answer=[{"text": str(n), "quotes": []} for n in range(501)])]}, "at most 500"),
    ],
)
def test_what_has_not_the_form_is_rejected_with_the_reason(value: object, reason: str) -> None:
    found = said(value)
    assert not found.candidates
    assert reason in str(found.rejected[0])


def test_one_bad_candidate_does_not_spoil_the_others() -> None:
    found = said({"candidates": [candidate(question=""), candidate()]})
    assert len(found.candidates) == len(found.rejected) == 1
    assert str(found.rejected[0]) == "openai/gpt: rejected: candidate 1: question: it is empty"


@pytest.mark.parametrize(
    ("question", "answer", "reason"),
    [
        ("Which?", ["A"], "no options"),
        ("Which?\nA. x\nB. y", ["C"], "one of the letters A, B"),
        ("Which?\nA. x\nB. y", ["A", "B"], "this task has one"),
        ("Which?\nA. x\nB. y", ["B"], ""),
    ],
)
def test_a_choice_needs_options_and_one_letter(question: str, answer: list[str], reason: str) -> None:
    components = [{"text": text, "quotes": []} for text in answer]
    found = said({"candidates": [candidate(question=question, answer=components)]}, task="T3.2")
    assert reason in str(found.rejected[0]) if reason else found.candidates


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply("error", error="the server is down"), "the server is down"),
        (Reply("incomplete", "{"), "output cap; raise `max_output_tokens`"),
        (Reply("refused"), "refused"),
        (Reply("ok", " "), "empty"),
    ],
)
def test_a_failed_request_is_reported(reply: Reply, reason: str) -> None:
    found = read_candidates(Answer(Prompt("s", "?"), reply, None), SAMPLE, COLLECTION, drafter="m")
    assert reason in found.rejected[0].reason


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_reply_raises(text: str) -> None:
    found = said(text)
    assert found.rejected
    assert not found.candidates


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(candidate())), inner, max_size=4)
        ),
        max_leaves=8,
    )
)
@settings(max_examples=200, deadline=None)
def test_no_json_raises(value: object) -> None:
    assert said({"candidates": [value]}).rejected or isinstance(value, dict)


def test_quotes_are_found_with_other_white_space_and_not_otherwise() -> None:
    texts = {"a": "First line.", "b": "The  quick\nbrown (fox) jumps. The quick dog."}
    exact = find_quote("quick dog", texts)
    assert exact is not None
    assert (exact.document, exact.quote) == ("b", "quick dog")
    loose = find_quote(" The quick brown (fox) ", texts)
    assert loose is not None
    assert loose.quote == "The  quick\nbrown (fox)"
    assert find_quote("quick cat", texts) is None
    assert find_quote("  ", texts) is None
    assert find_quote("a" * 6000, {"a": "a" * 6000}) is None


def test_several_drafters_and_questions_that_are_asked_twice(scripted: Any) -> None:
    asked = scripted(lambda prompt: json.dumps({"candidates": [candidate(), candidate(question="which  SOURCES?")]}))
    earlier = Candidate("old", "x", Content(question="An old one?"))
    sample = made_sample("s1", (ONE, TWO), task="T5.2", state="drafted")
    sample = sample.__class__(**{name: getattr(sample, name) for name in sample.__slots__} | {"candidates": (earlier,)})
    found = draft([sample], COLLECTION, [Asking("openai/a"), Asking("openai/b")], DraftSettings(count=2))
    assert len(asked) == 2
    assert [one.drafter for one in found.candidates] == ["openai/a"]
    assert [one.reason for one in found.rejected] == ["another candidate asks the same"] * 3


def test_the_same_question_over_different_samples_of_one_document_is_refused(scripted: Any) -> None:
    scripted(lambda prompt: json.dumps({"candidates": [candidate(), candidate(question="Another?")]}))
    first, second = (
        made_sample(id, texts, task="T5.2", state="drafted") for id, texts in (("a", (ONE,)), ("b", (ONE, TWO)))
    )
    bare = [replace(sample, content=Content()) for sample in (first, second)]
    earlier = made_sample("old", (TWO,), task="T5.2", question="another?")
    collection = made_collection(*bare, earlier, texts=(ONE, TWO))
    found = draft(bare, collection, [Asking("openai/a")], DraftSettings(count=2))
    assert [one.content.question for one in found.candidates] == ["Which sources?", "Another?"], "of the first sample"
    assert [one.reason for one in found.rejected] == ["another sample over the same document asks the same"] * 2


def test_a_summary_of_longbench_pro_is_asked_for_three_references_which_people_may_add() -> None:
    sample = made_sample("s1", (ONE,), task="T4.1", state="drafted")
    assert "The answer has 3 elements" in draft_prompt(sample, made_collection(sample, texts=(ONE,)))
    found = said({"candidates": [candidate(answer=[{"text": "One.", "quotes": []}])]}, task="T4.1")
    assert len(found.candidates) == 1
    assert found.notes == ("openai/gpt: candidate 1: the answer has 1 reference summary; write 3, one in each field",)


def test_no_request_is_sent_beyond_the_cost(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["openai/a"]\ninput = 1000000\noutput = 1000000\nchecked = "2026-01"\nsource = "x"\n')
    monkeypatch.setenv("FATHOM_PRICES", str(prices))

    class Client:
        window, policy = None, "refuse"

        async def complete(self, prompt: str, call: Call) -> Reply:
            return Reply("ok", "text", tokens_in=1, tokens_out=1)

        async def close(self) -> None:
            pass

    monkeypatch.setattr(asking_module, "open_client", lambda settings, tokenizer: Client())
    came: list[Answer] = []
    prompts = [Prompt(str(number), "?") for number in range(5)]
    asking = Asking("openai/a", AskSettings(max_connections=1, max_cost=3))
    answers = ask_model(asking, prompts, cap=10, answered=came.append)
    assert [one.reply.status for one in answers] == ["ok", "ok", "error", "error", "error"]
    assert "not sent: $4.00 spent, `max_cost` is $3.00" in answers[-1].reply.error
    assert [one.cost for one in came] == [2.0, 2.0]


def test_a_server_that_denies_everything_ends_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    class Client:
        window, policy = None, "refuse"

        async def complete(self, prompt: str, call: Call) -> Reply:
            raise RequestError(Failure("denied", "no such key"))

        async def close(self) -> None:
            pass

    monkeypatch.setattr(asking_module, "open_client", lambda settings, tokenizer: Client())
    with pytest.raises(FathomError, match=r"openai/a: the server denies the requests: no such key"):
        ask_model(Asking("openai/a"), [Prompt("a", "?")], cap=10)


def test_settings_are_checked_before_anything_is_sent() -> None:
    with pytest.raises(FathomError):
        Asking("openai/a", AskSettings(max_connections=0))
    with pytest.raises(FathomError):
        Asking("openai/a", AskSettings(base_url="ftp://x"))
    with pytest.raises(FathomError, match="at least 1"):
        DraftSettings(count=0)


def test_json_is_read_alone_or_in_one_fence_between_sentences() -> None:
    assert read_json(' {"a": [1, 2.5, null, true]} ') == {"a": [1, 2.5, None, True]}
    assert read_json('Here they are:\n\n```json\n{"a": "```"}\n```\nThey differ in what they ask.') == {"a": "```"}
    assert read_json("```\n{}\n```\nDone.") == {}
    for reply in ("Here: {}", "{} Done.", "```json\n{}\n```\n```json\n{}\n```", "```\n{}", "a\n```\nb\n```\n{}"):
        with pytest.raises(UnreadableReplyError, match="not JSON alone"):
            read_json(reply)


def test_many_fences_are_read_in_linear_time() -> None:
    with pytest.raises(UnreadableReplyError):
        read_json("```json\n" * 100_000)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("task", ["T3.2", "T5.2", "T4.1"])
def test_offline_baselines_draft_from_the_text(language: str, task: str) -> None:
    text = made_text(1, language)
    sample = made_sample("s1", (text,), task=task, language=language, state="drafted")
    collection = made_collection(sample, texts=(text,), languages=(language,))
    drafters = [Asking("fathom/lexical"), Asking("fathom/guess")]
    found = draft([sample], collection, drafters, DraftSettings(count=2))
    assert draft([sample], collection, drafters, DraftSettings(count=2)) == found
    assert {one.drafter for one in found.candidates} == {"fathom/lexical", "fathom/guess"}
    for one in found.candidates:
        (component,) = one.content.components
        (evidence,) = component.evidence
        assert text[evidence.start : evidence.end] == evidence.quote
        assert "____" in one.content.question


def test_a_text_without_numbers_gives_no_offline_candidate() -> None:
    text = "Nothing to count here. " * 50
    sample = made_sample("s1", (text,), state="drafted")
    found = draft([sample], made_collection(sample, texts=(text,)), [Asking("fathom/guess")])
    assert "no sentence with a number" in found.rejected[0].reason
