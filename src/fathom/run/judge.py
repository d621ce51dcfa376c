"""``judge``: have a model score the stored replies of a run, by the rubrics of its tasks.

Some rubrics need a chat model, others an embedding model (``embedding_judge``); a judge skips rubrics of the other
kind, and a run can be judged by one of each.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from fathom.models.clients import connections_of, open_client
from fathom.models.embedding_judge import LOCAL, PAPERS, EmbeddingClient, judge_kind, open_embedding_client
from fathom.models.hugging_face import is_local
from fathom.models.local_client import check_local_model
from fathom.models.loop import KEPT, drive
from fathom.models.prices import FREE, Price, find_price, shown_cost
from fathom.models.protocol import Client, Settings
from fathom.models.retry import Retry
from fathom.plugins import loading
from fathom.printing import readable
from fathom.run.batches.judging import Collected, JudgeAsking, batches_of
from fathom.run.batches.open import (
    INTERRUPTED,
    asked_plainly,
    check_none_waits,
    described,
    judge_in_batches,
    open_recording,
    share_of_price,
)
from fathom.run.batches.recording import Recording
from fathom.run.judge_plan import JudgePlan, PendingCase, PendingCases, check_limits, find_cases, plan_judging
from fathom.run.judging import JudgeProgress, JudgeWork, Judging
from fathom.run.options import check_settings, generation_of
from fathom.run.preflight import output_caps
from fathom.runfile.judgements import JudgementStore, Spent, judge_name, judgements, said, spent
from fathom.runfile.manifest import read_manifest
from fathom.runfile.settings import JudgeSettings
from fathom.safety.address import check_address
from fathom.score.judge import JudgeKind
from fathom.tokens.tokenizers import Tokenizer, get_tokenizer
from fathom.types import FathomError
from fathom.types.choices import TIMEOUT

REPLY_TOKENS = 1024
"""Output cap of a judge's reply; a judge that reasons gets more."""


@readable
@dataclass(frozen=True, slots=True)
class JudgeSummary:
    """Result of ``judge``.

    Attributes:
        folder: The run folder.
        judge: Name of the judge, as in rows.
        judged: Replies with a judgement.
        unreadable: Replies whose judgement could not be parsed: they have no score.
        missing: Replies that are still to be judged.
        spent: Cost of this judge so far, without that of the run.
        stopped: Why it stopped early; "" if it did not.
        hints: Notes for the user.
    """

    folder: Path
    judge: str
    judged: int
    unreadable: int
    missing: int
    spent: Spent
    stopped: str = ""
    hints: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line."""
        if self.stopped:
            return f"{self.folder}: stopped: {self.stopped}"
        spent = self.spent
        unknown = f" and {spent.unpriced:,} requests of unknown price" if spent.cost and spent.unpriced else ""
        return (
            f"{self.folder}: {self.judged:,} judged, {self.unreadable:,} unreadable, {self.missing:,} missing; the "
            f"judge read {spent.tokens_in:,} and wrote {spent.tokens_out:,} tokens, {shown_cost(spent.cost)}{unknown}"
        )


def judge(
    run: Path,
    model: str,
    settings: JudgeSettings,
    *,
    confirm: Callable[[JudgePlan], bool] | None = None,
    progress: Callable[[JudgeProgress], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> JudgeSummary:
    """Judge the replies of a run; repeating the call judges only what is missing.

    Complete replies with text are judged, if their task has a rubric for this kind of judge. A judgement is tied to its
    reply, question, references and rubric version; when one of them changes, it is missing. Several processes may judge
    at once, and a run can have several judges.

    Args:
        run: A folder written by ``fathom run``, finished or not.
        model: The judge, ``PROVIDER/NAME`` as in Inspect; or an embedding model, ``embed/NAME`` on a server or
            ``embed-local/NAME`` for sentence-transformers.
        settings: How it is asked, and up to which limits. A local model takes one request at a time; the cap on its
            replies is by default ``REPLY_TOKENS``, more for models known to reason.
        confirm: Called with the plan before any request; False stops. None skips it.
        progress: Called after every judgement.
        tell: Called with a line about each batch.

    Returns:
        The final state.

    Raises:
        FathomError: The folder holds no run or nothing for this kind of judge, a setting is wrong, a limit is or would
            be exceeded, the judge is unreachable or denies all requests, the disk is full, or the judging was
            interrupted. Finished judgements are kept.
    """
    folder = Path(run)
    manifest = read_manifest(folder)
    loading.use_again(manifest["suite"].get("plugins"), folder)
    _check_address(settings.model_base_url)
    batch = settings.batch
    how = Settings(
        model=model,
        temperature=0.0 if settings.temperature is None and judge_kind(model) == "embedding" else settings.temperature,
        max_output_tokens=settings.max_output_tokens,
        generation=generation_of(
            settings.generation, reasoning_effort=settings.reasoning_effort, reasoning_tokens=settings.reasoning_tokens
        ),
        model_args=settings.model_args or {},
        base_url=settings.model_base_url,
    )
    check_settings(how)
    name = judge_name(how)
    waiting = find_cases(folder, judgements(folder, name), again=settings.again, by=judge_kind(model))
    _check_kind(folder, model, waiting)
    before = JudgeProgress(waiting.counts, waiting.total, spent(folder, name))
    hints = _hints_before(manifest["model"], model, waiting)
    if not waiting.cases:
        return _summary(folder, name, before, hints=hints)
    price = FREE if model.startswith(LOCAL) else find_price(model, settings.model_base_url)
    client: Client | Recording
    if batch:
        client, price = open_recording(how), price.in_batches(share_of_price(how))
    else:
        check_none_waits(folder, batches_of(name))
        client = _open(
            how,
            lambda: get_tokenizer(manifest["suite"]["tokenizer"]),
            connections=settings.max_connections,
            timeout=settings.timeout,
        )
    cap = _cap(how, price)
    plan = plan_judging(folder, name, waiting, said=said(folder, name, again=settings.again), price=price, cap=cap)
    plan = replace(plan, batches=described() if batch else "")
    check_limits(plan, before.spent, max_tokens_total=settings.max_tokens_total, max_cost=settings.max_cost)
    if confirm is not None and not confirm(plan):
        return _summary(folder, name, before, stopped="not confirmed", hints=hints)
    if isinstance(client, EmbeddingClient):
        client.load()
    work = JudgeWork(
        cap=cap,
        price=price,
        max_connections=settings.max_connections
        if isinstance(client, Recording)
        else connections_of(client, settings.max_connections),
        retry=Retry(retries=settings.retries, timeout=settings.timeout, first=settings.backoff),
        max_tokens_total=settings.max_tokens_total,
        max_cost=settings.max_cost,
        progress=progress or (lambda state: None),
    )
    # Each process has its own order, so that it finds what others have judged instead of asking the same; and a limit
    # leaves a random sample judged.
    cases = Random(os.getpid()).sample(waiting.cases, len(waiting.cases))
    judging = _judge(folder, name, client, work, before, cases, again=settings.again, tell=tell or (lambda line: None))
    after = drive(judging, INTERRUPTED if batch else KEPT)
    return _summary(folder, name, after, hints=(*hints, *_hints_after(after)))


def check_judge(model: str, model_base_url: str | None = None) -> None:
    """Check that a judge can be opened, before there is anything to judge. Nothing is sent.

    Args:
        model: The judge.
        model_base_url: Address of the server.

    Raises:
        FathomError: The model is unknown, its library is missing, or a key is missing.
    """
    _check_address(model_base_url)
    settings = Settings(model, base_url=model_base_url)
    if is_local(model):
        check_local_model(settings)
    else:
        _open(settings, lambda: get_tokenizer("words"))


def _check_address(url: str | None) -> None:
    if url is not None:
        check_address(url, "judge_base_url")


def _cap(settings: Settings, price: Price) -> int:
    """The output cap of the judge's replies; embedding models generate no tokens."""
    if judge_kind(settings.model) == "embedding":
        return 0
    return output_caps(settings, price, lambda task: REPLY_TOKENS)("")


def _open(
    settings: Settings, tokenizer: Callable[[], Tokenizer], *, connections: int = 1, timeout: float = TIMEOUT
) -> Client:
    if settings.model == "none":
        raise FathomError("`judge` none means that no judge is used; it is an option of rows, report and analyze")
    try:
        if judge_kind(settings.model) == "embedding":
            return open_embedding_client(settings, connections=connections, timeout=timeout)
        return open_client(settings, tokenizer)
    except FathomError as error:
        raise error.renamed(model_base_url="judge_base_url") from None


async def _judge(
    folder: Path,
    name: str,
    client: Client | Recording,
    work: JudgeWork,
    before: JudgeProgress,
    cases: Sequence[PendingCase],
    *,
    again: bool,
    tell: Callable[[str], None],
) -> JudgeProgress:
    store = JudgementStore(folder, name)
    try:
        if again:
            store.forget_unreadable()
        if isinstance(client, Recording):
            collected = Collected({})
            judging = Judging(store, collected, work, before)
            asking = JudgeAsking(cases, store, judging, work.cap, collected.failed)
            await judge_in_batches(folder, name, client, asking, retry=work.retry, tell=tell)
        else:
            judging = Judging(store, client, work, before)
        # Plain judging is for several processes at once, but not beside one that sends batches.
        with nullcontext() if isinstance(client, Recording) else asked_plainly(folder, name):
            await judging.work_through(cases)
        return judging.state
    except FathomError as error:
        raise error.renamed(model_base_url="judge_base_url") from None
    finally:
        store.close()
        await client.close()


def _summary(
    folder: Path, name: str, state: JudgeProgress, *, stopped: str = "", hints: tuple[str, ...] = ()
) -> JudgeSummary:
    judged, unreadable = state.counts["ok"], state.counts["unreadable"]
    missing = state.total - judged - unreadable
    return JudgeSummary(folder, name, judged, unreadable, missing, state.spent, stopped, hints)


_KINDS: Mapping[JudgeKind, str] = {
    "chat": "chat models (PROVIDER/NAME)",
    "embedding": "embedding models (embed/NAME or embed-local/NAME)",
}


def _check_kind(folder: Path, model: str, waiting: PendingCases) -> None:
    if waiting.others and not waiting.total:
        raise FathomError(
            f"{folder}: judge {model}: this run has no replies for {_KINDS[judge_kind(model)]}; {waiting.others:,} "
            f"replies need {_KINDS[_other(model)]}"
        )


def _other(model: str) -> JudgeKind:
    return "chat" if judge_kind(model) == "embedding" else "embedding"


def _hints_before(model: str, judge: str, waiting: PendingCases) -> tuple[str, ...]:
    hints = []
    if not waiting.total:
        hints.append("no reply of this run needs a judge: no task has a rubric, or all replies are empty")
    if waiting.others:
        hints.append(f"{waiting.others:,} replies were skipped: they need {_KINDS[_other(judge)]}")
    if model == judge:
        hints.append("the judge is the judged model: models tend to prefer their own replies")
    if judge_kind(judge) == "embedding" and PAPERS.lower() not in judge.lower():
        hints.append(f"these are not the scores of LongBench Pro's paper, which uses {PAPERS}")
    return tuple(hints)


def _hints_after(state: JudgeProgress) -> tuple[str, ...]:
    hints = []
    if state.counts["unreadable"]:
        hints.append(
            f"{state.counts['unreadable']} judgements could not be parsed: these replies have no score; use `again` to "
            "repeat them"
        )
    if state.counts["error"]:
        hints.append(f"{state.counts['error']} requests failed; repeat the command to judge what is missing")
    return tuple(hints)
