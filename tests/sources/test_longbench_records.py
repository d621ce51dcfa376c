"""Records of LongBench as documents, and templates from the user's copy of its repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.benchmarks.longbench.records import read_record
from fathom.documents.corpus.records import BadRowError
from fathom.documents.sources.templates import filled, read_templates
from fathom.types import FathomError
from made_records import (
    make_record,
    make_template,
    write_templates,
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"context": ""}, "'context' is empty"),
        ({"context": 3}, "'context' is 3; expected a text"),
        ({"answers": []}, "'answers' is an empty list; expected a list of texts"),
        ({"answers": [None]}, "entry 1 of the field 'answers' is missing"),
        ({"all_classes": "Food"}, "'all_classes' holds a value of type str; expected a list of texts"),
        ({"all_classes": {"Food": 1}}, "'all_classes' holds a value of type dict; expected a list of texts"),
        ({"all_classes": []}, "'all_classes' is missing or empty; replies to trec are scored by it"),
        ({"all_classes": None}, "'all_classes' is missing or empty"),
        ({"dataset": "qmsum"}, "'dataset' is 'qmsum', but the file is named after 'trec'"),
        ({"dataset": "qmsum_e"}, "'dataset' is 'qmsum', but"),
        ({"index": -1}, "'index' is -1; expected a row"),
        ({"index": "7"}, "'index' is '7'; expected a row"),
    ],
)
def test_records_that_cannot_be_used_say_why(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRowError, match=message):
        read_record({**make_record("trec", 0), "row": 0, **change}, "here", "trec", even=False)


@pytest.mark.parametrize("classes", [None, []])
@pytest.mark.parametrize("dataset", ["qasper", "qasper_e", "LongBench"])
def test_what_a_data_set_does_not_need_may_be_absent_or_named_otherwise(classes: object, dataset: str) -> None:
    record = {**make_record("qasper", 0), "row": 0, "all_classes": classes, "dataset": dataset}
    assert read_record(record, "here", "qasper", even=dataset == "qasper_e").meta["classes"] == []


def test_half_a_character_is_replaced_and_nothing_else() -> None:
    record = {**make_record("trec", 0), "row": 4, "context": " a\ud800\r\n\t "}
    found = read_record(record, "here", "trec", even=False)
    (start, end), asked = found.passages
    assert found.text[start:end] == " a?\r\n\t "
    assert found.text[slice(*asked)] == record["input"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "expected an object; download the file again"),
        ('{"trec": 3}', "the field 'trec' is 3; expected a text"),
        ('{"trec": "Read {input}"}', r"trec: the template has no \{context\}"),
    ],
)
def test_templates_that_cannot_be_used_say_why(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "dataset2prompt.json").write_text(content, encoding="utf-8")
    with pytest.raises(FathomError, match=message):
        read_templates([tmp_path])


def test_two_copies_of_the_templates_must_agree(tmp_path: Path) -> None:
    write_templates(tmp_path / "a")
    write_templates(tmp_path / "b")
    assert read_templates([tmp_path]).prompts["trec"] == make_template("trec")
    (tmp_path / "b/config/dataset2prompt.json").write_text('{"trec": "{context}"}', encoding="utf-8")
    with pytest.raises(FathomError, match="trec differs from another file"):
        read_templates([tmp_path])


@given(st.text(), st.lists(st.text()), st.text(), st.text())
def test_only_the_two_places_of_a_template_are_filled(first: str, middle: list[str], context: str, asked: str) -> None:
    words = [text.replace("{context}", "").replace("{input}", "") for text in (first, *middle)]
    template, expected = words[0], words[0]
    for number, text in enumerate(words[1:]):
        template += ("{context}", "{input}")[number % 2] + text
        expected += (context, asked)[number % 2] + text
    pieces = filled(template, {"{context}": context, "{input}": asked})
    if template.count("{context}") + template.count("{input}") == len(words) - 1:  # no place arose from two pieces
        assert "".join(text for text, _ in pieces) == expected
