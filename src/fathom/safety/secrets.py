"""Keeps keys and passwords out of everything that is written or shown.

A setting is hidden by its name (``api_key``), by its form (``Bearer ...``) or by its value. In texts by others, such as
a server's error or a reply, every secret known to this process is replaced. Known are the values of environment
variables with names like keys, and those of settings given to ``remember``.
"""

import os
import re
from base64 import b64encode
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

# Secrets in settings given to this process.
_remembered: set[str] = set()


def remember(*settings: Json) -> None:
    """Store all secrets in settings: values with names like secrets, and passwords and queries of addresses."""
    for setting in settings:
        _remembered.update(_secrets_in(setting))


def strip_keys(model: str) -> None:
    """Remove white space around the key of a model in its environment variable: copying adds it, no header can hold it.

    Args:
        model: ``PROVIDER/NAME``, or ``openai-api/SERVICE/NAME``.

    Raises:
        FathomError: The key has a line break or another character inside that no header can hold.
    """
    provider, _, rest = model.partition("/")
    service = rest.partition("/")[0] if provider == "openai-api" else provider
    name = f"{service.upper().replace('-', '_')}_API_KEY"
    value = os.environ.get(name)
    if value is None:
        return
    key = value.strip()
    if not (key.isascii() and key.isprintable()):
        raise FathomError(
            f"the key in {name} has a line break or another character that cannot be sent; copy the key again"
        )
    if key != value:
        os.environ[name] = key


def redact(text: str) -> str:
    """A text with ``***`` for every secret known to this process."""
    pattern = _pattern(frozenset(_known()))
    return pattern.sub(HIDDEN, text) if pattern is not None else text


def hide_in_text(text: str) -> str:
    """A message without secrets that are known or recognized by their form."""
    return _FORM.sub(_masked, redact(text))


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
    for name, value in os.environ.items():
        # Some name the file that contains a key.
        if len(value) >= SHORTEST and _HOLDER.search(name) and not value.startswith("/"):
            yield value


@lru_cache(maxsize=4)
def _pattern(secrets: frozenset[str]) -> re.Pattern[str] | None:
    """Matches any of the secrets, plain and as encoded in addresses and JSON; the longest first, parts last."""
    forms = {form for secret in secrets for form in _forms(secret.strip()) if form}
    longest_first = sorted(forms, key=lambda form: (-len(form), form))
    parts = {form[:SHORTEST_PART] for form in forms if len(form) >= SHORTEST_WHOLE and _RANDOM.fullmatch(form)}
    words = [*map(re.escape, longest_first), *(rf"{re.escape(part)}[\w.~+/=-]*" for part in sorted(parts))]
    return re.compile("|".join(words)) if words else None


def _forms(secret: str) -> Iterator[str]:
    """A secret plain, and as encoded in addresses, in JSON, in Python and for a header."""
    yield from (secret, quote(secret, safe=""), _in_json(secret), repr(secret)[1:-1])
    yield from (b64encode(secret.encode("utf-8", "replace")).decode(), escape(secret), quote(secret, safe="").lower())


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
