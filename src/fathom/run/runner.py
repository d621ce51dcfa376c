"""``run``: run a suite against a model and keep every reply."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fathom.models.clients import context_of, extension_of, notes_of, open_client
from fathom.models.hugging_face import is_local
from fathom.models.loop import drive
from fathom.models.prices import find_limit
from fathom.models.protocol import Client, Settings, is_baseline, is_ray_vllm
from fathom.models.request_mode import request_modes
from fathom.models.thinking import describe_thinking
from fathom.plugins import loading
from fathom.plugins.names import folder_name
from fathom.run.batches.open import (
    INTERRUPTED,
    check_none_waits,
    check_tasks,
    described,
    open_recording,
    share_of_price,
    work_in_batches,
)
from fathom.run.batches.recording import Recording
from fathom.run.cache_forecast import forecast_cache, provider_cache, sent_whole
from fathom.run.chosen import choose
from fathom.run.engine import terms_of
from fathom.run.options import check_choice
from fathom.run.preflight import (
    Preflight,
    UnderWay,
    check_budget,
    forecast_run,
    notes_cap,
    output_caps,
    reasons,
    sent_cap,
)
from fathom.run.session import Session, Work, let_others_run
from fathom.run.shards.share import Share
from fathom.run.shards.spread import Spread
from fathom.run.subset import describe_subset, members_of
from fathom.run.systems import hints_of, open_system
from fathom.runfile.batches import requests_under_way
from fathom.runfile.ledger import Key, Ledger
from fathom.runfile.manifest import FILE, check_run, describe_run, join_run, read_manifest
from fathom.runfile.progress import Progress, RunSummary
from fathom.runfile.settings import RunSettings
from fathom.runfile.store import Peek, Totals, peek
from fathom.runfile.worker import this_worker
from fathom.suites.subsetfile import read_subset
from fathom.suites.suitefile import Values, open_suite, wanted_of, why_none
from fathom.tokens.length import thinking as with_thoughts
from fathom.tokens.tokenizers import Tokenizer, get_tokenizer
from fathom.types import FathomError, Json, Sample


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Functions of the caller; None for nothing.

    Attributes:
        confirm: Called with what is ahead before any request; False stops.
        progress: Called after every reply.
        tell: Called with a line about each batch.
    """

    confirm: Callable[[Preflight], bool] | None = None
    progress: Callable[[Progress], None] | None = None
    tell: Callable[[str], None] | None = None


NO_CALLBACKS = Callbacks()


def run(
    suite: Path,
    model: str,
    settings: RunSettings,
    *,
    out: Path,
    command: Mapping[str, Json] | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    share: Share | Spread | None = None,
) -> RunSummary:
    """Run a suite against a model; repeating the call resumes the run.

    Finished replies are never requested again; samples that ended in ``error`` are. Several processes may run the same
    call at once and share the work.

    Args:
        suite: A suite folder written by ``fathom build``.
        model: ``PROVIDER/NAME`` as in Inspect, or ``fathom/BASELINE[?window=4k&truncate=middle]``.
        settings: Which samples are asked, how, and up to which limits.
        out: The run folder; created if missing.
        command: The options given and the configuration file they came from, for ``run.json``.
        callbacks: Functions of the caller.
        share: A shard of the run, or an engine for all of them (``fathom.run.shards``); None to run everything here.

    Returns:
        The final state.

    Raises:
        FathomError: A setting is wrong or differs from the folder's, the forecast exceeds a limit, the server is
            unreachable or denies all requests, the disk is full, or the run was interrupted. Finished replies are kept.
    """
    epochs, batch = settings.epochs, settings.batch
    chosen = read_subset(settings.subset) if settings.subset is not None else None
    asked = choose(
        model,
        settings,
        settings,
        system=settings.system,
        server_command=settings.server_command,
        subset=describe_subset(chosen) if chosen else None,
    )
    how, entry = asked.settings, asked.entry
    price = asked.price.in_batches(share_of_price(how)) if batch else asked.price
    suite, out = Path(suite), Path(out)
    built = open_suite(suite)
    if isinstance(share, Spread):
        built.check()
    elif share is not None:
        built = replace(built, known=share.verified)
    loading.use_again(built.manifest.get("plugins"), suite)
    check_choice(built.manifest, settings.tasks, settings.lengths)
    only = members_of(chosen, built) if chosen else None
    manifest = describe_run(suite, built.manifest, how, command=command)
    check_run(out, manifest)

    def tokenizer() -> Tokenizer:
        return get_tokenizer(built.manifest["tokenizer"])

    as_asked = _as_asked(how)

    def stream(parts: bool) -> Iterator[Sample]:
        found = built.samples(
            tasks=settings.tasks,
            lengths=settings.lengths,
            limit=settings.limit,
            only=only,
            where=settings.where,
            parts=parts,
        )
        return map(as_asked, found)

    facts: Callable[[], Iterator[Sample]] = partial(stream, False)
    samples: Callable[[], Iterator[Sample]] = partial(stream, True)

    if next(facts(), None) is None:
        values: Values = {}
        if settings.where:
            every = built.samples(tasks=settings.tasks, lengths=settings.lengths, only=only, parts=False)
            wanted_of(every, settings.where, values)
        if settings.where and values:
            raise FathomError(f"{suite}: {why_none(settings.where, values)}")
        raise FathomError(
            f"{suite}: no sample has both the requested tasks and lengths{' in this subset' if only else ''}; its "
            "manifest.json lists them"
        )
    if share is not None:
        recipes = built.by_id()

        def recipe(name: str) -> Sample:
            return as_asked(recipes[name])

        facts, samples = share.take(facts, recipe, epochs, manifest)
    around = open_system(how.system, notes_cap(how, price), settings.embedding_base_url)
    client = open_recording(how) if batch else open_client(how, tokenizer)
    extension = extension_of(client)
    if extension is not None:
        manifest["extension"] = extension.record()
    if notes := notes_of(client, how.server_command):
        manifest["notes"] = list(notes)
    known = entry.context if entry and extension is None else None
    window_limit = find_limit(how, client, price, known, context_of(client))
    caps = output_caps(how, price, task_cap)
    cap = sent_cap(how, price)
    mode = request_modes(
        how.chat_template,
        reasons=reasons(how, price),
        sent=cap,
        thoughts=how.thinking.thoughts if how.thinking else "",
    )
    if batch:
        check_tasks(settings.tasks or built.manifest["tasks"], mode)
    else:
        check_none_waits(out)
    words = describe_thinking(asked.decided, window=None if window_limit.by_client else window_limit.window)
    forecast = partial(
        forecast_run,
        model=model,
        limit=window_limit,
        price=price,
        caps=caps,
        request_mode=mode,
        system=around,
    )
    sent = requests_under_way(out)
    plan, spent = _look_ahead(out, facts, epochs, forecast, sent)
    cache = provider_cache(how, price) if how.system.name == "whole" else None
    if cache is not None and plan.requests:
        with peek(out) as store:
            whole = sent_whole(_pending(store, samples, epochs, lambda key: key not in sent), window_limit, caps)
            cached = forecast_cache(whole, cache, price, connections=settings.max_connections, batch=batch)
        plan = replace(plan, cached=cached)
    plan = replace(plan, unverified=built.unverified, thinking=words, batches=described() if batch else "")
    # What is in batches is as good as spent.
    used = spent.tokens_in + spent.tokens_out + (plan.under_way.tokens if plan.under_way else 0)
    paid = (spent.cost or 0.0) + ((plan.under_way.cost_most if plan.under_way else None) or 0.0)
    if plan.requests or not plan.under_way:
        check_budget(plan, settings, spent_tokens=used, spent_cost=paid)
    if callbacks.confirm is not None and not callbacks.confirm(plan):
        return RunSummary(out, None, stopped="not confirmed")
    progress = callbacks.progress or (lambda state: None)
    if share is not None:
        share.join(epochs, manifest)
    if isinstance(share, Spread):
        return share.hand_out(progress)
    join_run(out, manifest)
    work = Work(
        samples=samples,
        texts=built.texts,
        epochs=epochs,
        terms=terms_of(settings, client, price),
        seed=how.seed,
        limit=window_limit,
        caps=caps,
        tokenizer=tokenizer,
        progress=progress,
        request_mode=mode,
        thinking=how.thinking,
        reasons=how.max_output_tokens is not None or reasons(how, price),
        system=around,
        sent_cap=notes_cap(how, price),
        forms=is_baseline(how.model),
        waits=_is_provider(how),
        committed=share.committed if share is not None else let_others_run,
    )
    if isinstance(client, Recording):
        tell = callbacks.tell or (lambda line: None)
        if plan.under_way and not plan.requests:
            tell(str(plan.under_way))  # nobody is shown a forecast without requests
        working = work_in_batches(
            out,
            client,
            work,
            plan.total,
            named=lambda ids: map(as_asked, built.samples(only=ids, parts=False)),
            tell=tell,
        )
        done = drive(working, INTERRUPTED)
    else:
        done = drive(work_on(out, client, work, plan.total))
    if share is not None:
        share.finish()
    return replace(
        done, hints=(*done.hints, *notes_of(client, how.server_command), *hints_of(around))
    )  # which knows of the replies too


def run_folder(suite: Path, name: str, end: str, after: str = "") -> Path:
    """Where a run is unless it is told to be elsewhere: ``runs/NAME/END``.

    Earlier releases took the name that the suite gives itself. A run of the same suite that is there is resumed.

    Args:
        suite: The suite folder.
        name: Name of its folder.
        end: The model and how it is asked.
        after: What follows either name, such as that of a subset.
    """
    built = open_suite(suite).manifest
    new, old = (Path("runs") / folder_name(one + after) / folder_name(end) for one in (name, str(built["suite"])))
    if new.exists() or not (old / FILE).exists():
        return new
    return old if read_manifest(old)["suite"]["fingerprint"] == built["fingerprint"] else new


async def work_on(out: Path, client: Client, work: Work, total: int) -> RunSummary:
    """Work on an existing run, as one of the processes that may share it.

    Args:
        out: The run folder.
        client: Answers the prompts; closed at the end.
        work: What to do.
        total: Replies that the run will have when finished.

    Raises:
        FathomError: See ``run``.
    """
    ledger = Ledger(out, this_worker())
    try:
        # A process that sends batches, and joins later, sees this one.
        check_none_waits(out)
        ledger.plan(total, work.samples(), work.epochs)
        session = Session(ledger, client, work, total)
        await session.work_through()
        return session.summary()
    finally:
        ledger.close()
        await client.close()


def _look_ahead(
    out: Path,
    samples: Callable[[], Iterator[Sample]],
    epochs: int,
    forecast: Callable[..., Preflight],
    sent: Collection[Key],
) -> tuple[Preflight, Totals]:
    with peek(out) as store:
        totals = store.totals()
        finished = sum(totals.counts.values()) - totals.counts.get("error", 0)
        plan = forecast(_pending(store, samples, epochs, lambda key: key not in sent), finished=finished)
        if sent:
            others = forecast(_pending(store, samples, epochs, lambda key: key in sent), finished=0)
            under_way = UnderWay(others.requests, others.tokens_in + others.tokens_out, others.cost_most)
            plan = replace(plan, total=plan.total + others.total, under_way=under_way if others.requests else None)
        return plan, totals


def _pending(
    store: Peek, samples: Callable[[], Iterator[Sample]], epochs: int, counts: Callable[[Key], bool]
) -> Iterator[tuple[Sample, int]]:
    """The samples, and how many of their epochs that count are still to be run."""
    for sample in samples():
        keys = ((sample.id, epoch) for epoch in range(1, epochs + 1))
        yield sample, sum(counts(key) and not store.is_final(*key) for key in keys)


def _as_asked(settings: Settings) -> Callable[[Sample], Sample]:
    return _thinking_prompt if settings.thinking and settings.thinking.visible else lambda sample: sample


def _thinking_prompt(sample: Sample) -> Sample:
    if not sample.thinking_tokens:
        raise FathomError(
            f"`thinking` on: sample {sample.id!r} of task {sample.task} has no thinking prompt, which a model without "
            "native reasoning needs for a thinking score; leave the task out with `tasks`"
        )
    return with_thoughts(sample)


def _is_provider(settings: Settings) -> bool:
    own = is_baseline(settings.model) or is_local(settings.model) or is_ray_vllm(settings.model)
    return settings.base_url is None and not own


def task_cap(task: str) -> int:
    """A task's own output cap in tokens, for replies without reasoning."""
    from fathom.suites.registry import get_task

    return get_task(task).max_output_tokens
