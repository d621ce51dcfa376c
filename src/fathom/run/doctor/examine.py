"""``examine``: everything that ``fathom doctor MODEL`` checks, in order."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from fathom.models.clients import context_of, negotiation_of, open_client, server_of
from fathom.models.failures import Failure
from fathom.models.local_client import LocalClient
from fathom.models.local_model import starts_server
from fathom.models.loop import drive
from fathom.models.model_settings import find_settings, like_models
from fathom.models.prices import find_limit
from fathom.models.protocol import TINY_PROMPT, Client, Settings, is_baseline
from fathom.models.retry import Retry
from fathom.run.checks import Check, Diagnosis, Plan
from fathom.run.chosen import Chosen
from fathom.run.doctor import window as windows
from fathom.run.doctor.probes import (
    FIRST_CAP,
    PLAIN_CAP,
    PROBES,
    REASONING_CAP,
    REPEATS,
    SHORT_CAP,
    Prober,
    chat_check,
    check_completions,
    first_reply,
    reasoned,
    reasoning_check,
)
from fathom.run.preflight import reasons
from fathom.run.server_facts import SECONDS, Survey, refusal, survey
from fathom.runfile.serving import notes_on_replies
from fathom.tokens.length import format_length
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

RETRIES = 2
SMALL_REQUESTS = 24
"""The most requests besides those with long prompts."""

Confirm = Callable[[Plan], bool]


def examine(
    chosen: Chosen,
    *,
    given: Mapping[str, tuple[str, ...]] | None = None,
    timeout: float = 120.0,
    backoff: float = 1.0,
    rng: Random | None = None,
    confirm: Confirm | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Diagnosis:
    """Check a model and its server: what they can do, and what a run will do about it.

    Args:
        chosen: How the model is asked. If it has a window, prompts up to it and one beyond it are tried, else those of
            at most ``windows.BUDGET`` tokens together.
        given: Options of ``fathom run`` that were given, without secrets, for the command that is shown.
        timeout: Seconds for one request.
        backoff: Seconds before the first retry.
        rng: Draws code words.
        confirm: Called with what will be sent, after the server has answered; False stops.
        progress: Called with (requests so far, the most that there will be).

    Raises:
        FathomError: An option is wrong, or the examination was interrupted.
    """
    if is_baseline(chosen.settings.model):
        return _baseline(chosen.settings)
    if starts_server(chosen.settings.model):
        return drive(_own_server(chosen.settings), "interrupted; nothing is stored")
    examination = Examination(
        chosen,
        given or {},
        Retry(retries=RETRIES, timeout=timeout, first=backoff, longest=5.0, obeyed=60.0),
        rng or Random(),
        confirm or (lambda plan: True),
        progress or (lambda done, most: None),
    )
    return drive(examination.run(), "interrupted; nothing is stored")


def _baseline(settings: Settings) -> Diagnosis:
    name, check = settings.model, "model"
    try:
        client = open_client(settings, get_tokenizer)
    except FathomError as error:
        return Diagnosis(name, (Check(check, "failed", str(error)),))
    checks = [Check(check, "ok", "an offline baseline: it needs no server and no key")]
    if client.window is not None:
        checks.append(Check("window", "ok", f"{client.window:,} tokens; beyond it: {client.policy}"))
    return Diagnosis(name, tuple(checks), f"fathom run SUITE --model {shlex.quote(name)}")


async def _own_server(settings: Settings) -> Diagnosis:
    """What can go wrong with a server that fathom starts; all else is known, so that no long prompt is sent."""
    try:
        client = open_client(settings, get_tokenizer)
    except FathomError as error:
        return Diagnosis(settings.model, (Check("model", "failed", re.sub(r"^model \S+: ", "", str(error))),))
    window = f"{context_of(client):,} tokens, as its server is started; longer prompts are refused, never truncated"
    checks = [Check("model", "ok", "its file is here, and memory suffices"), Check("window", "ok", window)]
    prober = Prober(client, settings, Retry(retries=0, timeout=600.0), get_tokenizer(), lambda requests: None)
    try:
        tiny = await prober.ask(TINY_PROMPT, SHORT_CAP)
    except FathomError as error:
        tiny = Failure("bad", str(error))
    finally:
        await client.close()
    if isinstance(tiny, Failure):
        checks.append(Check("chat", "failed", tiny.message))
        return Diagnosis(settings.model, tuple(checks), requests=1)
    checks.append(chat_check(tiny, "chat"))
    return Diagnosis(
        settings.model, tuple(checks), f"fathom run SUITE --model {shlex.quote(settings.model)}", requests=1
    )


class Examination:
    """The examination of one model."""

    def __init__(
        self,
        chosen: Chosen,
        given: Mapping[str, tuple[str, ...]],
        retry: Retry,
        rng: Random,
        confirm: Confirm,
        progress: Callable[[int, int], None],
    ) -> None:
        self._settings, self._price, self._entry = chosen.settings, chosen.price, chosen.entry
        self._given, self._retry, self._rng = given, retry, rng
        self._confirm, self._progress = confirm, progress
        self._tokenizer = get_tokenizer()
        self._checks: list[Check] = []
        self._prober: Prober | None = None
        self._opened: list[Client] = []
        self._most = 0

    async def run(self) -> Diagnosis:
        """Make all checks that can be made."""
        try:
            try:
                client = self._open()
                server = server_of(client)
            except FathomError as error:
                self._add(Check("model", "failed", re.sub(r"^model \S+: ", "", str(error))))
                return self._diagnosis()
            return await self._examine(client, server)
        finally:
            for opened in self._opened:
                await opened.close()

    def _open(self) -> Client:
        client = open_client(self._settings, get_tokenizer)
        self._opened.append(client)
        return client

    async def _examine(self, client: Client, server: tuple[AsyncOpenAI, str] | None) -> Diagnosis:
        name = self._settings.model.partition("/")[2]
        surveyed = Survey(Check("address", "skipped", "a local model, or a provider with a protocol of its own"), True)
        if server is not None:
            name, seconds = server[1], min(self._retry.timeout, SECONDS)
            surveyed = await survey(server[0], name, given=self._settings.base_url, seconds=seconds)
        self._add(surveyed.check)
        if not surveyed.answers or surveyed.better:
            return self._diagnosis()
        known = self._entry.context if self._entry else None
        used = find_limit(self._settings, client, self._price, known, context_of(client)).window
        expected = self._settings.window or surveyed.window or used
        window = windows.Known(surveyed.window, expected, used)
        if isinstance(client, LocalClient):
            own = "" if self._settings.window else client.window_words
            window = windows.Known(client.context, expected, used, own, "its configuration")
        plan = self._plan(() if window.own else windows.sizes_of(self._settings, expected, PLAIN_CAP))
        if not self._confirm(plan):
            return self._diagnosis("not confirmed: nothing was sent to the model")
        self._most = plan.requests
        return await self._probe(client, server, name, surveyed, window)

    async def _probe(
        self,
        client: Client,
        server: tuple[AsyncOpenAI, str] | None,
        name: str,
        surveyed: Survey,
        window: windows.Known,
    ) -> Diagnosis:
        served_as = name if server is not None else ""
        prober = Prober(client, self._settings, self._retry, self._tokenizer, self._sent, served_as)
        prober.continued = self._settings.chat_template == "never"
        prober.reasons = self._reasons
        self._prober = prober
        what = "completions" if prober.continued else "chat"
        tiny = await first_reply(prober)
        if isinstance(tiny, Failure):
            failed = _failed(what, tiny, self._settings, name, surveyed)
            if not prober.continued and failed.name == what and tiny.kind in ("bad", "denied") and not failed.options:
                completions = await check_completions(prober)
                if completions is not None and completions.state == "ok":
                    found_there = f"{failed.found}; but prompts without a chat template are answered"
                    option = "--chat-template never"
                    failed = Check(what, "failed", found_there, f"Give {option}, as for base models", option)
            self._add(failed)
            return self._diagnosis()
        self._add(chat_check(tiny, what))
        if surveyed.served:
            self._add(_name_check(name, surveyed.served))
        if tiny.status == "ok" or tiny.text:
            prober.reasons = reasoned(tiny) or self._reasons
        for probe in PROBES:
            if (check := await probe(prober)) is not None:
                self._add(check)
        self._add(*await windows.probe(prober, tiny, window, self._rng))
        self._add(
            reasoning_check(
                prober,
                allowed=reasons(self._settings, self._price),
                entry=find_settings(self._settings.model),
                similar=like_models(self._settings.model),
            )
        )
        if notes := notes_on_replies(prober.replies):
            self._add(Check("server", "warning", "; ".join(map(str, notes)), "Runs say so too"))
        if refused := negotiation_of(client).describe():
            self._add(Check("parameters", "warning", "; ".join(refused), "Runs do the same, and record it"))
        return self._diagnosis()

    @property
    def _reasons(self) -> bool:
        return reasons(self._settings, self._price)

    def _plan(self, sizes: tuple[int, ...]) -> Plan:
        requests = SMALL_REQUESTS + 1 + len(sizes)
        # Tokens of the model may be fewer than fathom's; small prompts have less than 50.
        tokens_in = int(1.2 * (windows.CONTROL + sum(sizes))) + 50 * SMALL_REQUESTS
        # Whether the model reasons shows in its first reply.
        long = (len(sizes) + 3) * REASONING_CAP
        tokens_out = long + (1 + 2 * REPEATS) * FIRST_CAP + SMALL_REQUESTS * SHORT_CAP
        longest = max(sizes, default=windows.CONTROL)
        cost = self._price.cost(tokens_in, tokens_out)
        return Plan(self._settings.model, requests, tokens_in, tokens_out, longest, cost)

    def _sent(self, requests: int) -> None:
        self._progress(min(requests, self._most), self._most)

    def _add(self, *checks: Check) -> None:
        self._checks += checks

    def _diagnosis(self, stopped: str = "") -> Diagnosis:
        checks = tuple(self._checks)
        prober = self._prober
        diagnosis = Diagnosis(
            self._settings.model,
            checks,
            requests=prober.requests if prober else 0,
            tokens_in=prober.tokens_in if prober else 0,
            stopped=stopped,
        )
        curable = all(check.options for check in checks if check.state == "failed")
        return (
            replace(diagnosis, command=_command(self._settings, self._given, diagnosis.followed))
            if curable and not stopped
            else diagnosis
        )


def _command(settings: Settings, given: Mapping[str, tuple[str, ...]], followed: Mapping[str, str]) -> str:
    """A ``fathom run`` with the options given and those that follow from the checks."""
    options = {"--model": (settings.model,), **given} | {name: (value,) for name, value in followed.items()}
    words = [word for name, values in options.items() for value in values for word in (name, value)]
    return shlex.join(["fathom", "run", "SUITE", *words])


def _failed(what: str, failure: Failure, settings: Settings, name: str, surveyed: Survey) -> Check:
    """The check that explains why the first request failed."""
    message = failure.message
    code = next(iter(re.findall(r"\b(40[0-9])\b", message)), "")
    if failure.kind == "silent":
        return Check(
            what, "failed", message, "Check the server's log, and that its model is loaded; or raise --timeout"
        )
    if (check := refusal(message, settings, name, surveyed)) is not None:
        of_request = check.name in ("key", "address")
        return replace(check, name=what, found=f"{check.found}: {message}") if of_request else check
    if failure.kind == "denied":
        advice = (
            "Check the address, which usually ends in /v1, and the model's name"
            if code == "404"
            else "Check the key, its permissions and the account's balance"
        )
    elif failure.kind in ("busy", "later"):
        advice = (
            "Check the address, which usually ends in /v1; otherwise the server's log"
            if surveyed.served is None
            else "The server may be overloaded or not ready: try again later, or check its log"
        )
    elif failure.kind == "overflow":
        advice = f"The window is smaller than {format_length(FIRST_CAP)}: give the server a larger one"
    else:
        advice = "Check the server's log"
    return Check(what, "failed", message, advice)


def _name_check(name: str, served: tuple[str, ...]) -> Check:
    if name in served:
        return Check("model name", "ok", f"{name} is served")
    listed = served[0] if len(served) == 1 else f"{len(served)} others"
    return Check(
        "model name",
        "ok",
        f"{name} is answered, though the server lists {listed}",
        "Results are recorded under the name that you give",
    )
