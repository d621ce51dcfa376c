"""How values are written in each language, and the accepted written forms of answers."""

from collections.abc import Sequence
from datetime import date
from typing import Protocol

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
ORDINALS = (
    "zeroth",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
)
DIGITS = "〇一二三四五六七八九"


class Forms(Protocol):
    """Writes values; one object per article, so that its style (dates, currency) is consistent."""

    currency: str

    def show(self, value: object) -> str:
        """Write a value as in running text."""
        ...

    def shape(self, value: object, attr: str) -> str | None:
        """Write ``value`` as ``attr`` specifies (``year``, ``money``, ``th`` ...); None if ``attr`` is unknown."""
        ...

    def accepted(self, value: object, how: str) -> tuple[str, ...]:
        """All written forms of an answer; ``how`` is ``date``, ``year``, ``number``, ``money`` or ``text``."""
        ...

    def join(self, items: Sequence[str]) -> str:
        """Join a list in words."""
        ...


class EnglishForms:
    """English: words up to ten, thousands separators, two date formats."""

    def __init__(self, currency: str, style: float) -> None:
        self.currency = currency
        self._month_first = style > 0.6

    def show(self, value: object) -> str:
        """Write a value as in running text."""
        if isinstance(value, date):
            month = MONTHS[value.month - 1]
            return f"{month} {value.day}, {value.year}" if self._month_first else f"{value.day} {month} {value.year}"
        if isinstance(value, int):
            return WORDS[value] if 0 <= value <= 10 else f"{value:,}"
        return str(value)

    def shape(self, value: object, attr: str) -> str | None:
        """Write ``value`` as ``attr`` specifies; None if ``attr`` is unknown."""
        if isinstance(value, date):
            month = MONTHS[value.month - 1]
            if attr == "year":
                return str(value.year)
            if attr == "month":
                return f"{month} {value.year}"
            if attr == "moon":
                return month
            if attr == "day":
                return f"{month} {value.day}" if self._month_first else f"{value.day} {month}"
        elif isinstance(value, int):
            if attr == "y":
                return str(value)
            if attr == "n":
                return f"{value:,}"
            if attr == "money":
                return f"{value:,} {self.currency}" if value != 1 else f"one {self.currency[:-1]}"
            if attr == "th":
                return ordinal(value)
        return None

    def accepted(self, value: object, how: str) -> tuple[str, ...]:
        """All written forms of an answer."""
        if isinstance(value, date):
            if how == "year":
                return (str(value.year),)
            month = MONTHS[value.month - 1]
            dates = (f"{value.day} {month} {value.year}", f"{month} {value.day}, {value.year}")
            return (*dates[::-1], value.isoformat()) if self._month_first else (*dates, value.isoformat())
        if isinstance(value, int):
            if how == "year":
                return (str(value),)
            forms = tuple(dict.fromkeys((f"{value:,}", str(value))))
            if how == "money":
                return (f"{value:,} {self.currency}", *forms)
            return (*forms, WORDS[value]) if 0 <= value <= 12 else forms
        return (str(value),)

    def join(self, items: Sequence[str]) -> str:
        """Join a list in words: a, b and c."""
        return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


class ChineseForms:
    """Chinese: 汉字 for small numbers; years as 一八七三年 or 1873年, by article."""

    def __init__(self, currency: str, style: float) -> None:
        self.currency = currency
        self._characters = style > 0.55

    def show(self, value: object) -> str:
        """Write a value as in running text."""
        if isinstance(value, date):
            return hanzi_date(value) if self._characters else f"{value.year}年{value.month}月{value.day}日"
        if isinstance(value, int):
            return "两" if value == 2 else hanzi(value) if 0 <= value <= 10 else str(value)
        return str(value)

    def shape(self, value: object, attr: str) -> str | None:
        """Write ``value`` as ``attr`` specifies; None if ``attr`` is unknown."""
        if isinstance(value, date):
            if attr == "year":
                return self._year(value.year)
            if attr == "month":
                return self._year(value.year) + self._month(value)
            if attr == "moon":
                return self._month(value)
            if attr == "day":
                return f"{self._month(value)}{hanzi(value.day) if self._characters else value.day}日"
        elif isinstance(value, int):
            if attr == "y":
                return self._year(value)
            if attr == "n":
                return str(value)
            if attr == "money":
                return f"{value}{self.currency}"
            if attr == "th":
                return "第" + hanzi(value)
            if attr == "hanzi":
                return hanzi(value)
        return None

    def _year(self, year: int) -> str:
        return (hanzi_digits(year) if self._characters else str(year)) + "年"

    def _month(self, value: date) -> str:
        return f"{hanzi(value.month) if self._characters else value.month}月"

    def accepted(self, value: object, how: str) -> tuple[str, ...]:
        """All written forms of an answer."""
        if isinstance(value, date):
            if how == "year":
                return self.accepted(value.year, "year")
            return (f"{value.year}年{value.month}月{value.day}日", hanzi_date(value), value.isoformat())
        if isinstance(value, int):
            if how == "year":
                return (f"{value}年", f"{hanzi_digits(value)}年", str(value))
            if how == "money":
                return (f"{value}{self.currency}", str(value))
            if value == 2:
                return (str(value), "两", "二")
            return (str(value), hanzi(value)) if 0 <= value <= 99 else (str(value),)
        return (str(value),)

    def join(self, items: Sequence[str]) -> str:
        """Join a list: 甲、乙和丙."""
        return items[0] if len(items) == 1 else "、".join(items[:-1]) + "和" + items[-1]


def ordinal(value: int) -> str:
    """Write an English ordinal: in words up to twelve, then 13th, 21st, 22nd."""
    if value <= 12:
        return ORDINALS[value]
    ending = "th" if 10 <= value % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value:,}{ending}"


def hanzi(value: int) -> str:
    """Write a number of 0 to 99 in Chinese characters: 三, 十二, 二十, 四十七."""
    tens, ones = divmod(value, 10)
    if not tens:
        return DIGITS[ones].replace("〇", "零")
    return ("" if tens == 1 else DIGITS[tens]) + "十" + (DIGITS[ones] if ones else "")


def hanzi_digits(value: int) -> str:
    """Write a year digit by digit: 一八七三."""
    return "".join(DIGITS[int(figure)] for figure in str(value))


def hanzi_date(value: date) -> str:
    """Write a date in Chinese characters: 一八七三年三月十四日."""
    return f"{hanzi_digits(value.year)}年{hanzi(value.month)}月{hanzi(value.day)}日"
