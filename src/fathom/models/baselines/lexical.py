"""``fathom/lexical``: finds the sentence or passage whose words match the question and takes the answer from it.

It has no language understanding: sentences that contain something of the requested form are ranked by BM25 against the
question, as are candidate answers; parts are ordered by the words at their edges, and labels are those that examples
give for the same words. If nothing matches it guesses, so that every reply is valid.

Pieces of one text are ordered by the words near their two edges: the end of one resembles the start of the next. Words
weigh more if they are near the edge and rare near other edges; the best order has the most shared weight between
adjacent pieces.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from heapq import nlargest
from itertools import pairwise
from math import exp, log, sqrt
from random import Random

from fathom.models.baselines.guess import choice_reply, guess_answer, order_reply
from fathom.models.baselines.parsing import (
    ParsedPrompt,
    common_relations,
    headed,
    known_entities,
    number_of,
    numbered,
    parse_prompt,
)
from fathom.models.baselines.retrieval import excerpt, finished, rank, sentences, terms
from fathom.models.form import PromptForm
from fathom.types import AnswerKind

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"[0-9]+")
_SUMMARY = 5  # sentences in a summary
_NOTES = 150  # words in notes, if the prompt does not say
_MARK = re.compile(r"^\[[^\]\n]{1,60}\]$", re.MULTILINE)  # stands before a part of which notes are taken
_COMMON = 20  # words that represent the topic of a text
_FUNCTION = 3  # maximum length of words ignored as function words
_WORTH = 0.5  # fraction of the best score from which sentences are considered
_EDGE = 600  # words of a piece near an edge
_LETTERS = 10  # maximum characters per word, space included, so that only edges are read
_NEAR = 100  # distance from the edge in words at which the weight falls to 1/e
_STRETCH = 200  # words counted as one document for word frequencies
_STATES = 70_000  # states per piece in the search: exhaustive up to 12 pieces, a beam beyond
_SENTENCES = 5  # best sentences in which an answer of the requested kind is looked for
_MOST = 80  # characters of an answer if nothing of the requested kind is found
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
# How questions ask for a kind of answer, and the forms of such answers, the likeliest first.
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


def read(prompt: str, answer: AnswerKind, rng: Random, form: PromptForm | None = None) -> str:
    """The answer that word matching finds.

    Args:
        prompt: The whole prompt, or what a window left of it.
        answer: The kind of answer that it asks for.
        rng: Random generator, for ties and for answers not found.
        form: The form of the sample's prompt; None for a prompt without a sample.
    """
    parsed = parse_prompt(prompt, answer, form)
    reply = _READINGS[parsed.kind](parsed, rng)
    return guess_answer(parsed, rng) if reply is None else reply


def _uuid(parsed: ParsedPrompt, rng: Random) -> str | None:
    return _value(parsed, _UUID)


def _digits(parsed: ParsedPrompt, rng: Random) -> str | None:
    return _value(parsed, re.compile(rf"(?<![0-9.,])[0-9]{{{parsed.digits}}}(?![0-9]|[.,][0-9])"))


def _value(parsed: ParsedPrompt, form: re.Pattern[str]) -> str | None:
    """A match of the form in the best sentence that is not in the question."""
    candidates = _holding(form, parsed.context)
    for sentence in _best_first(parsed.question, candidates, excerpt(parsed.context)):
        for value in reversed(form.findall(sentence)):
            if value not in parsed.question:
                return str(value)
    return None


def _option(parsed: ParsedPrompt, rng: Random) -> str | None:
    """The option that lists most of what the best sentences end with, in the order of the text."""
    options = {number: _NUMBER.findall(text) for number, text in parsed.options.items()}
    listed = {value for values in options.values() for value in values}
    candidates = [s for s in _holding(_NUMBER, parsed.context) if not listed.isdisjoint(_NUMBER.findall(s))]
    if not candidates:
        return None
    scores = rank(parsed.question, candidates, excerpt(parsed.context))
    best = sorted(range(len(candidates)), key=lambda i: -scores[i])[: max(map(len, options.values()))]
    telling = sorted(i for i in best if scores[i] >= _WORTH * scores[best[0]])
    numbers = [_NUMBER.findall(candidates[i])[-1] for i in telling]
    return str(max(sorted(options), key=lambda number: (_in_order(numbers, options[number]), rng.random())))


def _choice(parsed: ParsedPrompt, rng: Random) -> str | None:
    """The choice of which a single sentence contains most words; words of the question do not count."""
    every_sentence = sentences(parsed.context)
    known = set(terms(parsed.question))
    if not every_sentence or not parsed.options:
        return None
    stated = {
        number: " ".join(word for word in dict.fromkeys(terms(text)) if word not in known)
        for number, text in parsed.options.items()
    }
    scores = {
        number: max(rank(text, every_sentence), default=0.0) / (1 + len(text.split()))
        for number, text in stated.items()
    }
    return choice_reply(max(sorted(scores), key=lambda number: (scores[number], rng.random())), parsed.kind)


def _in_order(stated: Sequence[str], option: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    lengths = [0] * (len(option) + 1)
    for value in stated:
        diagonal = 0
        for place, listed in enumerate(option, start=1):
            above = lengths[place]
            lengths[place] = diagonal + 1 if value == listed else max(above, lengths[place - 1])
            diagonal = above
    return lengths[-1]


def _passage(parsed: ParsedPrompt, rng: Random) -> str | None:
    """The number of the passage with the most words in common with the summary."""
    passages = numbered(parsed.context, parsed.heading)
    scores = rank(parsed.question, [passage.text for passage in passages])
    if not any(scores):
        return None
    return str(passages[max(range(len(passages)), key=lambda i: scores[i])].number)


def _count(parsed: ParsedPrompt, rng: Random) -> str | None:
    """The number of distinct passages; None if some are not visible."""
    passages = numbered(parsed.context, parsed.heading)
    if not passages or [passage.number for passage in passages] != list(range(1, len(passages) + 1)):
        return None
    return str(len({passage.text for passage in passages}))


def _words(parsed: ParsedPrompt, rng: Random) -> str | None:
    """A short answer from the passages that the question names, or else from the whole context."""
    if parsed.closed:
        return "无法回答" if parsed.language == "zh" else "unanswerable"
    candidates = [sentence for text in _texts_in_question(parsed) for sentence in sentences(text)]
    return extract(parsed.question, _best_first(parsed.question, candidates), parsed.language)


def _summary(parsed: ParsedPrompt, rng: Random) -> str | None:
    """The sentences of the named passages that match the request best, or else the most central ones.

    Each passage contributes at least one; they are in the order of the text.
    """
    texts = [sentences(text) for text in _texts_in_question(parsed)]
    chosen = []
    for entry in filter(None, texts):
        scores = rank(parsed.question or _common_words(entry), entry)
        best = sorted(range(len(entry)), key=lambda i: -scores[i])[: max(1, _SUMMARY // len(texts))]
        chosen += [entry[i] for i in sorted(best)]
    return ("" if parsed.language == "zh" else " ").join(finished(chosen)) or None


def _notes(parsed: ParsedPrompt, rng: Random) -> str:
    """The sentences that match what is asked best, in the order of the text, below the headings that they have.

    Instructions before the part are left out, as are sentences that were there before.
    If the question names passages, only theirs; "nothing" where none of them is there.
    """
    marked = _MARK.search(parsed.context)
    texts = headed(parsed.context[marked.end() :] if marked else parsed.context)
    if parsed.passages and len(texts) > 1:
        texts = [(heading, text) for heading, text in texts if heading and number_of(heading) in parsed.passages]
    read = dict.fromkeys((heading, candidate) for heading, text in texts for candidate in sentences(text))
    notes = [(heading, sentence) for heading, sentence in read if not _MARK.fullmatch(sentence)]
    scores = rank(parsed.question, [sentence for _, sentence in notes])
    left = parsed.words or _NOTES
    chosen: list[int] = []
    for i in sorted((i for i in range(len(notes)) if scores[i] > 0), key=lambda i: -scores[i]):
        left -= len(terms(" ".join(notes[i])))
        if left < 0 and chosen:
            break
        chosen.append(i)
    lines: list[str] = []
    last = ""
    for i in sorted(chosen):
        heading, sentence = notes[i]
        if heading != last:
            lines.append(f"\n{heading}")
            last = heading
        lines.append(sentence)
    return "\n".join(lines).strip() or ("无" if parsed.language == "zh" else "nothing")


def _sentence(parsed: ParsedPrompt, rng: Random) -> str | None:
    """The sentence that best matches the question."""
    candidates = sentences(parsed.context)
    return _best_first(parsed.question, candidates)[0] if candidates else None


def _order(parsed: ParsedPrompt, rng: Random) -> str | None:
    """The parts in the order in which their edges match best; parts not visible are inserted at random."""
    pieces = parsed.pieces
    if pieces is None or not pieces.texts:
        return None
    order = in_order(pieces.before, pieces.texts, pieces.after, rng)
    for number in range(1, pieces.number + 1):
        if number not in pieces.texts:
            order.insert(rng.randint(0, len(order)), number)
    return order_reply(order)


def _label(parsed: ParsedPrompt, rng: Random) -> str | None:
    """The candidate with the most words in common with the question; of equal ones, the longer."""
    if parsed.pieces is None or not parsed.pieces.texts:
        return None
    texts = parsed.pieces.texts
    scores = dict(zip(texts, rank(parsed.question, list(texts.values())), strict=True))
    return f"A{max(texts, key=lambda number: (scores[number], len(texts[number])))}"


def _texts_in_question(parsed: ParsedPrompt) -> list[str]:
    """The texts that a question is about: the named passages that are visible, or else the whole context."""
    if not parsed.passages:
        return [parsed.context]
    return [passage.text for passage in numbered(parsed.context, parsed.heading) if passage.number in parsed.passages]


def _common_words(texts: Sequence[str]) -> str:
    """The most common words of the sentences, without short function words."""
    words = (word for sentence in texts for word in dict.fromkeys(terms(sentence)))
    counts = Counter(word for word in words if len(word) > _FUNCTION or word > "~")
    return " ".join(word for word, _ in counts.most_common(_COMMON))


def _holding(form: re.Pattern[str], text: str) -> list[str]:
    """The sentences with a match; only lines with one are split into sentences."""
    return [s for line in text.split("\n") if form.search(line) for s in sentences(line) if form.search(s)]


def _best_first(question: str, candidates: Sequence[str], background: Sequence[str] = ()) -> list[str]:
    scores = rank(question, candidates, background)
    return [candidates[i] for i in sorted(range(len(candidates)), key=lambda i: -scores[i])]


_READINGS: Mapping[AnswerKind, Callable[[ParsedPrompt, Random], str | None]] = {
    "uuid": _uuid,
    "digits": _digits,
    "option": _option,
    "choice": _choice,
    "letter": _choice,
    "passage": _passage,
    "number": lambda parsed, rng: None,
    "count": _count,
    "summary": _summary,
    "sentence": _sentence,
    "notes": _notes,
    "words": _words,
    "order": _order,
    "label": _label,
    "relations": lambda parsed, rng: common_relations(parsed.context, parsed.question),
    "entities": lambda parsed, rng: known_entities(parsed.context, parsed.question),
}


def in_order(before: str, pieces: Mapping[int, str], after: str, rng: Random) -> list[int]:
    """The numbers of pieces in the order in which their edges match best.

    Args:
        before: Text before the first piece; may be empty.
        pieces: The pieces by their numbers, at least one.
        after: Text after the last piece; may be empty.
        rng: Random generator, for ties.
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
    """For every end and start, the cosine similarity of their words and word pairs."""
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
    total = len(stretches) / 2  # words and pairs of a stretch are counted separately
    rarity = {feature: log((total + 1) / (count + 0.5)) for feature, count in holding.items()}
    first, second = ([_vector(edge, rarity) for edge in side] for side in features)
    return [[sum(weight * b.get(feature, 0.0) for feature, weight in a.items()) for b in second] for a in first]


def _vector(edge: Sequence[Sequence[str]], rarity: Mapping[str, float]) -> dict[str, float]:
    near: dict[str, float] = {}
    for kind in edge:
        for distance, feature in enumerate(kind):
            near[feature] = near.get(feature, 0.0) + exp(-distance / _NEAR)
    # Repeated words add less, as in BM25.
    weights = {feature: count / (count + 1) * max(0.0, rarity[feature]) for feature, count in near.items()}
    norm = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {feature: weight / norm for feature, weight in weights.items()}


def _best_path(common: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """The pieces (from 0) in the order with the highest sum.

    Args:
        common: Similarities of ends and starts: row 0 is the end of the text before, row i + 1 that of piece i; the
            last column is the start of the text after.
    """
    size = len(common) - 1
    # Of the paths through the same pieces to the same last one, only the best can be part of the best order.
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
    """The most likely short answer.

    Args:
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


def _nearness(match: re.Match[str], sentence: str, known: set[str]) -> float:
    """Distance in words between the question's words and a possible answer."""
    before, after = terms(sentence[: match.start()]), terms(sentence[match.end() :])
    return sum(
        1 / distance
        for side in (reversed(before), after)
        for distance, word in enumerate(side, start=1)
        if word in known
    )
