"""Extracts UUIDs and passkeys from replies, which are given in full or not at all."""

import re

from fathom.score.answers.selection import first_group, only, two_lines
from fathom.score.reading import after_cues, decided, without_rejected
from fathom.score.unwrapping import readable

UUID = r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])"
_UUID = re.compile(UUID)
# A key and its value, named in one sentence.
_KEY_AND_VALUE = 2
_ENDS_SENTENCE = re.compile(r"[.;!?\n]")
# "KEY -> VALUE", '"KEY": "VALUE"', "KEY maps to VALUE".
_PAIR = re.compile(
    rf"(?:key[ \t])?({UUID})[\"'”’)\]`]{{0,3}}[ \t]{{0,3}}"
    r"(?:(?:->|→|=>|:|=|\||is|maps to|is mapped to|has (?:the )?value|corresponds to)(?:[ \t]the value)?)"
    rf"[ \t]{{0,3}}\n?[\"'“‘(\[`]{{0,3}}({UUID})"
)
# "KEY,VALUE", "(KEY, VALUE)".
_TUPLE = re.compile(
    rf"(?<![0-9a-f,][\s]){UUID}[\"'”’]?(?:,(?=\S)|\t)[\"'“‘]?({UUID})(?!,)"
    rf"|[(\[<][\"'“‘]?{UUID}[\"'”’]?,[ \t]?[\"'“‘]?({UUID})[\"'”’]?[)\]>]"
)
# "(key: KEY)", "for the key KEY", "belongs to KEY".
_KEY = re.compile(
    rf"(?:←|<-|键[为是]?)\W{{0,4}}{UUID}"
    r"|\b(?:key|for|of|under|look(?:ing|ed)? up|(?:belong|correspond|link|relat)\w* to|(?<!go )(?<!going )with)\b"
    rf"[ \t:=]{{0,3}}(?:the[ \t])?(?:key[ \t:=]{{0,3}})?[\"'“‘(\[`]{{0,3}}{UUID}"
)
_LEADING_UUID = re.compile(rf"\W*({UUID})(?:\W*$|\W*\n|[\"'”’]?[.;,](?=\s))")
_VALUE_OF = re.compile(
    rf"\bvalue\b[^.\n]{{0,20}}?(?:is\b|[:=])\W{{0,4}}({UUID})"
    rf"|({UUID})[\"'”’)\]]{{0,3}}(?:[ \t]{{1,3}}is|,|[ \t]{{0,3}}\()[ \t]?"
    r"(?:(?:the|its)[ \t])?(?:correct[ \t]|right[ \t])?(?:value|answer)\b"
)
_DIGIT_RUN = re.compile(r"[0-9]+(?:[ \t\r\n,-]{1,4}[0-9]+)*")
_LEADING_RUN = re.compile(rf"\W*({_DIGIT_RUN.pattern})[\"'”’)\]]*(?:[.;:]?\s*$|[.;:]\s|[ \t]*\n|[ \t]+\()")
_DIGITS = r"(?<![0-9])[0-9]++"
_WRAPPED_DIGITS = 20
_LISTED_NUMBERS = 3  # other numbers around one, and it is part of a list
_EDGE = 200  # characters at both ends of a reply where an answer is looked for, if it is eight times as long or longer
_QUOTED = 8  # UUIDs of a reply that quotes the neighbours of a key
_BESIDE = 30  # characters beside an answer on its line, for instance "So the pass key is 12345."
_CALLED = re.compile(r"\b(?:answer|conclusion|therefore|found it)\b|答案|因此", re.IGNORECASE)
_SENTENCES = re.compile(r"\n|(?<=[.!?])[ \t]|(?<=[。！？])")
_BETWEEN_DIGITS = str.maketrans("", "", " \t\r\n,-")


def given_uuid(reply: str, key: str = "") -> str | None:
    """The UUID that a reply gives, in lower case: of a key and its value, the value.

    After the last "answer is" or the like; else the one that is called the value, or follows its key; else one that
    leads the reply, alone on its line or as a sentence; else the only one that is not called the key, or the second of
    two in a sentence. Rejected UUIDs, those given together, and one amid a long text (``_buried``) are ignored.

    Args:
        key: The key in question, or a text that names it; "" if unknown.
    """
    whole = readable(reply).lower()
    keys = _UUID.findall(key.lower())
    refuses = any(word in whole for word in (" not ", "n't", "n’t"))
    text = _PAIR.sub(r" \2", whole)
    text = text if key else _TUPLE.sub(r" \1\2", text)
    for asked in keys:
        text = text.replace(asked, "key")
    without_keys = _KEY.sub(" ", text)
    text = decided(without_keys if refuses or _UUID.search(without_keys) else text, UUID)
    uuid = _given_uuid(text)
    if (
        uuid is None and not refuses and len(set(_UUID.findall(whole))) <= _QUOTED
    ):  # the asked key has a value, whatever stands beside it
        uuid = only(value for name, value in _PAIR.findall(whole) if name in keys)
    return None if uuid is None or _buried(uuid, whole) else uuid


def _given_uuid(text: str) -> str | None:
    for part in after_cues(text):
        if match := _UUID.search(part):
            return match[0]
    if uuid := first_group(_VALUE_OF.search(text)):
        return uuid
    if two_lines(text):
        return None
    if match := _LEADING_UUID.match(text):
        return match[1]
    uuids = list(_UUID.finditer(text))
    if len(uuids) == _KEY_AND_VALUE and not _ENDS_SENTENCE.search(text, uuids[0].end(), uuids[1].start()):
        return uuids[1][0]
    return only(match[0] for match in uuids)


def digits(reply: str, size: int = 0) -> str | None:
    """The number of ``size`` digits in a reply, with leading zeros; else its longest number.

    Of several of that size the first after the last cue is used, else the one that leads the reply, else the last.
    Digits in equal groups separated by spaces, commas, hyphens or line ends are joined; rejected numbers, and those
    given together, are ignored; so is one in a list of others, or amid a long text (``_buried``).

    Args:
        size: Number of digits; 0 if unknown.
    """
    text = readable(reply, longest=size)
    # Numbers of another size may be groups of its digits.
    text = decided(text, rf"(?<![0-9])[0-9]{{{size}}}(?![0-9])") if size else without_rejected(text, _DIGITS)
    number = _given_digits(text, size)
    return None if number is None or _buried(number, text) else number


def _given_digits(text: str, size: int) -> str | None:
    for part in after_cues(text):
        exact = (number for run in _DIGIT_RUN.finditer(part) for number in _joined(run[0], size) if len(number) == size)
        if number := next(exact, None):
            return number
    leads = _LEADING_RUN.match(text)
    if numbers := {number for number in (_joined(leads[1], size) if leads else ()) if len(number) == size}:
        return only(numbers)
    best = ""
    for run in _DIGIT_RUN.finditer(text):
        for candidate in _joined(run.group(), size):
            best = max(candidate, best, key=lambda number: (size > 0 and len(number) == size, len(number)))
    return best or None


def _buried(answer: str, text: str) -> bool:
    """Whether an answer is only in the middle of a long text, as in a copy of the context.

    It is not if its line calls it the answer, or has hardly more than it.
    """
    edge = _EDGE + 3 * len(answer) // 2
    if len(text) <= 8 * edge:
        return False
    bare = answer.translate(_BETWEEN_DIGITS)
    short = len(answer) + _BESIDE
    lines = (line for line in text.splitlines() if len(line) <= short)
    sentences = (sentence for sentence in _SENTENCES.split(text) if _CALLED.search(sentence))
    called = (part.translate(_BETWEEN_DIGITS) for part in (*lines, *sentences))
    ends = (end.translate(_BETWEEN_DIGITS) for end in (text[:edge], text[-edge:]))
    return not any(bare in part for part in (*ends, *called))


def _joined(run: str, size: int) -> list[str]:
    """The numbers that a run of digits and separators may represent."""
    groups = re.findall("[0-9]+", run)
    width = len(groups[0])
    exact = [group for group in groups if len(group) == size]
    if exact and len(set(groups).difference(exact)) >= _LISTED_NUMBERS:
        return []
    if len(groups) == 1 or exact or (width > 1 and len(set(groups)) == 1):
        return exact or groups
    equal = all(len(group) == width for group in groups[:-1]) and len(groups[-1]) <= width
    thousands = width <= 3 and all(len(group) == 3 for group in groups[1:])
    # Short numbers on separate lines are a list; only long ones are wrapped.
    wrapped = "\n" not in run or width == 1 or width >= _WRAPPED_DIGITS
    listed = re.search(r",[ \t]", run) is not None and width > 1
    return ["".join(groups)] if (equal or thousands) and wrapped and not listed else groups
