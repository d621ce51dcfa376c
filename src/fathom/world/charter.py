"""T7.2, violations of a rule: a charter with thresholds and exceptions, and a register whose entries keep or break it.

Entries asked for are those of one article and year; each is near its threshold, on either side, and other years have
their like. With ``hops`` 1 an entry says the fellowship of a person; with 2 the roll does; with 3 or more the
threshold changes during the year. One of ``near + 1`` entries breaks the rule. With ``paraphrase`` the question
has other words for the matter, with ``unanswerable`` the article does not exist.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random

from fathom.world.dials import settled
from fathom.world.reading import date_in
from fathom.world.types import Dials, Language, Passage, Problem
from fathom.world.wording import (
    NOT_STATED,
    Candidates,
    Word,
    chance_of_all,
    day_name,
    draws,
    endless,
    fill,
    filled,
    first_day,
    mark,
    people,
    remarks,
    said_in,
    words,
    written,
)

BROKEN = 3
_FIRST_MARKS = 80_000
_YEARS = range(1403, 1441)
_A_PAGE = 6


@dataclass(frozen=True, slots=True)
class Article:
    """An article with its thresholds: for everybody, for a fellowship, on market days."""

    number: int
    subject: str
    everybody: int
    fellowship: Word
    fellows: int
    market: int

    def limit(self, fellowship: Word, market: bool) -> int:
        """The threshold for somebody on a day."""
        return self.market if market else self.fellows if fellowship == self.fellowship else self.everybody

    def is_broken(self, number: int, limit: int) -> bool:
        """Whether a number breaks it."""
        return number > limit if self.subject.startswith("most") else number < limit


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the register: something done under an article (``number`` is how much), or else ``sentence``."""

    mark: str
    day: int
    person: Word
    fellowship: Word
    market: bool = False
    article: Article | None = None
    number: int = 0
    sentence: Word | None = None
    is_asked: bool = False
    title: Word = ("", "")


@dataclass(frozen=True, slots=True)
class Facts:
    """An item: the articles, the one asked for (``later``: as it is after its amendment), the year, and the entries."""

    name: str
    dials: Dials
    articles: tuple[Article, ...]
    asked: Article
    year: int
    entries: tuple[Entry, ...]
    answers: tuple[str, ...]
    cast: frozenset[Word]
    paraphrased: bool


class Charter:
    """The family of T7.2."""

    codes: tuple[str, ...] = ("T7.2",)

    def facts(self, code: str, seed: int, number: int, dials: Dials) -> Facts:
        """See ``Family.facts``."""
        dials = settled(code, dials)
        name = f"charter/{code}/{seed}/{number}"
        rng = draws(name)
        marks = map(mark, count(rng.randrange(_FIRST_MARKS)))
        articles = _articles(rng)
        asked, year = rng.choice(articles), rng.choice(_YEARS)
        cast = people(rng, 12)
        guilds = words("charter")["fellowships"]
        others = [guild for guild in guilds if guild != asked.fellowship]
        of = {person: asked.fellowship if turn % 2 else rng.choice(others) for turn, person in enumerate(cast)}
        start = first_day(year)
        change = start + rng.randint(150, 210) if dials.hops > 2 else start + 400
        step = rng.choice((-9, -7, 7, 9))
        later = replace(asked, everybody=asked.everybody + step) if dials.hops > 2 else asked
        broken = [True] * BROKEN + [False] * (BROKEN * dials.near)
        rng.shuffle(broken)
        entries = []
        # Limits are those of a day or of one time, so no day has two of these entries.
        for is_broken, day in zip(broken, sorted(rng.sample(range(start, start + 364), len(broken))), strict=True):
            article = asked if day < change else later
            person, market = rng.choice(cast), _is_market(name, day)
            amount = _amount(rng, article, article.limit(of[person], market), is_broken)
            assert article.is_broken(amount, article.limit(of[person], market)) == is_broken
            entries.append(Entry(next(marks), day, person, of[person], market, article, amount, is_asked=True))
        answers = tuple(sorted(entry.mark for entry, is_broken in zip(entries, broken, strict=True) if is_broken))
        if dials.hops > 1:
            entries += [_received(next(marks), start - rng.randint(30, 400), person, of[person]) for person in cast]
        if dials.hops > 2:
            entries.append(_amended(next(marks), change, asked, later.everybody, cast[0]))
        missing = replace(asked, number=len(articles) + rng.randint(2, 9))
        return Facts(
            name, dials, articles, missing if dials.unanswerable else asked, year, tuple(entries), answers,
            frozenset(cast), rng.random() < dials.paraphrase,
        )  # fmt: skip

    def passages(self, facts: Facts, language: Language) -> tuple[Passage, ...]:
        """See ``Family.passages``."""
        name = f"{facts.name}/evidence"
        rng = draws(name)
        marks = map(mark, count(_first_mark(facts) + 1000))
        fillers = _others(rng, facts, marks, len(facts.entries), facts.year)
        entries = sorted([*facts.entries, *fillers], key=lambda entry: (entry.day, entry.mark))
        form = words("charter")["forms"]
        lines = [(form[0], False)]
        for article in facts.articles:
            lines.append((_article(article), article.number == facts.asked.number))
        charter = written(f"{name}/charter", lines, language, -1.0, ("\n", "\n"))
        return charter, *_pages(rng, name, entries, facts.dials.hops, language)

    def siblings(self, facts: Facts, language: Language) -> Iterator[Passage]:
        """See ``Family.siblings``."""
        rng = draws(facts.name, "siblings")
        first = _first_mark(facts) + 2000
        for number, is_other in zip(count(), endless(rng, facts.dials.noise), strict=False):
            name = f"{facts.name}/{number}"
            block = draws(name)
            if is_other:
                day = block.randrange(first_day(_YEARS[0]), first_day(_YEARS[-1]))
                lines = [(words("charter")["forms"][9], False)]
                for turn, remark in enumerate(remarks(block, 5)):
                    date = day_name(day + turn)
                    lines.append(((f"{date[0]}: {remark[0]}", f"{date[1]}：{remark[1]}"), False))
                yield written(name, lines, language, day + block.random(), ("\n", "\n"))
            else:
                marks = map(mark, count(first + number * _A_PAGE))
                entries = _others(block, facts, marks, _A_PAGE, block.choice(_YEARS))
                yield from _pages(block, name, entries, facts.dials.hops, language)

    def problem(self, facts: Facts, code: str, language: Language) -> Problem:
        """See ``Family.problem``."""
        table = words("charter")
        title = table[facts.asked.subject][1 if facts.paraphrased else 0]
        question = fill(table["question"][0], language, year=facts.year, article=facts.asked.number, title=title)
        answers = (said_in(language, NOT_STATED),) if facts.dials.unanswerable else facts.answers
        chance = 0.0 if facts.dials.unanswerable else chance_of_all(BROKEN, BROKEN * (1 + facts.dials.near))
        return Problem(question.strip(), answers, chance=chance)

    def candidates(self, facts: Facts, code: str, language: Language) -> Candidates:
        """See ``Candidates``."""
        return [([(entry.mark, entry.mark) for entry in facts.entries if entry.article], len(facts.answers))]

    def solve(self, text: str, question: str, code: str, language: Language) -> tuple[str, ...]:
        """See ``Family.solve``."""
        return _broken(text, question, language) or (said_in(language, NOT_STATED),)


CHARTER = Charter()


def _first_mark(facts: Facts) -> int:
    return draws(facts.name).randrange(_FIRST_MARKS)


def _articles(rng: Random) -> tuple[Article, ...]:
    """The charter: an article for each subject; its three thresholds differ by more than what entries exceed them."""
    table = words("charter")
    subjects = [subject for subject in table if subject.startswith(("most", "least"))]
    rng.shuffle(subjects)
    articles = []
    for number, subject in enumerate(subjects, 1):
        everybody = rng.randint(30, 70)
        fellows, market = (everybody + sign * rng.randint(3, 6) for sign in rng.sample((-1, 1), 2))
        if subject.startswith("most") == (fellows < everybody):
            fellows, market = market, fellows
        articles.append(Article(number, subject, everybody, rng.choice(table["fellowships"]), fellows, market))
    return tuple(articles)


def _is_market(name: str, day: int) -> bool:
    """Whether a day is a market day in the town of an item."""
    return draws(name, "market", day).random() < 0.3


def _amount(rng: Random, article: Article, limit: int, is_broken: bool) -> int:
    """A number near a threshold, on one side of it; the threshold itself breaks no rule."""
    beyond = rng.randint(1, 4) if is_broken else -rng.randint(0, 3)
    return limit + (beyond if article.subject.startswith("most") else -beyond)


def _received(name: str, day: int, person: Word, fellowship: Word) -> Entry:
    form = words("charter")["forms"]
    sentence = filled(form[6], person=person, fellowship=fellowship)
    return Entry(name, day, person, fellowship, sentence=sentence, title=form[5], is_asked=True)


def _amended(name: str, day: int, article: Article, new: int, person: Word) -> Entry:
    form = words("charter")["forms"]
    sentence = filled(form[8], article=article.number, old=article.everybody, new=new)
    return Entry(name, day, person, article.fellowship, sentence=sentence, title=form[7], is_asked=True)


def _others(rng: Random, facts: Facts, marks: Iterator[str], size: int, year: int) -> list[Entry]:
    """Entries of a year that are not asked for, by other people, in the order of their days."""
    guilds = words("charter")["fellowships"]
    cast = [person for person in people(rng, size + len(facts.cast)) if person not in facts.cast]
    articles = [other for other in facts.articles if year != facts.year or other.subject != facts.asked.subject]
    entries = []
    for person, name in zip(cast[:size], marks, strict=False):
        article, guild = rng.choice(articles), rng.choice(guilds)
        day = first_day(year) + rng.randrange(364)
        market = _is_market(facts.name, day)
        if facts.dials.hops > 1 and rng.random() < 0.3:
            entries.append(replace(_received(name, day, person, guild), is_asked=False))
            continue
        amount = _amount(rng, article, article.limit(guild, market), rng.random() < 1 / (1 + facts.dials.near))
        entries.append(Entry(name, day, person, guild, market, article, amount))
    return sorted(entries, key=lambda entry: entry.day)


def _article(article: Article) -> Word:
    table = words("charter")
    title, _, rule, fellows, market, *_ = table[article.subject]
    parts = [
        filled(rule, limit=article.everybody),
        filled(fellows, limit=article.fellows, fellowship=article.fellowship),
        filled(market, limit=article.market),
    ]
    rules = (" ".join(part[0] for part in parts), "".join(part[1] for part in parts))
    return filled(table["forms"][1], article=article.number, title=title, rules=rules)


def _line(rng: Random, entry: Entry, hops: int) -> Word:
    table = words("charter")
    form, person = table["forms"], entry.person
    sentence, title = entry.sentence, entry.title
    if entry.article is not None:
        if hops < 2:
            person = filled(form[4], person=person, fellowship=entry.fellowship)
        title = table[entry.article.subject][0]
        sentence = filled(rng.choice(table[entry.article.subject][5:]), person=person, number=entry.number)
    assert sentence is not None
    market = form[3] if entry.market else ("", "")
    return filled(form[2], mark=entry.mark, day=day_name(entry.day), market=market, title=title, sentence=sentence)


def _pages(rng: Random, name: str, entries: Sequence[Entry], hops: int, language: Language) -> Iterator[Passage]:
    """Pages of the register."""
    for start in range(0, len(entries), _A_PAGE):
        page = entries[start : start + _A_PAGE]
        lines = [(words("charter")["forms"][9], False)]
        lines += [(_line(rng, entry, hops), entry.is_asked) for entry in page]
        yield written(f"{name}/{start}", lines, language, page[0].day + rng.random(), ("\n", "\n"))


# --------------------------------------------------------------------------- from the text alone


def _broken(text: str, question: str, language: Language) -> tuple[str, ...]:
    zh = language == "zh"
    asked = int(re.findall(r"第(\d+)条" if zh else r"article (\d+)", question)[0])
    year = int(re.findall(r"登记簿(\d{4})年" if zh else r"register in (\d{4})", question)[0])
    article = re.search(
        rf"^第{asked}条，([^。]+)。(.*)$" if zh else rf"^Article {asked}, ([^.]+)\. (.*)$", text, re.MULTILINE
    )
    if article is None:
        return ()
    title, rules = article.groups()
    everybody, fellows, market = map(int, re.findall(r"\d+", rules))
    guild = re.findall(r"。(\S+?会)" if zh else r"Fellowship of \w+", rules)[0]
    is_least = bool(re.search("不得少于|must .* at least", rules))
    guilds = dict(
        re.findall(r"：(\w+?)加入(\w+会)。" if zh else r": ([\w ]+) was received into the (Fellowship of \w+)\.", text)
    )
    change = re.search(
        rf"^.*自本日起，第{asked}条中的\d+改为(\d+)。" if zh else rf"^.* number \d+ in article {asked} reads (\d+)\.",
        text, re.MULTILINE,
    )  # fmt: skip
    broken = []
    for line in re.findall(rf"^[A-Z]-\d.*(?:，{title}：|, {title}: ).*$", text, re.MULTILINE):
        head, body = re.split(f"，{title}：|, {title}: ", line, maxsplit=1)
        name, number = re.split(r"[,，]", head)[0], int(re.findall(r"\d+", body)[0])
        day = date_in(head[len(name) :], language)
        if day[0] != year:
            continue
        limit = (
            int(change[1])
            if change and day >= date_in(change[0].split("，" if zh else ",", 1)[1], language)
            else everybody
        )
        if guild in body or any(person in body and member == guild for person, member in guilds.items()):
            limit = fellows
        if re.search("集日|market day", head):
            limit = market
        if number < limit if is_least else number > limit:
            broken.append(name)
    return tuple(sorted(broken))
