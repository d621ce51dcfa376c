"""How much of a prompt arrives: sizes to try, and what the replies to them show."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeAlias

from fathom.models.failures import Failure
from fathom.models.protocol import TINY_PROMPT, Settings
from fathom.run.checks import Check
from fathom.run.doctor.needles import PLACES, in_words, make_hunt
from fathom.run.doctor.probes import Prober
from fathom.tokens.length import format_length
from fathom.types import Reply

Outcome: TypeAlias = Literal["answered", "overflow", "silent", "error"]

CONTROL = 256
"""Tokens of the first prompt, which fits every window."""
FIRST = 1024
BUDGET = 32_768
"""Tokens of all prompts, unless the user gives a window."""
BEYOND = 1.25
"""The longest prompt, as a multiple of the window: a server should refuse it."""
WHOLE = 0.9
"""Share of the expected tokens from which a prompt has arrived whole; counts of tokenizers vary by a few percent."""
NOISE = 0.03
"""Differences of token counts that mean nothing."""
NOTABLE = 0.1
"""Difference between tokenizers that is worth another one."""
LEAST_RATE, MOST_RATE = 0.3, 8.0
"""Tokens of a model for one of fathom's; counts outside are not those of the prompt."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One prompt and what came back.

    Attributes:
        tokens: Tokens of the prompt (fathom's tokenizer).
        outcome: ``overflow`` if the server says that it is too long, ``silent`` if there was no answer.
        tokens_in: Tokens of the prompt as the server reports them; None if it does not.
        missing: Places whose code word is not in the reply.
        message: The error; "" for an answer.
    """

    tokens: int
    outcome: Outcome = "answered"
    tokens_in: int | None = None
    missing: tuple[str, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the replies show.

    Attributes:
        reported: Whether token counts of prompts are reported.
        believable: Whether they grow with the prompt.
        rate: Tokens of the model for one of fathom's; 1 if unknown.
        able: Whether the model finds all code words in a short prompt.
        accepted: Tokens of the longest prompt that was answered, and not shown to be truncated; 0 if none.
        intact: Tokens of the longest prompt before something was lost; 0 if none.
        cut: Reported tokens of a prompt that was truncated; None if none was.
        asked: Tokens of that prompt, as they should have been reported.
        lost: Places that were not found in it, or in the prompts from ``lost_from`` tokens on.
        lost_from: Tokens of the shortest prompt with something lost; 0 if nothing was.
        suspicious: Whether two or more prompts lost the same part and all shorter ones nothing, as if truncated.
        end: The prompt that was not answered; None if all were.
    """

    reported: bool
    believable: bool
    rate: float
    able: bool
    accepted: int
    intact: int
    cut: int | None = None
    asked: int = 0
    lost: tuple[str, ...] = ()
    lost_from: int = 0
    suspicious: bool = False
    end: Shot | None = None

    @property
    def whole(self) -> int:
        """Tokens of the longest prompt that seems to have arrived whole."""
        return self.intact if self.suspicious else self.accepted

    @property
    def counted(self) -> bool:
        """Whether token counts show what arrived."""
        return self.reported and self.believable

    def of_model(self, tokens: int) -> int:
        """Tokens of the model, for so many of fathom's."""
        return round(tokens * self.rate)

    def option(self, window: int) -> str:
        """The option for a window in tokens of the model: ``--window`` counts fathom's, which may be fewer."""
        return f"--window {window if self.rate <= 1 + NOISE else int(window / self.rate)}"


@dataclass(frozen=True, slots=True)
class Known:
    """Windows that are known before any prompt is sent, in tokens; None where one is not.

    Attributes:
        stated: The one that the server states.
        expected: The one that is tested.
        used: The one that a run would use.
        own: The words of the configuration of a model in this process, which refuses longer prompts by itself; "" where
            prompts have to show the window.
        source: Who states it.
    """

    stated: int | None
    expected: int | None
    used: int | None
    own: str = ""
    source: str = "the server"


async def probe(prober: Prober, tiny: Reply, known: Known, rng: Random) -> list[Check]:
    """Send prompts of growing size, and say what they show of token counts, tokenizer, window and truncation.

    Args:
        tiny: The reply to ``TINY_PROMPT``.
        known: What is known of the window.
        rng: Draws code words.
    """
    short = Shot(prober.tokenizer.count(TINY_PROMPT), "answered", tiny.tokens_in)
    shots = [await _shoot(prober, CONTROL, rng)]
    cap = prober.cap
    tried = () if known.own else sizes_of(prober.settings, known.expected, cap)
    for size in tried:
        reading = read_shots(short, shots)
        if reading.end is not None or reading.cut is not None:
            break
        # A size holds prompt and reply, in the model's tokens.
        beyond = known.expected is not None and size > known.expected
        room = size if beyond else size - cap
        around = max(0, (tiny.tokens_in or 0) - round(short.tokens * reading.rate)) if reading.counted else 0
        spare = 0 if beyond else round(NOISE * size)
        tokens = int((room - around - spare) / reading.rate)
        if tokens > shots[-1].tokens:
            shots.append(await _shoot(prober, min(tokens, int(size * 1.2)), rng))
    reading = read_shots(short, shots)
    replies = any(reply.tokens_out is not None for reply in prober.replies)
    cached = any(reply.tokens_cached is not None for reply in prober.replies)
    checks = [
        usage_check(reading, short, shots, replies=replies, cached=cached),
        tokenizer_check(reading, prober.tokenizer.name),
    ]
    if known.own:
        refused = f"fathom sends no prompt that, with its reply, exceeds {known.used:,} tokens" if known.used else ""
        whole = Check("truncation", "ok", "prompts are computed whole in this process, and longer ones are refused")
        return [*checks, Check("window", "ok", known.own, refused), whole]
    checks += [
        window_check(reading, known, given=prober.settings.window, cap=cap),
        truncation_check(reading, window=known.expected, cap=cap),
    ]
    if reading.end is not None and reading.end.outcome == "silent":
        alive = await prober.ask(TINY_PROMPT, prober.cap)
        if isinstance(alive, Failure):
            checks.append(
                Check(
                    "server",
                    "failed",
                    f"after a prompt of {reading.of_model(reading.end.tokens):,} tokens, the server no longer "
                    f"answers: {alive.message}",
                    "Check its log (memory?), restart it, and use shorter lengths or a smaller window",
                )
            )
    return checks


async def _shoot(prober: Prober, tokens: int, rng: Random) -> Shot:
    hunt = make_hunt(tokens, prober.tokenizer, rng)
    answer = await prober.ask(hunt.prompt, prober.cap)
    if isinstance(answer, Reply):
        return Shot(hunt.tokens, "answered", answer.tokens_in, hunt.missing(answer.text, answer.reasoning))
    outcome: Outcome = "overflow" if answer.kind == "overflow" else "silent" if answer.kind == "silent" else "error"
    return Shot(hunt.tokens, outcome, message=answer.message)


def sizes_of(settings: Settings, expected: int | None, cap: int) -> tuple[int, ...]:
    """Sizes to try with these settings: all up to the user's window, else those of a budget; see ``sizes``."""
    return sizes(expected, cap, None if settings.window is not None else BUDGET)


def sizes(window: int | None, cap: int, budget: int | None = BUDGET) -> tuple[int, ...]:
    """Sizes to try, in tokens of the model, prompt and reply together: powers of two, the window, and one beyond it.

    Args:
        window: The window to test; None if unknown.
        budget: Tokens of all prompts; None for no limit.
    """
    top = window or budget or BUDGET
    doubled, size = [], FIRST
    while size < top:
        if size >= 2 * cap:
            doubled.append(size)
        size *= 2
    if window is not None:
        doubled += [window, int(window * BEYOND) + cap]
    chosen: list[int] = []
    left = None if budget is None else budget - CONTROL
    for size in doubled:
        if left is not None:
            left -= size
            if left < 0:
                break
        chosen.append(size)
    return tuple(chosen)


def read_shots(tiny: Shot, shots: Sequence[Shot]) -> Reading:
    """What the replies to prompts of growing size show.

    Args:
        tiny: A prompt of a few tokens, which arrived whole.
        shots: The others, from the smallest; the first is the control.
    """
    control = shots[0]
    reported = tiny.tokens_in is not None and control.tokens_in is not None
    rate = _rate(tiny, control)
    believable = rate is not None and LEAST_RATE <= rate <= MOST_RATE
    able = control.outcome == "answered" and not control.missing
    counted = reported and believable
    last = control
    accepted = intact = control.tokens if control.outcome == "answered" else 0
    lost: list[tuple[int, tuple[str, ...]]] = []
    end = None if control.outcome == "answered" else control
    cut, asked = None, 0
    for shot in shots[1:] if end is None else ():
        if shot.outcome != "answered":
            end = shot
            break
        if counted and shot.tokens_in is not None and last.tokens_in is not None and rate is not None:
            expected = last.tokens_in + rate * (shot.tokens - last.tokens)
            if shot.tokens_in < WHOLE * expected:
                cut, asked, lost = shot.tokens_in, round(expected), [(shot.tokens, shot.missing if able else ())]
                break
            last, rate = shot, _rate(tiny, shot) or rate
        accepted = shot.tokens
        if able and shot.missing:
            lost.append((shot.tokens, shot.missing))
        elif not lost:
            intact = shot.tokens
    return Reading(
        reported=reported,
        believable=believable,
        rate=rate if counted and rate is not None else 1.0,
        able=able,
        accepted=accepted,
        intact=intact,
        cut=cut,
        asked=asked,
        lost=lost[0][1] if lost else (),
        lost_from=lost[0][0] if lost else 0,
        suspicious=cut is None and _suspicious(lost, [shot for shot in shots if shot.outcome == "answered"]),
        end=end,
    )


def limit_in(message: str, least: int, most: int) -> int | None:
    """The window that an error message names: the smallest number that the replies so far allow.

    Args:
        least: Tokens of a prompt that was accepted.
        most: Tokens of the prompt and its reply that was refused.
    """
    bare = re.sub(r"(?:Error code|'code'|\"code\"): *\d+", "", message)
    numbers = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]{2,9}", bare)]
    fitting = [number for number in numbers if max(least, CONTROL) * WHOLE <= number < most * (1 + NOISE)]
    return min(fitting, default=None)


def window_check(reading: Reading, known: Known, *, given: int | None, cap: int) -> Check:
    """The check of the window.

    Args:
        reading: What the replies show.
        known: What was known before; a run would use ``known.used``.
        given: The user's ``--window``; None if not given.
        cap: Tokens for each reply.
    """
    name, whole, stated, used = "window", reading.of_model(reading.whole), known.stated, known.used
    by_server = f"{known.source} states {stated:,} tokens" if stated else f"{known.source} does not state it"
    words, real = _measured(reading, stated, cap)
    if real is None and reading.end is not None and reading.end.outcome != "overflow":
        asked = reading.of_model(reading.end.tokens)
        late = "seconds (--timeout)" in reading.end.message
        return Check(
            name,
            "warning",
            f"{by_server}; a prompt of {whole:,} tokens was answered, one of {asked:,} failed: {reading.end.message}",
            f"{'Raise --timeout' if late else 'Check the log of the server'}, or use lengths up to "
            f"{format_length(_floor(whole))}",
        )
    if real is None:  # every prompt arrived
        least, full = whole + cap, stated or given
        if full and least >= WHOLE * full:
            return Check(
                name, "ok", f"{by_server}; a prompt of {whole:,} {_arrived(reading)}", *_use(reading, full, used)
            )
        more = f"{words}; longer ones were not tried"
        if full:
            advice, options = _use(reading, full, used)
            return Check(
                name, "ok", f"{by_server}; {more}", f"{advice}. fathom doctor --window {full} tries all", options
            )
        return Check(
            name,
            "unknown",
            f"{by_server}; {more}",
            "Give --window with the window that you expect, to have it tried; without one, fathom sends every prompt",
        )
    claimed = next((window for window in (given, stated) if window and window * WHOLE > real), None)
    if claimed is not None and reading.suspicious and reading.end is None:
        return Check(name, "warning", f"{by_server}; {words}", "See truncation")
    if claimed is not None:
        source = "--window is" if claimed == given else f"{known.source} states"
        return Check(
            name,
            "warning",
            f"{source} {claimed:,} tokens, but {words}",
            f"Give {reading.option(real)}{_converted(reading)}",
            reading.option(real),
        )
    return Check(name, "ok", words if stated is None else f"{by_server}; {words}", *_use(reading, real, used))


def _measured(reading: Reading, stated: int | None, cap: int) -> tuple[str, int | None]:
    """What was measured in words, and the window that follows; None if no end of it was found."""
    whole = reading.of_model(reading.whole)
    if reading.cut is not None:
        return f"only {reading.cut:,} of {reading.asked:,} tokens arrived", reading.cut
    if reading.end is not None and reading.end.outcome == "overflow":
        asked = reading.of_model(reading.end.tokens)
        named = limit_in(reading.end.message, reading.of_model(reading.accepted), asked + cap)
        if named is None and stated and whole <= stated <= (asked + cap) * (1 + NOISE):
            named = stated
        accepted = reading.of_model(reading.accepted)
        window = f" (a window of {named:,})" if named is not None and named != stated else ""
        return f"a prompt of {asked:,} tokens is refused{window}, one of {accepted:,} is not", named or accepted + cap
    if reading.suspicious:
        return f"prompts from {reading.of_model(reading.lost_from):,} tokens on seem truncated", whole + cap
    return f"a prompt of {whole:,} tokens {_arrived(reading)}", None


def _arrived(reading: Reading) -> str:
    return "arrived whole" if reading.counted or (reading.able and not reading.lost) else "was accepted"


def _use(reading: Reading, window: int, used: int | None) -> tuple[str, str]:
    """What fathom does with a window, and the option that it needs."""
    option = reading.option(window)
    if used is not None and used <= int(option.split()[1]):
        return f"fathom does not send prompts that, with their reply, exceed {used:,} tokens", ""
    return f"Give {option}{_converted(reading)}: otherwise fathom sends every prompt", option


def _converted(reading: Reading) -> str:
    return " (in fathom's tokens)" if reading.rate > 1 + NOISE else ""


def truncation_check(reading: Reading, *, window: int | None, cap: int) -> Check:
    """The check of silent truncation.

    Args:
        reading: What the replies show.
        window: The largest window that was to be tried; None if unknown.
        cap: Tokens for each reply.
    """
    name = "truncation"
    whole = reading.of_model(reading.whole)
    if reading.cut is not None:
        part = (
            f" (missing: {in_words(reading.lost)})"
            if reading.lost and len(reading.lost) < len(PLACES)
            else " (all code words were found, so a part between them is missing)"
            if reading.able and not reading.lost
            else ""
        )
        return Check(
            name,
            "warning",
            f"prompts are truncated without an error: of {reading.asked:,} tokens, {reading.cut:,} arrived{part}",
            f"Give {reading.option(reading.cut)}: fathom then refuses longer prompts, or truncates and counts them "
            "(--on-overflow). Or raise the server's window",
            reading.option(reading.cut),
        )
    if reading.lost:
        return _lost(reading, whole + cap)
    if not reading.able and not reading.counted:
        return Check(
            name,
            "unknown",
            "the model does not find code words even in a short prompt, and token counts do not help",
            "Compare scores by depth (fathom analyze position)",
        )
    by = "" if reading.able else ", by the reported token counts (the model does not find code words in a short prompt)"
    if reading.end is not None and reading.end.outcome == "overflow":
        return Check(
            name,
            "ok",
            f"none: a prompt that is too long is refused{by}",
            "fathom counts a refused prompt as overflow",
        )
    tried_beyond = window is not None and whole > window
    more = "" if tried_beyond or reading.end is not None else "; beyond the window nothing was tried"
    return Check(name, "ok", f"none up to {whole:,} tokens{more}{by}")


def _lost(reading: Reading, safe: int) -> Check:
    """Code words that were not found, although no count shows a truncation."""
    start = reading.of_model(reading.lost_from)
    places = in_words(reading.lost)
    words = f"from {start:,} tokens on, a code word is not found ({places}); in shorter prompts all are"
    if reading.counted:
        words += ". prompt_tokens counts all of it"
    if not reading.suspicious:
        return Check(
            "truncation",
            "unknown",
            words,
            "The model may overlook it. Compare scores by depth (fathom analyze position)",
        )
    return Check(
        "truncation",
        "warning",
        words,
        f"The server may drop it without an error, or the model overlooks it: check the server's log. "
        f"{reading.option(safe)} keeps to lengths where all were found",
    )


def usage_check(reading: Reading, tiny: Shot, shots: Sequence[Shot], *, replies: bool, cached: bool) -> Check:
    """The check of reported token counts.

    Args:
        reading: What the replies show.
        tiny: A prompt of a few tokens.
        shots: The others.
        replies: Whether tokens of replies are reported.
        cached: Whether tokens from a cache are reported.
    """
    if not reading.reported:
        return Check(
            "usage",
            "warning",
            "token counts of prompts are not reported",
            "fathom counts prompts with the suite's tokenizer; a truncated prompt is not noticed",
        )
    if not reading.believable:
        longest = shots[-1] if shots[-1].tokens_in is not None else shots[0]
        return Check(
            "usage",
            "warning",
            f"wrong: prompt_tokens is {tiny.tokens_in:,} for {tiny.tokens:,} tokens, and {longest.tokens_in:,} for "
            f"{longest.tokens:,}",
            "Do not rely on token counts and costs of runs on this server",
        )
    if not replies:
        return Check(
            "usage",
            "warning",
            "prompt tokens are reported, tokens of replies are not",
            "Costs are not known, and --max-cost stops nothing",
        )
    parts = ["prompt", "reply", *(["cached"] if cached else [])]
    return Check("usage", "ok", f"{in_words(parts)} tokens are reported")


def tokenizer_check(reading: Reading, tokenizer: str) -> Check:
    """The check of fathom's tokenizer against the model's."""
    if not reading.counted:
        return Check("tokenizer", "unknown", "without token counts, it cannot be compared")
    words = f"100 tokens of {tokenizer}, which fathom counts in, are {100 * reading.rate:.0f} of the model's"
    if abs(reading.rate - 1) <= NOTABLE:
        return Check("tokenizer", "ok", words)
    return Check(
        "tokenizer",
        "ok",
        words,
        f"A sample of length 32k has about {reading.of_model(32)}k of the model's tokens. To count in those: fathom "
        "build --tokenizer hf:NAME, or a path",
    )


def _rate(tiny: Shot, shot: Shot) -> float | None:
    if tiny.tokens_in is None or shot.tokens_in is None or shot.tokens <= tiny.tokens:
        return None
    return (shot.tokens_in - tiny.tokens_in) / (shot.tokens - tiny.tokens)


def _suspicious(lost: Sequence[tuple[int, tuple[str, ...]]], answered: Sequence[Shot]) -> bool:
    """Whether every prompt from a size on, and more than one, lost the same part but not all."""
    if len(lost) < 2 or any(len(places) == len(PLACES) for _, places in lost):
        return False
    after = [shot for shot in answered if shot.tokens >= lost[0][0]]
    return len(after) == len(lost) and all(set(lost[0][1]) <= set(places) for _, places in lost)


def _floor(tokens: int) -> int:
    return 1 << max(0, tokens.bit_length() - 1)
