"""T8.1 and T8.2: cash books of towns and receipt books of firms, as tables, sentences and JSON.

A payment has the same number in the town's book and in the firm's. For T8.1 a mutator leaves receipts out and changes
their sums, and the facts say which.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from random import Random
from statistics import median_low

from fathom.types import FathomError
from fathom.world.dials import settled
from fathom.world.facts import WORKS, Stage
from fathom.world.names import DISTRICTS, MARKS, OWN_DISTRICTS, OWN_MARKS, OWN_TOWNS, PEOPLE, TOWNS, grammar
from fathom.world.papers import filler_passages, is_noise
from fathom.world.prose import Writer
from fathom.world.types import Dials, Language, Passage, Problem

FORMS = ("table", "sentences", "json")
ROWS, FIRMS_OF, WORKS_OF = 36, 4, 4
PARTS = ("total", "largest", "median", "half")
MOST_CHANGED = 4
MOST_APART = 90
GROUP = 48
"""Books of each group of fillers."""


@dataclass(frozen=True, slots=True)
class Row:
    """A payment: its number, month and day, the firm, the work and the sum."""

    number: int
    month: int
    day: int
    firm: int
    work: int
    money: int


@dataclass(frozen=True, slots=True)
class Page:
    """A quarter of a town's cash book, or (``firm`` is not -1) a firm's receipts of a year from a town."""

    mark: int
    town: int
    district: int
    year: int
    form: str
    keeper: int
    rows: tuple[Row, ...]
    firm: int = -1

    @property
    def quarter(self) -> int:
        """The quarter of a cash book's page."""
        return (self.rows[0].month + 2) // 3


@dataclass(frozen=True)
class Books:
    """The facts of an item: pages with the evidence and near misses, the numbers of needed rows, and what is asked."""

    pages: tuple[Page, ...]
    town: int
    year: int
    needed: frozenset[int]
    parts: tuple[tuple[str, int], ...]
    missing: tuple[int, ...] = ()
    changed: Mapping[int, int] | None = None
    seed: int = 0
    code: str = ""
    number: int = 0
    dials: Dials = field(default_factory=Dials)

    @property
    def rows(self) -> list[Row]:
        """The payments of the town in the year."""
        return [row for page in self.pages if _is_of(page, self.town, self.year) for row in page.rows]


def _is_of(page: Page, town: int, year: int) -> bool:
    return (page.town, page.year, page.firm) == (town, year, -1)


def _rows(rng: Random, firms: Sequence[int], works: Sequence[int], size: int, numbers: Iterator[int]) -> list[Row]:
    """Payments of a year, with each sum once, in the order of their dates."""
    dates = sorted((rng.randrange(1, 13), rng.randrange(1, 29)) for _ in range(size))
    sums = rng.sample(range(103, 4990), size)
    return [
        Row(next(numbers), month, day, rng.choice(firms), rng.choice(works), money)
        for (month, day), money in zip(dates, sums, strict=True)
    ]


def _pages(rng: Random, marks: Iterator[int], place: tuple[int, int], year: int, rows: Sequence[Row]) -> list[Page]:
    """The cash book of a town: a page for each quarter with payments."""
    quarters = [tuple(row for row in rows if (row.month + 2) // 3 == quarter) for quarter in (1, 2, 3, 4)]
    return [Page(next(marks), *place, year, rng.choice(FORMS), rng.randrange(PEOPLE), own) for own in quarters if own]


def _receipts(rng: Random, marks: Iterator[int], place: tuple[int, int], year: int, rows: Sequence[Row]) -> list[Page]:
    """The receipt books of the firms that a town paid."""
    firms = dict.fromkeys(row.firm for row in rows)
    own = {firm: tuple(row for row in rows if row.firm == firm) for firm in firms}
    return [
        Page(next(marks), *place, year, rng.choice(FORMS), rng.randrange(PEOPLE), own[firm], firm) for firm in firms
    ]


def _aggregated(rng: Random, dials: Dials) -> Books:
    """Cash books of a town for a year, and with the same firms and works of later years and of other towns in turn."""
    stage = Stage.of(rng)
    firms, works = [stage.new("firm") for _ in range(FIRMS_OF)], rng.sample(range(WORKS), WORKS_OF)
    town, *others = ((next(stage.towns), rng.randrange(OWN_DISTRICTS)) for _ in range(1 + (dials.near + 1) // 2))
    year = rng.randrange(1862, 1930)
    pages: list[Page] = []
    books = [entry for turn, other in enumerate(others, 1) for entry in ((town, year + turn), (other, year))]
    for place, when in ((town, year), *books[: dials.near]):
        numbers = count(rng.randrange(100, 900))
        pages += _pages(rng, stage.marks, place, when, _rows(rng, firms, works, ROWS, numbers))
    chosen = rng.sample(PARTS, 3)
    parts = tuple((part, rng.choice(works if part in ("total", "median") else firms)) for part in chosen)
    rows = [row for page in pages if _is_of(page, town[0], year) for row in page.rows]
    used = [_used(part, value, rows) for part, value in parts]
    if not all(used):
        return _aggregated(rng, dials)
    rng.shuffle(pages)
    return Books(tuple(pages), town[0], year, frozenset(row.number for each in used for row in each), parts)


def _used(part: str, value: int, rows: Sequence[Row]) -> list[Row]:
    if part in ("total", "median"):
        return [row for row in rows if row.work == value]
    return [row for row in rows if row.firm == value and (part == "largest" or 4 <= row.month <= 9)]


_COMPUTED: Mapping[str, Callable[[list[int]], int]] = {"total": sum, "largest": max, "median": median_low, "half": sum}


def _compared(rng: Random, dials: Dials) -> Books:
    """The cash book of a town and the receipts for it, some left out and some changed; the next years agree."""
    stage = Stage.of(rng)
    firms, works = [stage.new("firm") for _ in range(FIRMS_OF)], rng.sample(range(WORKS), WORKS_OF)
    town, year, pages = (next(stage.towns), rng.randrange(OWN_DISTRICTS)), rng.randrange(1862, 1930), list[Page]()
    numbers = count(rng.randrange(100, 900))
    rows = _rows(rng, firms, works, ROWS * 2 // 3, numbers)
    missing, different = rng.randrange(1, MOST_CHANGED + 1), rng.randrange(1, MOST_CHANGED + 1)
    touched = rng.sample(rows, missing + different)
    lost = tuple(row.number for row in touched[:missing])
    changed = {
        row.number: max(1, row.money + rng.choice((-1, 1)) * rng.randrange(1, MOST_APART)) for row in touched[missing:]
    }
    received = [replace(row, money=changed.get(row.number, row.money)) for row in rows if row.number not in lost]
    pages += _pages(rng, stage.marks, town, year, rows) + _receipts(rng, stage.marks, town, year, received)
    for when in range(year + 1, year + 1 + dials.near):
        later = _rows(rng, firms, works, ROWS // 3, numbers)
        pages += _pages(rng, stage.marks, town, when, later) + _receipts(rng, stage.marks, town, when, later)
    rng.shuffle(pages)
    return Books(tuple(pages), town[0], year, frozenset(row.number for row in touched), (), lost, changed)


def _counterfactual(books: Books, rng: Random) -> Books:
    """The books with another sum in a payment, or in a receipt that differs from its payment: an answer is another."""
    own, changed = {row.number: row for row in books.rows}, dict(books.changed or {})
    sums = range(103, 4990)
    if changed:
        number = rng.choice(sorted(changed))
        paid = own[number].money
        taken = {paid, changed[number], 2 * paid - changed[number]}  # as far apart, and the answer would be the same
        sums = range(max(1, paid - MOST_APART), paid + MOST_APART + 1)
    else:
        part, value = books.parts[0]
        used = sorted(_used(part, value, books.rows), key=lambda row: row.money)
        row = {"largest": used[-1], "median": used[(len(used) - 1) // 2]}.get(part) or rng.choice(used)
        number, taken = row.number, {row.money for row in own.values()}
    money = rng.choice([each for each in sums if each not in taken])
    pages = tuple(
        replace(page, rows=tuple(replace(row, money=money) if row.number == number else row for row in page.rows))
        if (page.town, page.year) == (books.town, books.year) and (page.firm >= 0) == bool(changed) else page
        for page in books.pages
    )  # fmt: skip
    return replace(books, pages=pages, changed=changed | {number: money} if changed else books.changed)


_DRAWS: Mapping[str, Callable[[Random, Dials], Books]] = {"T8.1": _compared, "T8.2": _aggregated}


@cache
def _filler_pages(seed: int, group: int) -> tuple[Page, ...]:
    """Cash books and receipt books of towns that no item asks about."""
    rng = Random(f"ledger|{seed}|{group}")
    # Papers of the annals among them take marks from OWN_MARKS upwards, these from the last one downwards.
    marks = iter(range(MARKS - 1 - group * GROUP * 8 % (OWN_MARKS // 2), OWN_MARKS, -1))
    stage, pages = Stage(rng, iter(()), marks), list[Page]()
    for town in rng.sample(range(OWN_TOWNS, TOWNS), GROUP):
        stage.taken = {}
        firms, works = [stage.new("firm") for _ in range(FIRMS_OF)], rng.sample(range(WORKS), WORKS_OF)
        rows = _rows(rng, firms, works, rng.randrange(12, ROWS), count(rng.randrange(100, 900)))
        made = _receipts if rng.random() < 0.4 else _pages
        pages += made(
            rng, stage.marks, (town, rng.randrange(OWN_DISTRICTS, DISTRICTS)), rng.randrange(1862, 1936), rows
        )
    return tuple(pages)


@cache
def _filler_passages(writer: Writer, group: int, noise: float) -> tuple[Passage, ...]:
    """A group of fillers: books, and papers of the annals among them, more of these with more noise."""
    pages = _filler_pages(writer.seed, group)
    books = [_passage(page, writer) for page in pages if not is_noise(writer.seed, page.mark, noise)]
    return (*books, *filler_passages(writer, group)[: len(pages) + len(pages) // 2 - len(books)])


def _passage(page: Page, writer: Writer, needed: frozenset[int] = frozenset()) -> Passage:
    """A page as text; the lines of needed payments are evidence."""
    words, names, rng = grammar("ledger")[writer.language], writer.names, Random(f"{writer.seed}|{page.mark}")
    kind = "cash" if page.firm < 0 else "receipts"
    title = words[kind].format(
        mark=names.mark(page.mark), town=names.town(page.town), district=names.district(page.district), year=page.year,
        quarter=page.quarter, firm=names.firm(page.firm) if page.firm >= 0 else "",
    )  # fmt: skip
    lines, spans = [words[kind + "_head"]] if page.form == "table" else [], []
    lines.insert(0, rng.choice(words["note"]).format(person=names.person(page.keeper)))
    at = sum(len(line) + 1 for line in lines)
    for row in page.rows:
        payee = names.firm(row.firm) if page.firm < 0 else names.town(page.town)
        month = writer.grammar["months"][row.month - 1]
        date = f"{row.day} {month}" if writer.language == "en" else f"{month}{row.day}日"
        work, plan = writer.work(row.work), rng.choice(words[kind + "_rows"])
        written = f"{row.money:,}" if writer.language == "en" else str(row.money)
        if page.form == "table":
            lines.append(f"{row.number} | {date} | {payee} | {work} | {written}")
        elif page.form == "json":
            keys = words["keys" if page.firm < 0 else "receipt_keys"]
            values = (row.number, date, payee, work, row.money)
            lines.append(json.dumps(dict(zip(keys, values, strict=True)), ensure_ascii=False))
        else:
            lines.append(plan.format(no=row.number, date=date, payee=payee, work=work, sum=written))
        if row.number in needed:
            spans.append((at, at + len(lines[-1])))
        at += len(lines[-1]) + 1
    return Passage(f"ledger/{page.mark}", "\n".join(lines), title, tuple(spans))


def _prove(books: Books) -> None:
    """Check that payments and receipts agree but for the planted differences.

    Raises:
        FathomError: A page's rows are not in the order of numbers and dates, or a receipt has no equal payment.
    """
    paid: dict[tuple[int, int, int], Row] = {}
    for page in books.pages:
        order = [(row.number, row.month, row.day) for row in page.rows]
        if order != sorted(order) or [entry[1:] for entry in order] != sorted(entry[1:] for entry in order):
            raise FathomError(f"world: the rows of page {page.mark} are out of order")
        if page.firm < 0:
            paid |= {(page.town, page.year, row.number): row for row in page.rows}
    changed = books.changed or {}
    for page in books.pages:
        for row in page.rows if page.firm >= 0 else ():
            payment = paid.get((page.town, page.year, row.number))
            if payment is None or (row.money != payment.money) != (row.number in changed):
                raise FathomError(f"world: receipt {row.number} of page {page.mark} has no equal payment")


class Ledger:
    """Cash books and receipt books; see ``Family``."""

    codes: tuple[str, ...] = tuple(_DRAWS)

    def facts(self, code: str, seed: int, number: int, dials: Dials) -> Books:
        """See ``Family.facts``."""
        books = _DRAWS[code](Random(f"ledger|{seed}|{code}|{number}"), settled(code, dials))
        if dials.counterfactual:
            books = _counterfactual(books, Random(f"counterfactual|{seed}|{code}|{number}"))
        _prove(books)
        return replace(books, seed=seed, code=code, number=number, dials=dials)

    def passages(self, facts: Books, language: Language) -> tuple[Passage, ...]:
        """See ``Family.passages``."""
        writer = Writer(facts.seed, language, facts.dials.names)
        return tuple(
            _passage(page, writer, facts.needed if (page.town, page.year) == (facts.town, facts.year) else frozenset())
            for page in facts.pages
        )

    def siblings(self, facts: Books, language: Language) -> Iterator[Passage]:
        """See ``Family.siblings``."""
        for group in count():
            writer = Writer(facts.seed, language, facts.dials.names)
            passages = list(_filler_passages(writer, group, facts.dials.noise))
            Random(f"siblings|{facts.seed}|{facts.code}|{facts.number}|{group}").shuffle(passages)
            yield from passages

    def problem(self, facts: Books, code: str, language: Language) -> Problem:
        """See ``Family.problem``."""
        writer, texts = Writer(facts.seed, language, facts.dials.names), grammar("ledger")["questions"]
        town, rows = writer.names.town(facts.town), facts.rows
        if code == "T8.1":
            sums = {row.number: row.money for row in rows}
            changed = facts.changed or {}
            apart = sum(abs(money - sums[number]) for number, money in changed.items())
            answers = [len(facts.missing), len(changed), apart]
            question = texts["T8_1"][language].format(town=town, year=facts.year)
            chance = 2 / 3 / MOST_CHANGED
        else:
            lines, answers, chance = [], [], 0.0
            for letter, (part, value) in zip("ABC", facts.parts, strict=False):
                words = texts[part][language]
                named = writer.work(value) if part in ("total", "median") else writer.names.firm(value)
                lines.append(f"{letter}. " + words.format(work=named, payee=named))
                answers.append(_COMPUTED[part]([row.money for row in _used(part, value, rows)]))
            question = texts["T8_2"][language].format(town=town, year=facts.year, parts="\n".join(lines))
        return Problem(question, tuple(f"{a}: {v}" for a, v in zip("ABC", answers, strict=True)), chance=chance)

    def solve(self, text: str, question: str, code: str, language: Language) -> tuple[str, ...]:
        """See ``Family.solve``."""
        matched = re.search(r"cash book of (\w+) for (\d{4})" if language == "en" else r"(..镇)(\d{4})年", question)
        assert matched
        town, year = matched.groups()
        cash, receipts = _read(text, town, year, language)
        if code == "T8.1":
            apart = [
                abs(receipts[n][3] - row[3]) for n, row in cash.items() if n in receipts and receipts[n][3] != row[3]
            ]
            values = [sum(n not in receipts for n in cash), len(apart), sum(apart)]
        else:
            values = [
                _solved(line, list(cash.values())) for line in re.findall(r"^[ABC]\. (.+)$", question, re.MULTILINE)
            ]
        return tuple(f"{letter}: {value}" for letter, value in zip("ABC", values, strict=True))


_Line = tuple[int, str, str, int]


def _solved(line: str, rows: Sequence[_Line]) -> int:
    """The answer to a line of a question from payments: month, payee, work, sum."""
    sums = [row for row in rows if row[1] in line or row[2] in line]
    if "September" in line or "9月" in line:
        return sum(row[3] for row in sums if 4 <= row[0] <= 9)
    if "largest" in line or "最大" in line:
        return max(row[3] for row in sums)
    if "median" in line or "中位数" in line:
        ordered = sorted(row[3] for row in sums)
        return ordered[(len(ordered) - 1) // 2]
    return sum(row[3] for row in sums)


_NUMBER = r"No\. (\d+)|第(\d+)号"
_DATE = r"(\d+) (January|February|March|April|May|June|July|August|September|October|November|December)|(\d+)月(\d+)日"
_MONTHS = re.findall("[A-Z][a-z]+", _DATE)
_MONEY = r"([\d,]+)(?: crowns|银元)"
_PARTIES = {
    "en": r"(?:to|from) ([A-Z]\w+(?: & \w+)?)[, ]|: ([A-Z]\w+(?: & \w+)?) (?:received|sent)",
    "zh": r"(?:付给|给|收自|收到|号：)([\u4e00-\u9fff]+?)(?:，|于|的\d)",
}
_USES = {"en": r"for (the [a-z ]+?)(?:,|\.| \()", "zh": r"用于([\u4e00-\u9fff]+?)(?:，|。|（)"}


def _read(text: str, town: str, year: str, language: Language) -> tuple[dict[int, _Line], dict[int, _Line]]:
    """The payments of a town in a year by number, and the receipts of firms for them."""
    cash: dict[int, _Line] = {}
    receipts: dict[int, _Line] = {}
    into, is_cash = None, False
    for line in text.split("\n"):
        if heading := re.match(r"[A-Z]\d{4} (.+)", line):
            words = heading[1]
            is_cash = words.startswith(f"Cash book of {town},") or words.startswith(f"{town}现金账")
            of_year = bool(re.search(rf"\b{year}\b|{year}年", words))
            into = (
                cash
                if is_cash and of_year
                else receipts
                if of_year and re.search("Receipt book|收款簿", words)
                else None
            )
        elif into is not None and (row := _row(line, language)) and (is_cash or row[1][1] == town):
            into[row[0]] = row[1]
    return cash, receipts


def _row(line: str, language: Language) -> tuple[int, _Line] | None:
    """The number and the payment of a line, in any form."""
    cells = list(map(str, json.loads(line).values())) if line.startswith("{") else line.split(" | ")
    if len(cells) == 5 and cells[0].isdigit():
        number, date, payee, work, money = cells
    else:
        matched = [re.search(form, line) for form in (_NUMBER, _DATE, _PARTIES[language], _USES[language], _MONEY)]
        if not all(matched):
            return None
        number, date, payee, work, money = (next(filter(None, match.groups())) for match in matched if match)
        date = next(match[0] for match in matched[1:2] if match)
    month = re.match(r"(\d+)月", date)
    at = int(month[1]) if month else _MONTHS.index(date.split()[1]) + 1
    return int(number), (at, payee, work, int(money.replace(",", "")))


LEDGER = Ledger()
