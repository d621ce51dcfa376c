"""Reads the annals back from text, without the tables that wrote them: for solvers, which prove each answer.

Words that stand for works and acts are this module's own, but for the works that a private family names itself; names,
sums and dates are found by their form.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from fathom.world.private import own
from fathom.world.types import Language

_WORKS: Mapping[Language, Sequence[str]] = {
    "en": ("iron bridge", "school", "market hall", "waterworks", "granary", "east gate", "almshouse", "bathhouse",
           "hospital", "toll house", "library", "fire station", "quay", "weir", "slaughterhouse", "clock tower"),
    "zh": ("铁桥", "学堂", "市场", "水厂", "粮仓", "东门", "济贫院", "浴池", "医院", "税卡", "图书馆", "消防站", "码头",
           "水坝", "屠宰场", "钟楼"),
}  # fmt: skip
_ACTS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "petition": r"\bpetition|households",
        "inspection": r"inspect",
        "damage": r"damage",
        "vote": r"voted|grant",
        "contract": r"contract|tender|accepted",
        "payment": r"instalment",
        "completion": r"complet",
        "delivery": r"deliver",
        "keeper": r"keeper of|(?:has a|its) keeper",
        "gift": r"\bgift\b|\bgave\b|was given to .* as a gift",
        "opening": r"opened|guests|the opening",
    },
    "zh": {
        "petition": r"请愿|\d户",
        "inspection": "查验",
        "damage": "损失|受损|损坏",
        "vote": "拨款",
        "contract": "承包|中标",
        "payment": "分期",
        "completion": "完工",
        "delivery": "运来",
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
        "material": r"loads of (lime|oak|granite|brick|cement|gravel|sand|pine)\b",
        "defect": r"(a crack in the north wall|damp in the cellar|loose tiles on the roof|rust on the ironwork|"
        r"a blocked drain|rot in two beams|a door that would not shut|broken panes in the skylight|"
        r"a crack in the stonework|crumbling mortar|a broken railing|rot in the timbers|worn steps|"
        r"a sunken foundation)",
        "cause": r"(?i:\b(floodwater|a gale|an earth tremor|a fire in the workshop|a landslip|a runaway cart|lightning|"
        r"a burst pipe|a falling tree)\b)",
    },
    "zh": {
        "person": r"[\u4e00-\u9fff]{3}(?:先生|女士)",
        "firm": r"[\u4e00-\u9fff]{2}营造行",
        "money": r"(\d+)银元",
        "count": r"(\d+)[户车名人]",
        "material": "(石灰|橡木|麻石|青砖|水泥|砾石|河沙|松木)",
        "defect": "(北墙有一道裂缝|地窖潮湿|屋顶瓦片松动|铁件生锈|排水沟堵塞|两根梁木朽坏|一扇门关不严|天窗玻璃破碎|"
        "砌石有一道裂缝|灰浆剥落|栏杆断裂|木料朽坏|台阶磨损|地基下沉)",
        "cause": "(洪水|大风|地震|工棚起火|山坡滑塌|失控的马车|雷击|水管爆裂|大树倒下)",
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
_EN_INCIDENT, _ZH_INCIDENT = "[Tt]he [a-z’ ]+?", "[\u4e00-\u9fff]+?"
_EN_SAID, _ZH_SAID = "(?:,[^.;]+?,)?", "(?:，[^。，]+，)?"
_THEN = "(?: in the end| before long| within [a-z]+ weeks| sooner or later| by and by)?"
_LINKS: Mapping[Language, Sequence[str]] = {
    "en": (
        rf"(?P<cause>{_EN_INCIDENT}) led{_THEN} to (?P<effect>{_EN_INCIDENT})\.",
        rf"(?P<effect>{_EN_INCIDENT}){_EN_SAID} arose{_THEN} from (?P<cause>{_EN_INCIDENT})\.",
        rf"It was (?P<cause>{_EN_INCIDENT}){_EN_SAID} that brought about (?P<effect>{_EN_INCIDENT})\.",
        rf"The upshot of (?P<cause>{_EN_INCIDENT}){_EN_SAID} was (?P<effect>{_EN_INCIDENT})\.",
        rf"trace (?P<effect>{_EN_INCIDENT}) back to (?P<cause>{_EN_INCIDENT})\.",
        rf"But for (?P<cause>{_EN_INCIDENT}),(?: [^.;]+,)? (?P<effect>{_EN_INCIDENT}) would not have come\.",
        rf"(?P<effect>{_EN_INCIDENT}){_EN_SAID} goes back to (?P<cause>{_EN_INCIDENT})\.",
        rf"First there was (?P<cause>{_EN_INCIDENT}), and out of that{_THEN} came (?P<effect>{_EN_INCIDENT})\.",
    ),
    "zh": (
        rf"(?P<cause>{_ZH_INCIDENT}){_ZH_SAID}引出了(?P<effect>{_ZH_INCIDENT})。",
        rf"(?P<effect>{_ZH_INCIDENT})，(?:[^。，]+，)?起因在于(?P<cause>{_ZH_INCIDENT})。",
        rf"正是(?P<cause>{_ZH_INCIDENT}){_ZH_SAID}招来了(?P<effect>{_ZH_INCIDENT})。",
        rf"(?P<cause>{_ZH_INCIDENT})的结果是(?P<effect>{_ZH_INCIDENT})。",
        rf"说起(?P<effect>{_ZH_INCIDENT})，[^。，]+都归咎于(?P<cause>{_ZH_INCIDENT})。",
        rf"若没有(?P<cause>{_ZH_INCIDENT})，(?:[^。，]+，)?也就没有(?P<effect>{_ZH_INCIDENT})。",
        rf"先有(?P<cause>{_ZH_INCIDENT})，(?:[^。，]+，)?这才有了(?P<effect>{_ZH_INCIDENT})。",
    ),
}
MONTHS = re.findall("[A-Z][a-z]+", "JanuaryFebruaryMarchAprilMayJuneJulyAugustSeptemberOctoberNovemberDecember")
_SENTENCE: Mapping[Language, re.Pattern[str]] = {
    "en": re.compile(r"(?<=[.?!”]) (?=[A-Z0-9“])"),
    "zh": re.compile("(?<=[。？！])"),
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


def papers_of(text: str, language: Language) -> list[Read]:
    """All annals papers of a context, in its order."""
    headings = list(_HEADINGS[language].finditer(text))
    ends = [match.start() for match in headings[1:]] + [len(text)]
    # A blank line ends a paper: what is asked after the last one is no part of it.
    bodies = [text[match.end() : end].strip().partition("\n\n")[0] for match, end in zip(headings, ends, strict=True)]
    return [_read(match, body, language) for match, body in zip(headings, bodies, strict=True)]


def _read(heading: re.Match[str], body: str, language: Language) -> Read:
    mark, kind, district, *numbers = heading.groups()
    town = _TOWN[language].search(kind)
    if language == "en":
        day = date(int(numbers[2]), MONTHS.index(numbers[1]) + 1, int(numbers[0]))
    else:
        day = date(*map(int, numbers))
    reported = [record for paragraph in body.split("\n") for record in reported_in(paragraph, language)]
    links = [
        (cause, effect)
        for form in _LINKS[language]
        for match in re.finditer(form, body, re.MULTILINE)
        for cause, effect in [(match["cause"].lower(), match["effect"].lower())]
    ]
    return Read(mark, next(filter(None, town.groups())) if town else "", district, day, tuple(reported), tuple(links))


def reported_in(paragraph: str, language: Language) -> list[Report]:
    """The records that a paragraph tells."""
    reported = list[Report]()
    for sentence in _SENTENCE[language].split(paragraph):
        work, act = work_in(sentence, language), act_in(sentence, language)
        if act and work and (values := values_in(sentence, language)) and {"person", "firm"} & set(values):
            reported.append(Report(work, act, values, sentence))
    return reported


_NAMES: Mapping[Language, Mapping[str, str]] = {
    "en": {"town": r"[A-Z]\w+", "district": r"[A-Z]\w+"},
    "zh": {"town": "[\u4e00-\u9fff]{2}镇", "district": "[\u4e00-\u9fff]{2}"},
}


def is_name(text: str, kind: str, language: Language) -> bool:
    """Whether a text is a name of a town, district, person or firm by its form."""
    return re.fullmatch(_NAMES[language].get(kind) or _FORMS[language][kind], text) is not None


def _works(language: Language) -> Sequence[str]:
    named: Sequence[str] = own(language).get("works", ())
    return [work.removeprefix("the ") for work in named] or _WORKS[language]


def work_in(text: str, language: Language) -> str:
    """The first work that a text names."""
    matches = [(place, work) for work in _works(language) if (place := text.lower().find(work)) >= 0]
    return min(matches)[1] if matches else ""


def act_in(text: str, language: Language) -> str:
    """The act of which a text tells or asks."""
    return next((act for act, words in _ACTS[language].items() if re.search(words, text, re.IGNORECASE)), "")


def in_other_words(text: str, language: Language) -> tuple[str, str]:
    """The work and the act of a question that shares no word with the papers; "" if there is none."""
    others: Sequence[str] = own("other_words").get("works", {}).get(language) or _OTHER_WORKS[language]
    known = zip(_works(language), others, strict=False)
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
