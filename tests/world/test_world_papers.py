"""Papers of the suite ``world``: what a reader finds in their texts, and how often they say the same."""

import re
from collections.abc import Iterable
from random import Random

import pytest

from fathom.world.asides import aside, teller
from fathom.world.facts import fillers
from fathom.world.names import grammar
from fathom.world.papers import passage
from fathom.world.prose import Writer
from fathom.world.reading import act_in, papers_of, work_in
from fathom.world.types import Language
from fathom.world.wording import said_in, words

each_language = pytest.mark.parametrize("language", ["en", "zh"])
GRAM = 5


@each_language
def test_a_reader_finds_the_facts_and_incidents_of_a_paper_and_no_others(language: Language) -> None:
    writer = Writer(1, language)
    for paper in fillers(1, 0):
        written = passage(writer, paper)
        (read,) = papers_of(f"{written.title}\n{written.text}", language)
        told = [
            (
                writer.work(record.work).removeprefix("the "),
                record.act,
                {slot: re.sub(" crowns|银元", "", writer.value(slot, value)) for slot, value in record.values.items()},
            )
            for record in paper.records
        ]
        assert [(each.work, each.act, each.values) for each in read.reported] == told, written.text
        links = {(writer.incident(cause), writer.incident(effect)) for cause, effect in paper.links}
        assert set(read.links) == links, written.text


@each_language
def test_sentences_between_facts_name_no_work_and_leads_no_act(language: Language) -> None:
    writer = teller(Random(0), language, "Oldham", 5)
    texts = [aside(writer) for _ in range(400)]
    assert not [text for text in texts if work_in(text, language)]
    leads = [writer.phrase(f"lead.{genre}") for genre in grammar(language)["kinds"] for _ in range(200)]
    assert not [lead for lead in leads if work_in(lead, language) or act_in(lead, language)]


@each_language
def test_papers_seldom_repeat_five_words_in_a_row(language: Language) -> None:
    writer = Writer(0, language)
    found = tokens(passage(writer, paper).text for paper in fillers(0, 0)[:120])
    grams = list(zip(*(found[start:] for start in range(GRAM)), strict=False))
    assert 1 - len(set(grams)) / len(grams) < 0.1


def tokens(texts: Iterable[str]) -> list[str]:
    return [word.lower() for text in texts for word in re.findall(r"[A-Za-z’]+|\d[\d,]*|[\u4e00-\u9fff]", text)]


SEASONS = {
    "en": r"harvest|frost|snow|regatta|ploughing|swallows|apples are|young pears|spring",
    "zh": "秋收|春耕|端阳|立春|赛船|下种|晒干|开春|燕子|梨树",
}


@each_language
def test_no_circumstance_of_a_fact_and_no_small_talk_is_out_of_season(language: Language) -> None:
    writer = teller(Random(1), language, "Oldham", 7)
    texts = [writer.phrase("when") for _ in range(1000)]
    tables = (
        words("remarks")["remarks"],
        *(words("dialogue")[name] for name in ("greetings", "small_talk", "replies")),
    )
    texts += [said_in(language, word) for table in tables for word in table]
    assert not [text for text in texts if re.search(SEASONS[language], text)]


def test_openings_and_endings_of_papers_are_sound_english() -> None:
    writer = teller(Random(2), "en", "Oldham", 7)
    genres = grammar("en")["kinds"]
    texts = [
        writer.joined(f"{part}.{genre}") for part in ("opening", "closing") for genre in genres for _ in range(100)
    ]
    wrong = r"although\W|there is (boiled eels|roast chestnuts|pickled walnuts)|the [a-z]+s is\b|tell everyone"
    assert not [text for text in texts if re.search(wrong, text)]


@pytest.mark.parametrize(
    ("language", "twice"),
    [("en", r"(a [a-z -]+[ps]) and \1\b|\b([a-z-]+) and \2 (after|in|under)"), ("zh", "(.+)门是.+，\\1门是")],
)
def test_a_sentence_says_no_word_of_a_list_twice(language: Language, twice: str) -> None:
    writer = teller(Random(3), language, "Oldham", 7)
    texts = [writer.joined("scene.street") for _ in range(2000)]
    assert not [text for text in texts if re.search(twice, text)]


SLOTS = dict.fromkeys(("work", "person", "firm", "cause", "effect", "money", "count", "defect"), "@")


@pytest.mark.parametrize(
    ("language", "rule", "wrong"),
    [
        ("en", "act.damage", "takes? @, .* will mend|nothing less than @, .* to m"),
        ("en", "act.gift", "cheque"),
        ("en", "act.payment", "the half of"),
        ("en", "act.completion", "gave up"),
        ("zh", "act.damage", "吃了"),
        ("zh", "act.vote", "依@的说法"),
        ("zh", "act.inspection", "喊出"),
        ("zh", "lead.gazette", "访员，"),
        ("en", "opening.letter", "keeps me awake"),
        ("en", "closing.letter", "drives me mad"),
        ("en", "scene.weather", r"two [a-z ]+ was\b"),
        ("en", "scene.river", r"two [a-z ]+ (was|keeps)\b"),
        ("en", "scene.street", "landlord|landlady"),
        ("zh", "scene.street", "老板娘"),
        ("zh", "scene.paper", "娶"),
        ("zh", "when.day", "娶"),
        ("zh", "closing.chronicle", "娶"),
        ("en", "weather.now", "wind$|breeze|sky"),
        ("en", "scene.weather", "[Pp]rayers|Bets were [a-z]+ for"),
        ("zh", "scene.weather", "刮了.+雨|下了.+风"),
        ("zh", "opening.letter", "几样"),
        ("zh", "opening.chronicle", "的们"),
        ("zh", "link", "的们"),
        ("zh", "scene.weather", "尽是一扇"),
        ("zh", "scene.river", "有檀香。"),
    ],
)
def test_the_parts_of_a_sentence_go_together(language: Language, rule: str, wrong: str) -> None:
    writer = teller(Random(4), language, "Oldham", 7)
    texts = [writer.phrase(rule, **SLOTS, when="", amid="") for _ in range(1000)]
    assert not [text for text in texts if re.search(wrong, text)]
