"""Keeps keys and passwords out of everything that is written or shown.

A setting is hidden by its name (``api_key``), by its form (``Bearer ...``) or by its value. In texts by others, such as
a server's error or a reply, every secret known to this process is replaced. Known are the values of environment
variables with names like keys, and those of settings given to ``remember``.
"""

import os
import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

from fathom.types import FathomError, Json

HIDDEN = "***"
SHORTEST = 8
"""Characters; shorter values, such as ``EMPTY`` for a server without keys, may be ordinary words."""
SHORTEST_WHOLE = 20
SHORTEST_PART = 12
"""Characters: for keys of at least this length, a prefix of it is a secret too, as servers quote keys in part."""

_NAME = re.compile(r"key|token|secret|password|passwd|credential|auth|header|cookie|bearer", re.IGNORECASE)
# These name amounts of tokens, not secrets.
_OPEN = frozenset(
    {"max_tokens", "max_output_tokens", "reasoning_tokens", "max_model_len", "prompt_cache_key", "tokenizer"}
)
# Values of these are secrets everywhere; other hidden settings, such as the author of a text, are not.
_HOLDER = re.compile(
    r"(?:(?:^|[^a-z])(?:api)?(?:key|token|secret|auth|authorization|bearer|cookie|credential)s?"
    r"|password|passwd|passphrase)$",
    re.IGNORECASE,
)
# Neither a word nor a sentence, and nothing like <|end|>.
_RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w.~+/=-]{16,}")
_ONE_WORD = re.compile(r"[^\s<>|]+")
# Secrets recognized anywhere: after the name of a header or a field, or by their form.
_FORM = re.compile(
    r"(?P<before>\b(?:bearer|basic)\s+)(?=\S*\d)[\w.~+/=-]{8,}"
    r"|(?P<name>\b(?:authorization|proxy-authorization|(?:x-)?api[-_]?key|(?:x-)?auth[-_]?token|access[-_]?token"
    r"|password|secret)[\"']?\s*[:=]\s*[\"']?)(?!\*{3})(?:(?:bearer|basic)\s+)?[^\s\"',;&}\]]+"
    r"|\b(?:sk|pk|rk|hf|gsk|xai|ghp|gho|glpat|xox[abp])[-_][A-Za-z0-9_-]{16,}"
    r"|(?P<scheme>\b[a-z][a-z0-9+.-]{0,30}://)[^\s/@?#]+@",
    re.IGNORECASE,
)

# A key as servers show it: "sk-Zq7/S*****il==".
_MASKED_BY_OTHERS = re.compile(
    r"(?<![\w+/=-])(?P<start>[\w+/=-]{4,40}?)(?:\*{2,}|\.{3}|\u2026|\u2022{2,})[\w+/=-]{0,40}"
)

# In a command line: the values of an option (vLLM takes several keys), and those of variables and JSON fields.
_HOLDING = (
    r"(?:[A-Za-z0-9]+[-_.])*(?:api)?(?:keys?|token|secrets?|auth|authorization|bearer|cookies?|credentials?"
    r"|password|passwd|passphrase)"
)
_WORD = r"(?:\"[^\"]*\"|'[^']*'|[^\s\"']+)"
_COMMAND = re.compile(
    rf"(?P<before>(?<![\w.-])(?:--?{_HOLDING}|-hft)(?:=|\s+))(?P<values>{_WORD}(?:\s+(?!-){_WORD})*)"
    rf"|(?P<quoted>(?<=[\"']){_HOLDING}=)(?P<text>[^\"']+)"
    rf"|(?P<name>(?:(?<![\w.-])|(?<=\s-e)){_HOLDING}[\"']?\s*[=:]\s*(?:(?:bearer|basic)\s+)?)(?P<value>(?!\*{{3}}){_WORD})",
    re.IGNORECASE,
)

# Characters as addresses, JSON, Python and HTML encode them, also several times over; the repetitions have limits, so
# that hostile texts are read in linear time.
_ENCODED = re.compile(
    r"%(?:25){0,4}(?P<percent>[0-9a-fA-F]{2})"
    r"|\\{1,8}(?:(?:u00|x)(?P<escape>[0-9a-fA-F]{2})|(?P<plain>[^\w\s\\]))"
    r"|&#(?:x0{0,4}(?P<hex>[0-9a-fA-F]{2})|0{0,4}(?P<number>[0-9]{2,3}));"
)

_VARIABLES: Mapping[str, str] = {
    "embed": "OPENAI_API_KEY",
    "cf": "CLOUDFLARE_API_TOKEN",
    "grok": "XAI_API_KEY",
    "hf": "HF_TOKEN",
}
"""Variables of providers that are not called ``PROVIDER_API_KEY``."""

# Secrets in settings given to this process.
_remembered: set[str] = set()


def remember(*settings: Json) -> None:
    """Store all secrets in settings: values with names like secrets, and passwords and queries of addresses."""
    for setting in settings:
        _remembered.update(_secrets_in(setting))


def key_variable(model: str) -> str:
    """The environment variable that holds the key of a model's provider.

    Args:
        model: ``PROVIDER/NAME``, or ``openai-api/SERVICE/NAME``.
    """
    provider, _, rest = model.partition("/")
    service = rest.partition("/")[0] if provider == "openai-api" else provider
    return _VARIABLES.get(provider) or f"{service.upper().replace('-', '_')}_API_KEY"


def strip_keys(model: str) -> None:
    """Remove white space around keys in the environment: copying adds it, and no header can hold it.

    Args:
        model: ``PROVIDER/NAME``, or ``openai-api/SERVICE/NAME``.

    Raises:
        FathomError: The model's key has a line break or another character inside that no header can hold.
    """
    own = key_variable(model)
    for name, value in list(os.environ.items()):
        if name.endswith(("_API_KEY", "_TOKEN")) and value != value.strip():
            os.environ[name] = value.strip()
    stripped(os.environ.get(own, ""), own)


def stripped(key: str, where: str) -> str:
    """A key without white space around it.

    Args:
        where: Where it was given, for the message.

    Raises:
        FathomError: It has a line break or another character inside that no header can hold.
    """
    bare = key.strip()
    if not (bare.isascii() and bare.isprintable()):
        raise FathomError(
            f"the key in {where} has a line break or another character that cannot be sent; copy the key again"
        )
    return bare


def strip_given(arguments: Mapping[str, Json], where: str) -> dict[str, Json]:
    """Arguments of a provider with their keys stripped (``stripped``).

    Raises:
        FathomError: See ``stripped``.
    """
    return {
        name: stripped(value, f"{where} {name}") if isinstance(value, str) and _HOLDER.search(name) else value
        for name, value in arguments.items()
    }


def redact(text: str) -> str:
    """A text with ``***`` for every secret known to this process, plain or encoded."""
    words = _words(frozenset(_known()))
    plain = _replaced(text, words, text)
    if not words or _ENCODED.search(plain) is None:
        return plain
    return _replaced(plain, words, *_decoded(plain))


def hide_in_text(text: str) -> str:
    """A message without secrets that are known or recognized by their form, and without the ends of known ones."""

    def without_ends(match: re.Match[str]) -> str:
        begun = (len(secret) for secret in _known() if secret.startswith(match["start"]))
        return HIDDEN if max(begun, default=0) >= SHORTEST_PART else match[0]

    return _FORM.sub(_masked, _MASKED_BY_OTHERS.sub(without_ends, redact(text)))


def remember_command(line: str) -> None:
    """Store the secrets in a command line (``hide_in_command``)."""
    for match in _COMMAND.finditer(line):
        values = re.findall(_WORD, match["values"] or match["text"] or match["value"])
        remember(*({"key": value.strip("\"'")} for value in values))


def hide_in_command(line: str) -> str:
    """A command line on one line, with ``***`` for the values of options and variables whose names look like keys.

    ``--api-key sk-1 --max-num-batched-tokens 8192`` becomes ``--api-key *** --max-num-batched-tokens 8192``. Other
    secrets are hidden as in messages.
    """
    one_line = " ".join(line.replace("\\\n", " ").split())
    named = _COMMAND.sub(lambda match: (match["before"] or match["quoted"] or match["name"]) + HIDDEN, one_line)
    return hide_in_text(named)


def hide_secrets(settings: Mapping[str, Json]) -> dict[str, Json]:
    """Settings, at any depth, without secrets.

    Returns:
        The same with ``***`` for every value whose name looks like a secret, also if name and value are a pair in a
        list (``["Authorization", "x"]``) or two fields of an object (``{"name": "Authorization", "value": "x"}``).
        Texts are processed by ``hide_in_text``.
    """
    title = _title(settings)
    return {
        name: HIDDEN if _is_secret(name) or (title and name == "value") else _hide(setting)
        for name, setting in settings.items()
    }


def _hide(value: Json) -> Json:
    if isinstance(value, str):
        return hide_in_text(value)
    if isinstance(value, Mapping):
        return hide_secrets(value)
    if isinstance(value, Sequence):
        return [value[0], HIDDEN] if _is_pair(value) else [_hide(part) for part in value]
    return value


def hide_in_address(url: str | None) -> str | None:
    """An address without user, password and query; None for None."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], query=HIDDEN if parts.query else "")
    return redact(urlunsplit(bare))


def _is_secret(name: str) -> bool:
    return name not in _OPEN and bool(_NAME.search(name))


def _is_name(value: Json) -> bool:
    # A name is a word, not a sentence that mentions a token.
    return isinstance(value, str) and re.fullmatch(r"[\w.-]+", value) is not None and _is_secret(value)


def _is_pair(value: Sequence[Json]) -> bool:
    return len(value) == 2 and _is_name(value[0])


def _title(settings: Mapping[str, Json]) -> str:
    """The name of a secret in a field next to its value; "" if there is none."""
    return next((str(settings[field]) for field in ("name", "key", "header") if _is_name(settings.get(field))), "")


def _masked(match: re.Match[str]) -> str:
    before = match["before"] or match["name"] or match["scheme"] or ""
    return f"{before}{HIDDEN}{'@' if match['scheme'] else ''}"


def _known() -> Iterator[str]:
    yield from _remembered
    for name in filter(_may_hold, os.environ):
        value = os.environ.get(name, "")
        # Some name the file that contains a key.
        if len(value) >= SHORTEST and not value.startswith("/"):
            yield value


@lru_cache(maxsize=1000)
def _may_hold(name: str) -> bool:
    return _HOLDER.search(name) is not None


@lru_cache(maxsize=4)
def _words(secrets: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """All forms of the secrets as literals with their patterns; the longest first, beginnings of keys last."""
    forms = {form for secret in secrets for form in _forms(secret.strip()) if form}
    longest_first = sorted(forms, key=lambda form: (-len(form), form))
    parts = {form[:SHORTEST_PART] for form in forms if len(form) >= SHORTEST_WHOLE and _RANDOM.fullmatch(form)}
    return (
        *((form, re.escape(form)) for form in longest_first),
        *((part, rf"{re.escape(part)}[\w.~+/=-]*") for part in sorted(parts)),
    )


def _replaced(
    text: str, words: Sequence[tuple[str, str]], read: str, marks: Sequence[tuple[int, int, int]] = ()
) -> str:
    """A text with ``***`` for the words in it.

    Args:
        words: Literals with their patterns.
        read: The text as it is searched: with every encoded character decoded.
        marks: Of each decoded character its place there, and its start and end in the text.
    """
    present = [pattern for literal, pattern in words if literal in read]  # much faster than a pattern of all of them
    if not present:
        return text
    places = [mark[0] for mark in marks]

    def original(place: int, *, end: bool) -> int:
        """Where the character at a place begins or ends in the text."""
        at = bisect_right(places, place) - 1
        if at < 0:
            return place + end
        decoded, first, last = marks[at]
        return (last if end else first) if decoded == place else last + place - decoded - 1 + end

    pieces, done = list[str](), 0
    for match in re.finditer("|".join(present), read):
        pieces += [text[done : original(match.start(), end=False)], HIDDEN]
        done = original(match.end() - 1, end=True)
    return "".join((*pieces, text[done:]))


def _decoded(text: str) -> tuple[str, list[tuple[int, int, int]]]:
    """A text with its encoded characters decoded, and their places: see ``_replaced``."""
    pieces, marks, size, done = list[str](), list[tuple[int, int, int]](), 0, 0
    for match in _ENCODED.finditer(text):
        digits = match["percent"] or match["escape"] or match["hex"]
        letter = chr(int(digits, 16)) if digits else chr(int(match["number"])) if match["number"] else match["plain"]
        size += match.start() - done
        marks.append((size, match.start(), match.end()))
        pieces += [text[done : match.start()], letter]
        size, done = size + 1, match.end()
    return "".join((*pieces, text[done:])), marks


def _forms(secret: str) -> Iterator[str]:
    """A secret plain, and as encoded in addresses, in JSON, in Python, in base64 and in hexadecimal digits."""
    data = secret.encode("utf-8", "replace")
    yield from (secret, quote(secret, safe=""), _in_json(secret), repr(secret)[1:-1], escape(secret))
    yield from (quote(secret, safe="").lower(), b64encode(data).decode(), data.hex(), data.hex().upper())
    for before in range(3):  # inside of something longer, such as user:key: what does not depend on its neighbours
        size = before + len(data)
        inner = b64encode(bytes(before) + data)[-(-before * 8 // 6) : size * 8 // 6].decode()
        if len(inner) >= SHORTEST:
            yield from (inner, inner.translate({43: "-", 47: "_"}))


def _in_json(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _secrets_in(value: Json, *, name: str = "") -> Iterator[str]:
    """Secrets in a setting called ``name``, or nested in one with such a name."""
    if isinstance(value, str):
        # "Bearer abc" is a header's value, and servers may echo abc alone.
        word = value.split(" ")[-1]
        if (_HOLDER.search(name) and _ONE_WORD.fullmatch(word)) or (_is_secret(name) and _RANDOM.fullmatch(word)):
            yield from (text for text in (value, word) if len(text) >= SHORTEST)
        elif "://" in value:
            yield from _secrets_of_address(value)
    elif isinstance(value, Mapping):
        title = _title(value)
        for field, inner in value.items():
            below = field if _is_secret(field) else name
            yield from _secrets_in(inner, name=title if title and field == "value" else below)
    elif isinstance(value, Sequence):
        for inner in value[1:] if _is_pair(value) else value:
            yield from _secrets_in(inner, name=str(value[0]) if _is_pair(value) else name)


def _secrets_of_address(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    user = parts.netloc.rpartition("@")[0]
    password = user.partition(":")[2]
    secrets = {user, unquote(user), password, unquote(password), *(value for _, value in parse_qsl(parts.query))}
    # As a client sends user and password.
    secrets |= {b64encode(text.encode("utf-8", "replace")).decode() for text in (user, unquote(user)) if password}
    yield from (secret for secret in secrets if len(secret) >= SHORTEST)
