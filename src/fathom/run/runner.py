"""``run``: run a suite against a model and keep every reply."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fathom.models.clients import context_of, extension_of, notes_of
from fathom.models.hugging_face import is_local
from fathom.models.local_model import starts_server
from fathom.models.prices import Limit, Price, find_limit
from fathom.models.protocol import Client, Settings, is_baseline, is_ray_vllm
from fathom.models.proxies import check_proxy
from fathom.models.request_mode import request_modes
from fathom.models.thinking import describe_thinking
from fathom.plugins.names import folder_name
from fathom.run.cache_forecast import forecast_cache, provider_cache, untruncated_samples
from fathom.run.engine import ignore, terms_of
from fathom.run.executors import BatchExecutor, DirectExecutor, recorded
from fathom.run.preflight import (
    Caps,
    OpenBatches,
    Preflight,
    check_budget,
    forecast_run,
    notes_cap,
    output_caps,
    reasons,
    sent_cap,
)
from fathom.run.request import RunRequest, request_of
from fathom.run.session import Work, not_watched
from fathom.run.systems import hints_of, open_system
from fathom.runfile.manifest import FILE, read_manifest
from fathom.runfile.part import note_order
from fathom.runfile.progress import Progress, RunSummary
from fathom.runfile.serving import asked_in
from fathom.runfile.settings import RunSettings
from fathom.runfile.store import Totals, peek
from fathom.suites.suitefile import open_suite
from fathom.types import Json, Sample


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Optional callbacks.

    Attributes:
        confirm: Called with the forecast before the first request; False stops.
        progress: Called after every reply.
        tell: Called with a line about each batch.
        watch: Entered with the run folder and the number of connections while requests are sent.
        enough: Called with the run folder before the first request and now and then, in another thread: why no more
            replies are needed, or "".
        opened: Called with the client of the model, before the forecast.
    """

    confirm: Callable[[Preflight], bool] | None = None
    progress: Callable[[Progress], None] | None = None
    tell: Callable[[str], None] | None = None
    watch: Callable[[Path, int], AbstractContextManager[None]] = not_watched
    enough: Callable[[Path], str] | None = None
    opened: Callable[[Client], None] | None = None


NO_CALLBACKS = Callbacks()


def run(
    suite: Path,
    model: str,
    settings: RunSettings,
    *,
    out: Path,
    command: Mapping[str, Json] | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
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

    Returns:
        The final state.

    Raises:
        FathomError: A setting is wrong or differs from the folder's, the forecast exceeds a limit, the server is
            unreachable or denies all requests, the disk is full, or the run was interrupted. Finished replies are kept.
    """
    request = request_of(open_suite(Path(suite)), model, settings, command)
    executor = BatchExecutor if settings.batch else DirectExecutor
    chosen = executor(Path(out), request)
    chosen.random = callbacks.enough is not None
    return execute(request, chosen, callbacks)


def execute(request: RunRequest, executor: DirectExecutor, callbacks: Callbacks = NO_CALLBACKS) -> RunSummary:
    """Forecast a run, check its limits, let the caller confirm it, and ask for all replies that are missing.

    Args:
        request: What is asked.
        executor: How.
        callbacks: Functions of the caller.

    Raises:
        FathomError: See ``run``.
    """
    settings, how, suite = request.settings, request.chosen.settings, request.suite
    executor.check_place(request.manifest)
    price = executor.price(request.chosen.price)
    system = open_system(how.system, notes_cap(how, price), settings.embedding_base_url)
    client = executor.open_client(how, request.tokenizer)
    if callbacks.opened is not None:
        callbacks.opened(client)
    extension, notes = extension_of(client), notes_of(client, how.server_command)
    entry = request.chosen.entry
    known = entry.context if entry and extension is None else None
    limit = find_limit(how, client, price, known, context_of(client))
    caps = output_caps(how, price, task_cap)
    mode = request_modes(
        how.chat_template,
        reasons=reasons(how, price),
        sent=sent_cap(how, price),
        thoughts=how.thinking.thoughts if how.thinking else "",
    )
    executor.check(settings.tasks or suite.manifest["tasks"], mode)
    forecast = partial(
        forecast_run, model=how.model, limit=limit, price=price, caps=caps, request_mode=mode, system=system
    )
    plan, spent = _forecast_run(executor, forecast, limit, caps, price)
    thinking = describe_thinking(request.chosen.decided, window=None if limit.by_client else limit.window)
    plan = replace(plan, unverified=suite.unverified, thinking=thinking, batches=executor.batches)
    under_way = plan.under_way
    if plan.requests or not under_way:
        # Requests in open batches count as spent.
        tokens = spent.tokens_in + spent.tokens_out + (under_way.tokens if under_way else 0)
        paid = (spent.cost or 0.0) + ((under_way.cost_most if under_way else None) or 0.0)
        check_budget(plan, settings, spent_tokens=tokens, spent_cost=paid)
    if callbacks.confirm is not None and not callbacks.confirm(plan):
        return RunSummary(executor.out, None, stopped="not confirmed")
    tell = callbacks.tell or ignore
    if how.base_url and (note := check_proxy(how.base_url)):
        tell(note)
    if under_way and not plan.requests:
        tell(str(under_way))  # without new requests no forecast is shown
    executor.join(
        {
            **request.manifest,
            **({} if extension is None else {"extension": extension.record()}),
            **({"notes": list(notes)} if notes else {}),
        }
    )
    work = Work(
        samples=executor.in_order,
        facts=executor.facts,
        texts=suite.texts,
        epochs=settings.epochs,
        terms=terms_of(settings, client, price),
        seed=how.seed,
        limit=limit,
        caps=caps,
        tokenizer=request.tokenizer,
        progress=callbacks.progress or ignore,
        request_mode=mode,
        thinking=how.thinking,
        reasons=how.max_output_tokens is not None or reasons(how, price),
        system=system,
        sent_cap=notes_cap(how, price),
        forms=is_baseline(how.model),
        waits=_is_provider(how),
        tell=tell,
        watch=callbacks.watch,
        enough=callbacks.enough,
        asked=asked_in(request.manifest),
    )
    if plan.requests:
        note_order(executor.out, random=executor.random, begun=plan.finished > 0)
    with recorded(executor.out, client) as negotiation:
        done = executor.execute(client, work, plan.total, tell)
    # Notes of the client can depend on the replies.
    notes = (*negotiation.describe(), *notes_of(client, how.server_command), *hints_of(system))
    return replace(done, hints=(*done.hints, *notes))


def run_folder(suite: Path, name: str, end: str, after: str = "") -> Path:
    """Where a run is unless it is told to be elsewhere: ``runs/NAME/END``.

    Earlier releases took the name that the suite gives itself. A run of the same suite that is there is resumed.

    Args:
        end: The model and how it is asked.
        after: What follows either name, such as that of a subset.
    """
    built = open_suite(suite).manifest
    new, old = (
        Path("runs") / folder_name(suite_name + after) / folder_name(end) for suite_name in (name, str(built["suite"]))
    )
    if new.exists() or not (old / FILE).exists():
        return new
    return old if read_manifest(old)["suite"]["fingerprint"] == built["fingerprint"] else new


def _forecast_run(
    executor: DirectExecutor, forecast: Callable[..., Preflight], limit: Limit, caps: Caps, price: Price
) -> tuple[Preflight, Totals]:
    """The forecast of a run, and what it has used so far."""
    settings, how, sent = executor.request.settings, executor.request.chosen.settings, executor.under_way()
    cache = provider_cache(how, price) if how.system.name == "whole" else None
    with peek(executor.out) as store:

        def pending(samples: Iterable[Sample], *, in_batches: bool = False) -> Iterator[tuple[Sample, int]]:
            """The samples, and how many of their epochs are still to be asked; or those that are in batches."""
            for sample in samples:
                keys = ((sample.id, epoch) for epoch in range(1, settings.epochs + 1))
                yield sample, sum((key in sent) == in_batches and not store.is_final(*key) for key in keys)

        totals = store.totals()
        finished = sum(totals.counts.values()) - totals.counts.get("error", 0)
        plan = forecast(pending(executor.facts()), finished=finished)
        if sent:
            others = forecast(pending(executor.facts(), in_batches=True), finished=0)
            under_way = OpenBatches(others.requests, others.tokens_in + others.tokens_out, others.cost_most)
            plan = replace(plan, total=plan.total + others.total, under_way=under_way if others.requests else None)
        if cache is not None and plan.requests:
            whole = untruncated_samples(pending(executor.samples()), limit, caps)
            connections, batch = settings.max_connections, settings.batch
            plan = replace(plan, cached=forecast_cache(whole, cache, price, connections=connections, batch=batch))
        return plan, totals


def _is_provider(settings: Settings) -> bool:
    here = any(test(settings.model) for test in (is_baseline, is_local, is_ray_vllm, starts_server))
    return settings.base_url is None and not here


def task_cap(task: str) -> int:
    """A task's own output cap in tokens, for replies without reasoning."""
    from fathom.suites.registry import get_task

    return get_task(task).max_output_tokens
