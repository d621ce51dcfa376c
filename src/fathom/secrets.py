"""Keys and passwords, kept out of all that is written or shown.

A setting is hidden by its name (``api_key``), by what it looks like (``Bearer ...``) or by its value; a text that
somebody else wrote, as a server's error or a reply, by its value: every secret that this process knows is replaced
wherever it turns up. Known are the values of environment variables that are named like keys, and those of settings that
were given to ``remember``.
"""

import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

from fathom.types import Json

HIDDEN = "***"
SHORTEST = 8
"""Characters; what is shorter, as ``EMPTY`` for a server without keys, may well be a word of any text."""
SHORTEST_WHOLE = 20
SHORTEST_PART = 12
"""Characters: of a key that is at least so long, the first so many are a secret too, as servers quote keys in part."""

_NAME = re.compile(r"key|token|secret|password|passwd|credential|auth|header|cookie|bearer", re.IGNORECASE)
# These name amounts of tokens, not secrets.
_OPEN = frozenset(
    {"max_tokens", "max_output_tokens", "reasoning_tokens", "max_model_len", "prompt_cache_key", "tokenizer"}
)
# Values of these are secrets wherever they turn up; other hidden settings, as the author of a text, are not.
_HOLDER = re.compile(
    r"(?:(?:^|[^a-z])(?:api)?(?:key|token|secret|auth|authorization|bearer|cookie|credential)s?"
    r"|password|passwd|passphrase)$",
    re.IGNORECASE,
)
# No word, no sentence, and nothing like <|end|>.
_RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w.~+/=-]{16,}")
_ONE_WORD = re.compile(r"[^\s<>|]+")
# What is a secret wherever it stands: after the name of a header or a field, or by its own form.
_FORM = re.compile(
    r"(?P<before>\b(?:bearer|basic)\s+)(?=\S*\d)[\w.~+/=-]{8,}"
    r"|(?P<name>\b(?:authorization|proxy-authorization|(?:x-)?api[-_]?key|(?:x-)?auth[-_]?token|access[-_]?token"
    r"|password|secret)[\"']?\s*[:=]\s*[\"']?)(?!\*{3})(?:(?:bearer|basic)\s+)?[^\s\"',;&}\]]+"
    r"|\b(?:sk|pk|rk|hf|gsk|xai|ghp|gho|glpat|xox[abp])[-_][A-Za-z0-9_-]{16,}"
    r"|(?P<scheme>\b[a-z][a-z0-9+.-]{0,30}://)[^\s/@?#]+@",
    re.IGNORECASE,
)

# Secrets of settings that this process was given.
_remembered: set[str] = set()


def remember(*settings: Json) -> None:
    """Take note of all secrets in settings: values named like secrets, and passwords and queries of addresses."""
    for setting in settings:
        _remembered.update(_secrets_in(setting))


def redact(text: str) -> str:
    """A text from elsewhere, with ``***`` for every secret that this process knows."""
    pattern = _pattern(frozenset(_known()))
    return pattern.sub(HIDDEN, text) if pattern is not None else text


def hide_in_text(text: str) -> str:
    """Words about a failure or a setting, without secrets that are known or have the form of one."""
    return _FORM.sub(_masked, redact(text))


def hide_secrets(settings: Mapping[str, Json]) -> dict[str, Json]:
    """Settings, nested as they may be, without secrets.

    Returns:
        The same with ``***`` for every value whose name smells of a secret, also where name and value are a pair in a
        list (``["Authorization", "x"]``) or two fields of an object (``{"name": "Authorization", "value": "x"}``).
        Texts are as ``hide_in_text`` gives them.
    """
    title = _title(settings)
    return {
        name: HIDDEN if _is_secret(name) or (title and name == "value") else _hide(one)
        for name, one in settings.items()
    }


def _hide(value: Json) -> Json:
    if isinstance(value, str):
        return hide_in_text(value)
    if isinstance(value, Mapping):
        return hide_secrets(value)
    if isinstance(value, Sequence):
        return [value[0], HIDDEN] if _is_pair(value) else [_hide(one) for one in value]
    return value


def hide_in_address(url: str | None) -> str | None:
    """An address without its user, password and query; None for None."""
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
    # A name is a word: a sentence that mentions a token is none.
    return isinstance(value, str) and re.fullmatch(r"[\w.-]+", value) is not None and _is_secret(value)


def _is_pair(value: Sequence[Json]) -> bool:
    return len(value) == 2 and _is_name(value[0])


def _title(settings: Mapping[str, Json]) -> str:
    """The name of a secret where it is a field beside its value; "" where there is none."""
    return next((str(settings[one]) for one in ("name", "key", "header") if _is_name(settings.get(one))), "")


def _masked(found: re.Match[str]) -> str:
    before = found["before"] or found["name"] or found["scheme"] or ""
    return f"{before}{HIDDEN}{'@' if found['scheme'] else ''}"


def _known() -> Iterator[str]:
    yield from _remembered
    for name, value in os.environ.items():
        # Some name the file that holds a key.
        if len(value) >= SHORTEST and _HOLDER.search(name) and not value.startswith("/"):
            yield value


@lru_cache(maxsize=4)
def _pattern(secrets: frozenset[str]) -> re.Pattern[str] | None:
    """Finds any of the secrets, as they are and as addresses and JSON write them; the longest first, parts last."""
    forms = {form for secret in secrets for form in (secret, quote(secret, safe=""), _in_json(secret))}
    longest_first = sorted(forms, key=lambda form: (-len(form), form))
    parts = {form[:SHORTEST_PART] for form in forms if len(form) >= SHORTEST_WHOLE and _RANDOM.fullmatch(form)}
    words = [*map(re.escape, longest_first), *(rf"{re.escape(part)}[\w.~+/=-]*" for part in sorted(parts))]
    return re.compile("|".join(words)) if words else None


def _in_json(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _secrets_in(value: Json, *, name: str = "") -> Iterator[str]:
    """Secrets in a setting called ``name``, or hidden below one that is."""
    if isinstance(value, str):
        # "Bearer abc" is a header's value, and abc is what a server echoes.
        word = value.split(" ")[-1]
        if (_HOLDER.search(name) and _ONE_WORD.fullmatch(word)) or (_is_secret(name) and _RANDOM.fullmatch(word)):
            yield from (one for one in (value, word) if len(one) >= SHORTEST)
        elif "://" in value:
            yield from _secrets_of_address(value)
    elif isinstance(value, Mapping):
        title = _title(value)
        for field, one in value.items():
            below = field if _is_secret(field) else name
            yield from _secrets_in(one, name=title if title and field == "value" else below)
    elif isinstance(value, Sequence):
        for one in value[1:] if _is_pair(value) else value:
            yield from _secrets_in(one, name=str(value[0]) if _is_pair(value) else name)


def _secrets_of_address(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    user = parts.netloc.rpartition("@")[0]
    password = user.partition(":")[2]
    secrets = {user, unquote(user), password, unquote(password), *(value for _, value in parse_qsl(parts.query))}
    # As a client sends user and password.
    secrets |= {b64encode(one.encode("utf-8", "replace")).decode() for one in (user, unquote(user)) if password}
    yield from (one for one in secrets if len(one) >= SHORTEST)
