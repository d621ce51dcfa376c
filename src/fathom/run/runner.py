"""``run``: run a suite against a model and keep every reply."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from fathom.models.clients import connections_of, context_of, extension_of, notes_of, open_client, timeout_of
from fathom.models.hugging_face import is_local
from fathom.models.loop import drive
from fathom.models.prices import find_limit
from fathom.models.protocol import Client, Settings, is_baseline, is_ray_vllm
from fathom.models.request_mode import request_modes
from fathom.models.retry import Retry
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
from fathom.run.options import check_choice, check_work
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
from fathom.runfile.store import Peek, Totals, peek
from fathom.runfile.worker import this_worker
from fathom.suites.subsetfile import read_subset
from fathom.suites.suitefile import Values, open_suite, wanted_of, why_none
from fathom.tokens.length import thinking as with_thoughts
from fathom.tokens.tokenizers import Tokenizer, get_tokenizer
from fathom.types import FathomError, Json, Sample
from fathom.types.choices import RETRIES, TIMEOUT


def run(
    suite: Path,
    model: str,
    *,
    out: Path,
    lengths: Sequence[int] | None = None,
    tasks: Sequence[str] | None = None,
    epochs: int = 1,
    limit: int | None = None,
    max_connections: int = 16,
    seed: int = 0,
    temperature: float | Literal["default"] | None = "default",
    max_output_tokens: int | None = None,
    reasoning_effort: str | None = None,
    reasoning_tokens: int | None = None,
    generation: Mapping[str, Json] | None = None,
    model_base_url: str | None = None,
    model_args: Mapping[str, Json] | None = None,
    window: int | None = None,
    on_overflow: str | None = None,
    chat_template: str = "always",
    thinking: str | None = None,
    model_kind: str | None = None,
    thinking_switch: str | None = None,
    system: str = "whole",
    server_command: str | None = None,
    embedding_base_url: str | None = None,
    subset: Path | None = None,
    where: Mapping[str, Sequence[str]] | None = None,
    retries: int = RETRIES,
    timeout: float = TIMEOUT,
    backoff: float = 1.0,
    max_tokens_total: int | None = None,
    max_cost: float | None = None,
    batch: bool = False,
    command: Mapping[str, Json] | None = None,
    confirm: Callable[[Preflight], bool] | None = None,
    progress: Callable[[Progress], None] | None = None,
    tell: Callable[[str], None] | None = None,
    share: Share | Spread | None = None,
) -> RunSummary:
    """Run a suite against a model; repeating the call resumes the run.

    Finished replies are never requested again; samples that ended in ``error`` are. Several processes may run the same
    call at once and share the work.

    Args:
        suite: A suite folder written by ``fathom build``.
        model: ``PROVIDER/NAME`` as in Inspect, or ``fathom/BASELINE[?window=4k&truncate=middle]``.
        out: The run folder; created if missing.
        lengths: Lengths to run, in tokens; all by default.
        tasks: Tasks to run; all by default.
        epochs: Number of repetitions of each sample; epoch n has seed ``seed + n - 1``.
        limit: Samples per task and length; all by default.
        max_connections: Requests in flight at once.
        seed: Seed for baselines, and for providers that support one.
        temperature: Sampling temperature; None for the provider's default. By default 0, for models known to reason
            that of the table of models; with ``thinking`` that of the table, else 1.
        max_output_tokens: Cap on every reply, reasoning included; by default each task's own cap, plus room for
            reasoning if the model is known to reason.
        reasoning_effort: ``none``, ``minimal``, ``low``, ``medium`` or ``high``, for models that support it.
        reasoning_tokens: Tokens for reasoning, for models that support it; added to the task's cap.
        generation: Further options of Inspect's ``GenerateConfig``, except those that are arguments here.
        model_base_url: Address of the server, as ``http://127.0.0.1:8000/v1``. No key is needed for it.
        model_args: Arguments of Inspect's provider, by name.
        window: The model's window in tokens; by default from the price table, if the model is in it.
        on_overflow: What happens to prompts that, with their reply, exceed the window: ``refuse`` (not sent, status
            ``overflow``), ``middle``, ``left`` or ``right`` (that part is removed, and counted). The default is
            ``refuse``, with ``thinking`` ``middle``.
        chat_template: Which prompts are sent with the chat template: ``always`` all; ``by-task`` all but those of tasks
            whose prompt is a text to be continued; ``never`` none. Prompts without one are sent unchanged to the
            ``/completions`` of the server at ``model_base_url``.
        thinking: ``on`` for the model's thinking score, ``off`` for its non-thinking score: prompts, caps, temperature,
            truncation and reasoning switches then follow from the table of models and the arguments given here
            (``fathom.models.thinking``). None for other runs.
        model_kind: ``thinking``, ``mixed`` or ``instruct``, if the table of models does not say. All but ``instruct``
            get room for reasoning.
        thinking_switch: How native reasoning is switched, if not as in the table or by the provider: ``effort``,
            ``tokens``, ``enable_thinking``, ``thinking``, ``type`` or ``none``.
        system: A system around the model, as ``retrieval?top=8`` (``fathom.extend.methods.SYSTEMS``).
        server_command: The command line with which the server was started, for ``run.json``. A run with another one is
            another run.
        embedding_base_url: Address of the server of ``retrieval?by=embed/NAME``; by default OpenAI's.
        subset: Subset file (``fathom.suites.subsetfile``): only its samples and items are run. It is part of the run:
            another subset, even a larger one, needs another run folder.
        where: Only samples with one of the given values of each facet (``fathom.suites.suitefile.is_where``).
        retries: Further attempts after 408, 409, 429, 5xx, timeouts and lost connections.
        timeout: Seconds for one attempt.
        backoff: Seconds before the first retry, doubling with each; ``Retry-After`` is obeyed up to 15 minutes.
        max_tokens_total: Refuse to start, or stop, when the run exceeds these tokens, prompts and replies together.
        max_cost: The same in US dollars.
        batch: Send the requests through the provider's batch API (``fathom.run.batches``): by one process, at the price
            of batches, answered within a day.
        command: The options given and the configuration file they came from, for ``run.json``.
        confirm: Called with the preflight before any request; False stops. None skips it.
        progress: Called after every reply.
        tell: Called with a line about each batch.
        share: A shard of the run, or an engine for all of them (``fathom.run.shards``); None to run everything here.

    Returns:
        The final state.

    Raises:
        FathomError: A setting is wrong or differs from the folder's, the forecast exceeds a limit, the server is
            unreachable or denies all requests, the disk is full, or the run was interrupted. Finished replies are kept.
    """
    chosen = read_subset(Path(subset)) if subset is not None else None
    asked = choose(
        model,
        seed=seed,
        temperature=temperature,
        max_output_tokens=max_output_tokens,
        reasoning_effort=reasoning_effort,
        reasoning_tokens=reasoning_tokens,
        generation=generation,
        model_base_url=model_base_url,
        model_args=model_args,
        window=window,
        on_overflow=on_overflow,
        chat_template=chat_template,
        thinking=thinking,
        model_kind=model_kind,
        thinking_switch=thinking_switch,
        server_command=server_command,
        subset=describe_subset(chosen) if chosen else None,
        system=system,
    )
    settings, entry = asked.settings, asked.entry
    price = asked.price.in_batches(share_of_price(settings)) if batch else asked.price
    check_work(
        epochs=epochs,
        limit=limit,
        max_connections=max_connections,
        retries=retries,
        timeout=timeout,
        backoff=backoff,
        max_tokens_total=max_tokens_total,
        max_cost=max_cost,
    )
    suite, out = Path(suite), Path(out)
    built = open_suite(suite)
    if isinstance(share, Spread):
        built.check()
    elif share is not None:
        built = replace(built, known=share.verified)
    loading.use_again(built.manifest.get("plugins"), suite)
    check_choice(built.manifest, tasks, lengths)
    only = members_of(chosen, built) if chosen else None
    manifest = describe_run(suite, built.manifest, settings, command=command)
    check_run(out, manifest)

    def tokenizer() -> Tokenizer:
        return get_tokenizer(built.manifest["tokenizer"])

    as_asked = _as_asked(settings)

    def stream(parts: bool) -> Iterator[Sample]:
        found = built.samples(tasks=tasks, lengths=lengths, limit=limit, only=only, where=where, parts=parts)
        return map(as_asked, found)

    facts: Callable[[], Iterator[Sample]] = partial(stream, False)
    samples: Callable[[], Iterator[Sample]] = partial(stream, True)

    if next(facts(), None) is None:
        values: Values = {}
        if where:
            wanted_of(built.samples(tasks=tasks, lengths=lengths, only=only, parts=False), where, values)
        if where and values:
            raise FathomError(f"{suite}: {why_none(where, values)}")
        raise FathomError(
            f"{suite}: no sample has both the requested tasks and lengths{' in this subset' if only else ''}; its "
            "manifest.json lists them"
        )
    if share is not None:
        recipes = built.by_id()

        def recipe(name: str) -> Sample:
            return as_asked(recipes[name])

        facts, samples = share.take(facts, recipe, epochs, manifest)
    around = open_system(settings.system, notes_cap(settings, price), embedding_base_url)
    client = open_recording(settings) if batch else open_client(settings, tokenizer)
    extension = extension_of(client)
    if extension is not None:
        manifest["extension"] = extension.record()
    if notes := notes_of(client, server_command):
        manifest["notes"] = list(notes)
    known = entry.context if entry and extension is None else None
    window_limit = find_limit(settings, client, price, known, context_of(client))
    caps = output_caps(settings, price, task_cap)
    cap = sent_cap(settings, price)
    mode = request_modes(
        settings.chat_template,
        reasons=reasons(settings, price),
        sent=cap,
        thoughts=settings.thinking.thoughts if settings.thinking else "",
    )
    if batch:
        check_tasks(tasks or built.manifest["tasks"], mode)
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
    cache = provider_cache(settings, price) if settings.system.name == "whole" else None
    if cache is not None and plan.requests:
        with peek(out) as store:
            whole = sent_whole(_pending(store, samples, epochs, lambda key: key not in sent), window_limit, caps)
            cached = forecast_cache(whole, cache, price, connections=max_connections, batch=batch)
        plan = replace(plan, cached=cached)
    plan = replace(plan, unverified=built.unverified, thinking=words, batches=described() if batch else "")
    # What is in batches is as good as spent.
    used = spent.tokens_in + spent.tokens_out + (plan.under_way.tokens if plan.under_way else 0)
    paid = (spent.cost or 0.0) + ((plan.under_way.cost_most if plan.under_way else None) or 0.0)
    if plan.requests or not plan.under_way:
        check_budget(plan, spent_tokens=used, spent_cost=paid, max_tokens_total=max_tokens_total, max_cost=max_cost)
    if confirm is not None and not confirm(plan):
        return RunSummary(out, None, stopped="not confirmed")
    if share is not None:
        share.join(epochs, manifest)
    if isinstance(share, Spread):
        return share.hand_out(progress or (lambda state: None))
    join_run(out, manifest)
    work = Work(
        samples=samples,
        texts=built.texts,
        epochs=epochs,
        max_connections=connections_of(client, max_connections),
        seed=seed,
        limit=window_limit,
        price=price,
        caps=caps,
        tokenizer=tokenizer,
        retry=Retry(retries=retries, timeout=timeout_of(client, timeout), first=backoff),
        max_tokens_total=max_tokens_total,
        max_cost=max_cost,
        progress=progress or (lambda state: None),
        request_mode=mode,
        thinking=settings.thinking,
        reasons=settings.max_output_tokens is not None or reasons(settings, price),
        system=around,
        sent_cap=notes_cap(settings, price),
        forms=is_baseline(settings.model),
        waits=_is_provider(settings),
        committed=share.committed if share is not None else let_others_run,
    )
    if isinstance(client, Recording):
        tell = tell or (lambda line: None)
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
        done, hints=(*done.hints, *notes_of(client, server_command), *hints_of(around))
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
            f"--thinking on: sample {sample.id!r} of task {sample.task} has no thinking prompt, which a model without "
            "native reasoning needs for a thinking score; leave the task out with --tasks"
        )
    return with_thoughts(sample)


def _is_provider(settings: Settings) -> bool:
    own = is_baseline(settings.model) or is_local(settings.model) or is_ray_vllm(settings.model)
    return settings.base_url is None and not own


def task_cap(task: str) -> int:
    """A task's own output cap in tokens, for replies without reasoning."""
    from fathom.suites.registry import get_task

    return get_task(task).max_output_tokens
