"""DialogRE and Few-NERD: all their forms say the same, and what nobody could answer is passed over."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fathom.benchmarks.leader.dialogre_records import read_demonstration, read_dialogre, read_test
from fathom.benchmarks.leader.fewnerd_records import read_sentence
from fathom.corpus.records import BadRowError
from fathom.sources import read_sources
from fathom.sources.forms import PassedOverError
from made_shots import as_longicl, make_dialogue, make_sentence, write_shots

NAMES = ("dialogre", "longicl_dialogre", "fewnerd", "fewnerd_demos")


def test_the_authors_form_and_that_of_longiclbench_say_the_same() -> None:
    for number in range(20):
        made = make_dialogue(number, "test")
        authors, other = read_dialogre(made, "here"), read_test(as_longicl(made), "there")
        assert (authors.id, authors.text, authors.meta) == (other.id, other.text, other.meta)
        assert authors.meta["pairs"] == [[entry["x"], entry["y"], entry["r"][0]] for entry in made["relations"][:-1]]


def test_only_the_test_split_is_there_to_be_asked_about() -> None:
    assert [read_dialogre(make_dialogue(0, split), "here").meta["use"] for split in ("train", "dev", "test")] == [
        "demonstration",
        "demonstration",
        "test",
    ]


def test_a_row_of_one_pair_is_a_demonstration() -> None:
    row = {"dialogue": "A: Hi.", "subject_entity": "A", "object_entity": " B  C ", "relation": "per:boss"}
    assert read_demonstration(row, "here").meta["pairs"] == [["A", "B C", "per:boss"]]
    with pytest.raises(BadRowError, match="'object_entity' of a relation is not text"):
        read_demonstration({**row, "object_entity": 3}, "here")


def test_dialogues_without_a_relation_are_passed_over() -> None:
    made = make_dialogue(0)
    with pytest.raises(PassedOverError, match="none of its pairs has a relation"):
        read_dialogre({**made, "relations": made["relations"][-1:]}, "here")
    with pytest.raises(BadRowError, match="'dialogue' is empty"):
        read_test({**as_longicl(made), "dialogue": " "}, "here")


def test_entities_that_cannot_be_found_are_passed_over() -> None:
    made = make_sentence(0, "test")
    read = read_sentence(made, "here", "test")
    assert read.meta["entities"] == [list(entry) for entry in made["entities"].items()]
    with pytest.raises(PassedOverError, match="an entity that does not occur in the sentence"):
        read_sentence({**made, "entities": {**made["entities"], "Nowhere": "location-GPE"}}, "here", "test")
    with pytest.raises(PassedOverError, match="it has no entity"):
        read_sentence({**made, "entities": {}}, "here", "test")
    with pytest.raises(BadRowError, match="a type, a text, for each entity"):
        read_sentence({**made, "entities": {"Here": 3}}, "here", "test")


def test_fields_that_a_table_has_not_filled_are_no_entities() -> None:
    made = {**make_sentence(0, "test"), "entities": {"Here": "location-GPE", "Elsewhere": None}}
    assert read_sentence(made, "here", "test").meta["entities"] == [["Here", "location-GPE"]]


def test_the_files_are_found_by_their_names(tmp_path: Path) -> None:
    found = read_sources(NAMES, [write_shots(tmp_path, tests=4, demonstrations=10)])
    uses = {name: Counter(one.meta["use"] for one in documents) for name, documents in found.documents.items()}
    assert uses == {
        "dialogre": {"demonstration": 10, "test": 4},
        "longicl_dialogre": {"test": 4},
        "fewnerd": {"test": 4},
        "fewnerd_demos": {"demonstration": 11},
    }
    assert not found.problems


@pytest.mark.slow
def test_the_shared_files(shared: Path) -> None:
    found = read_sources(NAMES, [shared / "data/longleader"])
    uses = {name: Counter(one.meta["use"] for one in documents) for name, documents in found.documents.items()}
    assert uses == {
        "dialogre": {"demonstration": 251, "test": 252},
        "longicl_dialogre": {"test": 252},
        "fewnerd": {"test": 1221},
        "fewnerd_demos": {"demonstration": 560},
    }
    # The two copies of the test split are the same, but for one pair that LongICLBench has twice.
    authors = {one.text: one.meta["pairs"] for one in found.documents["dialogre"] if one.meta["use"] == "test"}
    other = {one.text: one.meta["pairs"] for one in found.documents["longicl_dialogre"]}
    assert sum(authors[text] != pairs for text, pairs in other.items()) <= 1
