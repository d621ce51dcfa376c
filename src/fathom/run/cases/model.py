"""A model that is asked about cases: how, at what price, within which limits, and what it has replied already."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

from fathom.models.clients import negotiation_of, open_client
from fathom.models.embedding_judge import LOCAL, EmbeddingClient, judge_kind, open_embedding_client
from fathom.models.entailment import PREFIX, Entailment, EntailmentClient, is_entailment
from fathom.models.failures import Failure, ServerError
from fathom.models.loop import KEPT, drive
from fathom.models.prices import FREE, Price, find_price
from fathom.models.protocol import Client, Settings
from fathom.models.proxies import check_proxy
from fathom.run.batches.open import (
    INTERRUPTED,
    asked_plainly,
    check_none_waits,
    described,
    open_recording,
    send_in_batches,
    share_of_price,
)
from fathom.run.batches.recording import Recording
from fathom.run.cases.pending import JudgePlan, JudgeProgress, PendingCase, PendingCases, likely_prompts
from fathom.run.cases.session import CaseBatches, CaseSession
from fathom.run.engine import Engine, Terms, check_cost, check_limit, ignore, terms_of
from fathom.run.options import check_settings, generation_of
from fathom.run.preflight import output_caps
from fathom.run.server_facts import explaining
from fathom.runfile.batches import batches_of
from fathom.runfile.judgements import (
    Judgement,
    JudgementStore,
    Outcome,
    Spent,
    case_key,
    judge_name,
    judgements,
    replies_by_prompt,
    spent,
)
from fathom.runfile.ledger import Key
from fathom.runfile.settings import JudgeSettings
from fathom.score.judge import Case, Conversation
from fathom.tokens.tokenizers import DEFAULT, get_tokenizer
from fathom.types import FathomError

REPLY_TOKENS = 1024
"""Output cap of a reply; a model that reasons gets more."""


def case_settings(model: str, settings: JudgeSettings, base_url: str | None) -> Settings:
    """How a model is asked about cases.

    Args:
        model: ``PROVIDER/NAME``, an embedding model or an entailment model.
        settings: What the user wants.
        base_url: Address of its server.

    Raises:
        FathomError: A setting is wrong.
    """
    embedding = judge_kind(model) == "embedding"
    temperature = 0.0 if settings.temperature == "default" else settings.temperature
    asked = Settings(
        model=model,
        temperature=0.0 if temperature is None and embedding else temperature,
        max_output_tokens=settings.max_output_tokens,
        generation=generation_of(
            settings.generation, reasoning_effort=settings.reasoning_effort, reasoning_tokens=settings.reasoning_tokens
        ),
        model_args=settings.model_args or {},
        base_url=base_url,
        chosen_temperature=settings.temperature != "default",
    )
    check_settings(asked)
    return asked


NOTHING = Spent()


@dataclass(frozen=True)
class CaseModel:
    """A model that is asked about cases, and the folder that keeps its replies.

    Attributes:
        asked: How the model is asked.
        settings: Limits, retries, and whether requests are sent in batches.
        tokenizer: Name of the tokenizer in which windows of baselines are counted.
        purpose: Beginning of messages, before the model's name.
        results: What is kept, in messages.
        used: What other models of the same work have used, which counts against its limits.
        prefix: What its name in the folder begins with.
    """

    folder: Path
    asked: Settings
    settings: JudgeSettings
    tokenizer: str = DEFAULT
    purpose: str = "judge"
    results: str = "judgements"
    used: Spent = NOTHING
    prefix: str = ""

    @cached_property
    def name(self) -> str:
        """Its name in the folder."""
        return f"{self.prefix}{judge_name(self.asked)}"

    @cached_property
    def price(self) -> Price:
        """Its prices; those of batches if requests are sent in batches."""
        model = self.asked.model
        price = FREE if _is_here(model) else find_price(model, self.asked.base_url)
        return price.in_batches(share_of_price(self.asked)) if self.settings.batch else price

    @cached_property
    def cap(self) -> int:
        """The output cap of its replies; embedding and entailment models generate no tokens."""
        generates = judge_kind(self.asked.model) == "chat" and not is_entailment(self.asked.model)
        return output_caps(self.asked, self.price, lambda task: REPLY_TOKENS)("") if generates else 0

    @property
    def spent(self) -> Spent:
        """What it has cost so far."""
        return spent(self.folder, self.name)

    def replies(self, *, again: bool = False) -> dict[Key, str]:
        """Its replies so far; with ``again`` without those that could not be parsed.

        See ``judgements.replies_by_prompt``.
        """
        return replies_by_prompt(self.folder, self.name, again=again)

    def outcomes(self) -> dict[str, Judgement]:
        """All outcomes, by ``case_key``."""
        return judgements(self.folder, self.name)

    def pending(self, cases: Iterable[tuple[Conversation | None, Case]]) -> PendingCases:
        """The cases that have no outcome; with ``settings.again`` also those whose replies could not be parsed.

        Args:
            cases: All of them; equal ones are asked about once. Those without a conversation need another model.
        """
        outcomes, final = self.outcomes(), ("ok",) if self.settings.again else ("ok", "unreadable")
        counts: Counter[Outcome] = Counter({"ok": 0, "unreadable": 0, "error": 0})
        pending: dict[str, PendingCase] = {}
        others = 0
        for conversation, case in cases:
            if conversation is None:
                others += 1
                continue
            key = case_key(conversation, case)
            outcome = outcomes.get(key)
            if outcome is not None and outcome.status in final:
                counts[outcome.status] += 1
            else:
                same = pending[key].replies if key in pending else 0
                pending[key] = PendingCase(key, conversation, case, same + 1)
        return PendingCases(tuple(pending.values()), counts, others)

    def plan(self, pending: PendingCases, what: str = "replies") -> JudgePlan:
        """Forecast the requests, and check that they stay within the limits.

        Args:
            pending: The pending cases.
            what: Name of the cases in messages.

        Raises:
            FathomError: Even empty replies would exceed a limit, or the price is unknown, so that the limit cannot be
                enforced.
        """
        price, known = self.price, self.replies(again=self.settings.again)
        prompts: dict[Key, int] = {}
        for case in pending.cases:
            prompts |= likely_prompts(case, known)
        least = [price.cost(tokens, 0) for tokens in prompts.values()]
        most = [price.cost(tokens, self.cap) for tokens in prompts.values()]
        priced = price.cost(1, 1) is not None
        plan = JudgePlan(
            folder=self.folder,
            judge=self.name,
            replies=sum(case.replies for case in pending.cases),
            finished=sum(pending.counts.values()),
            requests=len(prompts),
            tokens_in=sum(prompts.values()),
            tokens_out=len(prompts) * self.cap,
            cost_least=sum(cost or 0.0 for cost in least) if priced else None,
            cost_most=sum(cost or 0.0 for cost in most) if priced else None,
            checked=price.checked if priced else "",
            what=what,
            batches=described() if self.settings.batch else "",
        )
        if plan.requests:
            check_plan(f"judge {self.name}:", self.name, self.settings, self.spent, plan.tokens_in, plan.cost_least)
        return plan

    def open(self) -> Client:
        """The client of the model.

        Raises:
            FathomError: The model is unknown, its library is missing, or a key is; or requests to it are in batches,
                and these would be sent plainly.
        """
        if self.settings.batch:
            return open_recording(self.asked)
        check_none_waits(self.folder, batches_of(self.name))
        return open_case_client(self.asked, self.tokenizer, self.settings)

    def ask(
        self,
        pending: PendingCases,
        client: Client,
        *,
        progress: Callable[[JudgeProgress], None] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> JudgeProgress:
        """Ask about all cases that no other process has asked about meanwhile.

        Args:
            pending: The cases.
            client: The model's client (``open``); closed at the end.
            progress: Called after every outcome.
            tell: Called with a line about each batch.

        Raises:
            FathomError: The model cannot be asked, a limit is exceeded, or it was interrupted. What is finished is
                kept.
        """
        if isinstance(client, EmbeddingClient | EntailmentClient):
            client.load()
        terms = terms_of(self.settings, client, self.price)
        state = JudgeProgress(pending.counts, pending.total, self.spent)
        working = _work_through(self, pending.cases, client, terms, state, progress or ignore, tell or ignore)
        return drive(working, INTERRUPTED if self.settings.batch else KEPT)


def check_plan(
    work: str, model: str, settings: JudgeSettings, spent: Spent, tokens_in: int, cost_least: float | None
) -> None:
    """Check that requests about cases stay within the user's limits even if all replies are empty.

    Args:
        work: What asks, for messages.
        model: Name of the model.
        spent: What was used so far.
        tokens_in: Prompt tokens that are needed.
        cost_least: Their price; None if it is unknown.

    Raises:
        FathomError: They do not, or the price is unknown, so that the limit cannot be enforced.
    """
    tokens = spent.tokens_in + spent.tokens_out + tokens_in
    check_limit(settings.max_tokens_total, tokens, f"{work} needs about {tokens:,} tokens")
    cost = None if cost_least is None else spent.paid + cost_least
    words = f"{work} costs at least ${cost or 0.0:,.2f} (${spent.paid:,.2f} spent)"
    check_cost(settings.max_cost, cost, model, words)


def open_case_client(asked: Settings, tokenizer: str, settings: JudgeSettings) -> Client:
    """The client of a model that is asked about cases, in plain requests.

    Args:
        asked: How it is asked.
        tokenizer: See ``CaseModel``.
        settings: Limits of its requests.

    Raises:
        FathomError: The model is unknown, its library is missing, or a key is.
    """
    if is_entailment(asked.model):
        return EntailmentClient(Entailment(asked.model.removeprefix(PREFIX)))
    if judge_kind(asked.model) == "embedding":
        return open_embedding_client(asked, connections=settings.max_connections, timeout=settings.timeout)
    return open_client(asked, lambda: get_tokenizer(tokenizer))


def _is_here(model: str) -> bool:
    """Whether an embedding or entailment model is computed on this machine."""
    return model.startswith(LOCAL) or is_entailment(model)


async def _work_through(
    model: CaseModel,
    cases: Sequence[PendingCase],
    client: Client,
    terms: Terms,
    state: JudgeProgress,
    progress: Callable[[JudgeProgress], None],
    tell: Callable[[str], None],
) -> JudgeProgress:
    # Each process has its own order, so that it finds what others have done instead of asking the same; and a limit
    # leaves outcomes of a random sample.
    cases = Random(os.getpid()).sample(cases, len(cases))
    store = JudgementStore(model.folder, model.name)
    engine = Engine(client, terms, replied=state.spent.requests > 0)
    failed: dict[Key, Failure] | None = {} if isinstance(client, Recording) else None
    session = CaseSession(store, engine, model.cap, state, model.used, progress, failed)
    negotiation = negotiation_of(client)
    try:
        negotiation.resume(store.negotiated())
        if note := check_proxy(model.asked.base_url):
            tell(note)
        if model.settings.again:
            store.forget_unreadable()
        if isinstance(client, Recording) and failed is not None:
            batches, file = CaseBatches(cases, store, session, failed), batches_of(model.name)
            async with explaining(client):
                await send_in_batches(batches, model.folder, client, file=file, retry=terms.retry, tell=tell)
            await _finish(model, session, cases)
        else:
            # Plain asking is for several processes at once, but not beside one that sends batches.
            with asked_plainly(model.folder, model.name):
                await _finish(model, session, cases)
        for change in negotiation.describe():
            tell(f"{model.name}: {change}")
        return session.state
    finally:
        with suppress(FathomError):  # what cannot be recorded now will be at the next call
            store.note_negotiated(negotiation.changes)
        store.close()
        await client.close()


async def _finish(model: CaseModel, session: CaseSession, cases: Sequence[PendingCase]) -> None:
    name, health = f"{model.purpose} {model.name}", session.engine.health
    try:
        async with explaining(session.engine.client):
            await session.work_through(cases)
            if health.errors and not health.replies and not session.engine.stop:
                raise ServerError(
                    f"no request was answered; the last one failed with: {health.last.rstrip('.')}. Fix the cause and "
                    "repeat the command for what is missing"
                )
    except FathomError as error:
        raise FathomError(f"{name}: {error}") from None
    if session.engine.stop:
        raise FathomError(f"{name}: {session.engine.stop}; all finished {model.results} are kept")
