"""DialogRE and Few-NERD: all their forms say the same, and what nobody could answer is passed over."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fathom.benchmarks.leader.dialogre_records import read_demonstration, read_dialogre, read_test
from fathom.benchmarks.leader.fewnerd_records import read_sentence, read_words
from fathom.documents.corpus.records import BadRowError
from fathom.documents.sources import read_sources
from fathom.documents.sources.forms import PassedOverError
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
    with pytest.raises(PassedOverError, match="it names an entity that does not occur in the sentence"):
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


def as_authors(record: dict[str, Any]) -> list[Any]:
    """A dialogue as DialogRE's own files have it: turns and pairs without names."""
    return [record["dialogue"], record["relations"]]


def write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


@pytest.mark.parametrize("name", ["dialogre", "dialogre-master"])
def test_the_authors_files_of_dialogre_are_read_as_they_are(tmp_path: Path, name: str) -> None:
    made = {split: [make_dialogue(number, split) for number in range(3)] for split in ("train", "dev", "test")}
    old = {**made["test"][0], "relations": [{"x": "Speaker 1", "y": "Old", "r": ["per:old"]}]}
    chinese = [["Speaker 1: 你好，我们明天去海边吧。"], [{"x": "Speaker 1", "y": "海边", "r": ["per:visited_place"]}]]
    for split, dialogues in made.items():
        write_json(tmp_path / name / f"data_v2/en/data/{split}.json", list(map(as_authors, dialogues)))
        write_json(tmp_path / name / f"data_v2/cn/data/{split}.json", [chinese])
    write_json(tmp_path / name / "data/test.json", [as_authors(old)])
    found = read_sources(["dialogre"], [tmp_path])
    documents = found.documents["dialogre"]
    assert Counter(one.meta["use"] for one in documents) == {"demonstration": 6, "test": 3}
    assert {str(one.meta["pairs"]) for one in documents} == {
        str(read_dialogre(one, "here").meta["pairs"]) for split in made.values() for one in split
    }
    assert {path.parent.parent.name for path in found.files["dialogre"]} == {"en"}
    assert not found.problems


def test_dialogues_of_the_chinese_edition_are_passed_over(tmp_path: Path) -> None:
    chinese = [["Speaker 1: 你好，我们明天去海边吧。"], [{"x": "Speaker 1", "y": "海边", "r": ["per:visited_place"]}]]
    write_json(tmp_path / "dialogre/data_v2/cn/data/test.json", [chinese])
    found = read_sources(["dialogre"], [tmp_path])
    assert not found.documents
    assert any("1 row skipped: it is not of the English edition" in problem for problem in found.problems)


SENTENCES = """\
Ada\tperson-scholar
Lovelace\tperson-scholar
wrote\tO
``\tO
The\tart-writtenart
Bridge\tart-writtenart
's\tart-writtenart
Song\tart-writtenart
``\tO
(\tO
Oslo\tlocation-GPE
,\tO
$\tO
10\tO
)\tO
.\tO

Nothing\tO
here\tO
.\tO

Rome\tB-location-GPE
Paris\tB-location-GPE
New\tB-location-GPE
York\tI-location-GPE
"""
"""Two sentences with entities, one with marks of beginnings, and one without."""

READ = {
    "Ada Lovelace wrote ``The Bridge's Song`` (Oslo, $10).": [
        ["Ada Lovelace", "person-scholar"],
        ["The Bridge's Song", "art-writtenart"],
        ["Oslo", "location-GPE"],
    ],
    "Rome Paris New York": [["Rome", "location-GPE"], ["Paris", "location-GPE"], ["New York", "location-GPE"]],
}


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("folder", ["Few-NERD/data/supervised", "supervised", "fewnerd"])
def test_the_authors_texts_of_few_nerd_are_read_as_they_are(tmp_path: Path, folder: str) -> None:
    write_text(tmp_path / folder / "test.txt", SENTENCES)
    write_text(tmp_path / folder / "train.txt", "Oslo\tlocation-GPE\r\nsleeps\tO\r\n.\tO\r\n")
    found = read_sources(["fewnerd", "fewnerd_demos"], [tmp_path])
    by_use = {
        use: [one for one in found.documents["fewnerd"] if one.meta["use"] == use] for use in ("test", "demonstration")
    }
    assert {one.text: one.meta["entities"] for one in by_use["test"]} == READ
    assert {one.text: one.meta["entities"] for one in by_use["demonstration"]} == {
        "Oslo sleeps.": [["Oslo", "location-GPE"]]
    }
    assert [one.source for one in by_use["test"]] == ["fewnerd/test.txt:1", "fewnerd/test.txt:22"]
    assert [problem.partition("test.txt: ")[2] for problem in found.problems] == ["1 row skipped: it has no entity"]


def test_the_supervised_splits_come_before_those_of_few_shot_learning(tmp_path: Path) -> None:
    write_text(tmp_path / "few-nerd/data/supervised/test.txt", SENTENCES)
    write_text(tmp_path / "few-nerd/data/inter/test.txt", "Oslo\tlocation-GPE\n")
    assert {one.text for one in read_sources(["fewnerd"], [tmp_path]).documents["fewnerd"]} == set(READ)


def test_a_line_without_a_label_is_told_with_its_number(tmp_path: Path) -> None:
    write_text(tmp_path / "fewnerd/test.txt", f"{SENTENCES}lost\n.\tO\n")
    found = read_sources(["fewnerd"], [tmp_path])
    assert len(found.documents["fewnerd"]) == 2
    assert any("test.txt:26: expected a word, a tab and its label" in problem for problem in found.problems)


def test_other_texts_are_no_sentences(tmp_path: Path) -> None:
    write_text(tmp_path / "few-nerd/readme.txt", "How to use these files.\n\nRun it.\n")
    write_text(tmp_path / "qasper/test.txt", "Oslo\tlocation-GPE\n")
    assert not read_sources(["fewnerd", "qasper"], [tmp_path]).documents


def test_episodes_of_few_nerd_give_the_sentences_of_both_their_sets(tmp_path: Path) -> None:
    sets = {
        "support": {"word": [["Oslo", "sleeps"]], "label": [["location-GPE", "O"]]},
        "query": {"word": [["In", "Rome"], ["Ada", "!"]], "label": [["O", "location-GPE"], ["person-scholar", "O"]]},
    }
    rows = [{**sets, "types": ["location-GPE", "person-scholar"]}, {**sets, "query": {"word": [["Oslo"]]}}]
    for split in ("train", "test"):
        text = "".join(json.dumps(one) + "\n" for one in rows)
        write_text(tmp_path / f"few-nerd/episode-data/inter/{split}_5_1.jsonl", text)
    found = read_sources(["fewnerd"], [tmp_path])
    assert sorted((one.text, one.meta["use"]) for one in found.documents["fewnerd"]) == [
        ("Ada!", "demonstration"),
        ("Ada!", "test"),
        ("In Rome", "demonstration"),
        ("In Rome", "test"),
        ("Oslo sleeps", "demonstration"),
        ("Oslo sleeps", "test"),
    ]
    assert (
        len([problem for problem in found.problems if "'query' should have lists 'word' and 'label'" in problem]) == 2
    )


def test_words_and_labels_of_different_number_cannot_be_used() -> None:
    with pytest.raises(BadRowError, match="it has 2 words and 1 labels"):
        read_words({"word": ["a", "b"], "label": ["O"]}, "here")


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
