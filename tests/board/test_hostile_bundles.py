"""Bundles of strangers: none that is damaged or forged is taken, none raises, and each refusal says where and what."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundle_mutations import DAMAGES, Damage, hostile_bundles
from fathom.board.bundles.bundle import DIGESTS, REPLIES, ROWS, zipped
from fathom.board.bundles.check import check
from fathom.board.bundles.findings import RefusedError
from fathom.board.bundles.opening import LIMITS, parse_bundle
from made_bundles import files_of, make_bundle, taken_apart

Right = tuple[bytes, Path]


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Right:
    """A right bundle, and its suite."""
    return make_bundle(tmp_path_factory.mktemp("bundles"))


def refusal(data: bytes, tmp_path: Path, suite: Path) -> tuple[str, str]:
    (tmp_path / "b.zip").write_bytes(data)
    checked = check(tmp_path / "b.zip", [suite])
    assert not checked.complete
    found = (checked.of("refused") + checked.of("incomplete"))[0]
    return found.topic, found.words


def test_the_right_one_is_taken(right: Right, tmp_path: Path) -> None:
    (tmp_path / "b.zip").write_bytes(right[0])
    assert check(tmp_path / "b.zip", [right[1]]).complete


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_no_damaged_bundle_is_taken(damage: Damage, right: Right, tmp_path: Path) -> None:
    data, suite = right
    rng = Random(damage.__name__)
    for _ in range(13):
        made = damage(rng, data)
        if made != data:
            topic, words = refusal(made, tmp_path, suite)
            assert topic
            assert words.isprintable()


def test_all_kinds_of_damage_are_made_in_turn(right: Right) -> None:
    made = list(hostile_bundles(3, len(DAMAGES), right[0]))
    assert [name for name, _ in made] == [damage.__name__ for damage in DAMAGES]
    assert all(data != right[0] for _, data in made)
    assert made == list(hostile_bundles(3, len(DAMAGES), right[0]))


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_refused(data: bytes, end: bool) -> None:
    made = b"PK\x03\x04" + data + b"PK\x05\x06" + bytes(18) if end else data
    with pytest.raises(RefusedError):
        parse_bundle(made)


@pytest.mark.slow
@given(st.sampled_from([ROWS, DIGESTS, REPLIES]), st.text(max_size=40))
def test_any_text_is_refused(name: str, text: str) -> None:
    content = {"bundle.json": text.encode() + b"\n", ROWS: b"", DIGESTS: b"", name: text.encode()}
    with pytest.raises(RefusedError):
        parse_bundle(zipped(dict(sorted(content.items(), key=lambda pair: pair[0]))))


@pytest.mark.parametrize(
    ("entry", "topic"),
    [("../rows.jsonl", "path"), ("/etc/passwd", "path"), ("..\\rows.jsonl", "path"), ("code.py", "entry")],
)
def test_names_of_entries(entry: str, topic: str, right: Right, tmp_path: Path) -> None:
    files = {entry if name == ROWS else name: text for name, text in files_of(right[0]).items()}
    found, words = refusal(zipped(files), tmp_path, right[1])
    assert found == topic
    assert words.startswith(f"{entry}: ")


@pytest.mark.parametrize(
    ("field", "raw", "said"),
    [
        ("value", "1e999", "1e999 is not a finite number"), ("value", "NaN", "NaN is not a number"),
        ("tokens_in", "9" * 5_000, "a number of 5,000 digits"), ("value", "1.5", "value is 1.5; expected a decimal"),
        ("value", "1", "value is 1; expected a decimal"), ("value", "-0.0", "value is -0.0"),
        ("cost", "-0.5", "cost is -0.5; expected a decimal number from 0.0 to 10,000.0, or null"),
        ("seconds", "1e9", "seconds is 1000000000.0"), ("tokens_out", "-1", "tokens_out is -1"),
        ("epoch", "0", "epoch is 0; expected a whole number from 1 to 1,000"),
        ("facets", "[" * 100_000, "nested too deeply"), ("facets", '{"a":[]}', "facets is an object"),
        ("valid", "1", "valid is 1; expected true or false"), ("answer", '"\\ud800"', "not in the form"),
        ("item", '"a\\u202eb"', "item is 'a\\u202eb'; expected a text"), ("status", '"fine"', "expected one of ok"),
        ("prompt_hash", '"xyz"', "expected 16 hexadecimal digits"), ("source", '"other"', "expected fathom"),
    ],
)  # fmt: skip
def test_values_of_a_row(field: str, raw: str, said: str, right: Right, tmp_path: Path) -> None:
    content = taken_apart(right[0])
    content.lines[ROWS][4][field] = "RAW"
    _, words = refusal(content.packed(raw=raw), tmp_path, right[1])
    assert words.startswith("rows.jsonl: line 5: ")
    assert said in words


def test_fields_too_many_and_too_few(right: Right, tmp_path: Path) -> None:
    content = taken_apart(right[0])
    del content.lines[REPLIES][2]["text"]
    assert refusal(content.packed(), tmp_path, right[1]) == (
        "fields", "replies.jsonl: line 3: text is null; expected a value; the field is missing"
    )  # fmt: skip
    content = taken_apart(right[0])
    content.lines[DIGESTS][0]["__class__"] = "x"
    assert "__class__ is 'x'; expected only the fields" in refusal(content.packed(), tmp_path, right[1])[1]


def test_limits(right: Right) -> None:
    for changed, said in (
        ({"line_bytes": 100}, "rows.jsonl: line 1: "),
        ({"head_bytes": 100}, "bundle.json: more than 100 bytes"),
        ({"replies": 15}, "rows.jsonl: 32 lines; at most 30"),
    ):
        with pytest.raises(RefusedError, match=said) as found:
            parse_bundle(right[0], dataclasses.replace(LIMITS, **changed))
        assert found.value.topic == "size"


def test_a_file_that_is_too_large_is_not_read(right: Right, tmp_path: Path) -> None:
    (tmp_path / "b.zip").write_bytes(right[0])
    checked = check(tmp_path / "b.zip", limits=dataclasses.replace(LIMITS, file_bytes=1_000))
    assert [finding.topic for finding in checked.findings] == ["size"]
    assert (checked.bundle, checked.sha256) == (None, "")
