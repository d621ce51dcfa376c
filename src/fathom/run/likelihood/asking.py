"""``likelihood``: a suite's ordering questions, or the gold answers of any task, by a model's likelihoods."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fathom.models.failures import provider_errors
from fathom.models.hugging_face import is_local
from fathom.models.local_model import starts_server
from fathom.models.loop import drive
from fathom.models.prices import FREE, Limit, Price, find_price
from fathom.models.protocol import Settings
from fathom.models.proxies import check_proxy
from fathom.models.retry import Retry
from fathom.models.settings import Limits
from fathom.plugins import loading
from fathom.printing import several
from fathom.run.engine import Terms, check_cost, check_limit, ignore
from fathom.run.executors import recorded, work_on
from fathom.run.likelihood.client import GOLD, TIED, GoldClient, LikelihoodClient, Method, how_many, too_many
from fathom.run.likelihood.completions import CompletionsServer, Via
from fathom.run.likelihood.local import LocalModel
from fathom.run.likelihood.tokens import Backend
from fathom.run.options import check_choice
from fathom.run.session import Work, not_watched
from fathom.runfile.manifest import check_run, describe_run, join_run
from fathom.runfile.progress import Progress, RunSummary
from fathom.runfile.settings import LikelihoodSettings
from fathom.runfile.store import peek, replies
from fathom.suites.registry import get_task, tasks
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError, Json, Ordering, Sample


@dataclass(frozen=True, slots=True)
class LikelihoodPlan:
    """What is to be asked before the first text is sent.

    Attributes:
        finished: Number of existing replies.
        samples: Samples to be answered.
        requests: Texts to be scored.
        tokens: The most tokens that these texts hold, by the suite's tokenizer.
        cost_most: US dollars for these tokens; None where no price is known.
    """

    finished: int
    samples: int
    requests: int
    tokens: int
    cost_most: float | None

    def __str__(self) -> str:
        """One line."""
        price = "unknown price" if self.cost_most is None else f"at most ${self.cost_most:,.2f}"
        done = f"; {several(self.finished, 'reply exists', 'replies exist')} already" if self.finished else ""
        return (
            f"{several(self.samples, 'sample')}, {several(self.requests, 'text')} of at most {self.tokens:,} tokens "
            f"(suite's tokenizer), {price if self.cost_most != 0 else 'free of charge'}{done}"
        )


def likelihood(
    suite: Path,
    model: str,
    settings: LikelihoodSettings,
    *,
    out: Path,
    tell: Callable[[str], None] | None = None,
    confirm: Callable[[LikelihoodPlan], bool] | None = None,
    progress: Callable[[Progress], None] | None = None,
    watch: Callable[[Path, int], AbstractContextManager[None]] = not_watched,
) -> RunSummary:
    """Answer the ordering questions of a suite by how likely a model finds the texts (Ada-LEval, 4.5.1).

    With ``gold`` it is how likely the gold answers of any task are after their prompts. No question is asked in words:
    texts are scored, and the run folder holds replies as if the model had given them, with the scores of all texts as
    reasoning. Repeating the call resumes the run.

    Args:
        suite: A suite folder written by ``fathom build``.
        model: ``openai/NAME`` with ``model_base_url``, or ``hf/PATH`` for a local Hugging Face model.
        settings: Which samples are asked, and how. ``orders``: the order of all N! whose text has the lowest
            perplexity. ``pairs``: the order with the most likely adjacent segments, from N^2 + N texts of two pieces.
            The texts of one sample are sent one after another.
        out: The run folder; created if missing.
        tell: Called with a description of the remaining work before the first text.
        confirm: Called with the remaining work before the first text; False stops.
        progress: Called after every reply.
        watch: Entered with the run folder and the number of connections while requests are sent.

    Returns:
        The final state.

    Raises:
        FathomError: No task asks for an order, a setting is wrong, or the model returns no log-probabilities of
            prompts.
    """
    provider_errors()  # which checks the user's table
    way = settings.method
    built, out = open_suite(Path(suite)), Path(out)
    loading.use_again(built.manifest.get("plugins"), built.folder)
    check_choice(built.manifest, settings.tasks, settings.lengths)
    asked, passed_over = _tasks_of(built, settings.tasks, way)
    questions = _Questions(built, way, asked, settings.lengths, settings.limit, built.texts())
    questions.check(settings.most_orders)
    manifest = _describe(Path(suite), built.manifest, model, settings)
    check_run(out, manifest)
    retry = Retry(retries=settings.retries, timeout=settings.timeout, first=settings.backoff)
    backend = open_backend(model, settings.model_args or {}, settings.model_base_url, settings.via, retry)
    local = is_local(model)
    price = FREE if local else find_price(model, settings.model_base_url)
    total, plan = questions.plan(out, price)
    _check_limits(out, plan, model, settings)
    if tell is not None:
        tell(str(plan))
        if note := check_proxy(settings.model_base_url):
            tell(note)
    if confirm is not None and not confirm(plan):
        return RunSummary(out, None, stopped="not confirmed")
    join_run(out, manifest)
    # Each text has its own timeout and retries: a failed sample has used them up.
    once = Retry(retries=0, timeout=math.inf)
    connections = 1 if local else settings.max_connections
    terms = Terms(price, connections, once, settings.max_tokens_total, settings.max_cost)
    work = replace(_work(questions, terms, progress), watch=watch)
    client = (
        GoldClient(backend, questions.target)
        if way == GOLD
        else LikelihoodClient(backend, way, questions.ordering, settings.most_orders)
    )
    with recorded(out, client) as negotiation:
        summary = drive(work_on(out, client, work, total))
    hints = [*summary.hints, *negotiation.describe()]
    if passed_over:
        hints.append(f"skipped, because they do not ask for an order: {', '.join(passed_over)}")
    if tied := sum(row.reply.text == TIED for row in replies(out)):
        hints.append(
            f"{tied} of {total} samples have several equally likely orders, and so no valid answer: the model, or the "
            "tokens that its server shows, do not tell these orders apart"
        )
    return RunSummary(out, summary.progress, hints=tuple(hints))


def ordering_of(sample: Sample, texts: Mapping[str, str]) -> Ordering:
    """The segments that a sample asks to order.

    Args:
        sample: A sample of a task with ``Task.ordering``.
        texts: Texts of documents by id.

    Raises:
        FathomError: Its task does not ask for an order.
    """
    declared = get_task(sample.task).ordering
    if declared is None:
        raise FathomError(f"task {sample.task} does not ask for an order")
    return declared(sample, texts)


def _tasks_of(built: BuiltSuite, wanted: Sequence[str] | None, method: Method) -> tuple[list[str], list[str]]:
    """The tasks of a suite that are asked, and the others."""
    names = [str(name) for name in (wanted or built.manifest["tasks"])]
    if method == GOLD:
        return names, []
    asked = [name for name in names if get_task(name).ordering is not None]
    if not asked:
        able = ", ".join(sorted(name for name, task in tasks().items() if task.ordering is not None)) or "none yet"
        raise FathomError(
            f"{built.folder}: none of its tasks ({', '.join(names)}) asks for an order, as perplexities need; tasks "
            f"that do: {able}"
        )
    return asked, [name for name in names if name not in asked]


@dataclass(frozen=True)
class _Questions:
    """The samples to be asked, with their segments or their gold answers."""

    built: BuiltSuite
    method: Method
    tasks: Sequence[str]
    lengths: Sequence[int] | None
    limit: int | None
    texts: Mapping[str, str]
    known: dict[str, Sample] = field(default_factory=dict)

    def samples(self) -> Iterator[Sample]:
        """The samples in the order of the suite; they are remembered."""
        for sample in self.built.samples(tasks=self.tasks, lengths=self.lengths, limit=self.limit):
            # Closed-book questions and truncated prompts do not hold all segments.
            if sample.targets if self.method == GOLD else sample.whole:
                self.known[sample.id] = sample
                yield sample

    def ordering(self, sample: str) -> Ordering:
        """The segments of a sample seen before, by its id."""
        return ordering_of(self.known[sample], self.texts)

    def target(self, sample: str) -> str:
        """The first gold answer of a sample seen before, by its id."""
        return self.known[sample].targets[0]

    def check(self, most_orders: int) -> None:
        """Check that there are samples, and that the first of each task does not have too many segments."""
        first = {sample.task: sample for sample in reversed(list(self.samples()))}
        if not first:
            raise FathomError("no sample has both the requested tasks and the requested lengths")
        for task, sample in first.items() if self.method != GOLD else ():
            reason = too_many(len(self.ordering(sample.id).segments), self.method, most_orders)
            if reason:
                raise FathomError(f"task {task}: {reason}")

    def plan(self, out: Path, price: Price) -> tuple[int, LikelihoodPlan]:
        """The number of replies that the run will have, and a forecast of the remaining work."""
        total = pending = requests = tokens = 0
        cost: float | None = 0.0
        with peek(out) as store:
            for sample in self.samples():
                total += 1
                if store.is_final(sample.id, 1):
                    continue
                texts, own = self._needed(sample)
                each = price.cost(own, texts)
                cost = None if cost is None or each is None else cost + each
                pending, requests, tokens = pending + 1, requests + texts, tokens + own
        return total, LikelihoodPlan(total - pending, pending, requests, tokens, cost)

    def _needed(self, sample: Sample) -> tuple[int, int]:
        """How many texts a sample needs, and the most tokens that they have."""
        if self.method == GOLD:
            return 1, sample.tokens
        segments = len(self.ordering(sample.id).segments)
        texts = how_many(segments, self.method)
        # With pairs, every segment is in 2 N texts; the text before and after in N.
        return texts, sample.tokens * (texts if self.method == "orders" else 2 * segments)


def _check_limits(out: Path, plan: LikelihoodPlan, model: str, limits: Limits) -> None:
    """Check that the texts stay within the user's limits.

    Raises:
        FathomError: They do not, or the price is unknown, so that the limit cannot be enforced.
    """
    with peek(out) as store:
        spent = store.totals()
    used, paid = spent.tokens_in + spent.tokens_out, spent.paid
    advice = ", or score fewer samples with `limit` or `lengths`"
    words = f"the texts have up to {plan.tokens:,} tokens ({used:,} used)"
    check_limit(limits.max_tokens_total, used + plan.tokens, words, advice)
    if plan.requests:
        cost = None if plan.cost_most is None else paid + plan.cost_most
        words = f"the texts would cost up to ${cost or 0.0:,.2f} (${paid:,.2f} spent)"
        check_cost(limits.max_cost, cost, model, words, advice)


def _work(questions: _Questions, terms: Terms, progress: Callable[[Progress], None] | None) -> Work:
    return Work(
        samples=questions.samples,
        texts=lambda: questions.texts,
        epochs=1,
        terms=terms,
        seed=0,
        limit=Limit(None, "", "refuse"),
        caps=lambda task: 0,
        tokenizer=lambda: get_tokenizer(questions.built.manifest["tokenizer"]),
        progress=progress or ignore,
    )


def open_backend(model: str, model_args: Mapping[str, Json], base_url: str | None, via: Via, retry: Retry) -> Backend:
    """What scores texts by a model.

    Args:
        model: ``openai/NAME`` with ``base_url``, or ``hf/PATH`` for a local Hugging Face model.
        model_args: Arguments of a local model.
        base_url: Address of the server.
        via: How the server is asked.
        retry: Timeout and retries of each text.

    Raises:
        FathomError: The model returns no log-probabilities of prompts, or cannot be loaded.
    """
    if is_local(model):
        return LocalModel(model, model_args)
    if starts_server(model):
        raise FathomError(
            f"model {model!r}: llama.cpp returns no log-probabilities of prompts. Save the model as a folder that "
            "transformers reads, and give it as hf/PATH: docs/how-to/local-model.md shows how"
        )
    if model_args:
        raise FathomError(f"`model_args` {min(model_args)}: only for local models, hf/PATH")
    _, slash, name = model.partition("/")
    if not (slash and name):
        raise FathomError(f"model {model!r}: expected openai/NAME with `model_base_url`, or hf/PATH")
    if base_url is None:
        raise FathomError(
            f"model {model!r}: give `model_base_url`, the address of a server that returns log-probabilities of "
            "prompts; providers of hosted chat models do not"
        )
    return CompletionsServer(name, base_url, via, retry)


def _describe(
    suite: Path,
    suite_manifest: Mapping[str, Any],
    model: str,
    given: LikelihoodSettings,
) -> dict[str, Any]:
    settings = Settings(
        model,
        temperature=None,
        base_url=given.model_base_url,
        generation={"likelihood": given.method},
        model_args=given.model_args or {},
        step=given.step,
    )
    packages = () if is_local(model) else ("fathom-eval", "openai")
    about = describe_run(suite, suite_manifest, settings, packages)
    step = f"step {given.step}, " if given.step is not None else ""
    return {**about, "variant": f"{step}likelihood, {given.method}"}
