"""Values as JSON and back; whatever else is read is refused with the name of the field."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import Strict

from fathom.studio.critique import ClaimDecision, Critique
from fathom.studio.imports import ImportedSample
from fathom.studio.quality import Rating
from fathom.studio.quotas import Design
from fathom.studio.records import MOST_ITEMS, MOST_TEXT, RecordError, as_record, canonical, from_json, from_record
from fathom.studio.types import EVENTS, Content, Edit, Event, Sample, Select, SetIntake

pytestmark = pytest.mark.filterwarnings("ignore:Ignoring unsupported")  # hypothesis does not know pydantic's types
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
st.register_type_strategy(str, texts)
st.register_type_strategy(int, st.integers(0, 2**53 - 1))
st.register_type_strategy(float, st.floats(0, 1e14))


@given(st.sampled_from(list(EVENTS.values())).flatmap(st.from_type))
def test_every_event_survives_json(event: Event) -> None:
    record = json.loads(canonical(as_record(event)))
    assert from_record(type(event), record) == event
    assert canonical(as_record(from_record(type(event), record))) == canonical(as_record(event))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
)


@given(json_values, st.sampled_from([*EVENTS.values(), Sample]))
def test_anything_else_is_a_record_error(value: Any, kind: type[Any]) -> None:
    assume(value != {} or kind is not SetIntake)  # whose fields all have defaults
    with pytest.raises(RecordError):
        from_record(kind, value)


GOOD = {"sample": "s", "version": 1, "candidate": "c"}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({**GOOD, "version": "1"}, "Select.version: expected a whole number"),
        ({**GOOD, "version": True}, "Select.version: expected a whole number"),
        ({**GOOD, "version": -1}, "Select.version"),
        ({**GOOD, "version": 2**60}, "Select.version"),
        ({**GOOD, "seconds": -1}, "Select.seconds"),
        ({**GOOD, "seconds": float("nan")}, "Select.seconds"),
        ({**GOOD, "seconds": float("inf")}, "Select.seconds"),
        ({**GOOD, "candidate": "a\0b"}, "no text"),
        ({**GOOD, "candidate": "\ud800"}, "no text"),
        ({**GOOD, "candidate": "x" * (MOST_TEXT + 1)}, "at most 200,000"),
        ({**GOOD, "more": 1}, "unknown field 'more'"),
        ({"sample": "s", "version": 1}, "candidate is missing"),
        ([], "expected an object"),
    ],
)
def test_wrong_fields_are_named(record: Any, words: str) -> None:
    with pytest.raises(RecordError, match=words):
        from_record(Select, record)


def test_nested_fields_are_named_too() -> None:
    record = as_record(Edit("s", 1, Content("q")))
    for change, words in (
        ({"components": [{"text": 5}]}, r"content.components\[0\].text: expected text"),
        ({"components": "ab"}, "expected a list"),
        ({"components": [{"text": "a"}] * (MOST_ITEMS + 1)}, "at most 5,000"),
        ({"requirement": "none"}, "expected full, partial"),
        ({"requirement": ["full"]}, "expected full, partial"),
    ):
        with pytest.raises(RecordError, match=words):
            from_record(Edit, {**record, "content": {**record["content"], **change}})


def plain_types(hint: Any) -> set[type]:
    """The types in a hint that pydantic would convert other values to."""
    if get_origin(hint) is Annotated:
        inner, *about = get_args(hint)
        return set() if Strict() in about else plain_types(inner)
    return {hint} & {str, int, float, bool} if not get_args(hint) else set().union(*map(plain_types, get_args(hint)))


@pytest.mark.parametrize("kind", [*EVENTS.values(), Sample, Critique, ClaimDecision, Rating, Design, ImportedSample])
def test_no_field_is_converted(kind: type[Any]) -> None:
    hints = get_type_hints(kind, include_extras=True)
    loose = {name: plain_types(hints[name]) for name in (field.name for field in fields(kind))}
    assert not {name: types for name, types in loose.items() if types}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "Select: expected JSON: "),
        ("[" * 5000, "Select: expected JSON"),
        ('{"sample": "s", "version": 1, "candidate": "c"}, {}', "Select"),
        ('{"sample": "s", "version": 1e400, "candidate": "c"}', "Select.version: expected a whole number"),
    ],
)
def test_text_that_is_no_record_is_refused(text: str, words: str) -> None:
    with pytest.raises(RecordError, match=words):
        from_json(Select, text)
