"""Reads the annals back from text, without the tables that wrote them: for solvers, which prove each answer.

Words that stand for works and acts are this module's own; names, sums and dates are found by their form.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from fathom.world.types import Language

_WORKS: Mapping[Language, Sequence[str]] = {
    "en": ("iron bridge", "school", "market hall", "waterworks", "granary", "east gate", "almshouse", "bathhouse",
           "hospital", "toll house", "library", "fire station", "quay", "weir", "slaughterhouse", "clock tower"),
    "zh": ("铁桥", "学堂", "市场", "水厂", "粮仓", "东门", "济贫院", "浴池", "医院", "税卡", "图书馆", "消防站", "码头",
           "水坝", "屠宰场", "钟楼"),
}  # fmt: skip
_ACTS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "petition": r"petition|households",
        "inspection": r"inspect",
        "damage": r"damage",
        "vote": r"voted|grant",
        "contract": r"contract|tender|accepted",
        "payment": r"instalment",
        "completion": r"complet",
        "delivery": r"deliver",
        "keeper": r"keeper|the post, worth",
        "gift": r"\bgift\b|\bgave\b|was given to .* as a gift",
        "opening": r"opened|guests|the opening",
    },
    "zh": {
        "petition": "请愿|户",
        "inspection": "查验",
        "damage": "损失|受损|损坏",
        "vote": "拨款",
        "contract": "承包|中标",
        "payment": "分期",
        "completion": "完工",
        "delivery": "运来|运料",
        "keeper": "看管|年薪",
        "gift": "捐款",
        "opening": "启用|宾客",
    },
}
_OTHER_WORKS: Mapping[Language, Sequence[str]] = {
    "en": ("crossing", "teaching", "stallholders", "drinking", "corn", "sunrise", "poor", "washing", "sick", "dues",
           "reading room", "firefighters", "landing", "barrier", "butchers", "belfry"),
    "zh": ("跨河", "念书", "摊贩", "解渴", "谷子", "日出", "穷人", "洗澡", "治病", "过路钱", "典籍", "救火",
           "停泊", "拦河", "杀猪", "报时"),
}  # fmt: skip
_OTHER_ACTS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "petition": "request", "vote": "aside", "contract": "chosen", "delivery": "supplied|supplies", "gift": "donor",
        "damage": "harm", "payment": "under way", "inspection": "fault", "completion": "finished",
        "opening": "ceremony", "keeper": "looks? after",
    },
    "zh": {
        "petition": "请求|支持", "vote": "公家", "contract": "获选", "delivery": "货", "gift": "善人", "damage": "遭",
        "payment": "还没有造好", "inspection": "毛病", "completion": "造好", "opening": "仪式", "keeper": "照料",
    },
}  # fmt: skip
"""The same in questions that share no word with the papers."""
_FORMS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "person": r"(?:Mr|Miss) [A-Z][a-z]+ [A-Z][a-z]+",
        "firm": r"[A-Z][a-z]+ & [A-Z][a-z]+",
        "money": r"([\d,]+) crowns",
        "count": r"\b(\d+) (?:households|loads|guests)",
        "material": r"loads of ([a-z]+)",
        "defect": r"(?:found|brought to light) ([a-z][a-z -]+)",
        "cause": r"(?:done to [a-z ]+? by|done by|damage that|damaged by) ([a-z ]+?)(?: had|;|,| at\b)",
    },
    "zh": {
        "person": r"[\u4e00-\u9fff]{3}(?:先生|女士)",
        "firm": r"[\u4e00-\u9fff]{2}营造行",
        "money": r"(\d+)银元",
        "count": r"(\d+)[户车名人]",
        "material": r"运来了?(..)\d|所用的(..)由|的是什么",
        "defect": r"发现([\u4e00-\u9fff]+)",
        "cause": r"因([\u4e00-\u9fff]+?)受损|估计，([\u4e00-\u9fff]+?)(?:给|造成)|"
        r"^(?:[\u4e00-\u9fff]+[，：])?([\u4e00-\u9fff]+?)损坏了",
    },
}
_HEADINGS: Mapping[Language, re.Pattern[str]] = {
    "en": re.compile(r"^([A-Z]\d{4}) (.+), (\w+) district, (\d+) (\w+) (\d{4})$", re.MULTILINE),
    "zh": re.compile(r"^([A-Z]\d{4}) (.+)，(..)县，(\d{4})年(\d+)月(\d+)日$", re.MULTILINE),
}
_TOWN: Mapping[Language, re.Pattern[str]] = {
    "en": re.compile(r"(?:council of|Chronicle of| at) (\w+)$|^(\w+) Gazette$"),
    "zh": re.compile(r"(?:自|^)(..镇)"),
}
_EN_INCIDENT, _ZH_INCIDENT = "[Tt]he [a-z ]+?", "[\u4e00-\u9fff]+?"
_LINKS: Mapping[Language, Sequence[str]] = {
    "en": (
        rf"(?P<cause>{_EN_INCIDENT}) led to (?P<effect>{_EN_INCIDENT})\.",
        rf"(?P<effect>{_EN_INCIDENT}) came from (?P<cause>{_EN_INCIDENT})\.",
        rf"It was (?P<cause>{_EN_INCIDENT}) that brought about (?P<effect>{_EN_INCIDENT})\.",
        rf"Because of (?P<cause>{_EN_INCIDENT}), there followed (?P<effect>{_EN_INCIDENT})\.",
        rf"People trace (?P<effect>{_EN_INCIDENT}) back to (?P<cause>{_EN_INCIDENT})\.",
    ),
    "zh": (
        rf"(?P<cause>{_ZH_INCIDENT})引出了(?P<effect>{_ZH_INCIDENT})。",
        rf"(?P<effect>{_ZH_INCIDENT})，起因在于(?P<cause>{_ZH_INCIDENT})。",
        rf"正是(?P<cause>{_ZH_INCIDENT})招来了(?P<effect>{_ZH_INCIDENT})。",
        rf"由于(?P<cause>{_ZH_INCIDENT})，接着又有了(?P<effect>{_ZH_INCIDENT})。",
        rf"说起(?P<effect>{_ZH_INCIDENT})，大家都归咎于(?P<cause>{_ZH_INCIDENT})。",
    ),
}
MONTHS = re.findall("[A-Z][a-z]+", "JanuaryFebruaryMarchAprilMayJuneJulyAugustSeptemberOctoberNovemberDecember")
_SENTENCE: Mapping[Language, re.Pattern[str]] = {
    "en": re.compile(r"(?<=[.:]) (?=[A-Z0-9])"),
    "zh": re.compile("(?<=。)"),
}


MARK = r"[A-Z]-\d{4}(?:-\d+)?"
"""A mark of a register, a toll book or a steward's book."""


@dataclass(frozen=True, slots=True)
class Report:
    """One record as read: the values of its slots are the texts that stand there."""

    work: str
    act: str
    values: Mapping[str, str]
    sentence: str


@dataclass(frozen=True, slots=True)
class Read:
    """One paper as read."""

    mark: str
    town: str
    district: str
    day: date
    reported: tuple[Report, ...]
    links: tuple[tuple[str, str], ...]
    body: str


def papers_of(text: str, language: Language) -> list[Read]:
    """All annals papers of a context, in its order."""
    headings = list(_HEADINGS[language].finditer(text))
    ends = [match.start() for match in headings[1:]] + [len(text)]
    return [_read(match, text[match.end() : end].strip(), language) for match, end in zip(headings, ends, strict=True)]


def _read(heading: re.Match[str], body: str, language: Language) -> Read:
    mark, kind, district, *numbers = heading.groups()
    town = _TOWN[language].search(kind)
    if language == "en":
        day = date(int(numbers[2]), MONTHS.index(numbers[1]) + 1, int(numbers[0]))
    else:
        day = date(*map(int, numbers))
    reported = [record for paragraph in body.split("\n") for record in _reported(paragraph, language)]
    links = [
        (cause, effect)
        for form in _LINKS[language]
        for match in re.finditer(form, body, re.MULTILINE)
        for cause, effect in [(match["cause"].lower(), match["effect"].lower())]
    ]
    return Read(
        mark, next(filter(None, town.groups())) if town else "", district, day, tuple(reported), tuple(links), body
    )


def _reported(paragraph: str, language: Language) -> list[Report]:
    work, reported = "", list[Report]()
    for sentence in _SENTENCE[language].split(paragraph):
        work = work_in(sentence, language) or work
        act = act_in(sentence, language)
        if act and work and (values := values_in(sentence, language)) and {"person", "firm"} & set(values):
            reported.append(Report(work, act, values, sentence))
    return reported


def work_in(text: str, language: Language) -> str:
    """The first work that a text names."""
    matches = [(place, work) for work in _WORKS[language] if (place := text.lower().find(work)) >= 0]
    return min(matches)[1] if matches else ""


def act_in(text: str, language: Language) -> str:
    """The act of which a text tells or asks."""
    return next((act for act, words in _ACTS[language].items() if re.search(words, text, re.IGNORECASE)), "")


def in_other_words(text: str, language: Language) -> tuple[str, str]:
    """The work and the act of a question that shares no word with the papers; "" if there is none."""
    known = zip(_WORKS[language], _OTHER_WORKS[language], strict=True)
    work = next((work for work, words in known if words in text), "")
    return work, next((act for act, words in _OTHER_ACTS[language].items() if re.search(words, text)), "")


def values_in(text: str, language: Language) -> dict[str, str]:
    """The values that a sentence gives, by slot."""
    values = {}
    for slot, form in _FORMS[language].items():
        if match := re.search(form, text):
            values[slot] = next(filter(None, match.groups()), match[0])
    return values


def date_in(text: str, language: Language) -> tuple[int, int, int]:
    """Year, month and day of the first date of a text with its year."""
    if language == "zh":
        year, month, day = map(int, re.findall(r"(\d{4})年(\d+)月(\d+)日", text)[0])
        return year, month, day
    day_text, name, year_text = re.findall(rf"(\d+) ({'|'.join(MONTHS)}) (\d{{4}})", text)[0]
    return int(year_text), MONTHS.index(name) + 1, int(day_text)


def digits(text: str) -> str:
    """A number without separators and unit."""
    return "".join(re.findall(r"\d+", text))


def numbered(question: str) -> dict[str, str]:
    """The lines of a question that begin with a capital letter and a full stop, by letter."""
    return dict(re.findall(r"^([A-Z])\. (.+)$", question, re.MULTILINE))
