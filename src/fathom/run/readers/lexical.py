"""``fathom/lexical``: finds the sentence or passage whose words match the question, and takes the answer from it.

It understands nothing: sentences that hold something of the asked form are ranked by BM25 against the question,
and so are answers to choose among; parts are put in order by the words at their edges, and labels are those that
examples have for the same words. Where nothing fits it guesses, so that every reply is valid.

Pieces of one text are put in order by their words: what one piece ends with is what the next begins with. A piece is
known by the words near its two edges. They weigh more the nearer they stand to the edge and the rarer they are near the
other edges; the order whose neighbours have most weight in common is the best one.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from heapq import nlargest
from itertools import pairwise
from math import exp, log, sqrt
from random import Random

from fathom.run.readers.asked import Asked, common_relations, known_entities, numbered, understand
from fathom.run.readers.guess import guess_answer, said_choice, said_order
from fathom.run.readers.retrieval import excerpt, rank, sentences, terms
from fathom.types import AnswerKind

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"[0-9]+")
_SUMMARY = 5  # sentences of a summary
_COMMON = 20  # words that stand for what a text is about
_FUNCTION = 3  # letters of the words that say nothing about it
_WORTH = 0.5  # share of the best score down to which sentences say the same kind of thing
_EDGE = 600  # words of a piece that belong to an edge
_LETTERS = 10  # to a word at most, space included, so that only edges are read
_NEAR = 100  # words from the edge at which a word weighs 1/e
_STRETCH = 200  # words that count as one text where it is counted how common a word is
_STATES = 70_000  # of the search and piece: all there are up to 12 pieces, the best ones for more
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


def read(prompt: str, answer: AnswerKind, rng: Random) -> str:
    """The answer that the words of a prompt point to.

    Args:
        prompt: The whole prompt, or what a window leaves of it.
        answer: The kind of answer that it asks for.
        rng: Dice, for ties and for what cannot be found.
    """
    asked = understand(prompt, answer)
    found = _READINGS[asked.kind](asked, rng)
    return guess_answer(asked, rng) if found is None else found


def _uuid(asked: Asked, rng: Random) -> str | None:
    return _value(asked, _UUID)


def _digits(asked: Asked, rng: Random) -> str | None:
    return _value(asked, re.compile(rf"(?<![0-9.,])[0-9]{{{asked.digits}}}(?![0-9]|[.,][0-9])"))


def _value(asked: Asked, form: re.Pattern[str]) -> str | None:
    """What has the asked form in the best sentence, and does not stand in the question."""
    candidates = _holding(form, asked.context)
    for sentence in _best_first(asked.question, candidates, excerpt(asked.context)):
        for value in reversed(form.findall(sentence)):
            if value not in asked.question:
                return str(value)
    return None


def _option(asked: Asked, rng: Random) -> str | None:
    """The option that lists most of what the best sentences say last, in the order of the text."""
    options = {number: _NUMBER.findall(text) for number, text in asked.options.items()}
    listed = {value for values in options.values() for value in values}
    candidates = [s for s in _holding(_NUMBER, asked.context) if not listed.isdisjoint(_NUMBER.findall(s))]
    if not candidates:
        return None
    scores = rank(asked.question, candidates, excerpt(asked.context))
    best = sorted(range(len(candidates)), key=lambda i: -scores[i])[: max(map(len, options.values()))]
    telling = sorted(i for i in best if scores[i] >= _WORTH * scores[best[0]])
    said = [_NUMBER.findall(candidates[i])[-1] for i in telling]
    return str(max(sorted(options), key=lambda number: (_in_order(said, options[number]), rng.random())))


def _choice(asked: Asked, rng: Random) -> str | None:
    """The choice that some sentence of the context says most of; the question's own words tell nothing apart."""
    found = sentences(asked.context)
    known = set(terms(asked.question))
    if not found or not asked.options:
        return None
    said = {
        number: " ".join(word for word in dict.fromkeys(terms(text)) if word not in known)
        for number, text in asked.options.items()
    }
    scores = {number: max(rank(text, found), default=0.0) / (1 + len(text.split())) for number, text in said.items()}
    return said_choice(max(sorted(scores), key=lambda number: (scores[number], rng.random())), asked.kind)


def _in_order(said: Sequence[str], option: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    lengths = [0] * (len(option) + 1)
    for value in said:
        diagonal = 0
        for place, listed in enumerate(option, start=1):
            above = lengths[place]
            lengths[place] = diagonal + 1 if value == listed else max(above, lengths[place - 1])
            diagonal = above
    return lengths[-1]


def _passage(asked: Asked, rng: Random) -> str | None:
    """The number of the passage that shares most with the summary."""
    passages = numbered(asked.context)
    scores = rank(asked.question, [passage.text for passage in passages])
    if not any(scores):
        return None
    return str(passages[max(range(len(passages)), key=lambda i: scores[i])].number)


def _count(asked: Asked, rng: Random) -> str | None:
    """How many texts differ; None where some passages cannot be seen."""
    passages = numbered(asked.context)
    if not passages or [passage.number for passage in passages] != list(range(1, len(passages) + 1)):
        return None
    return str(len({passage.text for passage in passages}))


def _words(asked: Asked, rng: Random) -> str | None:
    """A short answer from the passages that the question names, or else from the whole context."""
    if asked.closed:
        return "无法回答" if asked.language == "zh" else "unanswerable"
    found = [sentence for text in _named(asked) for sentence in sentences(text)]
    return extract(asked.question, _best_first(asked.question, found), asked.language)


def _summary(asked: Asked, rng: Random) -> str | None:
    """The sentences of the named passages that match the request best, or else those that share most with the rest.

    Each passage gives at least one; they stand in the order of the text.
    """
    texts = [sentences(text) for text in _named(asked)]
    chosen = []
    for found in filter(None, texts):
        scores = rank(asked.question or _common_words(found), found)
        best = sorted(range(len(found)), key=lambda i: -scores[i])[: max(1, _SUMMARY // len(texts))]
        chosen += [found[i] for i in sorted(best)]
    return ("" if asked.language == "zh" else " ").join(chosen) or None


def _sentence(asked: Asked, rng: Random) -> str | None:
    """The sentence that matches the question best."""
    found = sentences(asked.context)
    return _best_first(asked.question, found)[0] if found else None


def _order(asked: Asked, rng: Random) -> str | None:
    """The parts in the order in which their edges match; those that cannot be seen stand anywhere among them."""
    pieces = asked.pieces
    if pieces is None or not pieces.texts:
        return None
    order = in_order(pieces.before, pieces.texts, pieces.after, rng)
    for number in range(1, pieces.number + 1):
        if number not in pieces.texts:
            order.insert(rng.randint(0, len(order)), number)
    return said_order(order)


def _label(asked: Asked, rng: Random) -> str | None:
    """The answer that shares most with the question; the longer one of two that share as much."""
    if asked.pieces is None or not asked.pieces.texts:
        return None
    texts = asked.pieces.texts
    scores = dict(zip(texts, rank(asked.question, list(texts.values())), strict=True))
    return f"A{max(texts, key=lambda number: (scores[number], len(texts[number])))}"


def _named(asked: Asked) -> list[str]:
    """The texts that a question is about: passages, those among them that can be seen, or else the whole context."""
    if not asked.passages:
        return [asked.context]
    return [passage.text for passage in numbered(asked.context) if passage.number in asked.passages]


def _common_words(found: Sequence[str]) -> str:
    """The words that most sentences share, function words aside as far as their length tells."""
    words = (word for sentence in found for word in dict.fromkeys(terms(sentence)))
    counts = Counter(word for word in words if len(word) > _FUNCTION or word > "~")
    return " ".join(word for word, _ in counts.most_common(_COMMON))


def _holding(form: re.Pattern[str], text: str) -> list[str]:
    """The sentences that hold a match; only lines that hold one are cut into sentences."""
    return [s for line in text.split("\n") if form.search(line) for s in sentences(line) if form.search(s)]


def _best_first(question: str, candidates: Sequence[str], background: Sequence[str] = ()) -> list[str]:
    scores = rank(question, candidates, background)
    return [candidates[i] for i in sorted(range(len(candidates)), key=lambda i: -scores[i])]


_READINGS: Mapping[AnswerKind, Callable[[Asked, Random], str | None]] = {
    "uuid": _uuid,
    "digits": _digits,
    "option": _option,
    "choice": _choice,
    "letter": _choice,
    "passage": _passage,
    "number": lambda asked, rng: None,
    "count": _count,
    "summary": _summary,
    "sentence": _sentence,
    "words": _words,
    "order": _order,
    "label": _label,
    "relations": lambda asked, rng: common_relations(asked.context, asked.question),
    "entities": lambda asked, rng: known_entities(asked.context, asked.question),
}


def in_order(before: str, pieces: Mapping[int, str], after: str, rng: Random) -> list[int]:
    """The numbers of pieces in the order in which their edges match best.

    Args:
        before: Text before the first piece; may be empty.
        pieces: The pieces by their numbers, at least one.
        after: Text after the last piece; may be empty.
        rng: Dice, for ties.
    """
    numbers = sorted(pieces)
    rng.shuffle(numbers)
    texts = [pieces[number] for number in numbers]
    common = _matches([_end(text) for text in (before, *texts)], [_start(text) for text in (*texts, after)])
    return [numbers[place] for place in _best_path(common)]


def _end(text: str) -> list[str]:
    """The last words, the last one first."""
    return terms(text[-_EDGE * _LETTERS :])[: -_EDGE - 1 : -1]


def _start(text: str) -> list[str]:
    return terms(text[: _EDGE * _LETTERS])[:_EDGE]


def _matches(ends: Sequence[Sequence[str]], starts: Sequence[Sequence[str]]) -> list[list[float]]:
    """For every end and every start: the cosine of their words and pairs of neighbouring words."""
    features = [[(words, [f"{b} {a}" for a, b in pairwise(words)]) for words in ends]]
    features += [[(words, [f"{a} {b}" for a, b in pairwise(words)]) for words in starts]]
    stretches = [
        set(kind[place : place + _STRETCH])
        for side in features
        for edge in side
        for kind in edge
        for place in range(0, len(kind), _STRETCH)
    ]
    holding = Counter(feature for stretch in stretches for feature in stretch)
    total = len(stretches) / 2  # words and pairs of a stretch are counted apart
    rarity = {feature: log((total + 1) / (count + 0.5)) for feature, count in holding.items()}
    first, second = ([_vector(edge, rarity) for edge in side] for side in features)
    return [[sum(weight * b.get(feature, 0.0) for feature, weight in a.items()) for b in second] for a in first]


def _vector(edge: Sequence[Sequence[str]], rarity: Mapping[str, float]) -> dict[str, float]:
    near: dict[str, float] = {}
    for kind in edge:
        for distance, feature in enumerate(kind):
            near[feature] = near.get(feature, 0.0) + exp(-distance / _NEAR)
    # The second time that a word comes says less than the first, as in BM25.
    weights = {feature: found / (found + 1) * max(0.0, rarity[feature]) for feature, found in near.items()}
    norm = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {feature: weight / norm for feature, weight in weights.items()}


def _best_path(common: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """The pieces (from 0) in the order with the highest sum.

    Args:
        common: What ends and starts share: row 0 is the end of the text before, row i + 1 that of piece i; the last
            column is the start of the text after.
    """
    size = len(common) - 1
    # Of the paths through the same pieces to the same last one only the best can be part of the best order.
    paths: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = {(0, -1): (0.0, ())}
    for _ in range(size):
        longer: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = {}
        for (through, last), (total, path) in paths.items():
            for piece, shared in enumerate(common[last + 1][:-1]):
                if not through >> piece & 1:
                    reached, score = (through | 1 << piece, piece), total + shared
                    if reached not in longer or score > longer[reached][0]:
                        longer[reached] = (score, (*path, piece))
        kept = nlargest(_STATES // size, longer, key=lambda state: longer[state][0])
        paths = {state: longer[state] for state in kept}
    return max((total + common[path[-1] + 1][-1], path) for total, path in paths.values())[1]


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
