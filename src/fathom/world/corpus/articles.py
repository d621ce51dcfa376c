"""The articles of the corpus: facts of a district told among scenes and voices, with questions and a summary."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from itertools import groupby
from random import Random

from fathom.documents.corpus.text import document_id
from fathom.types import Document, FathomError
from fathom.world.corpus.district import DATED, KINDS, Draft, Event, district
from fathom.world.corpus.questions import Asker, Reported
from fathom.world.corpus.speech import Prose, Speech
from fathom.world.corpus.writer import Writer
from fathom.world.names import PEOPLE
from fathom.world.plans import load
from fathom.world.types import Language

BYSTANDERS = 1 << 20
OF_TOWN = ("chronicle", "minutes", "letters", "accounts")
LEAD, TAIL, ASIDE, TOWN_FIRST, CLOSE = 0.2, 0.45, 0.3, 0.4, 0.4
"""Shares of sentences with a fact that begin with a phrase, go on after it, or are followed by a scene; of paragraphs
on another town that say so first; of articles that end with a closing sentence."""
OTHER_DATES = 0.45
"""Share of articles that write dates in the less usual form of the language."""
SCENES = (0.6, 1.2)
"""Characters of scenes, as a share of those of facts."""
LONGEST = {"en": 10_000, "zh": 2400}
"""Characters after which no scene begins: about 2,500 tokens."""
TOGETHER = {"letters": 3, "accounts": 5, "person": 3}
"""Events of a paragraph, where they are told by their days."""
LINE = {"en": "- ", "zh": "· "}
ORDERS = (
    ("scene.weather", "scene.street", "voice"),
    ("voice", "voice.reply", "voice.judge"),
    ("scene.house", "scene.room", "voice"),
    ("scene.market", "scene.people", "scene.weather"),
    ("letter.open", "letter.body", "letter.close"),
    ("scene.walk", "scene.river", "scene.street"),
    ("scene.people", "voice", "voice.reply"),
    ("scene.paper", "voice", "voice.judge"),
    ("festival.before", "festival.scene", "festival.talk"),
    ("trial.before", "trial.turn", "trial.after"),
    ("trial.scene", "trial.remark", "trial.talk"),
    ("flood.before", "flood.turn", "flood.scene"),
    ("flood.talk", "flood.remark", "flood.after"),
    ("exhibition.before", "exhibition.turn", "exhibition.talk"),
    ("town.legend", "town.council", "town.memory"),
    ("firm.room", "firm.toil", "firm.books"),
)
"""Paragraphs on what was seen and said."""
ASIDES = ("voice", *(f"scene.{rule}" for rule in ("weather", "street", "market", "people", "walk", "river", "paper")))
"""Sentences on them that stand between facts."""
PRONOUNS = {"en": (("he", "his", "him"), ("she", "her", "her")), "zh": (("他", "他的", "他"), ("她", "她的", "她"))}


@lru_cache(maxsize=256)  # suites of one seed begin with the same articles, as the examples of a board's tasks do
def article(seed: int, language: str, index: int) -> Document:
    """Generate one article of the world.

    Args:
        language: ``en`` or ``zh``; both tell the same facts.
        index: Number of the article, from 0 without limit.

    Returns:
        The article with its questions and summary; it depends only on the three arguments.

    Raises:
        FathomError: The language is unknown.
    """
    load(language)
    number, place = divmod(index, len(KINDS))
    draft = district(seed, number)[place]
    teller = Teller.of(draft, seed, "zh" if language == "zh" else "en", index)
    text, reported = _composed(teller.paragraphs(), teller.writer.spaced)
    rng = Random(f"questions|{seed}|{index}")  # the same in both languages
    asker = Asker(draft, reported, teller.speech, teller.writer.phrase, rng)
    return Document(
        id=document_id(text),
        text=text,
        source=f"world:{seed}/{language}/{index}",
        language=language,
        title=teller.writer.phrase(f"title.{draft.kind}"),
        licence="CC0-1.0",
        questions=tuple(asker.questions()),
        summary=teller.summary(text, rng),
        meta={"kind": draft.kind, "cluster": number, "index": index, "subject": teller.subject},
    )


def generate(seed: int, language: str) -> Iterator[Document]:
    """Yield the articles of the world without end."""
    index = 0
    while True:
        yield article(seed, language, index)
        index += 1


Unit = tuple[Event | None, bool, str]
"""The event that a text tells, if it does; whether it has the whole date; the text."""


@dataclass(slots=True)
class Teller:
    """Tells a draft in one language.

    Attributes:
        draft: What is told.
        speech: Names and values.
        writer: Writes sentences.
        rng: Draws what is told besides facts.
        dates: Draws how dates are told, the same in both languages.
        subject: What the article is about.
    """

    draft: Draft
    speech: Speech
    writer: Writer
    rng: Random
    dates: Random
    subject: str
    _scenes: list[tuple[str, ...]] = field(default_factory=list)

    @classmethod
    def of(cls, draft: Draft, seed: int, language: Language, index: int) -> "Teller":
        """The teller of an article."""
        rng = Random(f"article|{seed}|{language}|{index}")
        speech = Speech(Prose(seed, language), other_dates=rng.random() < OTHER_DATES)
        grammar = load(language)
        towns = dict.fromkeys(event.town for event in draft.events)
        works = dict.fromkeys(event.record.work for event in draft.events)
        years = sorted(date.fromordinal(event.day).year for event in draft.events)
        rivers = grammar.words("rivers")
        slots = {
            "first": str(years[0]),
            "last": str(years[-1]),
            "district": speech.district(draft.district),
            "towns": speech.listed(list(map(speech.town, towns))),
            "works": speech.listed([speech.prose.work(work) for work in list(works)[:4]]),
            "place": speech.town(next(iter(towns))),
            "place.river": rivers[draft.district % len(rivers)],
            "coins": "crowns" if speech.spaced else "银元",
        }
        subject = _subject(draft, speech)
        slots[{"survey": "work", "firm": "firm", "person": "person"}.get(draft.kind, "town")] = subject
        he, his, him = PRONOUNS[language][draft.subject % 2]
        slots |= {"he": he, "his": his, "him": him, "S": subject, "O": subject}
        writer = Writer(grammar, rng, _bystanders(speech, rng), slots, speech.spaced)
        return cls(draft, speech, writer, rng, Random(f"dates|{seed}|{index}"), subject)

    def summary(self, text: str, rng: Random) -> str:
        """A summary: what the article is about, and two of its facts."""
        events = rng.sample(self.draft.events, len(self.draft.events))
        claims = [claim for claim in map(self.speech.claim, events) if claim not in text][:2]
        return (" " if self.speech.spaced else "").join([self.writer.phrase(f"summary.{self.draft.kind}"), *claims])

    def paragraphs(self) -> list[list[Unit]]:
        """The paragraphs: an opening, facts and scenes, an end."""
        facts = list(self._facts())
        size = sum(len(text) for paragraph in facts for _, _, text in paragraph)
        wanted = size * (SCENES[0] + (SCENES[1] - SCENES[0]) * self.rng.random())
        wanted = min(wanted, LONGEST[self.speech.prose.language] - size)
        scenes: list[list[Unit]] = []
        while wanted > 0:
            scenes.append(self._scene())
            wanted -= sum(len(text) for _, _, text in scenes[-1]) or 1
        places = sorted(int(self.rng.random() * (len(facts) + 1)) for _ in scenes)
        for place, scene in reversed(list(zip(places, scenes, strict=True))):
            facts.insert(place, scene)
        closes = ["close"] if self.rng.random() < CLOSE else []
        first, last = (self._units(rules) for rules in ([f"open.{self.draft.kind}"], closes))
        return [paragraph for paragraph in (first, *facts, last) if paragraph]

    def _facts(self) -> Iterator[list[Unit]]:
        events = self.draft.events
        if self.draft.kind == "minutes":
            groups = [tuple(group) for _, group in groupby(events, lambda event: event.day)]
        elif self.draft.kind in DATED:
            most = TOGETHER[self.draft.kind]
            groups = [events[start : start + most] for start in range(0, len(events), most)]
        else:
            groups = [tuple(group) for _, group in groupby(events, lambda event: (event.town, event.record.work))]
        tell = {"minutes": self._sitting, "accounts": self._entries}.get(self.draft.kind, self._paragraph)
        yield from map(tell, groups)

    def _sitting(self, events: Sequence[Event]) -> list[Unit]:
        day = self.speech.day(events[0].day)
        units: list[Unit] = []
        for number, event in enumerate(events):  # the head has the date of the first one alone
            head = [] if number else ["head.minutes"]
            units.append((event, not number, self._sentence(event, "", *head, date=day)))
        return units + self._aside()

    def _entries(self, events: Sequence[Event]) -> list[Unit]:
        works = dict.fromkeys(event.record.work for event in events)
        head = self.writer.joined("head.accounts", works=self.speech.listed(list(map(self.speech.prose.work, works))))
        mark = LINE[self.speech.prose.language]
        colon = ": " if self.speech.spaced else "："
        lines = [self.writer.phrase(f"line.{event.record.act}", **self._slots(event)) for event in events]
        dated = [f"{mark}{self.speech.day(event.day)}{colon}" for event in events]
        units = [(event, True, day + line) for event, day, line in zip(events, dated, lines, strict=True)]
        return [*([_untold(head)] if head else []), *units]

    def _paragraph(self, events: Sequence[Event]) -> list[Unit]:
        units = self._units(["head.letters"]) if self.draft.kind == "letters" else []
        for number, event in enumerate(events):
            first = not number and self.draft.kind in ("survey", "firm") and self.rng.random() < TOWN_FIRST
            when, dated = self._when(event, number > 0)
            units.append((event, dated, self._sentence(event, when, *(["paragraph.town"] if first else []))))
            units += self._aside()
        return units

    def _when(self, event: Event, follows: bool) -> tuple[str, bool]:
        """The date as a phrase, and whether it is whole."""
        roll, spaced = self.dates.random(), self.speech.spaced
        if roll < 0.6:
            day = self.speech.day(event.day)
            return f" on {day}" if spaced else day, True
        weeks = round(event.since / 7)
        if follows and event.since and roll < 0.8:
            return f" {weeks} weeks later" if spaced else f"{weeks}周后", False
        month = self.speech.month(event.day)
        return f" in {month}" if spaced else month, False

    def _sentence(self, event: Event, when: str, *before: str, **slots: str) -> str:
        rules = [*before, f"act.{event.record.act}"]
        if self.rng.random() < LEAD and not before:
            rules.insert(len(before), "lead")
        if self.rng.random() < TAIL:
            rules.append("tail")
        pause = "，" if when and self.rng.random() < 0.5 else ""
        if text := self.writer.joined(*rules, when=when, pause=pause, **self._slots(event), **slots):
            return text
        raise FathomError(f"world: no sentence left for {event}; add sentence plans to act.{event.record.act}")

    def _slots(self, event: Event) -> dict[str, str]:
        """What an event says; a work has its town where the article is not about one town."""
        town = self.speech.town(event.town)
        work = self.speech.prose.work(event.record.work)
        return {
            **self.speech.values(event),
            "work": work if self.draft.kind in OF_TOWN else self.speech.work_of(event),
            "town": town,
        }

    def _aside(self) -> list[Unit]:
        if self.rng.random() >= ASIDE:
            return []
        return self._units([ASIDES[int(self.rng.random() * len(ASIDES))]])

    def _scene(self) -> list[Unit]:
        """A paragraph; those that can be written in more ways come more often, and none again before half of them."""
        orders = [order for order in ORDERS if order not in self._scenes]
        plans = self.writer.grammar.plans
        weights = [sum(len(plans(rule)) for rule in order if rule != "voice") ** 2 for order in orders]
        order = self.rng.choices(orders, weights)[0]
        self._scenes = [order, *self._scenes][: len(ORDERS) // 2]
        return self._units(order)

    def _units(self, rules: Sequence[str]) -> list[Unit]:
        about = {"person": "person", "firm": "firm", "survey": "event"}.get(self.draft.kind, "place")
        voices = (f"voice.{about}", "voice.event")
        texts = [self.writer.joined(voices[self.rng.random() < 0.5] if rule == "voice" else rule) for rule in rules]
        return [_untold(text) for text in texts if text]


def _untold(text: str) -> Unit:
    """A text that tells no event."""
    return None, False, text


def _subject(draft: Draft, speech: Speech) -> str:
    if draft.kind in OF_TOWN:
        return speech.town(draft.subject)
    if draft.kind == "survey":
        return speech.prose.work(draft.subject)
    return speech.prose.value(draft.kind, draft.subject)


def _bystanders(speech: Speech, rng: Random) -> Callable[[], str]:
    """Names of people who do nothing that is asked for."""
    return lambda: speech.prose.value("person", PEOPLE + int(rng.random() * BYSTANDERS))


def _composed(paragraphs: Sequence[Sequence[Unit]], spaced: bool) -> tuple[str, list[Reported]]:
    """The text of units, and where its events are."""
    parts: list[str] = []
    reported: list[Reported] = []
    size = 0
    for number, units in enumerate(paragraphs):
        for rank, (event, dated, text) in enumerate(units):
            line = text.startswith(tuple(LINE.values()))
            joint = "\n\n" if number and not rank else "" if not rank else "\n" if line else " " if spaced else ""
            parts += [joint, text]
            start = size + len(joint)
            size = start + len(text)
            if event:
                reported.append(Reported(event, (start, size), dated))
    return "".join(parts), reported
