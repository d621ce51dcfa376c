"""Extracts answers in words from replies: names, sentences, summaries."""

import re
from collections.abc import Sequence

from fathom.score.reading import before_next_question, contains_answer
from fathom.score.text import token_f1
from fathom.score.unwrapping import unwrapped
from fathom.types import CONTAINED, Score

_EMPHASIS = re.compile(r"\*\*|__|`+|^[ \t]*#+[ \t]", re.MULTILINE)
# Text before a short answer on its line; the sentence may begin with another clause.
_LABEL = re.compile(
    r"^[ \t]*+(?:(?:sure|certainly|of course|okay|ok)[!,.][ \t]+)?(?:(?:here(?: is|['’]s)[ \t])?(?:the |my )?"
    r"(?:final |short |correct )?(?:answer|reply|response)[ \t]*(?:[:：]|[ \t][-–—](?=[ \t]))|\[answer\][ \t]*[:：]?"
    r"|(?:[^\n,.]{0,60},[ \t]*)?(?:so |thus |therefore |but |hence )?"
    r"(?:the|my) (?:\w{1,9} )?answer[ \t]+(?:is|would be)\b"
    r"[ \t]*[:：]?"
    r"|(?:[^\n，。,]{0,60}[，,][ \t]*)?(?:所以|因此)?(?:最终|正确)?的?答案[ \t]*(?:应该?)?[是为:：][ \t]*[:：]?"
    r"|\[答案\][ \t]*[:：]?)",
    re.IGNORECASE | re.MULTILINE,
)
_HEADING = re.compile(r"\W*(?:(?:final |short )?answer|答案)\W*", re.IGNORECASE)
_LONGEST_HEADING, _LONGEST_REST = 60, 200  # characters
# A sentence and more; "Sure! Here it is:" is none.
_SENTENCE = re.compile(r".{15,400}?(?:[。！？]|[.!?]\s)")
_BULLET = re.compile(r"[ \t>]*(?:[-*•]|\(?[0-9]{1,3}[.):])[ \t]+")
_BETWEEN_NAMES = re.compile(r"[ \t]*(?:[,;/|·→、，；\n\t&]|\b(?:or|and)\b|(?<=\s)\(?[0-9]{1,2}[.)])[ \t]*")
_OFFERS = re.compile("/| or ")
_NAME = re.compile(r"\W*+[A-Z][\w.'’-]*+(?:[ \t]++[A-Z][\w.'’-]*+){0,2}\W*+")
# What follows a name that was given: "Paris. In this script, ...", "Paris, who ...", "Paris (the others are ...)"
_ASIDE = re.compile(
    r"(?<!\b[A-Z])(?<!\b(?:Mr|Dr|Ms|St))(?<!\b(?:Mrs|Col|Gen|Rev))[.!?][\"'”’*]{0,3}[ \t]+(?=[A-Z])"
    r"|[ \t][(（]|,?[ \t](?:who|whom|whose|where|which|because|since|while)\b"
)
_IN_SENTENCES = re.compile(
    r"\b(?:is|was|are|were|the|an?|of|in|to|he|she|they|it|i|my|because|that|this|as|by|for|on|with|must|be)\b",
    re.IGNORECASE,
)
_LONGEST_LINE = 80  # characters of a line that is a name
_FEW = 3  # words of a name
_LONGEST_NAME = 6  # words
# "Paris, not Rome", "Paris, as stated in passage 3"
_REST = re.compile(
    r"(?<=\w)[\"'”’)]{0,2},[ \t](?:(?:and )?(?:not|rather than|instead of)[ \t][^,.;\n]{1,80}"
    r"|(?:as (?:is )?(?:stated|mentioned|described|noted|said|given)|according to)\b[^,;\n]{1,80})\Z"
)
# "Paris【3】", "Paris [^1]"
_CITATIONS = re.compile(r"(?<=\w)[ \t]?(?:【[^【】\n]{1,60}】|\[\^?[0-9]{1,3}\])+[.。]?\Z")
# "According to passage 3, Paris", "Sure! Paris"
_START = re.compile(
    r"(?:(?:sure|certainly|of course|okay)[!,.][ \t]+|(?:according to|based on)[ \t][^\n,]{1,60},[ \t]*)(?=\S)",
    re.IGNORECASE,
)
# What follows an answer and is no part of it: reasons with a heading, an offer of help.
_ADDED = re.compile(
    r"\n[ \t>*#]*(?:(?:explanation|reason(?:ing|s)?|note|justification|evidence|解释|说明|理由|注)[*_ \t]{0,3}[:：]"
    r"|let me know\b|(?:i )?hope (?:this|that) helps|feel free\b|is there anything else|if you (?:need|have)\b)",
    re.IGNORECASE,
)
_IN_ADDED = (
    *("explanation", "reason", "note", "justification", "evidence", "解释", "说明", "理由", "注"),
    *("let me know", "helps", "feel free", "is there anything", "if you"),
)
_LAYERS = 4  # of quotes and brackets around an answer
_OPENING, _CLOSING = "\"'“‘「『《([{", "\"'”’」』》)]}"


def short_answer(reply: str) -> str | None:
    """The answer in words: the first line that is not an announcement, without lead-in, quotes and Markdown.

    ``Answer:`` and "the answer is" are lead-ins. A reply without any other letter or digit has no answer.
    """
    return _short(_after_label(_without_emphasis(before_next_question(unwrapped(reply, ", ")))))


def offered_names(reply: str) -> list[str]:
    """The names or texts that a short answer offers without a choice; of a sentence the sentence.

    "Paris or Helen" and "Paris/Helen" offer two, and so do lists of names, separated by commas, line ends or spaces.
    "Paris, the son of Priam" offers one.
    """
    answer = short_answer(reply) or short_answer(reply.rstrip(" :：\n")) or ""
    lines = [
        line[match.end() :] if (match := _BULLET.match(line)) else line
        for line in _without_emphasis(unwrapped(reply, "\n")).split("\n")
        if line.strip()
    ]
    many = len(lines) > 1 and all(len(line) <= _LONGEST_LINE and _NAME.fullmatch(line) for line in lines)
    text = re.sub(r"[ \t]{2,}", " ", "\n".join(lines) if many else answer)
    if (aside := _ASIDE.search(text)) and text[:1].isupper():
        text = answer = text[: aside.start()]
    pieces, sentence = [piece for piece in _BETWEEN_NAMES.split(text) if piece], _IN_SENTENCES.search(text) is not None
    names = [bool(_NAME.fullmatch(piece)) or (not sentence and len(piece.split()) <= _FEW) for piece in pieces]
    if sum(names[1:]) > (not names or not names[0]):
        return pieces
    if not sentence and len(words := re.findall(r"\w+", text)) > _LONGEST_NAME:
        return words
    return [piece for piece in _OFFERS.split(" ".join(answer.split())) if piece]


def reply_text(reply: str) -> str | None:
    """The text of a reply, such as a summary, without what is no part of it.

    These are a line that announces it, an explanation under a heading of its own, an offer of further help, and a
    further question. None if no letter or digit is left.
    """
    text = _without_frame(before_next_question(unwrapped(reply, ", ")))
    return text if any(map(str.isalnum, text)) else None


def free_answer(reply: str) -> str | None:
    """The answer in words, of any length: as in ``short_answer``, with all its lines, and as in ``reply_text``."""
    text = before_next_question(unwrapped(reply, ", "))
    plain = _without_emphasis(text)
    if _may_have_label(plain) and _LABEL.search(plain):
        text = _after_last(_LABEL, plain)
    text = _without_frame(text)
    answer = text if "\n" in text else _short(text) or ""
    return answer if any(map(str.isalnum, answer)) else None


def first_line(text: str) -> str:
    """The first line that is not an announcement ("Here it is:"), stripped; "" if there is none."""
    lines = [line for line in map(str.strip, text.split("\n")) if line]
    return next((line for line in lines if not _announces(line)), "")


def _announces(line: str) -> bool:
    """Whether a line only announces the answer: "Here it is:", "Answer"."""
    return line.endswith((":", "：")) or (len(line) <= _LONGEST_HEADING and _HEADING.fullmatch(line) is not None)


def _without_frame(text: str) -> str:
    lowered = text.lower()
    added = _ADDED.search(text) if any(word in lowered for word in _IN_ADDED) else None
    kept = text[: added.start()] if added else text
    lines = [line.strip() for line in (kept if kept.strip() else text).strip().split("\n")]
    first = next((number for number, line in enumerate(lines) if line and not _announces(line)), None)
    if first is None:  # a text that breaks off after a heading is one; a mere announcement is none
        first = 0 if _SENTENCE.match(lines[0]) else len(lines)
    return "\n".join(lines[first:])


def _short(text: str) -> str | None:
    answer = first_line(text).rstrip(".。")
    start = _START.match(answer)
    answer = answer[start.end() :] if start else answer
    answer = answer[:-_LONGEST_REST] + _REST.sub("", _CITATIONS.sub("", answer[-_LONGEST_REST:]))
    for _ in range(_LAYERS):
        if not _is_enclosed(answer):
            break
        answer = answer[1:-1].strip()
    return answer.rstrip(".。") if any(map(str.isalnum, answer)) else None


def _is_enclosed(answer: str) -> bool:
    """Whether an answer is in quotes or brackets as a whole, unlike "(a) and (b)" and JSON."""
    if len(answer) < 2 or answer[0] not in _OPENING:
        return False
    opening, closing, inner = answer[0], _CLOSING[_OPENING.index(answer[0])], answer[1:-1]
    if answer[-1] != closing or (opening == "{" and ('"' in inner or ":" in inner)):
        return False
    depth = 0
    for letter in inner if closing in inner else "":
        depth += (letter == opening != closing) - (letter == closing)
        if depth < 0:
            return False
    return True


def _after_label(text: str) -> str:
    """The text after the last non-empty lead-in, else everything without lead-ins."""
    return _LABEL.sub("", _after_last(_LABEL, text)) if _may_have_label(text) else text


def _may_have_label(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in ("answer", "reply", "response", "答案"))


def _without_emphasis(text: str) -> str:
    return _EMPHASIS.sub("", text) if any(mark in text for mark in ("*", "_", "`", "#")) else text


def _after_last(pattern: re.Pattern[str], text: str) -> str:
    """The text after the last match that is followed by any; else the text itself."""
    for match in reversed(list(pattern.finditer(text))):
        if rest := text[match.end() :].strip():
            return rest
    return text


def words_score(
    reply: str, gold: Sequence[str], language: str = "en", *, grader: str = "strict", first_line: bool = False
) -> Score:
    """Token F1 of the answer in words with the nearest gold answer; ``detail`` says if the reply contains one.

    Args:
        gold: Gold answers, at least one.
        language: ``zh`` splits words with jieba.
        first_line: Whether only the first line of the answer counts.

    Returns:
        The score; valid if there is an answer.
    """
    whole = free_answer(reply)
    answer = short_answer(reply) if first_line else whole
    if answer is None:
        return Score(0.0, False, None, grader)
    value = token_f1(answer, gold, language)
    contained = value < 1 and contains_answer(whole or answer, gold, language)
    return Score(value, True, answer, grader, CONTAINED if contained else "")
