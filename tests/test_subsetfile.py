"""Subset files: what is written is read again, and what is no subset says so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.suites.subsetfile import FORMAT, read_subset, subset_hash, write_subset
from fathom.types import FathomError, Member, Subset

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
MEMBERS = st.builds(
    Member,
    item=TEXTS.filter(bool),
    weight=st.floats(0, 1e9),
    stratum=TEXTS,
    probability=st.none() | st.floats(0, 1, exclude_min=True),
)
JSON = st.dictionaries(TEXTS, st.none() | st.booleans() | st.integers(-9, 9) | TEXTS | st.lists(st.integers(0, 9)))
SUBSETS = st.builds(
    Subset,
    name=TEXTS,
    members=st.lists(MEMBERS, min_size=1, max_size=8, unique_by=lambda member: member.item).map(tuple),
    method=TEXTS,
    design=JSON,
    provenance=JSON,
).filter(lambda subset: sum(member.weight for member in subset.members) > 0)
GOOD: Mapping[str, object] = {
    "format": FORMAT,
    "version": 1,
    "name": "few",
    "method": "random",
    "design": {},
    "provenance": {},
    "members": [{"item": "a", "weight": 1}, {"item": "b", "weight": 0.5, "stratum": "qa", "probability": 0.25}],
}


@pytest.mark.slow
@given(SUBSETS)
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, subset: Subset) -> None:
    path = tmp_path_factory.mktemp("subset") / "subset.json"
    write_subset(subset, path)
    assert read_subset(path) == subset
    assert subset_hash(read_subset(path)) == subset_hash(subset)


@pytest.mark.slow
@given(SUBSETS)
def test_the_hash_is_that_of_the_members_in_any_order(subset: Subset) -> None:
    renamed = replace(subset, name="other", members=subset.members[::-1])
    assert subset_hash(renamed) == subset_hash(subset)
    first = subset.members[0]
    heavier = replace(subset, members=(replace(first, weight=first.weight + 1), *subset.members[1:]))
    assert subset_hash(heavier) != subset_hash(subset)


def test_a_good_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "good.json"
    path.write_text(json.dumps(GOOD))
    assert read_subset(path).members == (Member("a", 1.0), Member("b", 0.5, "qa", 0.25))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "something"}, "not a subset"),
        ({"version": 3}, r"written by a newer fathom \(format 3; this one reads up to 2\): upgrade with"),
        ({"version": 2}, "checksum does not match its content"),
        ({"version": "1"}, "format '1', expected a number"),
        ({"name": 3}, "'name' is 3; expected a text"),
        ({"design": []}, "'design' .*expected an object"),
        ({"members": {}}, "'members' .*expected a list"),
        ({"members": []}, "no members"),
        ({"members": ["a"]}, "entry 1 of the field 'members' .*expected an object"),
        (
            {"members": [{"item": "", "weight": 1}]},
            "'item' of entry 1 of the field 'members' is empty; expected the id",
        ),
        ({"members": [{"item": "a"}]}, "'weight' of entry 1 of the field 'members' is missing; expected a number"),
        ({"members": [{"item": "a", "weight": True}]}, "'weight' of entry 1 .* is True; expected a number"),
        ({"members": [{"item": "a", "weight": 10**400}]}, "expected a number"),
        ({"members": [{"item": "a", "weight": -1}]}, r"member 1 \('a'\): weight -1.0"),
        ({"members": [{"item": "a", "weight": float("nan")}]}, "weight nan"),
        ({"members": [{"item": "a", "weight": 0}, {"item": "b", "weight": 0}]}, "weights add up to 0.0"),
        ({"members": [{"item": "a", "weight": 1e308}, {"item": "b", "weight": 1e308}]}, "weights add up to inf"),
        ({"name": "half \ud800"}, "a text is not valid Unicode"),
        ({"members": [{"item": "a", "weight": 1, "stratum": 2}]}, "'stratum' of entry 1 .* is 2; expected a text"),
        ({"members": [{"item": "a", "weight": 1, "probability": 0}]}, "probability 0.0; expected more than 0"),
        ({"members": [{"item": "a", "weight": 1}, {"item": "a", "weight": 2}]}, r"member 2 \('a'\): duplicate"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: Mapping[str, object], message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(FathomError, match=message) as caught:
        read_subset(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(FathomError, match=r"not JSON|not a subset"):
        read_subset(path)


def test_the_mark_that_some_editors_put_first_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "marked.json"
    path.write_text(json.dumps(GOOD), "utf-8-sig")
    assert read_subset(path).name == "few"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match=r"none\.json: cannot be read"):
        read_subset(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("subset", "message"),
    [
        (Subset("x", (), "random"), "no members"),
        (Subset("x", (Member("a", 1), Member("a", 1)), "random"), "duplicate; name each"),
        (Subset("x", (Member("a", float("inf")),), "random"), "weight inf"),
        (Subset("x", (Member("a", 1),), "random", {"share": float("nan")}), "cannot be written as JSON"),
        (Subset("\ud800", (Member("a", 1),), "random"), "cannot be written as JSON"),
    ],
)
def test_nothing_is_written_that_could_not_be_read(tmp_path: Path, subset: Subset, message: str) -> None:
    with pytest.raises(FathomError, match=message):
        write_subset(subset, tmp_path / "subset.json")
    assert list(tmp_path.iterdir()) == []
