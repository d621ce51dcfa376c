"""Takes a short answer out of sentences: a date, a number or a name, whichever the question wants."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fathom.run.readers.retrieval import terms

_SENTENCES = 5  # best sentences in which an answer of the wanted kind is looked for
_MOST = 80  # characters of an answer where nothing of a kind is found

_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"\b(?:1[0-9]{3}|20[0-9]{2})\b"
_DATE = rf"\b[0-9]{{1,2}}(?:st|nd|rd|th)? {_MONTH}(?:,? {_YEAR})?|\b{_MONTH} [0-9]{{1,2}}\b(?:,? {_YEAR})?"
_COUNT_WORD = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|none"
_NUMERAL = r"(?!(?:1[0-9]{3}|20[0-9]{2})\b)[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?"  # no year
_COUNT = rf"\b{_NUMERAL}%?(?! {_MONTH})|\b(?:{_COUNT_WORD})\b"
_AMOUNT = rf"[$£€]{_NUMERAL}(?: [mb]illion)?|\b{_NUMERAL}(?:%| (?:[mb]illion )?[a-z]+s\b| per ?cent)"
_NO_NAME = (
    "The|A|An|In|On|At|His|Her|He|She|It|Its|This|That|These|Those|When|After|Before|By|For|From|With|As|There|They|"
    "Their|But|And|Of|To|So|Then|Mr|Mrs|Miss|If|Under|Until|Since|While|What|Who|Not|No|Some|One|Two|Three|Only|"
    "January|February|March|April|May|June|July|August|September|October|November|December"
)
_CAPITAL = r"[A-Z]\w+(?:[’'-][A-Z]?\w{2,})*"
_NAME = rf"\b(?!(?:{_NO_NAME})\b){_CAPITAL}(?:(?: (?:&|of|de|von|van) | ){_CAPITAL})*"
_WEEKDAY = r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b"

_HAN = "\u3400-\u9fff"
_DIGIT = "[0-9〇零一二三四五六七八九十百千万两]"
_YEAR_ZH = f"{_DIGIT}{{2,4}}年"
_DATE_ZH = f"(?:{_YEAR_ZH})?{_DIGIT}+月{_DIGIT}+[日号]?"
_NUMBER_ZH = r"[0-9][0-9,]*(?:\.[0-9]+)?%?(?![0-9年月日号])"
_NUMERAL_ZH = f"(?<!{_DIGIT}){_DIGIT}+(?!{_DIGIT}|[年月日号])"
_SURNAME = (
    "[王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘"
    "杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文]"
)
_PERSON_ZH = f"{_SURNAME}[{_HAN}]{{1,2}}(?![{_HAN}]*?[年月])"
_PLACE_ZH = f"[{_HAN}]{{1,5}}?[省市县区镇村州国城河江山湖港岛乡]"

# How a question asks for a kind of answer, and what such answers look like, the likeliest form first.
_KINDS: Mapping[str, tuple[tuple[re.Pattern[str], tuple[re.Pattern[str], ...]], ...]] = {
    language: tuple((re.compile(asks, re.IGNORECASE), tuple(map(re.compile, forms))) for asks, forms in kinds)
    for language, kinds in {
        "en": (
            (r"\b(?:which|what) day\b", (_WEEKDAY, _DATE)),
            (r"\b(?:which|what) year\b", (_YEAR,)),
            (r"\bwhen\b|\bdate\b", (_DATE, _YEAR)),
            (
                r"\bhow much\b|\bwhat (?:is|was|were) the (?:\w+ )?(?:cost|price|pay|takings|sum|fee|wages?)\b",
                (_AMOUNT, _COUNT),
            ),
            (r"\bhow (?:many|far|long|old|often|tall|high)\b|\bwhat (?:number|percentage|age)\b", (_COUNT,)),
            (r"\bwho(?:m|se)?\b|\bwhere\b|\b(?:which|what) (?:place|town|city|country|river|person)\b", (_NAME,)),
        ),
        "zh": (
            ("哪一?年|何年", (_YEAR_ZH,)),
            ("何时|什么时候|哪一?[天日]|日期|几月", (_DATE_ZH, _YEAR_ZH)),
            ("多少|几[个名位人元里年天岁次座所间条家件本枚]|多[大长远高久]", (_NUMBER_ZH, _NUMERAL_ZH)),
            ("谁|何人|哪一?[位个名]人?|姓名|名字", (_PERSON_ZH,)),
            ("哪里|何处|何地|哪儿|什么地方|哪一?[座条个]?[省市县区镇村州国城河江山湖港岛]", (_PLACE_ZH,)),
        ),
    }.items()
}
_ANYTHING: Mapping[str, tuple[re.Pattern[str], ...]] = {
    "en": (re.compile(_NAME), re.compile(r"\b[a-z][a-z'’-]+(?: [a-z][a-z'’-]+)?\b")),
    "zh": (re.compile(r"[^，。！？；：、\s]{2,}"),),
}


def extract(question: str, best: Sequence[str], language: str) -> str | None:
    """The likeliest short answer.

    Args:
        question: The question.
        best: Sentences, the best one first.
        language: ``en`` or ``zh``.

    Returns:
        A date, number, name or a few words; None if there is no sentence.
    """
    wanted = next((forms for asks, forms in _KINDS[language] if asks.search(question)), ())
    known = set(terms(question))
    for form in (*wanted, *_ANYTHING[language]):
        for sentence in best[:_SENTENCES]:
            new = [match for match in form.finditer(sentence) if not known.issuperset(terms(match.group()))]
            if new:
                return max(new, key=lambda match: _nearness(match, sentence, known)).group()
    return best[0][:_MOST] if best else None


def _nearness(found: re.Match[str], sentence: str, known: set[str]) -> float:
    """How near the words of the question stand to a possible answer, in words."""
    before, after = terms(sentence[: found.start()]), terms(sentence[found.end() :])
    return sum(
        1 / distance
        for side in (reversed(before), after)
        for distance, word in enumerate(side, start=1)
        if word in known
    )
