"""What a failed request means: is the prompt too long, refused, worth another try, or is the server gone?

Providers say the same thing in many ways, and each client library wraps it in its own exception. This module reads a
status code, headers and a message from any chain of exceptions, and decides. It never looks at prompts.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Literal, TypeAlias

from fathom.secrets import hide_in_text

Kind: TypeAlias = Literal["overflow", "refused", "busy", "silent", "denied", "bad"]

# Error texts end up in the results, one a sample: enough to understand, never enough to carry a prompt.
MESSAGE_CHARACTERS = 600

RETRIED_CODES = frozenset({408, 409, 425, 429})
DENIED_CODES = frozenset({401, 403, 404})

# One line a dialect: OpenAI, vLLM, Mistral, SGLang, xAI, Anthropic, llama.cpp, Google, Bedrock, TGI, Cohere, DeepInfra.
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size"
    r"|maximum context length|model'?s context length|context length (?:is )?(?:only )?exceeded"
    r"|maximum (?:prompt|model) length"
    r"|prompt is too long|input is too long|(?:input|prompt|request) (?:too long|exceeds)"
    r"|exceeds? (?:the )?(?:available|model'?s|maximum)? ?context (?:size|window|length)"
    r"|input token count.{0,40}exceeds|input length.{0,40}exceed|`inputs` tokens \+ `max_new_tokens` must be"
    r"|too many (?:input )?tokens|payload too large|request entity too large"
    r"|longer than the maximum (?:model|context)",
    re.IGNORECASE | re.DOTALL,
)
_REFUSED = re.compile(
    r"content[ _-]?filter|content_policy|content management policy|responsible ?ai|usage polic(?:y|ies)"
    r"|safety system|flagged by|prohibited content|cyber_policy|bio_policy|invalid_prompt",
    re.IGNORECASE,
)

# The client libraries are not imported here (most are not installed), so their exceptions go by name.
_SILENT_KINDS = frozenset({"APIConnectionError", "TransportError", "ClientConnectionError", "HTTPClientError"})
_GARBAGE_KINDS = frozenset(
    {"JSONDecodeError", "APIResponseValidationError", "OpenAIResponseError", "DecodingError", "ValidationError"}
)
# What client libraries stumble with where a reply lacks a field, as a gateway's error with status 200 does.
_MISREAD_KINDS = frozenset({"TypeError", "AttributeError", "LookupError"})
_WRAPPERS = frozenset({"RetryError", "ModelGenerateError"})


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed request, understood.

    Attributes:
        kind: ``overflow`` (the prompt does not fit), ``refused`` (content policy), ``busy`` (worth another try),
            ``silent`` (no answer came: connection or timeout; worth another try), ``denied`` (key, permission or
            model name), ``bad`` (anything else: another try would fail again).
        message: One line for people, without the prompt.
        wait: Seconds that the server asks to wait, or None.
    """

    kind: Kind
    message: str
    wait: float | None = None


def understand(error: BaseException) -> Failure:
    """Classify the exception of a failed request.

    Args:
        error: What the client raised, with its chain of causes.

    Returns:
        The meaning, decided by status code and message; 408, 409, 425, 429, 5xx, connection failures and timeouts
        are worth another try, 400, 401, 403, 404 and other 4xx are not.
    """
    chain = list(_chain(error))
    code = next((code for link in chain if (code := _status_code(link)) is not None), None)
    message = describe(chain)
    wait = next((wait for link in chain if (wait := retry_after(_headers(link))) is not None), None)
    if code == 413 or (code not in (401, 404, 429) and _TOO_LONG.search(message)):
        return Failure("overflow", message)
    if code in (400, 403, 422) and _REFUSED.search(message):
        return Failure("refused", message)
    if code in DENIED_CODES:
        return Failure("denied", message)
    if code is not None and (code in RETRIED_CODES or code >= 500):
        return Failure("busy", message, wait)
    if code is None and any(_is_silence(link) for link in chain):
        return Failure("silent", message)
    if code is None and any(_is_garbage(link) for link in chain):
        return Failure("busy", message)
    if code is None and _kinds(_told(chain)) & _MISREAD_KINDS:
        return Failure("busy", shorten(f"the reply is not what the protocol says ({message})"))
    return Failure("bad", message)


def describe(chain: list[BaseException]) -> str:
    """One line that says what went wrong: the innermost provider error, cut to ``MESSAGE_CHARACTERS``."""
    # Inspect's own wrapper quotes the whole request, prompt included; the error that it wraps does not.
    told = _told(chain)
    text = " ".join(str(told).split()) or type(told).__name__
    return shorten(f"{type(told).__name__}: {text}" if type(told).__name__ not in text else text)


def _told(chain: list[BaseException]) -> BaseException:
    return next((link for link in chain if not _kinds(link) & _WRAPPERS), chain[-1])


def shorten(text: str) -> str:
    """The text on one line, without secrets, cut to ``MESSAGE_CHARACTERS`` characters."""
    line = hide_in_text(" ".join(text.split()))
    return line if len(line) <= MESSAGE_CHARACTERS else line[: MESSAGE_CHARACTERS - 1] + "…"


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


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _status_code(error: BaseException) -> int | None:
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
    """Connection failures and timeouts, by type where it is built in, by the client libraries' names where not."""
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    return bool(_kinds(error) & _SILENT_KINDS)


def _is_garbage(error: BaseException) -> bool:
    """A reply that is not what the protocol says, as a proxy's page with status 200: passing more often than not."""
    return bool(_kinds(error) & _GARBAGE_KINDS)


def _kinds(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}
