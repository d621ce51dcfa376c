"""The generated corpus keeps its promises: same everywhere, consistent, answerable, without a groan."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import mistral_common
import pytest
from mistral_common.tokens.tokenizers.tekken import Tekkenizer

from fathom.documents.corpus.text import document_id
from fathom.documents.world import article, generate
from fathom.documents.world.cluster import EVENT_KINDS, cluster_of
from fathom.documents.world.draws import KeyedRandom
from fathom.documents.world.generator import heading
from fathom.documents.world.grammar import Choice, Plan, Slot, load, parse
from fathom.types import Document, FathomError

pytestmark = pytest.mark.slow

LANGUAGES = ("en", "zh")
# What a sentence plan may name besides the rules of its grammar: facts of its article, and the discourse.
FACTS = "p post work award journey x f e h a entry step mark figure head branch share place value first last one two"
KNOWN = {
    *FACTS.split(),
    "best",
    "next",
    "S",
    "Ss",
    "O",
    "he",
    "his",
    "him",
    "himself",
    "name",
    "fullname",
    "coins",
    "someone",
    "they",
}
FORMATS = {f"event.name.{kind}" for kind in EVENT_KINDS} | {
    f"others.{kind}" for kind in ("person.f", "person.m", "place", "firm", "chronicle")
}
SENTENCE = re.compile(r"[^.?!。？！\n]+[.?!。？！]*[”’]?")
FORBIDDEN = ("{", "}", "[", "]", "|", "  ", " ,", " .", "..", ",,", "，，", "。。", "，。", "的的", "None", "facts.")


@cache
def sample(language: str, count: int = 160) -> tuple[Document, ...]:
    return tuple(article(11, language, index) for index in range(count))


@cache
def tekken() -> Tekkenizer:
    return Tekkenizer.from_file(Path(mistral_common.__file__).parent / "data" / "tekken_240911.json")


# ------------------------------------------------------------------------------------------ determinism


@pytest.mark.parametrize("language", LANGUAGES)
def test_any_article_can_be_made_on_its_own(language: str) -> None:
    run = list(islice(generate(11, language), 40))
    cluster_of.cache_clear()
    assert [article(11, language, index) for index in (39, 0, 17)] == [run[39], run[0], run[17]]


@pytest.mark.parametrize("language", LANGUAGES)
def test_document_is_well_formed(language: str) -> None:
    for number, document in enumerate(sample(language, 40)):
        assert document.id == document_id(document.text)
        assert document.language == language
        assert document.source == f"world:11/{language}/{number}"
        assert document.text == document.text.strip()
        assert "\r" not in document.text


def test_dice_never_change() -> None:
    # Every world hangs on these: they must be the same on every platform and Python version.
    rng = KeyedRandom("a", 1)
    assert [rng.between(0, 999) for _ in range(4)] == [383, 722, 945, 111]
    assert KeyedRandom("b").shuffled(range(6)) == [3, 2, 0, 4, 1, 5]


def test_different_seeds_are_different_worlds() -> None:
    for language in LANGUAGES:
        one, two = ({heading(seed, language, index)[0] for index in range(500)} for seed in (1, 2))
        assert not one & two


def test_unknown_language_is_refused() -> None:
    with pytest.raises(FathomError, match="unknown language 'xx'"):
        article(0, "xx", 0)


# --------------------------------------------------------------------------------------------- identity


@pytest.mark.parametrize("language", LANGUAGES)
def test_titles_are_unique(language: str) -> None:
    titles = Counter(heading(3, language, index)[0] for index in range(5000))
    assert [title for title, count in titles.items() if count > 1] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_heading_is_the_title_of_the_article(language: str) -> None:
    assert [heading(11, language, index) for index in range(20)] == [
        (document.title, document.meta["kind"]) for document in sample(language)[:20]
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_of_places_people_and_firms_are_unique(language: str) -> None:
    clusters = [cluster_of(3, language, number) for number in range(313)]
    for names in (
        [place.full for cluster in clusters for place in cluster.places],
        [person.name.full for cluster in clusters for person in cluster.people],
        [firm.full for cluster in clusters for firm in cluster.firms],
        [event.full for cluster in clusters for event in cluster.events],
        [chronicle.full for cluster in clusters for chronicle in cluster.chronicles],
    ):
        assert len(set(names)) == len(names)


# ------------------------------------------------------------------------------------------------- text


@pytest.mark.parametrize("language", LANGUAGES)
def test_lengths_are_spread_between_300_and_3000_tokens(language: str) -> None:
    lengths = sorted(len(tekken().encode(document.text, bos=False, eos=False)) for document in sample(language))
    assert lengths[0] >= 300
    assert lengths[-1] <= 3000
    assert lengths[-1] > 2.5 * lengths[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_of_article_exists(language: str) -> None:
    kinds = {str(document.meta["kind"]) for document in sample(language)}
    events = {"festival", "expedition", "trial", "flood", "treaty", "exhibition"}
    assert kinds == {"biography", "portrait", "firm", "chronicle", "accounts"} | events


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_sentence_twice_in_an_article(language: str) -> None:
    for document in sample(language):
        counts = Counter(sentence.strip() for sentence in SENTENCE.findall(document.text))
        assert [sentence for sentence, count in counts.items() if count > 1] == [], document.source


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_are_rarely_shared_between_articles(language: str) -> None:
    seen = Counter(
        sentence
        for document in sample(language)
        for sentence in {found.strip() for found in SENTENCE.findall(document.text)}
    )
    shared = sum(count for count in seen.values() if count > 1)
    assert shared / seen.total() < 0.03


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_marks_of_the_machine(language: str) -> None:
    for document in sample(language):
        texts = [document.text, document.title, document.summary, *(question.text for question in document.questions)]
        for text in texts:
            assert [mark for mark in FORBIDDEN if mark in text] == [], (document.source, text)


def test_english_spelling() -> None:
    faults = {
        "a before a vowel": r"\b[Aa] [aeiou](?!n?e\b|ni[^nm]|se|ur)\w+",
        "an before a consonant": r"\b[Aa]n [bcdfgjklmnpqrstvwxyz]\w+",
        "small letter at the start of a sentence": r"(?:^|\n|[a-z]\. |\? |! )[“(]?[a-z]",
        "word doubled": r"\b(the|of|in|and|was|to|is|which|by|with) \1\b",
        "paragraph without an end": r"[^.?!:”\d\w]\n\n|^(?!- ).*[a-z]\n\n",
        "straight quote": "[\"']",
        "plural of one": r"\bone (crowns|years|miles|children|people|hands|names|votes|weeks)\b",
    }
    for document in sample("en"):
        for text in (document.text, document.summary):
            for fault, pattern in faults.items():
                found = re.search(pattern, text, re.MULTILINE if "^(?!" in pattern else 0)
                assert found is None, (fault, document.source, text[max(0, found.start() - 40) : found.end() + 20])


def test_chinese_punctuation() -> None:
    for document in sample("zh"):
        for text in (document.text, document.title, document.summary):
            assert not re.search(r"[,;:?!\"'()]", text), document.source
            assert not re.search(r"[。，；：、][。，；：、]", text), document.source
            assert not re.search(r"[A-Za-z]", text), document.source
        for paragraph in document.text.split("\n\n"):
            assert paragraph[-1] in "。？！”" or paragraph.splitlines()[-1].startswith("· "), paragraph


def slots(plan: Plan) -> Iterator[Slot]:
    for part in plan:
        if isinstance(part, Slot):
            yield part
        elif isinstance(part, Choice):
            for inner in part.plans:
                yield from slots(inner)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_plan_parses_and_names_only_known_things(language: str) -> None:
    grammar = load(language)
    for rule in grammar.names():
        for plan in grammar.plans(rule) if "{" in str(grammar.words(rule)) and rule not in FORMATS else ():
            for slot in slots(plan):
                known = slot.rule in grammar or slot.base in KNOWN or slot.rule.removesuffix(".s") in grammar
                assert known or re.fullmatch(r"#\d+-\d+", slot.base), (rule, slot)
    with pytest.raises(FathomError, match="outside brackets"):
        parse("one ] two")
    with pytest.raises(FathomError, match="not closed"):
        parse("one [two|three")
    with pytest.raises(FathomError, match="no rule 'nothing'"):
        grammar.words("nothing")


# -------------------------------------------------------------------------------------------- questions


@pytest.mark.parametrize("language", LANGUAGES)
def test_questions_are_many_and_different(language: str) -> None:
    kinds = Counter(str(question.meta["kind"]) for document in sample(language) for question in document.questions)
    assert {"who", "when", "where", "how many", "how much", "which", "difference", "duration", "order"} <= set(kinds)
    for document in sample(language):
        texts = [question.text for question in document.questions]
        assert len(set(texts)) == len(texts) >= 5, document.source


@pytest.mark.parametrize("language", LANGUAGES)
def test_evidence_shows_what_the_answer_needs(language: str) -> None:
    for document in sample(language):
        for question in document.questions:
            assert question.answers
            assert all(question.answers)
            evidence = [document.text[start:end] for start, end in question.evidence]
            assert evidence
            shown = question.meta["shown"]
            assert isinstance(shown, tuple)
            for form in shown:
                assert any(form in text for text in evidence), (document.source, question.text)
            if question.meta["kind"] in {"who", "when", "where", "how many", "how much", "how far", "how long"}:
                assert any(answer in text for text in evidence for answer in question.answers), question.text


@pytest.mark.parametrize("language", LANGUAGES)
def test_questions_are_unique_in_the_corpus(language: str) -> None:
    asked: dict[str, tuple[str, ...]] = {}
    for document in sample(language):
        for question in document.questions:
            before = asked.setdefault(question.text, question.answers)
            assert set(before) & set(question.answers), question.text


@pytest.mark.parametrize("language", LANGUAGES)
def test_summary_names_the_subject_and_is_not_copied(language: str) -> None:
    for document in sample(language):
        sentences = [sentence.strip() for sentence in SENTENCE.findall(document.summary)]
        assert 1 <= len(sentences) <= 4
        assert not any(sentence in document.text for sentence in sentences)
