"""Classifies failed requests: prompt too long, refused, worth a retry, or server down.

Each client library wraps the provider's error in its own exception. This module reads the status code, headers and
message from any chain of exceptions and classifies them; a table (``provider_errors``) gives the meaning of messages.
It never looks at prompts.
"""

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

from fathom.plugins.usertable import read_table, users_table
from fathom.safety.secrets import hide_in_text
from fathom.types import FathomError

Kind: TypeAlias = Literal["overflow", "refused", "busy", "silent", "denied", "later", "bad"]
KINDS: tuple[Kind, ...] = ("overflow", "refused", "denied", "busy", "bad")
"""The kinds that an entry of the table can have."""

VARIABLE = "FATHOM_PROVIDER_ERRORS"
FILE = "provider_errors.toml"

LEAST_LETTERS = 4
"""Fewest characters of a pattern between blanks and stars, so that it does not match every message."""

_REFUSING = frozenset({200, 400, 403, 422, 451})
_NOT_TOO_LONG = frozenset({401, 404, 429, 502, 503, 504, 529})
# Error texts are stored in the results, one per sample: long enough to understand, too short to hold a prompt.
MESSAGE_CHARACTERS = 600
RETRIED_CODES = frozenset({408, 409, 425, 429})
DENIED_CODES = frozenset({401, 403, 404, 451})
# The client libraries are not imported here (most are not installed), so exceptions are matched by name.
_SILENT_KINDS = frozenset({"APIConnectionError", "TransportError", "ClientConnectionError", "HTTPClientError"})
_GARBAGE_KINDS = frozenset(
    {
        "JSONDecodeError",
        "APIResponseValidationError",
        "OpenAIResponseError",
        "DecodingError",
        "ValidationError",
        "RecursionError",
    }
)
# What client libraries raise when a reply lacks a field, as a gateway's error with status 200 does.
_MISREAD_KINDS = frozenset({"TypeError", "AttributeError", "LookupError"})
_WRAPPERS = frozenset({"RetryError", "ModelGenerateError"})


@dataclass(frozen=True, slots=True)
class Line:
    """One entry of the table.

    Attributes:
        kind: What it means.
        pattern: Words of the message, in any case; ``*`` stands for anything between them. "" matches any message.
        status: Status codes to which it applies; if empty, all that its kind can have.
        stop: Stop reason of such a reply, instead of a pattern and status codes.
        provider: Which provider sends it.
        example: A message that it matches.
        source: Where the message was found.
    """

    kind: Kind
    pattern: str = ""
    status: tuple[int, ...] = ()
    stop: str = ""
    provider: str = ""
    example: str = ""
    source: str = ""

    def holds(self, code: int | None, message: str) -> bool:
        """Whether the entry matches a message, in lower case, that came with a status code."""
        pattern, words = (text.replace("`", "'") for text in (self.pattern.lower(), message))
        return not self.stop and self._is_for(code) and _in_order(pattern, words)

    def _is_for(self, code: int | None) -> bool:
        if self.status:
            return code in self.status
        if self.kind == "refused":
            return code in _REFUSING
        return self.kind != "overflow" or code not in _NOT_TOO_LONG


def meaning(code: int | None, message: str) -> Kind | None:
    """What an error message means.

    Args:
        code: The status code, or None.
        message: The message, of at most a few hundred characters.

    Returns:
        The kind of the first entry that matches, the user's own first; None if none does.

    Raises:
        FathomError: The user's table cannot be read.
    """
    small = message.lower()
    return next((line.kind for line in provider_errors().values() if line.holds(code, small)), None)


def meaning_of_stop(stop: str) -> Kind | None:
    """What a reply's stop reason means; None if it is no failure."""
    return next((line.kind for line in provider_errors().values() if line.stop and line.stop == stop.lower()), None)


def provider_errors() -> Mapping[str, Line]:
    """All entries by name, the user's own before the built-in ones.

    Raises:
        FathomError: The user's table cannot be read.
    """
    return _lines(os.environ.get(VARIABLE), str(Path.home()))


@lru_cache(maxsize=4)
def _lines(named: str | None, home: str) -> Mapping[str, Line]:
    """Cached per location of the user's table."""
    own = users_table(VARIABLE, FILE, _entry)
    built_in = read_table(files("fathom.models").joinpath(FILE).read_text("utf-8"), FILE, _entry)
    return {**own, **{name: line for name, line in built_in.items() if name not in own}}


def _in_order(pattern: str, message: str) -> bool:
    """Whether the parts of a pattern occur in a message in this order, in linear time."""
    place = 0
    for part in pattern.split("*"):
        at = message.find(part, place)
        if at < 0:
            return False
        place = at + len(part)
    return True


def _entry(entry: object, where: str) -> Line:
    if not isinstance(entry, Mapping):
        raise FathomError(f'{where}: expected a table, as "my server" = {{ kind = "overflow", pattern = "too big" }}')
    texts = ("kind", "pattern", "stop", "provider", "example", "source")
    for name, value in entry.items():
        if name not in (*texts, "status"):
            raise FathomError(f"{where}: unknown field {name!r}; expected one of {', '.join((*texts, 'status'))}")
        if name in texts and not isinstance(value, str):
            raise FathomError(f"{where}: {name} = {value!r}: expected a text")
    kind, pattern, stop = (str(entry.get(name, "")) for name in ("kind", "pattern", "stop"))
    status = _codes(entry.get("status", []), where)
    known = next((known for known in KINDS if known == kind), None)
    if known is None:
        raise FathomError(f"{where}: kind = {kind!r}; expected one of {', '.join(KINDS)}")
    if bool(stop) == bool(pattern or status):
        raise FathomError(f"{where}: expected either stop, or pattern, status or both")
    if pattern and len("".join(pattern.replace("*", "").split())) < LEAST_LETTERS:
        raise FathomError(f"{where}: pattern = {pattern!r} is too short; expected {LEAST_LETTERS} letters or more")
    about = {name: str(entry.get(name, "")) for name in ("provider", "example", "source")}
    return Line(known, pattern, status, stop.lower(), **about)


def _codes(status: object, where: str) -> tuple[int, ...]:
    codes = status if isinstance(status, list) else [status]
    if not all(isinstance(code, int) and not isinstance(code, bool) and 200 <= code <= 599 for code in codes):
        raise FathomError(f"{where}: status = {status!r}: expected status codes, such as [400, 422]")
    return tuple(codes)


@dataclass(frozen=True, slots=True)
class Failure:
    """A classified failed request.

    Attributes:
        kind: ``overflow`` (the prompt does not fit), ``refused`` (content policy), ``busy`` (worth a retry), ``silent``
            (no answer: connection failure or timeout; worth a retry), ``denied`` (key, permission, money or model
            name), ``later`` (the server asks to wait longer than allowed), ``bad`` (anything else: a retry would fail
            again).
        message: One line for the user, without the prompt.
        wait: Seconds that the server asks to wait, or None.
        reached: Whether the request may have reached a server.
    """

    kind: Kind
    message: str
    wait: float | None = None
    reached: bool = True


class ServerError(FathomError):
    """The server is unreachable or fails all requests: the work cannot go on."""


def classify(error: BaseException) -> Failure:
    """Classify the exception of a failed request.

    Args:
        error: What the client raised, with its chain of causes.

    Returns:
        The failure, by status code and message. 408, 409, 425, 429, 5xx, connection failures and timeouts are worth a
        retry; 400, 401, 403, 404 and other 4xx are not. Failures that ``fathom.models.wire`` found in a reply with
        status 200 are returned unchanged.
    """
    chain = list(chain_of(error))
    known = next((known for link in chain if isinstance(known := getattr(link, "failure", None), Failure)), None)
    if known is not None:
        return known
    code = next((code for link in chain if (code := status_code(link)) is not None), None)
    message = describe(chain)
    wait = next((wait for link in chain if (wait := retry_after(_headers(link))) is not None), None)
    if (failure := failure_of(code, message, wait)) is not None:
        return failure
    # Libraries report an undecodable body as a failed connection, although the server is up.
    garbage = next((link for link in chain if _is_garbage(link)), None)
    if code is None and garbage is not None:
        return Failure("busy", describe([garbage]) if _is_silence(_innermost(chain)) else message)
    if code is None and any(_is_silence(link) for link in chain):
        return Failure("silent", message, reached=not any(_kinds(link) & _UNREACHED_KINDS for link in chain))
    if code is None and _kinds(_innermost(chain)) & _MISREAD_KINDS:
        return Failure("busy", shorten(f"the reply does not follow the protocol ({message})"))
    return Failure("bad", message)


def failure_of(code: int | None, message: str, wait: float | None = None) -> Failure | None:
    """The failure that a provider's message or status code reports; None if neither is an error.

    Args:
        code: The status code, or None.
        message: The provider's message, on one line.
        wait: Seconds that the server asks to wait, or None.
    """
    kind = meaning(code, message)
    if kind is None and code is not None:
        retried = code in RETRIED_CODES or code >= 500
        kind = "denied" if code in DENIED_CODES else "busy" if retried else None
    return None if kind is None else Failure(kind, message, wait if kind == "busy" else None)


def describe(chain: list[BaseException]) -> str:
    """One line on what went wrong: the innermost provider error, truncated to ``MESSAGE_CHARACTERS``."""
    # Inspect's wrapper quotes the whole request, prompt included; the wrapped error does not.
    link = _innermost(chain)
    text, kind = " ".join(f"{link} {_beside(link)}".split()), type(link).__name__
    return shorten(f"{kind}: {text}" if text and kind not in text else text or kind)


def _beside(error: BaseException) -> str:
    """What the provider said and the library's message omits: its codes, or its whole body."""
    body, text = getattr(error, "body", None), str(error)
    if isinstance(body, Mapping) and isinstance(body.get("message"), str):
        codes = [code for code in (body.get("code"), body.get("type")) if isinstance(code, str) and code not in text]
        return f"({', '.join(dict.fromkeys(codes))})" if codes else ""
    words = str(body) if body else ""
    return f"- {words}" if words and words not in text else ""


def _innermost(chain: list[BaseException]) -> BaseException:
    return next((link for link in chain if not _kinds(link) & _WRAPPERS), chain[-1])


def shorten(text: str, characters: int = MESSAGE_CHARACTERS) -> str:
    """The text on one line, secrets hidden before it is truncated: a truncated key would not be recognized.

    Backticks become quotes: in fathom's messages they mark options.

    Args:
        text: The full text, not truncated before.
        characters: Maximum length.
    """
    line = hide_in_text(" ".join(text.split())).replace("`", "'")
    return line if len(line) <= characters else line[: characters - 1] + "…"


def retry_after(headers: Mapping[str, str] | None, now: float | None = None) -> float | None:
    """Seconds that a server asks to wait.

    Args:
        headers: Response headers with case-insensitive names, or None.
        now: Seconds since the epoch; the clock by default.

    Returns:
        From ``retry-after-ms`` (milliseconds) or ``Retry-After`` (seconds or a date, RFC 9110 section 10.2.3); None
        where absent, unreadable or not positive.
    """
    if headers is None:
        return None
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is None and value is not None:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - (time.time() if now is None else now)
        except (ValueError, OverflowError):
            return None
    return seconds if seconds is not None and seconds > 0 else None


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if 0 < number < float("inf") else None


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """An exception and its causes, the outermost first."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def status_code(error: BaseException) -> int | None:
    """The status code that a client library's exception holds; None if there is none."""
    response = getattr(error, "response", None)
    places = [getattr(error, "status_code", None), getattr(error, "code", None), getattr(response, "status_code", None)]
    if isinstance(response, Mapping):  # botocore
        metadata = response.get("ResponseMetadata")
        places.append(metadata.get("HTTPStatusCode") if isinstance(metadata, Mapping) else None)
    return next((place for place in places if isinstance(place, int) and 400 <= place <= 599), None)


def _headers(error: BaseException) -> Mapping[str, str] | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    return headers if isinstance(headers, Mapping) else None


def _is_silence(error: BaseException) -> bool:
    """Connection failures and timeouts: built-in types, or classes of client libraries by name."""
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    return bool(_kinds(error) & _SILENT_KINDS)


def _is_garbage(error: BaseException) -> bool:
    """A reply that does not follow the protocol, such as a proxy's page with status 200: usually temporary."""
    return bool(_kinds(error) & _GARBAGE_KINDS)


_UNREACHED_KINDS = frozenset({"ConnectError", "ConnectTimeout", "ConnectionRefusedError", "gaierror"})
"""Connections that were never made."""


def _kinds(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}
