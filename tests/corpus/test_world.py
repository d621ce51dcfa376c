"""The generated corpus keeps its promises: same everywhere, consistent, answerable, without a groan."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Literal

import mistral_common
import pytest
from mistral_common.tokens.tokenizers.tekken import Tekkenizer

from fathom.documents.corpus.text import document_id
from fathom.types import Document, FathomError, Question
from fathom.world.corpus import article, generate
from fathom.world.corpus.articles import ASIDES, ORDERS
from fathom.world.corpus.district import KINDS, district
from fathom.world.corpus.questions import Asker, Reported
from fathom.world.corpus.speech import Prose, Speech
from fathom.world.corpus.writer import Writer
from fathom.world.facts import SLOTS
from fathom.world.plans import Choice, Plan, Slot, load, parse

pytestmark = pytest.mark.slow

LANGUAGES = ("en", "zh")
# What a sentence plan may name besides the rules of its grammar: facts of its article, and the discourse.
DISCOURSE = (
    "work town towns works district first last when pause date act noun other rival place place.river coins S O he his "
    "him someone"
)
KNOWN = {*DISCOURSE.split(" "), *(slot for slots in SLOTS.values() for slot in slots)}
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
    district.cache_clear()
    article.cache_clear()
    assert [article(11, language, index) for index in (39, 0, 17)] == [run[39], run[0], run[17]]


@pytest.mark.parametrize("language", LANGUAGES)
def test_document_is_well_formed(language: str) -> None:
    for number, document in enumerate(sample(language, 40)):
        assert document.id == document_id(document.text)
        assert document.language == language
        assert document.source == f"world:11/{language}/{number}"
        assert document.text == document.text.strip()
        assert "\r" not in document.text


def test_different_seeds_are_different_worlds() -> None:
    for language in LANGUAGES:
        one, two = ({article(seed, language, index).title for index in range(150)} for seed in (1, 2))
        assert not one & two


def test_unknown_language_is_refused() -> None:
    with pytest.raises(FathomError, match="unknown language 'xx'"):
        article(0, "xx", 0)


# --------------------------------------------------------------------------------------------- identity


@pytest.mark.parametrize("language", LANGUAGES)
def test_titles_are_unique(language: str) -> None:
    titles = Counter(article(3, language, index).title for index in range(1200))
    assert [title for title, count in titles.items() if count > 1] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_towns_and_districts_have_different_names_without_end(language: Literal["en", "zh"]) -> None:
    speech = Speech(Prose(3, language))
    for names in (
        [speech.town(number) for number in range(40_000)],
        [speech.district(number) for number in range(6000)],
    ):
        assert len(set(names)) == len(names)


def test_both_languages_tell_and_ask_the_same() -> None:
    for english, chinese in zip(sample("en"), sample("zh"), strict=True):
        assert english.meta["kind"] == chinese.meta["kind"]
        assert [question.meta["kind"] for question in english.questions] == [
            question.meta["kind"] for question in chinese.questions
        ]
        for one, two in zip(english.questions, chinese.questions, strict=True):
            if one.meta["kind"] in {"when", "how much", "how many", "difference", "duration"}:
                assert one.answers[-1] == two.answers[-1]


# ------------------------------------------------------------------------------------------------- text


@pytest.mark.parametrize("language", LANGUAGES)
def test_lengths_are_spread_between_300_and_3000_tokens(language: str) -> None:
    lengths = sorted(len(tekken().encode(document.text, bos=False, eos=False)) for document in sample(language))
    assert lengths[0] >= 300
    assert lengths[-1] <= 3000
    assert lengths[-1] > 2.5 * lengths[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_of_article_exists(language: str) -> None:
    assert {str(document.meta["kind"]) for document in sample(language)} == {kind for kind, _, _ in KINDS}


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
        "number after a date": r"\b(?:January|March|August|October|December),? (?:\d+, )?\d{4} \d",
        "than after hardly": r"[Hh]ardly had [^.;,]* than |[Ss]carcely had [^.;,]* than ",
        "not without but": r"was not the [^.;]*, it was the",
        "plural of one": r"\b(?<![-,\d])(one|1) (crowns|years|miles|children|people|names|votes|weeks|loads|guests)\b",
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
        for plan in grammar.plans(rule):
            for slot in slots(plan):
                known = slot.rule in grammar or slot.rule in KNOWN or slot.rule.removesuffix(".s") in grammar
                assert known or re.fullmatch(r"#\d+-\d+", slot.base), (rule, slot)
            if rule.startswith("act."):
                names = [slot.rule for slot in slots(plan)]
                assert names.count("when") == 1, (rule, names)
                assert {*SLOTS[rule.removeprefix("act.")], "work"} <= set(names), (rule, names)
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
                shown_in = [form.lower() in text.lower() for text in evidence]  # one may begin a sentence
                assert any(shown_in), (document.source, question.text)
            if question.meta["kind"] in {"who", "when", "where", "how many", "how much"}:
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


def reported(seed: int, index: int) -> tuple[Asker, list[Reported]]:
    """An asker about all acts of a draft, as if the text told nothing else."""
    number, place = divmod(index, len(KINDS))
    draft = district(seed, number)[place]
    told = [Reported(event, (rank, rank + 1), True) for rank, event in enumerate(draft.events)]
    grammar, rng = load("en"), Random(0)
    writer = Writer(grammar, rng, str, {}, True)
    return Asker(draft, told, Speech(Prose(seed, "en")), writer.phrase, rng), told


def derived(asker: Asker, told: list[Reported]) -> list[Question]:
    return [ask() for ask in replace(asker, reported=told)._derived()]


def test_where_is_asked_only_of_what_a_firm_completed_in_one_town() -> None:
    asked = 0
    for index in range(240):
        asker, told = reported(11, index)
        built = Counter(
            (one.event.record.values["firm"], one.event.record.work)
            for one in told
            if one.event.record.act == "completion"
        )
        where = Counter(one.text for one in derived(asker, told) if one.meta["kind"] == "where")
        assert set(where.values()) <= {1}
        if asker.draft.kind in ("firm", "survey"):
            assert where.total() == sum(1 for times in built.values() if times == 1)
            asked += where.total()
    assert asked > 50


def test_nothing_is_first_on_one_day_and_nothing_costs_more_than_the_same() -> None:
    compared: Counter[str] = Counter()
    for index in range(60):
        asker, told = reported(11, index)
        compared.update(str(one.meta["kind"]) for one in derived(asker, told))
        same = [
            replace(
                one, event=replace(one.event, day=1, record=replace(one.event.record, values={"money": 1, "firm": 1}))
            )
            for one in told
        ]
        assert not {"order", "which"} & {one.meta["kind"] for one in derived(asker, same)}
    assert min(compared["order"], compared["which"]) > 20


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_act_that_is_asked_for_is_in_the_text(language: str) -> None:
    for index in (*range(240), 388):
        for question in article(0, language, index).questions:
            assert all(start < end for start, end in question.evidence), index


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_minute_book_has_each_day_once(language: str) -> None:
    book = article(0, language, 388)  # two acts of one day
    days = re.findall(r"^(?:\w+ \d+, \d{4}|\d+ \w+ \d{4}|\w{4}年\w+月\w+日)(?=[.。])", book.text, re.MULTILINE)
    number, place = divmod(388, len(KINDS))
    events = district(0, number)[place].events
    assert len(days) == len(set(days)) == len({event.day for event in events}) < len(events)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_rule_is_used(language: str) -> None:
    grammar = load(language)
    code = "lead tail close paragraph.town rivers given.f given.m family.a family.b second.f second.m firm.a firm.b"
    used = {*code.split(" "), "firm.end", *ASIDES, *(rule for order in ORDERS for rule in order)}
    used |= {f"voice.{about}" for about in ("person", "firm", "place", "event")}
    asked = (
        "q.when",
        "q.difference",
        "q.days",
        "q.where",
        "q.more.work",
        "q.more.town",
        "q.first.work",
        "q.first.town",
    )
    used |= {*asked, *(f"head.{kind}" for kind in ("minutes", "letters", "accounts"))}
    used |= {f"{part}.{kind}" for part in ("title", "summary", "open") for kind, _, _ in KINDS}
    used |= {f"{part}.{act}" for part in ("act", "line") for act in SLOTS}
    waiting = [rule for rule in used if rule in grammar]
    reached = set(waiting)
    while waiting:
        for slot in (slot for plan in grammar.plans(waiting.pop()) for slot in slots(plan)):
            rule = slot.rule if slot.rule in grammar else slot.rule.removesuffix(".s")
            if rule in grammar and rule not in reached:
                reached.add(rule)
                waiting.append(rule)
    assert set(grammar.names()) - reached == set()


def test_nobody_says_i_outside_quotation_marks() -> None:
    for document in sample("en"):
        if document.meta["kind"] != "letters":
            told = re.sub(r"“[^”]*”", "", document.text)
            assert re.findall(r"[^.]*\b(?:I|[Mm]y|me|we|our)\b[^.]*", told) == [], document.source


def test_no_number_follows_a_date_in_chinese() -> None:
    for document in sample("zh"):
        assert not re.search(r"年\d+月\d+日\d|年\d+月\d+(?!\d|日)", document.text), document.source
