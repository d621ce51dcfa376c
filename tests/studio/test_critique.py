"""Critique of answers, and of the critique: parsed strictly, shown with evidence, nothing changed by models."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.models.protocol import Call
from fathom.studio import asking as asking_module
from fathom.studio.asking import Answer, Asking, Prompt
from fathom.studio.critique import (
    AROUND,
    Claim,
    Objection,
    criticise,
    critique_prompt,
    objection_prompt,
    read_claims,
    read_objections,
)
from fathom.studio.records import as_record, from_record
from fathom.types import Reply
from made_studio import made_collection, made_sample, made_text, quoted

ONE = made_text(1)
SAMPLE = made_sample("s1", (ONE,), task="T5.2", answer=("[2]", "[3]"))
COLLECTION = made_collection(SAMPLE, texts=(ONE,))
QUOTE = quoted(ONE, ONE.index(" ", 3000) + 1)


def claim(**changes: Any) -> dict[str, Any]:
    return {"kind": "wrong", "element": 1, "text": "", "reason": "It is not so.", "quotes": [QUOTE.quote]} | changes


def answer_of(value: object, status: Any = "ok") -> Answer:
    text = value if isinstance(value, str) else json.dumps(value)
    return Answer(Prompt("s1", "?"), Reply(status, text, error="" if status == "ok" else "down"), 0.1)


def test_the_critic_sees_everything_and_the_objector_the_quotes() -> None:
    first = critique_prompt(SAMPLE, COLLECTION)
    assert f"BEGIN TEXT\n{ONE}\nEND TEXT" in first
    assert "1. [2]\n2. [3]" in first
    claims = [Claim("wrong", 0, "", "No.", (QUOTE,)), Claim("missing", None, "[9]", "There.", ())]
    second = objection_prompt(SAMPLE, COLLECTION, claims)
    assert f">>>{QUOTE.quote}<<<" in second
    assert ONE[QUOTE.start - AROUND : QUOTE.start] in second
    assert ONE[:100] not in second
    assert "Claim 2 (missing), about a missing element: [9]" in second
    assert "It quotes no passage." in second


def test_claims_with_their_evidence() -> None:
    missing = claim(kind="missing", element=0, text="[9]")
    claims, notes = read_claims(answer_of({"claims": [claim(), missing, claim()]}), SAMPLE, COLLECTION)
    assert claims == (
        Claim("wrong", 0, "", "It is not so.", (QUOTE,)),
        Claim("missing", None, "[9]", "It is not so.", (QUOTE,)),
    )
    assert not notes


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("Nice answer!", "not JSON alone"),
        ({"claims": "none"}, "expected a list"),
        ({"claims": [], "more": 1}, '"claims" only'),
        ({"claims": [claim()] * 201}, "at most 200"),
        ({"claims": ["x"]}, "expected an object"),
        ({"claims": [claim(kind="ugly")]}, "expected wrong, superfluous, missing"),
        ({"claims": [claim(element=3)]}, "a number from 1 to 2"),
        ({"claims": [claim(element=0)]}, "a number from 1 to 2"),
        ({"claims": [claim(element=True)]}, "element: expected a whole number"),
        ({"claims": [claim(reason="")]}, "reason: it is empty"),
        ({"claims": [claim(quotes="x")]}, "quotes: expected a list"),
        ({"claims": [claim(kind="missing", text="")]}, "text: it is empty"),
        ({"claims": [claim(kind="missing", text="[9]", quotes=["made up"])]}, "nothing that is in the documents"),
    ],
)
def test_claims_without_the_form_or_with_made_up_quotes_are_left_out(value: object, reason: str) -> None:
    claims, notes = read_claims(answer_of(value), SAMPLE, COLLECTION)
    assert not claims
    assert reason in notes[0]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "empty"),
        ({"objections": [{"claim": 3, "stand": "holds", "reason": "x"}]}, "a number from 1 to 2"),
        ({"objections": [{"claim": 1, "stand": "maybe", "reason": "x"}]}, "expected holds, fails, unclear"),
        ({"objections": [{"claim": 1, "stand": "holds"}]}, "reason is missing"),
        ({"objections": [1]}, "expected an object"),
    ],
)
def test_objections_without_the_form_are_left_out(value: object, reason: str) -> None:
    objections, notes = read_objections(answer_of(value), 2)
    assert objections == (None, None)
    assert reason in notes[0]


def test_a_claim_has_one_objection() -> None:
    value = {"objections": [{"claim": 2, "stand": stand, "reason": "x"} for stand in ("fails", "holds")]}
    objections, notes = read_objections(answer_of(value), 2)
    assert objections == (None, Objection("fails", "x"))
    assert "has an objection already" in notes[0]


def test_failed_requests_are_told() -> None:
    assert read_claims(answer_of("", "error"), SAMPLE, COLLECTION) == ((), ("down",))
    assert read_objections(answer_of("", "error"), 1) == ((None,), ("down",))


@given(st.text(max_size=100))
@settings(max_examples=100, deadline=None)
def test_no_reply_raises(text: str) -> None:
    read_claims(answer_of(text), SAMPLE, COLLECTION)
    read_objections(answer_of(text), 3)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Models that claim three faults, and object to the second."""
    asked: list[str] = []

    class Client:
        window, policy = None, "refuse"

        async def complete(self, prompt: str, call: Call) -> Reply:
            asked.append(prompt)
            if "Another reviewer" in prompt:
                said: object = {
                    "objections": [
                        {"claim": 1, "stand": "holds", "reason": "Yes."},
                        {"claim": 2, "stand": "fails", "reason": "No."},
                    ]
                }
            else:
                said = {"claims": [claim(), claim(kind="superfluous", element=2), claim(reason="Also this.")]}
            return Reply("ok", json.dumps(said), tokens_in=1, tokens_out=1)

        async def close(self) -> None:
            pass

    monkeypatch.setattr(asking_module, "open_client", lambda settings, tokenizer: Client())
    return asked


def test_a_critique_with_its_second_look(scripted: list[str]) -> None:
    (found,) = criticise([SAMPLE], COLLECTION, Asking("openai/critic"), Asking("openai/other"))
    assert (found.sample, found.critic, found.objector) == ("s1", "openai/critic", "openai/other")
    assert [one and one.stand for one in found.objections] == ["holds", "fails", None]
    assert [one.reason for one in found.standing] == ["It is not so.", "Also this."]
    assert len(scripted) == 2
    assert SAMPLE.content.components[0].text == "[2]"


def test_without_a_second_model_all_claims_stand(scripted: list[str]) -> None:
    (found,) = criticise([SAMPLE], COLLECTION, Asking("openai/critic"))
    assert found.standing == found.claims
    assert len(scripted) == 1


def test_claims_can_be_written_and_read() -> None:
    one = Claim("missing", None, "[9]", "It is there.", (QUOTE,))
    assert from_record(Claim, json.loads(json.dumps(as_record(one)))) == one


def test_critique_goes_on_in_turn_about_claims_on_which_models_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []
    stands = iter(("fails", "holds", "holds"))

    class Client:
        window, policy = None, "refuse"

        def __init__(self, name: str) -> None:
            self.name = name

        async def complete(self, prompt: str, call: Call) -> Reply:
            asked.append((self.name, prompt))
            if "Another reviewer" not in prompt:
                return Reply("ok", json.dumps({"claims": [claim(), claim(element=2)]}))
            said = [{"claim": 1, "stand": next(stands), "reason": f"Level {len(asked)}."}]
            if len(asked) == 2:
                said.append({"claim": 2, "stand": "holds", "reason": "Yes."})
            return Reply("ok", json.dumps({"objections": said}))

        async def close(self) -> None:
            pass

    monkeypatch.setattr(asking_module, "open_client", lambda settings, tokenizer: Client(settings.model))
    (result,) = criticise([SAMPLE], COLLECTION, Asking("fathom/guess"), Asking("fathom/lexical"), depth=9)
    assert [one.stand for one in result.replies_to(0)] == ["fails", "holds", "holds"]
    assert [one.stand for one in result.replies_to(1)] == ["holds"]
    assert len(asked) == 4, "nothing is open after the fourth level"
    assert "Claim 2" not in asked[2][1]
    assert "- fails: Level 2." in asked[2][1]
    assert result.standing == result.claims
    assert from_record(type(result), as_record(result)) == result
    earlier = as_record(result)
    del earlier["replies"]
    assert from_record(type(result), earlier).replies == ()
