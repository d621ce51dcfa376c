"""Normalizes responses with status 200 before a client library parses them.

Libraries expect the documented protocol, but servers send errors as replies, token counts as texts, and unbounded
bodies. So every response is read with a size limit (as a stream only if one was requested). In completions, chat or
text, errors are raised, and everything else is converted to the form that the libraries expect.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from fathom.models.answers import LARGE_TEXT, MOST_CHARACTERS, too_long
from fathom.models.failures import Failure, failure_of, meaning_of_stop, shorten
from fathom.models.protocol import RequestError
from fathom.models.usage import count
from fathom.score.dialects import split_reasoning

MOST_BYTES = 8 * MOST_CHARACTERS
"""Larger bodies are not read to the end; a text of the maximum length fits even if fully escaped."""
_SHOWN = 200
SERVED_CHARACTERS = 200
"""Most characters that are kept of the name of the model that answered and its fingerprint."""

ENDS = frozenset({"stop", "eos", "eos_token", "end_turn", "stop_sequence"})
STOPS = ENDS | {"length", "max_tokens", "model_length", "tool_calls", "function_call", "content_filter"}
"""Stop reasons that are not failures; ``ENDS`` mean that the model was done."""


def watch(client: object) -> None:
    """Check every response before a client library of OpenAI's kind parses it.

    Args:
        client: The library's client; ignored if it does not expose its HTTP client.
    """
    hooks: Any = getattr(getattr(client, "_client", None), "event_hooks", None)
    if isinstance(hooks, dict) and check_response not in hooks.get("response", [check_response]):
        hooks["response"].append(check_response)


async def check_response(response: Any) -> None:
    """Read a response with a size limit and, if it is a completion, normalize it.

    Args:
        response: An httpx response, not yet read.

    Raises:
        RequestError: It is too large, or not a reply.
    """
    if _is_stream(response):
        response.aiter_bytes = partial(_limited, response, response.aiter_bytes)
        return
    body = b"".join([part async for part in _limited(response, response.aiter_bytes)])
    if 200 <= response.status_code < 300 and response.request.url.path.endswith("/completions"):
        body = await asyncio.to_thread(_normalized, body) if len(body) > LARGE_TEXT else _normalized(body)
    # A private attribute of httpx, which has no other way to replace a body that was read.
    response._content = body


def _is_stream(response: Any) -> bool:
    """Whether the response is a stream that was requested; a server may label any body as one."""
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        return False
    try:
        asked = json.loads(response.request.content)
    except ValueError:
        return False
    return isinstance(asked, Mapping) and bool(asked.get("stream"))


async def _limited(
    response: Any, read: Callable[..., AsyncIterator[bytes]], chunk_size: int | None = None
) -> AsyncIterator[bytes]:
    size = 0
    async for part in read(chunk_size):
        size += len(part)
        if size > MOST_BYTES:
            await response.aclose()
            reason = f"the response is larger than {MOST_BYTES // 1_000_000} MB and was not read to its end"
            raise RequestError(Failure("bad", reason))
        yield part


def _normalized(body: bytes) -> bytes:
    try:
        # Python refuses to parse integers of thousands of digits.
        read = json.loads(body, parse_int=lambda digits: int(digits) if len(digits) < 20 else float("inf"))
    except (ValueError, RecursionError):
        if (whole := _whole_stream(body)) is not None:
            return json.dumps(normalized(whole)).encode()
        start = shorten(body.decode("utf-8", "replace"), _SHOWN)
        raise RequestError(Failure("busy", f"the reply is not JSON: {start}")) from None
    return json.dumps(normalized(read)).encode()


def _whole_stream(body: bytes) -> dict[str, Any] | None:
    """The completion in a stream of events that nobody asked for; None if it is no such stream."""
    lines = [line[5:].strip() for line in body.decode("utf-8", "replace").splitlines() if line.startswith("data:")]
    parts: dict[str, list[str]] = {"content": [], "text": [], **{name: [] for name in (*_APART[1:], *_ELSEWHERE)}}
    whole: dict[str, Any] = {}
    for line in lines:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue  # [DONE]
        if not isinstance(event, Mapping):
            return None
        whole |= {name: value for name, value in event.items() if name != "choices" and value is not None}
        choices = event.get("choices")
        for choice in choices[:1] if isinstance(choices, list) else ():
            if not isinstance(choice, Mapping):
                continue
            delta = choice["delta"] if isinstance(choice.get("delta"), Mapping) else {}
            whole["finish_reason"] = choice.get("finish_reason") or whole.get("finish_reason")
            for name, texts in parts.items():
                value = choice.get("text") if name == "text" else delta.get(name)
                texts += [value] if isinstance(value, str) else []
    if not whole:
        return None
    if "error" not in whole and not whole.get("finish_reason"):
        raise RequestError(Failure("busy", "the server sent a stream, which nobody asked for, and broke it off"))
    joined = {name: "".join(texts) for name, texts in parts.items()}
    answer = {"text": joined["text"]} if joined["text"] else {"message": joined}
    return {**whole, "choices": [{**answer, "finish_reason": whole.pop("finish_reason", None)}]}


def normalized(body: object) -> dict[str, Any]:
    """The body of a completion with the fields common to all servers, and nothing else.

    Args:
        body: A chat completion or a text completion, read from JSON.

    Returns:
        One choice with a text, its reasoning and a standard stop reason; valid token counts, -1 for invalid ones,
        and no usage if none is given.

    Raises:
        RequestError: It holds an error, no choice, no content, or too much.
    """
    choices = body.get("choices") if isinstance(body, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    for place in (body, choice):
        if isinstance(place, Mapping) and (error := error_in(place)) is not None:
            raise RequestError(error)
    if not isinstance(body, Mapping) or not isinstance(choice, Mapping):
        raise RequestError(_no_choice(body))
    name = body.get("id")
    return {
        "id": name if isinstance(name, str) else "",
        "object": body.get("object"),
        "created": 0,
        "model": _served(body),
        "choices": [_choice(choice)],
        "usage": _usage(body.get("usage")),
    }


def _served(body: Mapping[str, Any]) -> str:
    """The model that answered and the fingerprint of its configuration: names without spaces, separated by one."""
    names = [name for name in (body.get("model"), body.get("system_fingerprint")) if isinstance(name, str) and name]
    names[:1] = [name.rpartition("/")[2] if name.startswith("/") else name for name in names[:1]]  # llama.cpp: a path
    return " ".join(
        "_".join(name.split())[: SERVED_CHARACTERS // 2 - 1] for name in names if isinstance(name, str) and name
    )


def error_in(place: Mapping[str, Any]) -> Failure | None:
    """The error in a body or a choice; worth a retry if neither code nor message says otherwise."""
    error = place.get("error") or (place if place.get("object") == "error" else None)
    base = place.get("base_resp")  # MiniMax
    if not error and isinstance(base, Mapping) and base.get("status_code"):
        error = base
    if not error:
        return None
    message = shorten(f"the reply with status 200 holds an error: {_in_words(error)}")
    code = error.get("code") if isinstance(error, Mapping) else None
    status = int(code) if isinstance(code, int | str) and str(code).isdecimal() and len(str(code)) == 3 else 200
    return failure_of(status if 400 <= status <= 599 else 200, message) or Failure("busy", message)


def _no_choice(body: object) -> Failure:
    message = shorten(f"the reply holds no choice: {_in_words(body)}")
    return failure_of(200, message) or Failure("busy", message)


def _in_words(error: object) -> str:
    return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)


_WITHOUT_MESSAGE = frozenset({"model_length", "content_filter"})
_APART = ("reasoning_details", "reasoning_content", "reasoning")
# Where else servers put reasoning: Ollama and llama.cpp, LiteLLM, gateways to Gemini.
_ELSEWHERE = ("thinking", "thinking_blocks", "thoughts", "reasoning_text")


def _choice(choice: Mapping[str, Any]) -> dict[str, Any]:
    content = choice.get("message")
    message: Mapping[str, Any] = content if isinstance(content, Mapping) else {}
    text = _text(choice.get("text") if "text" in choice else message.get("content"))
    apart = {name: message[name] for name in _APART if message.get(name)} or _reasoning_elsewhere(message)
    if (long := too_long(text, "".join(str(thought) for thought in apart.values()))) is not None:
        raise RequestError(long)
    has_content = bool(text or apart or message.get("refusal") or message.get("tool_calls"))
    stop = _stop(choice.get("finish_reason"), has_content=has_content, text=text)
    if "text" not in choice and not isinstance(content, Mapping) and stop not in _WITHOUT_MESSAGE:
        raise RequestError(Failure("busy", "the reply holds no message"))
    if "text" in choice:
        return {"index": 0, "text": text, "finish_reason": stop, "logprobs": None}
    if "<think" in text and not apart:
        # The library searches for tags too, in quadratic time.
        text, reasoning = split_reasoning(text)
        apart = {"reasoning_content": reasoning or " "}
    answer: dict[str, Any] = {"role": "assistant", "content": text, **apart}
    if calls := tool_calls(message.get("tool_calls")):
        answer["tool_calls"] = calls
    if message.get("refusal"):
        answer["refusal"] = str(message["refusal"])
    return {"index": 0, "message": answer, "finish_reason": stop}


def _reasoning_elsewhere(message: Mapping[str, Any]) -> dict[str, Any]:
    """Reasoning in fields that libraries do not read, or in parts of the content (Mistral); {} if there is none."""
    content = message.get("content")
    places = [message.get(name) for name in _ELSEWHERE]
    if isinstance(content, list):
        places.append([part for part in content if isinstance(part, Mapping) and part.get("type") == "thinking"])
    text = "\n\n".join(filter(None, map(_thoughts, places)))
    return {"reasoning_content": text} if text else {}


def _thoughts(value: object) -> str:
    """The text of reasoning that may be a text, or parts with texts under ``thinking`` or ``text``."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return _thoughts(value.get("thinking") or value.get("text"))
    return "".join(map(_thoughts, value)) if isinstance(value, list) else ""


def tool_calls(calls: object) -> list[dict[str, Any]]:
    """The tool calls of a message in the form that libraries expect.

    Args:
        calls: What the server sent. Calls without the name of a function are left out; ids that are missing or occur
            twice are replaced; arguments that are no text are written as JSON.
    """
    valid: list[dict[str, Any]] = []
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if not isinstance(call, Mapping) or not isinstance(function, Mapping) or not isinstance(name, str) or not name:
            continue
        given = function.get("arguments")
        arguments = given if isinstance(given, str) else json.dumps({} if given is None else given)
        key = call.get("id")
        known = {tool_call["id"] for tool_call in valid}
        own = key if isinstance(key, str) and key and key not in known else f"call_{len(valid)}"
        valid.append({"id": own, "type": "function", "function": {"name": name, "arguments": arguments}})
    return valid


def _stop(reason: object, *, has_content: bool, text: str) -> str | None:
    """A standard stop reason.

    Raises:
        RequestError: The reason is a failure, or is unknown and there is no content.
    """
    stop = reason if isinstance(reason, str) else None
    kind = meaning_of_stop(stop) if stop else None
    if kind == "overflow":
        return "length" if text else "model_length"
    if kind == "refused":
        return "content_filter"
    if kind is not None:
        raise RequestError(Failure(kind, f"the reply with status 200 stopped with {shorten(repr(stop), _SHOWN)}"))
    if not has_content and (stop is None or stop.lower() not in STOPS):
        words = f"the reply says nothing, and stopped for an unknown reason ({shorten(repr(reason), _SHOWN)})"
        raise RequestError(Failure("busy", words))
    return "stop" if stop is not None and stop.lower() in ENDS else stop


def _text(content: object) -> str:
    """The text of a message: "" where there is none, the texts of its parts where it has parts."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, Sequence):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        return "".join(part for part in parts if isinstance(part, str))
    raise RequestError(Failure("busy", f"the reply's content is not text: {shorten(repr(content), _SHOWN)}"))


def _usage(usage: object) -> dict[str, Any] | None:
    """Counts that libraries can add: -1 for missing and impossible ones."""
    if not isinstance(usage, Mapping):
        return None
    main = {name: _known(usage.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    return main | {
        name: {key: count(value) for key, value in details.items() if key.endswith("_tokens")}
        for name in ("prompt_tokens_details", "completion_tokens_details")
        if isinstance(details := usage.get(name), Mapping)
    }


def _known(value: object) -> int:
    number = count(value)
    return -1 if number is None else number
