"""Documents for the studio: buckets, equal and nearly equal texts, groups."""

import json
import zipfile
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.studio.intake import (
    KEPT,
    Intake,
    IntakeDocument,
    IntakeRules,
    Sketch,
    bucket_of,
    groups,
    mark_near,
    read_documents,
    sketch_of,
    taken_of,
)
from fathom.studio.types import BUCKETS, StudioDocument
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError
from fathom.world.corpus import generate

WORDS = get_tokenizer("words")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))


def book(seed: int, articles: int = 12, language: str = "en") -> str:
    return "\n\n".join(one.text for one in islice(generate(seed, language), articles))


def read(folder: Path, rules: IntakeRules | None = None) -> Intake:
    return read_documents([str(folder)], WORDS, rules=rules)


@pytest.mark.parametrize(
    ("tokens", "bucket"),
    [(8192, 8192), (6600, 8192), (6500, 0), (9800, 8192), (10_000, 0), (13_200, 16_384), (262_144, 262_144), (0, 0)],
)
def test_buckets_with_a_tolerance_of_a_fifth(tokens: int, bucket: int) -> None:
    assert bucket_of(tokens) == bucket


def test_without_tolerance_only_exact_lengths_fit() -> None:
    assert bucket_of(8192, BUCKETS, 0) == 8192
    assert bucket_of(8193, BUCKETS, 0) == 0
    assert bucket_of(100, (), 0.2) == 0


def test_documents_of_all_formats_with_buckets_languages_and_titles(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.md").write_text("# A novel\n\n" + book(1), encoding="utf-8")
    record = {"text": book(2, language="zh"), "title": "二", "licence": "CC0-1.0"}
    (folder / "b.jsonl").write_text(json.dumps(record) + "\nnot JSON\n", encoding="utf-8")
    with zipfile.ZipFile(folder / "c.zip", "w") as archive:
        archive.writestr("inside.txt", book(3))
    (folder / "d.exe").write_bytes(b"MZ")
    found = read(folder, IntakeRules((4096, 16384), 0.5, domain="fiction", format="novel"))
    english, chinese, zipped = (one.document for one in found.taken)
    assert (english.title, english.language, english.source) == ("A novel", "en", "a.md")
    assert (chinese.title, chinese.language, chinese.licence) == ("二", "zh", "CC0-1.0")
    assert zipped.source == "c/inside.txt"
    assert [one.bucket for one in (english, chinese, zipped)] == [
        bucket_of(one.tokens, (4096, 16384), 0.5) for one in (english, chinese, zipped)
    ]
    assert found.no_bucket == sum(not one.document.bucket for one in found.taken) < 3
    assert {(one.state, one.domain, one.format) for one in (english, chinese, zipped)} == {
        ("collected", "fiction", "novel")
    }
    assert english.tokens == WORDS.count(found.taken[0].text)
    assert "b.jsonl:2" in found.problems[0]
    assert "d.exe" in found.unread[0]


def test_what_is_in_the_studio_already_is_not_taken_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(book(1), encoding="utf-8")
    first = read(tmp_path)
    again = read_documents([str(tmp_path)], WORDS, earlier={one.document.id: one.sketch for one in first.taken})
    assert not again.taken
    assert again.known == ((first.taken[0].document.id, "a.txt"),)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_editions_and_excerpts_are_nearly_equal_and_others_are_not(tmp_path: Path, language: str) -> None:
    text = book(1, 30, language)
    edited = "".join("-" if Random(place).random() < 0.003 else one for place, one in enumerate(text))
    for name, content in {
        "a": text,
        "b_edition": edited.upper(),
        "c_excerpt": text[2000:6000],
        "d_other": book(2, 30, language),
        "e_short": text[:9],
    }.items():
        (tmp_path / f"{name}.txt").write_text(content, encoding="utf-8")
    found = read(tmp_path, IntakeRules(state="available"))
    first, *others = found.taken
    near = [one.document.duplicate_of for one in others]
    assert near[:3] == [first.document.id, first.document.id, ""]
    assert found.nearly_equal == sum(map(bool, near))
    later = mark_near(others, {first.document.id: first.sketch})
    assert [one.document.duplicate_of for one in later] == near


@given(st.text(max_size=400), st.text(max_size=400))
@settings(max_examples=100, deadline=None)
def test_any_text_has_a_sketch_and_shares_all_of_itself(one: str, other: str) -> None:
    mine, theirs = sketch_of(one), sketch_of(other)
    assert len(mine) <= 8 * KEPT

    def near(new: Sketch, old: Sketch, share: float) -> bool:
        (found,) = mark_near([IntakeDocument(StudioDocument("new", "", "en"), "", new)], {"old": old}, share)
        return found.document.duplicate_of == "old"

    assert near(mine, mine, 1.0) == bool(mine)
    for share in (0.1, 0.5, 1.0):
        assert near(mine, theirs, share) == near(theirs, mine, share)


def test_sketches_are_the_same_everywhere() -> None:
    assert sketch_of("A fixed text, long enough for several runs.").hex()[:32] == "d06d914623e3c50433e613f789971817"


def test_groups_of_short_documents_fill_a_bucket() -> None:
    contracts = [
        StudioDocument(f"c{number}", "", "en", tokens=3000, state="available", domain="ab"[number % 2])
        for number in range(40)
    ]
    others = [
        StudioDocument("zh", "", "zh", tokens=3000, state="available"),
        StudioDocument("copy", "", "en", tokens=3000, state="available", duplicate_of="c1"),
        StudioDocument("out", "", "en", tokens=3000, state="excluded"),
        StudioDocument("long", "", "en", tokens=16_000, state="available"),
    ]
    found = groups(contracts + others, 16_384)
    assert len(found) == 8
    used = [id for group in found for id in group]
    assert len(set(used)) == len(used) == 40
    assert all(13_108 <= 3000 * len(group) <= 19_660 for group in found)
    domains = {one.id: one.domain for one in contracts}
    assert sum(len({domains[id] for id in group}) == 1 for group in found) >= 7
    assert groups(contracts, 16_384, seed=1) != found


def test_a_wrong_tolerance_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="from 0 to less than 1"):
        IntakeRules(tolerance=1.5)
    with pytest.raises(FathomError, match="at most 1"):
        IntakeRules(near=0)
    with pytest.raises(FathomError, match="no such file or folder"):
        read(tmp_path / "nowhere")


def test_a_document_of_the_world_can_be_taken() -> None:
    from fathom.tokens.counts import TokenCounter

    article = next(generate(1, "en"))
    taken = taken_of(article, TokenCounter(WORDS))
    assert (taken.document.id, taken.document.bucket, taken.text) == (article.id, 0, article.text)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_documents_of_the_world_fit_their_buckets(language: str) -> None:
    spec = f"world?language={language}&seed=2"
    found = read_documents([spec], WORDS, rules=IntakeRules(buckets=(8192, 16384, 65536)))
    assert [one.document.bucket for one in found.taken] == [8192] * 3 + [16384] * 3
    assert {one.document.language for one in found.taken} == {language}
    assert not found.nearly_equal
    assert read_documents([spec], WORDS, rules=IntakeRules(buckets=(8192, 16384, 65536))) == found
    with pytest.raises(FathomError, match="seed=NUMBER and language=en or zh"):
        read_documents(["world?size=3"], WORDS)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# A novel\n\nIt was dark.", "A novel"),
        ("A NOVEL\n\nIt was dark.", "A NOVEL"),
        ("It was the best of times, it was the worst of\ntimes, it was the age", "book"),
        ("It was dark.\n\nNobody saw it.", "It was dark."),
        ("It was dark,\n\nand nobody saw it.", "book"),
        ("第一章\n\n天黑了。", "第一章"),
        ("天黑了，\n\n没有人看见。", "book"),
        ("x" * 500, "book"),
        ("A line alone", "A line alone"),
    ],
)
def test_a_title_is_a_heading_or_the_name_of_the_file_and_no_part_of_a_sentence(
    tmp_path: Path, text: str, title: str
) -> None:
    (tmp_path / "book.txt").write_text(text, encoding="utf-8")
    (taken,) = read(tmp_path, IntakeRules()).taken
    assert taken.document.title == title
