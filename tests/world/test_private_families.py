"""Private families: a lab's own names and sentence forms stand in for the packaged ones, and are proven first."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from engine_calls import configure
from fathom import api
from fathom.suites.build import build
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import render
from fathom.types import FathomError
from fathom.world.facts import fillers
from fathom.world.names import TOWNS, Names
from fathom.world.papers import filler_passages, passage
from fathom.world.private import FACET, FILES, digest, file_name, packaged, private_of, read_private, tables, using
from fathom.world.private_proof import prove_private
from fathom.world.private_shape import faults
from fathom.world.prose import Writer
from fathom.world.reading import papers_of

sys.path.insert(0, str(Path(__file__).parents[2] / "performance"))
from private_family import family, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "own")
    return tmp_path / "own"


def changed(file: str, key: str, entry: int, text: str, folder: Path) -> Path:
    """A folder with one entry of a list of a packaged file changed."""
    value: Any = packaged(file)
    for part in key.split("."):
        value = value[part]
    entries = [*value[:entry], text, *value[entry + 1 :]]
    folder.mkdir(exist_ok=True)
    *table, last = key.split(".")
    head = f"[{'.'.join(table)}]\n" if table else ""
    (folder / f"{file}.toml").write_text(f"{head}{last} = {json.dumps(entries, ensure_ascii=False)}\n", "utf-8")
    return folder


@pytest.mark.parametrize("name", FILES)
def test_the_packaged_tables_have_no_fault(name: str) -> None:
    assert list(faults(name, packaged(name), packaged(name))) == []


def test_what_a_family_lacks_is_packaged() -> None:
    own = private_of({"en": {"acts": {"vote": {"kind": "a vote"}}}})
    with using(own):
        assert tables("en")["acts"]["vote"]["kind"] == "a vote"
        assert tables("en")["acts"]["vote"]["text"] == packaged("en")["acts"]["vote"]["text"]
        assert tables("zh") == packaged("zh")
        assert digest() == own.digest != ""
    assert digest() == ""
    assert tables("en") == packaged("en")


def test_texts_that_are_kept_are_those_of_their_family() -> None:
    plain = filler_passages(Writer(0, "en"), 0)
    with using(private_of(family(1))):
        assert filler_passages(Writer(0, "en"), 0) != plain
    assert filler_passages(Writer(0, "en"), 0) == plain


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two items a task are enough for a family that is known to be sound."""
    monkeypatch.setattr("fathom.world.private_proof.ITEMS", 2)


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_a_suite_of_a_private_family_has_its_names_and_its_digest(folder: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"lengths": (8192,), "items": 1, "tokenizer": "words", "languages": ("en",)}
    own = open_suite(build(configure("world_t3_2", family=folder, **options), tmp_path / "s").folder)
    plain = open_suite(build(configure("world_t3_2", **options), tmp_path / "t").folder)
    (sample,) = (each for each in own.samples() if each.length)
    text = render(sample, own.texts())
    read = {paper.town for paper in papers_of(text, "en")}
    with using(read_private(folder)):
        assert len(read) > 5
        assert read <= {Names(0, "en").town(number) for number in range(TOWNS)}
    assert not read & {Names(0, "en").town(number) for number in range(TOWNS)}
    assert "brought the council a petition" in text
    whole = read_private(folder).digest
    assert own.manifest["inputs"]["family"] == whole
    assert whole.startswith(str(sample.facets[FACET]))
    assert own.manifest["fingerprint"] != plain.manifest["fingerprint"]
    assert FACET not in next(iter(plain.samples())).facets
    assert "family" not in plain.manifest["inputs"]
    again = build(configure("world_t3_2", family=folder, **options), tmp_path / "s")
    assert not again.fresh
    (folder / "en.txt").unlink()
    with pytest.raises(FathomError, match="another suite"):
        build(configure("world_t3_2", family=folder, **options), tmp_path / "s")


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_a_bundle_would_show_names_and_is_refused_but_a_report_has_none(folder: Path, tmp_path: Path) -> None:
    api.build("world_t8_3", tmp_path / "s", family=folder, lengths="8k", items=1, tokenizer="words", languages="en")
    api.run(tmp_path / "s", model="fathom/lexical", out=tmp_path / "r")
    with pytest.raises(FathomError, match="names of a private family"):
        api.board_bundle([tmp_path / "r"], out=tmp_path / "b.zip")
    api.report([tmp_path / "r"], out=tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    own = read_private(folder).tables["names"]["en"]
    assert not any(name in page for name in (*own["stems"], *own["districts"], str(folder)))


@pytest.mark.parametrize(
    ("file", "key", "entry", "text", "message"),
    [
        ("en", "acts.petition.text", 0, "{person} asks for {work}.", r"en\.toml, line 2: .*entry 1: lacks \{count\}"),
        ("en", "acts.vote.text", 1, "{person}, {money}, {work}, {town}", r"\{town\} has no value here"),
        ("en", "acts.vote.text", 1, "{person!r:>99} {money} {work}", "is not a plain name"),
        ("en", "acts.vote.text", 1, "{person.__class__} {money} {work}", "is not a plain name"),
        ("en", "acts.gift.text", 1, "{person} handed over {money} for {work}.", r"gift\.text, entry 2: the text"),
        ("en", "works", 2, "the iron bridge", "stands there twice"),
        ("en", "works", 2, "the iron bridge by night", "no entry may be a part of another"),
        ("en", "works", 2, "the opera", r"other_words\.toml: works\.en: lacks other words"),
        ("en", "works", 0, "the iron\u202e bridge", "cannot be seen"),
        ("en", "works", 0, " ", "not empty"),
        ("names", "en.surnames", 4, "<b>Hall</b>", r"en, titles.*'Mr Edwin <b>Hall</b>', which is no person"),
        ("names", "en.districts", 4, "../etc", "which is no district"),
        ("names", "zh.stems", 4, "上海", "which is no town"),
        ("names", "en.endings", 0, "moorwick", "equal to or a part of another|stands there twice"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_file_and_key(
    file: str, key: str, entry: int, text: str, message: str, tmp_path: Path
) -> None:
    if "moor" in text:
        text = str(packaged("names")["en"]["endings"][1]) + "s"
    with pytest.raises(FathomError, match=message):
        prove_private(changed(file, key, entry, text, tmp_path / "own"), ["T3.2"], ["en", "zh"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[en]\nstems = ['Ash']", "1 entry; at least"),
        ("[en]\nsurname = ['Ash']", r"en\.surname: no such key .* did you mean surnames"),
        ("en = 'Ash'", "en: expected a table"),
        ("[en]\nstems = 'Ash'", r"en\.stems: expected a list"),
        ("[en]\nstems = [", "not valid TOML"),
    ],
)
def test_a_table_of_another_shape_is_named(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "names.toml").write_text(content, "utf-8")
    with pytest.raises(FathomError, match=message):
        prove_private(tmp_path)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("= act.vote\n{person} moved {money} for {work}", r"line 2: act\.vote, line 1: .* does not read papers"),
        ("= act.vote\n{person} voted {money}", r"en\.txt, line 2: act\.vote, line 1: lacks \{work\}"),
        ("= act.vote\n{person} voted {money} for {work} of {town}", r"\{town\} is no rule and has no value here"),
        ("= act.vote\n{person} voted [{money} for {work}", "line 2: .*a bracket is not closed"),
        ("= act.vote\n{person} voted {money} for {work} {when", "a brace that is not closed"),
        ("= act.vote\n{person} voted [{money}|much] for {work}", r"act\.vote, line 1: .* does not read papers"),
        ("= act.vote", r"en\.txt, line 1: act\.vote: has no line"),
        ("= act.votes\n{person} voted {money} for {work}", r"act\.votes: no packaged rule; did you mean act\.vote\?"),
        ("= link\n{cause} ended in {effect}", r"line 2: link, line 1: .* does not read papers"),
        ("= lead.letter\nHow they voted:\nit's said that", r"line 2: lead\.letter, line 1: .* does not read papers"),
        ("= opening.letter\nMr John Hall voted 300 crowns for the quay.", r"opening\.letter, line 1: .* does not read"),
        ("= last\n{person.born.year}", "is no rule"),
        ("= when: at noon\n= when: at night", r"en\.txt, line 2: duplicate rule 'when'"),
    ],
)  # fmt: skip
def test_a_fault_of_a_rule_is_named_with_its_line(rules: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text(rules, "utf-8")
    with pytest.raises(FathomError, match=message):
        prove_private(tmp_path, ["T3.2"], ["en"])


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_a_rule_may_use_new_ones_and_those_that_are_missing_are_packaged(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text(
        "= act.gift: {our.way}{money} for {work}\n= our.way: {person} gave |a gift", "utf-8"
    )
    (tmp_path / "zh.txt").write_text("# nothing yet", "utf-8")
    with pytest.raises(FathomError, match=r"act\.gift, line 1: lacks \{person\}"):
        prove_private(tmp_path, ["T3.2"], ["en"])
    lines = "= act.gift: {our.way}: {person} gave {money} for {work}\n= our.way: it's said | {someone} wrote"
    (tmp_path / "en.txt").write_text(lines, "utf-8")
    own = prove_private(tmp_path, ["T3.2"], ["en"])
    with using(own):
        texts = " ".join(each.text for each in filler_passages(Writer(0, "en"), 0))
    plain = " ".join(each.text for each in filler_passages(Writer(0, "en"), 0))
    assert "t’s said: M" in texts
    assert "t’s said: M" not in plain
    assert "petition" in texts


@pytest.mark.slow
def test_a_form_that_is_read_by_no_solver_is_found_among_those_of_whole_texts(tmp_path: Path) -> None:
    kind = "Chronicle for {town}"
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "en.toml").write_text(f"kinds.chronicle = '{kind}'\n", "utf-8")
    with pytest.raises(FathomError, match=r"kinds\.chronicle: the text solver does not read papers in en"):
        prove_private(tmp_path / "a", ["T3.2"], ["en"])
    passed = packaged("inventory")["passed"][0]
    table = [[passed[0].replace(" ", "_"), passed[1]], *packaged("inventory")["passed"][1:]]
    (tmp_path / "inventory.toml").write_text(f"passed = {json.dumps(table, ensure_ascii=False)}\n", "utf-8")
    with pytest.raises(FathomError, match=r"inventory\.toml, line 1: passed, entry 1: .* T8\.3 in en"):
        prove_private(tmp_path, ["T8.3"], ["en"])


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_a_family_of_one_language_is_enough(folder: Path) -> None:
    (folder / "en.txt").unlink()
    text = (folder / "names.toml").read_text("utf-8")
    (folder / "names.toml").write_text(text[: text.index("[zh]")], "utf-8")
    assert prove_private(folder, ["T3.2"]).tables.keys() == {"names"}


def test_a_new_folder_has_all_files_and_is_no_family_until_something_is_changed(tmp_path: Path) -> None:
    records = api.data_family(tmp_path / "new")
    assert [record["file"] for record in records] == list(map(file_name, FILES))
    assert {path.name for path in (tmp_path / "new").iterdir()} == set(map(file_name, FILES))
    with pytest.raises(FathomError, match="write some of your own"):
        api.data_family(tmp_path / "new")


def test_a_family_needs_a_folder_with_its_files_and_a_suite_that_takes_it(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FathomError, match=r"starter has no task of the suite world"):
        configure("starter", family=folder)
    with pytest.raises(FathomError, match=r"no such folder; `fathom data family"):
        read_private(tmp_path / "none")
    (tmp_path / "names.md").write_text("x", "utf-8")
    with pytest.raises(FathomError, match="none of the files"):
        read_private(tmp_path)
    (tmp_path / "nomes.toml").write_text("x = 1", "utf-8")
    with pytest.raises(FathomError, match=r"nomes\.toml: no such file of a family"):
        read_private(tmp_path)


def test_every_paper_tells_the_same_facts_with_other_words() -> None:
    paper = fillers(0, 0)[3]
    plain = passage(Writer(0, "en"), paper)
    with using(private_of(family(2))):
        own = passage(Writer(0, "en"), paper)
    assert plain.key == own.key
    assert plain.text != own.text
    assert plain.title.split()[0] == own.title.split()[0]
