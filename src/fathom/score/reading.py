"""Prepares replies for extraction: plain text, numbers as digits, negated answers removed, split at answer cues."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from fathom.score.dialects import without_reasoning
from fathom.score.text import caseless, chinese_words, english_words, fold, whole_words

_STRUCK = re.compile(r"~~[^~\n]{1,4000}~~")  # "~~B~~ D"
_MARKDOWN = re.compile(r"[*`$]+|~~+|\\boxed|^[ \t]*#+[ \t]", re.MULTILINE)
_CALLED = (
    "(?:answer|choice|option|one|number|passage|paragraph|document|article|text|value|key|label|letter|type|class|category"
    "|order|list|count|uuid|sequence|result|segment|line)"
)
# "answer is", "the right letter is", "Answer:", "[Answer]", "答案是", "Antwort lautet": what follows is the answer.
CUE = re.compile(
    r"\b(?:answer|choice|option|pass ?key|result|label|letter|class|category|type|order)\s+"
    r"(?:is|would be|should be|must be)\b\s*:?"
    rf"|\b(?:correct|right|best|final)\s+(?:\w+\s+){{0,2}}?{_CALLED}\s+is\b\s*:?|\banswer\s*[:=]|\[answer\]"
    r"|(?:答案|选项|结果|密码|密钥|類別|类别|类型|正解|答え|정답)\s*(?:应该?)?(?:是|为|為|は|은|:)\s*:?|\[答案\]"
    r"|\b(?:antwort|lösung)\s+(?:ist|lautet)\b\s*:?|\bréponse\s+(?:\w+\s+)?est\b\s*:?"
    r"|\b(?:respuesta|risposta|resposta)\s+(?:\w+\s+)?(?:es|è|é)\s*:?"
    r"|\b(?:antwort|lösung|réponse|respuesta|risposta|resposta)\s*:",
    re.IGNORECASE,
)
# A base model goes on with the next question of its own.
_RUNS_ON = re.compile(r"\n[ \t]*(?:question|问题|q)[ \t]*:", re.IGNORECASE)
# Between answers that are given together, the ends of a range, or answers none of which is chosen.
_TOGETHER = (
    r"[\"'”’)\]]{0,3}[ \t]{0,3}(?i:,?[ \t]?(?:\b(?:and|or|nor|versus|und|oder|et|ou|to|through|thru)\b|\bvs\b\.?|&"
    r"|和|或者?|及|与|还是|以及|至|到|也?可能是)|[/、~]|-(?=[^\s>])|,[ \t](?=perhaps|maybe|possibly))[ \t]{0,3}"
    r"(?i:(?:both|also|else|perhaps|maybe|possibly)[ \t])?[\"'“‘(\[]{0,3}"
)
# Words that reject the answer after them, and what may stand in between: "not passage 4", "I don't think it's 4".
_NEGATORS = (
    *("not", "nor", "neither", "cannot", "never", "than", "instead of", "unlike", "apart from", "none of", "among"),
    *("out of", "except", "excluding", "ruled out", "rule out", "ruling out", "eliminate", "eliminated", "eliminating"),
    *(
        "i doubt",
        "i would doubt",
        "i highly doubt",
        "i really doubt",
        "at least",
        "at the very least",
        "at most",
        "minimum of",
        "maximum of",
        "up to",
    ),
    *(f"{who} but" for who in ("all", "any", "none", "anyone", "anybody", "anything", "everyone", "everybody")),
    "everything but",
)
_BOUNDS = ("over", "under", "above", "below")  # of a number
_NEGATORS_ZH = (
    *("不是", "并非", "而非", "不属于", "不在", "不选", "不为", "不认为", "不觉得", "不相信", "不会", "不可能", "不应"),
    *("除了", "除去", "排除", "至少", "至多", "最多", "最少", "不到", "超过", "不足", "大于", "小于", "多于", "少于"),
)
_NEGATING = (*"<>≥≤", *_NEGATORS, *_BOUNDS, "n't", "n’t", *_NEGATORS_ZH)
_AFTER_NEGATOR = (
    "in|the|be|been|to|it|all|from|for|as|with|that|it['’]s|this|is|was|belong|match|fit|choose|pick|select|say|go|think|believe"
    "|sure|certain|convinced|likely|necessarily|option|choice|answer|segment|passage|paragraph|document|article|text"
    "|number|pass ?key|key|value|label|letter|correct|right|best"
)
_NEGATION = (
    rf"(?:(?i:\b(?:{'|'.join(_NEGATORS)})\b|n['’]t\b|\b(?:{'|'.join(_BOUNDS)})(?=[ \t]+[0-9])"
    # A quotation begins its line with "> ", and "->" is an arrow.
    r"|≥|≤|(?<![-=\w\"'])>(?==|[0-9])|(?<=[\w)\]][ \t])>(?=[ \t])|<(?==|[ \t]?[0-9]{1,9}(?![0-9a-f>-])))"
    rf"(?:=|(?i:[ \t]or equal to))?(?i:[ \t]{{1,3}}(?:{_AFTER_NEGATOR})\b){{0,7}}"
    rf"|(?:{'|'.join(_NEGATORS_ZH)})(?:正确)?(?:答案|选项)?(?:应该?)?[是为选]?)"
    r"[ \t]{0,3}[\"'“‘(\[]{0,3}"
)
_NOT_RIGHT = (
    r"(?:less\b|worse\b|not[ \t]{1,3}(?:right|correct|it\b|the\b)|wrong|incorrect|false|unlikely|impossible|ruled out"
    r"|eliminated|out\b|incomplete|irrelevant|unrelated)"
)
_REFUTED = (
    r"[\"'”’)\]]{0,3}(?i:[ \t]{1,3}(?:is|are|was|were|seems?|looks?)[ \t]{1,3}"
    rf"(?:(?:clearly|also|both|all|simply)[ \t])?{_NOT_RIGHT}"
    r"|[ \t]{1,3}(?:is|are|was)n['’]t[ \t]{1,3}(?:right|correct|it\b|the\b)"
    # "15 or more", "15+" is no number.
    r"|[ \t]{1,3}at[ \t](?:least|most)(?=\W*$|[,.;])"
    r"|[ \t]{1,3}or[ \t](?:more|fewer|less|so|above|higher|lower)\b|\+(?![ \t]*[0-9])"
    r"|[ \t]{1,3}do(?:es)?(?:[ \t]not|n['’]t)[ \t](?:match|fit|belong|apply|work)"
    r"|[ \t]{1,3}can(?:not|['’]t| not)[ \t]be\b|[ \t]{1,3}(?:can|could)[ \t]be[ \t](?:ruled out|eliminated|excluded)"
    r"|[ \t]{0,2}[:(=?–—-][ \t]{0,2}"
    r"(?:(?:wrong|incorrect|false|not[ \t](?:right|correct))\b|no\b(?!\.?[ \t]?[0-9])|[✗✘❌])"
    r"|:?[个项段篇]?(?:以上|以下|之间|不对|不正确|是错|错误|不符|不可能))"
)
# Nouns for numbered things, and how they precede the number.
PASSAGE_NOUN = "(?:passage|paragraph|document|article|text)"
_NOUN = rf"(?:{PASSAGE_NOUN}|option|choice|number|no\.)"
_NOUN_ZH = "(?:段落|文章|文档|篇章|选项|选择|选|第)"
NAME = rf"(?:{_NOUN}[\W_]{{0,3}}|{_NOUN_ZH}\W{{0,3}})"
# What may stand around answers that are merely given one after the other: "(B) (C)", "It is B. So C.".
_AROUND = (
    r"(?:(?!{answer}|\.\.)(?:[\s,.;:()\[\]{{}}\"'“”‘’`>•*_|&/+<>。，、；：！!-]"
    r"|(?i:\b(?:the|it|is|are|so|thus|hence|therefore|and|or|both|also|value|label|letter|key|uuid|order)\b)"
    rf"|(?i:\b(?:{_NOUN}s?|maybe|perhaps|possibly)(?![a-z]))|{_NOUN_ZH}))*+"
)
_NOUN_BEFORE = re.compile(rf"\W*(?:(?i:{_NOUN})|{_NOUN_ZH})?\W*")
_AFTER_NAME = "\"'”’)]} \t.,;:个项段篇条号"
# Between answers of a list.
_LISTED = r"[\"'”’)\]]{0,2}[ \t]?[,;、\s][ \t]?[\"'“‘(\[]{0,2}"
# A correction directly before the answer: "Wait, no, it's C", "Actually, the answer is C".
_CORRECTIONS = ("wait", "sorry", "correction", "actually", "scratch that", "i mean", "on second thought")
_CORRECTED = (
    rf"(?i:\b(?:{'|'.join(_CORRECTIONS)}|no(?=[,:]))\b[^\w\n]{{0,5}}"
    r"(?:(?:no|it is|it['’]s|that['’]s|the (?:correct )?answer is|i mean|make that|it should be|should be)"
    r"[ \t,:]{1,3}){0,3})"
)
# "Passage 3 mentions it, but passage 12 is the source", "While B fits, C is better", "B, although C is close".
_CONTRAST = re.compile(
    r"\b(?:but|yet|however|still|nevertheless)\b|(?:但是?|不过|然而|可是)"
    r"|\b(while|whilst|although|though|whereas|even though|despite)\b|(虽然|尽管)",
    re.IGNORECASE,
)
_END_OF_CLAUSE = re.compile(r"[\n。;；]|[.!?](?=\s|\Z)")
_END_OF_CONCESSION = re.compile(r"[,，\n。;；]|[.!?](?=\s|\Z)")
_MAIN_CLAUSE = re.compile(r"\W*(?:it['’]s|it is|i|the answer|my)\b", re.IGNORECASE)
_NAMED = "\ue000"  # in place of a name in question
_LONGEST_CONTAINING = 1_000  # characters of a reply that gives an answer within sentences
_EDGE = 200  # characters of the first and the last line of a longer one
_NOT = re.compile("n['’]t\\b")
_LONGEST_CLAUSE = 400  # characters before a contrast
_AFFIRMED = re.compile(
    r"\b(?:correct|right|best|better|the answer|match(?:es)?|fits|source|belongs|exact(?:ly)?)\b|正确|最|更",
    re.IGNORECASE,
)
_LIKEWISE = re.compile(
    r"\b(?:also|too|similar|close|second|relevant|related|tempting|plausible|possible|might|may|could|mention(?:s|ed)?"
    r"|touche?s?|partly|partially|only)\b|也",
    re.IGNORECASE,
)
# What a text has that refutes an answer, at least.
_REFUTING = (
    *("wrong", "incorrect", "false", "unlikely", "impossible", "no", "n't", "n’t", "can", "could", "eliminated"),
    *(
        " or ",
        " at ",
        "+",
        "less",
        "worse",
        "以上",
        "以下",
        "之间",
        " out",
        "incomplete",
        "irrelevant",
        "unrelated",
        "✗",
        "✘",
        "❌",
        "不对",
        "不正确",
        "错",
        "不符",
        "不可能",
    ),
)
# Numbers in circles, in brackets and with a full stop as one letter each.
_ENCLOSED = {
    first + n: frame.format(n + 1)
    for first, size, frame in (
        *((0x2460, 20, "({})"), (0x2474, 20, "({})"), (0x2488, 20, "{}.")),
        *((0x2776, 10, "({})"), (0x2780, 10, "({})"), (0x278A, 10, "({})")),
    )
    for n in range(size)
}
_UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ENGLISH = (
    {"zero": 0, "a": 1}
    | {word: value for value, word in enumerate((*_UNITS, *_TEENS), start=1)}
    | {word: 10 * tens for tens, word in enumerate(_TENS, start=2)}
)
_ODD_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth"}
_ODD_ORDINALS |= {"nine": "ninth", "twelve": "twelfth"}
_CHINESE = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_POWERS = {"十": 10, "百": 100, "千": 1000}
_CHINESE_RUN = "[零〇一二两三四五六七八九十百千]+"
_FRAME = re.compile(rf"(?:第|段落|选项)?({_CHINESE_RUN})(?:个|篇|段|段落|项)?")
_UNIT, _TEEN, _TEN = ("|".join(words) for words in (_UNITS, _TEENS, _TENS))
_SMALL = f"(?:(?:{_TEN})(?:[- ](?:{_UNIT}))?|{_TEEN}|{_UNIT})"
_CARDINAL = re.compile(
    rf"\b(?:(?:a|{_UNIT})[- ]hundred(?:(?:[- ]and)?[- ]{_SMALL})?|{_SMALL}|zero)\b", re.IGNORECASE | re.ASCII
)
# "one" is a pronoun and 一 part of many words, unless the preceding word indicates a number.
_BEFORE_ONE = re.compile(
    r"\b(?:passage|paragraph|document|article|text|option|choice|number|answer(?: is)?)\W{0,3}$", re.IGNORECASE
)
_BEFORE_CHINESE = re.compile(r"(?:第|段落|文章|文档|篇章|选项|答案\s?(?:是|为|[:：]))\s?$")
_IN_CHINESE = re.compile(_CHINESE_RUN)
_AFTER_CHINESE = re.compile(r"\s?[个篇段项条种号份]|(?![\u3400-\u9fff])")


def plain_text(reply: str) -> str:
    """A reply without thoughts and Markdown, in normalised letters."""
    return _MARKDOWN.sub("", _STRUCK.sub(" ", fold(without_reasoning(reply))))


def without_enclosed(text: str) -> str:
    """A text with numbers in circles and in brackets of one letter (``②``, ``⑵``) as ``(2)``."""
    return text if text.isascii() else text.translate(_ENCLOSED)


class _Mentions(NamedTuple):
    """Patterns of the ways in which a text names answers.

    Attributes:
        negated: Answers that it rejects: "not B".
        refuted: Answers that it calls wrong: "B is wrong".
        listed: Answers that it gives together.
        merely: A text that does nothing but name answers.
        corrected: The words before an answer that corrects another.
    """

    negated: re.Pattern[str]
    refuted: re.Pattern[str]
    listed: re.Pattern[str]
    mention: re.Pattern[str]
    merely: re.Pattern[str]
    corrected: re.Pattern[str]


@lru_cache(maxsize=64)  # patterns of each kind of answer, and of the classes of a data set
def _mentions(answer: str) -> _Mentions:
    joins = r"[ \t]{0,3}(?i:\b(?:and|or|nor|to|through)\b|[和或与及至到~-])[ \t]{0,3}"
    more = rf"(?:(?:[ \t]?,[ \t]?(?:{answer})){{0,9}}{joins}(?:{answer}))?"
    around = _AROUND.format(answer=answer)
    return _Mentions(
        re.compile(rf"{_NEGATION}(?:{answer}){more}"),
        re.compile(rf"(?:{answer}){more}{_REFUTED}"),
        re.compile(
            rf"(?:{answer})(?:(?:(?:[ \t]?,[ \t]?(?:{answer})){{0,9}}{_TOGETHER}(?:{answer}))+"
            rf"|(?:{_LISTED}(?:{answer})){{2,}}(?:{_TOGETHER}(?:{answer}))?)"
        ),
        re.compile(answer),
        re.compile(rf"{around}(?:(?:{answer}){around})++"),
        re.compile(rf"{_CORRECTED}(?=(?:{answer})(?![^\w\n]{{0,4}}\?))"),
    )


def without_rejected(text: str, answer: str) -> str:
    """A text without the answers that it rejects: "not B", "B is wrong". ``answer`` is the pattern of an answer."""
    lowered, patterns = text.lower(), _mentions(answer)
    if any(word in lowered for word in _NEGATING):
        text = patterns.negated.sub(" ", text)
    if any(word in lowered for word in _REFUTING):
        text = patterns.refuted.sub(" ", text)
    return text


def decided(text: str, answer: str) -> str:
    """A text without the answers that it rejects, corrects or gives together: "not B", "B. Wait, C", "B or C".

    Args:
        answer: Pattern of an answer, without groups.

    Returns:
        The text; "" if it does nothing but name different answers, as "B, C" and "2\\n3" do.
    """
    patterns = _mentions(answer)

    def without_listed(match: re.Match[str]) -> str:
        return " " if len(_different(patterns.mention, match[0])) > 1 else match[0]

    text = without_rejected(text, answer)
    lowered = text.lower()
    if any(word in lowered for word in (*_CORRECTIONS, "no,", "no:")):
        text = text[max((match.end() for match in patterns.corrected.finditer(text)), default=0) :]
    text = patterns.listed.sub(without_listed, text)
    text = _without_conceded(text, patterns.mention)
    return "" if patterns.merely.fullmatch(text) and len(_different(patterns.mention, text)) > 1 else text


def _answering_part(text: str, answers: Sequence[str]) -> str:
    """A text; of one that is so much longer than answers that it may copy the context, the beginning and the end."""
    if len(text) <= _LONGEST_CONTAINING + 3 * max(map(len, answers), default=0):
        return text
    lines = text.strip().splitlines()
    return f"{lines[0][:_EDGE]}\n{lines[-1][-_EDGE:]}"


def gives_name(text: str, names: Iterable[str]) -> bool:
    """Whether a text has one of the names as whole words and does not reject it there: "not Paris", "all but Paris".

    A text that is much longer than the names, as a copy of the context is, gives one only where it begins or ends.
    """
    names = list(names)
    marked = caseless(_answering_part(text, names))
    for name in names:
        marked = whole_words(name).sub(_NAMED, marked) if name.strip() else marked
    return _NAMED in without_rejected(marked, _NAMED)


def contains_answer(prediction: str, answers: Iterable[str], language: str = "en") -> bool:
    """Whether the words of a gold answer occur in a prediction in a row, and are not rejected there.

    Words are those of ``token_f1``, so that case, punctuation and articles are ignored. A reply that names several
    answers contains all of them: it is no score, and stands beside one. Of a prediction that is much longer than the
    answers, as a copy of the context is, only the beginning and the end count.
    """
    answers = list(answers)
    prediction = _answering_part(prediction, answers)
    cut = chinese_words if language == "zh" else english_words
    text = f" {' '.join(cut(_NOT.sub(' not', prediction)))} "
    for words in (" ".join(cut(answer)) for answer in answers if answer.strip()):
        text = text.replace(f" {words} ", f" {_NAMED} ")
    return _NAMED in without_rejected(text, _NAMED)


def _without_conceded(text: str, mention: re.Pattern[str]) -> str:
    """A text without the answers that it names only to contrast them with the one that it gives."""
    pieces, done = [], 0
    for contrast in _CONTRAST.finditer(text):
        start, end = contrast.span()
        if start < done:
            continue
        before = text[_clause_start(text, max(done, start - _LONGEST_CLAUSE), start) : start]
        if contrast[1] or contrast[2]:
            stop = _END_OF_CONCESSION.search(text, end)
            conceded, rest = (end, stop.start() if stop else len(text)), text[stop.end() :] if stop else ""
            if _MAIN_CLAUSE.match(text, end):
                conceded = (start - len(before), start)
            elif not mention.search(before or rest):
                continue
        else:
            stop = _END_OF_CLAUSE.search(text, end)
            after = text[end : stop.start() if stop else len(text)]
            if not mention.search(after) or not mention.search(before):
                continue
            weak = _LIKEWISE.search(after) or _AFFIRMED.search(before)
            conceded = (end, end + len(after)) if weak and not _AFFIRMED.search(after) else (start - len(before), start)
        pieces += [text[done : conceded[0]], mention.sub(" ", text[slice(*conceded)])]
        done = conceded[1]
    return "".join((*pieces, text[done:]))


def _clause_start(text: str, first: int, end: int) -> int:
    """Where the sentence before a place starts; of a contrast that begins its sentence, the one before."""
    last = first + len(text[first:end].rstrip(" \t,，.。;；!?\n"))
    return max((match.end() for match in _END_OF_CLAUSE.finditer(text, first, last)), default=first)


def _different(mention: re.Pattern[str], text: str) -> set[str]:
    names = (_NOUN_BEFORE.sub("", match[0], 1).rstrip(_AFTER_NAME) for match in mention.finditer(text))
    return {"".join(name.split()).casefold() for name in names}


_JOINS = re.compile(rf"[$ ]*{_TOGETHER}[$ ]*\Z")


def holds_two(between: str) -> bool:
    """Whether the text between two answers gives them together: "and", "or"."""
    return _JOINS.match(between[-24:]) is not None


def before_next_question(text: str) -> str:
    """The text before a further question, which a base model asks itself; all of it if it begins with one."""
    lowered = text.lower()
    may_run_on = ":" in text and ("q" in lowered or "问题" in text)
    match = _RUNS_ON.search(text) if may_run_on else None
    return text[: match.start()] if match and text[: match.start()].strip() else text


def after_cues(text: str) -> Iterator[str]:
    """The text after each answer cue, up to the next; the last first."""
    cues = list(CUE.finditer(text))
    ends = [*(cue.start() for cue in cues), len(text)][1:]
    for cue, end in reversed(list(zip(cues, ends, strict=True))):
        yield text[cue.end() : end]


def _ordinal(word: str) -> str:
    return _ODD_ORDINALS.get(word) or (word[:-1] + "ieth" if word.endswith("y") else word.removesuffix("e") + "th")


_ORDINALS = {_ordinal(word): value for word, value in _ENGLISH.items() if word not in ("zero", "a")} | {
    f"{ten}-{_ordinal(unit)}": _ENGLISH[ten] + _ENGLISH[unit] for ten in _TENS for unit in _UNITS
}
_RANKED = re.compile(
    rf"\b({'|'.join(sorted(_ORDINALS, key=len, reverse=True))})"
    r"(?=\s+(?:passage|paragraph|document|article|text|option|choice|list|one)\b)",
    re.IGNORECASE | re.ASCII,
)


def ordinal(word: str) -> int:
    """The rank that a word states, as ``2nd`` and ``second``; 0 if it states none."""
    word = word.lower()
    return int(word[:-2]) if word[:1].isdecimal() and word[:-2].isdecimal() else _ORDINALS.get(word, 0)


def read_numeral(text: str) -> int | None:
    """The number that a text spells, if it contains nothing else; ``Passage twelve`` and ``第十二段`` count."""
    text = text.strip().strip(".。!！,，'\"“”()[]").strip().lower()
    if match := _FRAME.fullmatch(text):
        return _read_chinese(match.group(1))
    text = re.sub(r"^(?:passage|paragraph|option)\s+", "", text)
    return _read_english(text) if _CARDINAL.fullmatch(text) else None


def in_digits(text: str) -> str:
    """A text with its numbers in words as digits: ``twelve`` as ``12``, ``twelfth passage`` as ``12th passage``.

    Ambiguous words are kept: ``one`` and ``一`` unless a noun or cue precedes them, ordinals that rank nothing, and
    Chinese digits within words.
    """
    lowered = text.lower()
    if any(word in lowered for word in _ORDINALS):
        text = _RANKED.sub(lambda match: f"{_ORDINALS[match.group().lower()]}th", text)
    text = _CARDINAL.sub(_english_in_digits, text)
    return _IN_CHINESE.sub(_chinese_in_digits, text)


def _english_in_digits(match: re.Match[str]) -> str:
    word = match.group().lower()
    near = max(0, match.start() - 20)
    if word == "one" and not _BEFORE_ONE.search(match.string, near, match.start()):
        return match.group()
    return str(_read_english(word))


def _chinese_in_digits(match: re.Match[str]) -> str:
    run, text = match.group(), match.string
    if run == "一" and text[match.end() : match.end() + 1] in tuple("共样般起直些"):
        return run
    framed = _BEFORE_CHINESE.search(text, max(0, match.start() - 6), match.start()) is not None
    number = _read_chinese(run) if framed or (run != "一" and _AFTER_CHINESE.match(text, match.end())) else None
    return run if number is None else str(number)


def _read_english(text: str) -> int:
    """The value of words matched by ``_CARDINAL``."""
    before, hundred, rest = text.replace("-", " ").partition("hundred")
    value = 100 * _ENGLISH[before.strip()] if hundred else 0
    return value + sum(_ENGLISH[word] for word in (rest if hundred else before).split() if word != "and")


def _read_chinese(text: str) -> int | None:
    if not set(text) & set(_POWERS):
        return int("".join(str(_CHINESE[digit]) for digit in text)) if len(text) <= 4 else None
    if len(text) > len("九千九百九十九"):
        return None
    total, digit = 0, 0
    for letter in text:
        if letter in _POWERS:
            total += (digit or 1) * _POWERS[letter]
            digit = 0
        else:
            digit = _CHINESE[letter]
    return total + digit
