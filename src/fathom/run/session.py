"""One process of a run: claims, renders, asks, commits, and limits the connections."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from fathom.models.answers import LARGE_TEXT
from fathom.models.failures import ServerError
from fathom.models.form import form_of
from fathom.models.overflow import fit
from fathom.models.prices import Limit, cost_of, total_cost
from fathom.models.protocol import Call, Chat, Client, Conversing, Turn
from fathom.models.request_mode import PLAIN, RequestMode, RequestModes, ended, together, within
from fathom.models.retry import Sending
from fathom.models.thinking import Thinking, doubts
from fathom.printing import several
from fathom.run.engine import Engine, Terms, ignore, unexpected_error_message
from fathom.run.preflight import Caps
from fathom.run.queue import AHEAD, Queue, Queued, prefix_key
from fathom.run.systems import TURN, Request, System, Task, compactions_of, split_prompt, too_long
from fathom.runfile.ledger import Key, Ledger
from fathom.runfile.progress import Progress, RunSummary
from fathom.runfile.serving import EARLY, UNKNOWN, RunTarget, notes_on_server, remarks_on_server
from fathom.runfile.worker import BEAT_SECONDS
from fathom.tokens.length import question_part, render
from fathom.tokens.tokenizers import Tokenizer
from fathom.types import Attempt, FathomError, Reply, Sample, Status

# Claims are written in batches: small ones write more often, large ones delay others if a process dies.
LEAST_CLAIMS = 8
# Seconds between checks on other processes' claims, once nothing else is left.
CLAIM_POLL_SECONDS = 0.5
FIRST_LOOK = 3
"""Replies after which what they show about the server is looked at; then after twice as many each time."""
INCOMPLETE_SHARE = 0.05
LOOK_SECONDS, LOOKING_SHARE = 1.0, 0.05
"""Seconds between looks at whether replies enough are there, and the largest share of the time that they may take."""

Job: TypeAlias = tuple[Sample, int]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A sample that is ready to be asked.

    Attributes:
        prompt: The prompt, truncated to the window.
        prompt_hash: First 16 hexadecimal digits of its SHA-256.
        removed: Tokens that were removed.
        call: The other parameters of the request.
        mode: How the task is asked.
    """

    prompt: str
    prompt_hash: str
    removed: int
    call: Call
    mode: RequestMode


async def yield_to_event_loop(sample: str, epoch: int) -> None:
    """Let other tasks run: baselines answer without awaiting anything."""
    await asyncio.sleep(0)


def not_watched(folder: Path, connections: int) -> AbstractContextManager[None]:
    """The context of a run that nobody watches."""
    return nullcontext()


@dataclass(frozen=True)
class Work:
    """What a process of a run does, and how.

    Attributes:
        samples: Streams the samples in the order in which they are asked; can be called again.
        texts: Returns the texts of the suite's documents by id.
        epochs: How often each sample is asked.
        terms: How requests are sent, at what price and up to which limits.
        limit: The window.
        caps: Output cap by task name.
        tokenizer: Loads the suite's tokenizer, for truncation and for reasoning that the provider has not counted.
        progress: Called after every reply.
        request_mode: Request mode by task name.
        thinking: How the model should think; None for runs without a thinking mode.
        reasons: Whether the output caps have room for reasoning, or are the user's.
        system: The system around the model; None if it gets the whole prompt.
        sent_cap: The output cap that is sent for notes of so many tokens: with room for reasoning.
        forms: Whether calls have the form of the sample's prompt: for offline baselines only.
        waits: Whether the first request of a prefix is answered before others of the prefix are sent: for providers,
            whose caches can be read only then. Servers that compute one prompt after the other need less memory if what
            shares a prefix comes together.
        tell: Called with a line about the server, once it shows in replies.
        asked: The model's name and the suite's tokenizer, which say what replies should show.
        facts: Streams the same samples in any order, perhaps without recipes; None to take ``samples``.
        watch: Entered with the run folder and the number of connections while requests are sent.
        enough: Called with the run folder before the first request and now and then, in another thread: why no more
            replies are needed, or "".
        committed: Awaited with sample and epoch once a reply is in the store, before the next request takes its place.
    """

    samples: Callable[[], Iterator[Sample]]
    texts: Callable[[], Mapping[str, str]]
    epochs: int
    terms: Terms
    seed: int
    limit: Limit
    caps: Caps
    tokenizer: Callable[[], Tokenizer]
    progress: Callable[[Progress], None]
    request_mode: RequestModes = field(default=lambda task: PLAIN)
    thinking: Thinking | None = None
    reasons: bool = True
    system: System | None = None
    sent_cap: Callable[[int], int] = lambda notes: notes
    forms: bool = False
    waits: bool = False
    tell: Callable[[str], None] = ignore
    asked: RunTarget = UNKNOWN
    facts: Callable[[], Iterator[Sample]] | None = None
    watch: Callable[[Path, int], AbstractContextManager[None]] = not_watched
    enough: Callable[[Path], str] | None = None
    committed: Callable[[str, int], Awaitable[None]] = yield_to_event_loop


class Session:
    """One process working on a run.

    If a task has a second request (``Task.follow_up``), nothing is stored before the second reply: after a kill between
    the two, both are repeated.
    """

    def __init__(self, ledger: Ledger, client: Client, work: Work, total: int) -> None:
        self._ledger = ledger
        self._engine = Engine(client, work.terms, replied=ledger.has_replied(), note=self._note)
        self._work = work
        self._texts = work.texts()
        self._started = time.monotonic()
        self._asked = 0
        self._replies = self._reasoned = 0
        self._total = total
        self._held: list[Job] = []
        self._noted: set[str] = set()
        self._decided = ""
        self._blind = False
        self._look_at = FIRST_LOOK
        self._version = ledger.version()
        self._totals = ledger.totals()

    async def work_through(self) -> None:
        """Ask for all unfinished replies; wait for other processes' claims, and take over those of processes that die.

        Raises:
            FathomError: The run cannot continue, or a limit is reached; finished replies are kept.
        """
        if await self._is_enough():
            return
        tasks = [asyncio.create_task(self._beat()), asyncio.create_task(self._look_for_end())]
        try:
            with self._work.watch(self._ledger.folder, self._work.terms.max_connections):
                await self._ask_all()
                if not (self._engine.stop or self._blind):
                    await self._look()
                # Raised here, so that what is shown of the run stays.
                self._ledger.check_place()
                if self._engine.stop and not self._decided:
                    raise FathomError(f"{self._engine.stop}; all finished replies are kept")
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        health = self._engine.health
        if health.errors and self._totals.counts["error"] == self._totals.finished:
            every = "the only sample" if health.errors == 1 else f"all {health.errors:,} samples"
            raise ServerError(
                f"{every} failed, the last one with: {health.last.rstrip('.')}. Fix the cause and "
                "run the same command again to retry them"
            )

    async def _ask_all(self) -> None:
        await self._work_at_once(self._jobs(self._all()))
        while self._held and not self._engine.stop:
            await asyncio.sleep(CLAIM_POLL_SECONDS)
            jobs, self._held = self._held, []
            await self._work_at_once(self._jobs(jobs))
            self._work.progress(self._state())

    @property
    def asked(self) -> int:
        """Replies that this process received."""
        return self._asked

    def summary(self) -> RunSummary:
        """The final state."""
        self._totals = self._ledger.totals()
        counts, hints = self._totals.counts, []
        if self._decided:
            left = max(0, self._total - self._totals.finished)
            tokens = round(left * self._totals.tokens_in / max(1, self._totals.finished))  # lengths grow evenly
            spared = f"; {left:,} of {self._total:,} requests and about {tokens:,} prompt tokens were spared"
            hints.append(self._decided + (spared if left else ""))
        served = [] if self._work.system is not None else self._ledger.served()
        capped = any(reply.status == "incomplete" and (reply.characters or reply.stop != "stop") for reply in served)
        if counts["incomplete"] > INCOMPLETE_SHARE * self._totals.finished and (capped or not served):
            unexpected = self._reasoned and not self._work.reasons and self._work.thinking is None
            mend = "the model reasons: use --model-kind thinking" if unexpected else "raise --max-output-tokens"
            hints.append(
                f"{counts['incomplete']} of {self._totals.finished} replies are incomplete: they reached the output "
                f"cap, or contain only reasoning; {mend}, in another run folder"
            )
        if counts["error"]:
            last = f", the last one with: {self._engine.health.last.rstrip('.')}" if self._engine.health.errors else ""
            hints.append(f"{several(counts['error'], 'sample')} failed{last}; run the same command again to retry them")
        if self._work.thinking and (
            doubt := doubts(self._work.thinking, replies=self._replies, reasoned=self._reasoned)
        ):
            hints.append(doubt)
        hints += map(str, notes_on_server(served, self._work.asked))
        again = self._ledger.asked_again()
        remarks = (*remarks_on_server(served), *((f"{again:,} asked more than once",) if again else ()))
        return RunSummary(self._ledger.folder, self._state(), hints=tuple(hints), remarks=remarks)

    def _all(self) -> Iterator[Job]:
        """All pairs; those that failed before this process started come last, as they may fail again."""
        failed = self._ledger.failed()
        for again in (False, True) if failed else (False,):
            for sample in self._work.samples():
                epochs = range(1, self._work.epochs + 1)
                yield from ((sample, epoch) for epoch in epochs if ((sample.id, epoch) in failed) == again)

    def _jobs(self, wanted: Iterable[Job]) -> Iterator[Job]:
        """The pairs that this process could claim, in the same order."""
        size = max(LEAST_CLAIMS, self._work.terms.max_connections)
        rest = iter(wanted)
        while batch := list(islice(rest, size)):
            yield from self._claim(batch)

    def _claim(self, batch: Sequence[Job]) -> list[Job]:
        """Claim some pairs, remember those claimed by others, and update the totals."""
        jobs: dict[Key, Job] = {(sample.id, epoch): (sample, epoch) for sample, epoch in batch}
        mine, others = self._ledger.claim(list(jobs))
        self._held += [jobs[key] for key in others]
        version = self._ledger.version()
        if version != self._version:
            self._version, self._totals = version, self._ledger.totals()
            self._check_limits()
        return [jobs[key] for key in mine]

    async def _work_at_once(self, jobs: Iterator[Job]) -> None:
        waiting = AHEAD * self._work.terms.max_connections if self._work.waits else 0
        await self._engine.work_through(Queue(jobs, lambda job: prefix_key(job[0]), waiting), self._do)

    async def _do(self, queued: Queued[Job]) -> None:
        sample, epoch = queued.job
        cap = self._work.caps(sample.task)
        requests: list[Reply] = []
        try:
            prompt_hash, reply = await self._reply(queued, cap, requests)
        except FathomError:
            raise
        except OSError as error:
            raise FathomError(f"the suite cannot be read: {error}; all finished replies are kept") from None
        except Exception as error:
            words = unexpected_error_message(error)
            self._engine.health.errors, self._engine.health.last = self._engine.health.errors + 1, words
            prompt_hash, reply = "", Reply(status="error", stop="error", attempts=0, error=words)
        self._keep(sample, epoch, reply, prompt_hash, requests)
        await self._work.committed(sample.id, epoch)

    def _keep(self, sample: Sample, epoch: int, reply: Reply, prompt_hash: str, requests: Sequence[Reply]) -> None:
        """Price, commit and count a reply; the hash of its prompt is "" if nothing was sent."""
        cost = 0.0 if not prompt_hash else self._price(sample, requests)
        if self._work.system is not None:
            sample = self._with_compactions(sample, reply)
        before = self._ledger.finish(sample, epoch, reply, prompt_hash=prompt_hash, cost=cost)
        self._engine.stop = self._engine.stop or self._ledger.place.gone
        self._count(sample, reply, cost, sent=bool(prompt_hash), before=before)
        self._look_at_server()

    def _with_compactions(self, sample: Sample, reply: Reply) -> Sample:
        """A sample about a fact, with how often a system compacted the fact; any other one as it is."""
        if not (fact := str(sample.inputs.get("fact", ""))):
            return sample
        place = sample.facets.get("place")
        known = float(place) if isinstance(place, int | float) else None
        through = compactions_of(reply, split_prompt(sample, self._texts), fact, known)
        return sample if through is None else replace(sample, facets={**sample.facets, "compactions": through})

    def _look_at_server(self) -> None:
        """Say early what replies show about the server: it is better ended soon than found out at the end."""
        if self._asked < self._look_at or self._work.system is not None:
            return
        self._look_at *= 2
        for note in notes_on_server(self._ledger.served(), self._work.asked):
            if note.kind in EARLY - self._noted:
                self._noted.add(note.kind)
                self._work.tell(str(note))

    def _prepare(self, queued: Queued[Job], cap: int) -> Prepared | Reply:
        """The prompt of a sample and its parameters; the reply if it is not sent."""
        sample, epoch = queued.job
        limit = self._work.limit
        budget = None if limit.by_client else limit.budget(cap)
        over = budget is not None and sample.tokens > budget and self._work.system is None
        if over and limit.policy == "refuse":
            beside = "" if limit.of_prompts else f" and a reply of {cap}"
            reason = f"{sample.tokens} tokens{beside} exceed the window of {limit.window}; not sent"
            return Reply(status="overflow", stop="not_sent", attempts=0, error=reason)
        prompt, removed = render(sample, self._texts), 0
        question = question_part(sample)
        if over and budget is not None:
            fitted = fit(prompt, budget, limit.policy, self._work.tokenizer())
            if fitted is not None:
                prompt, removed = fitted.prompt, fitted.removed
        prompt_hash = sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        mode = self._work.request_mode(sample.task)
        caps, answers = mode.caps(cap), mode.answers
        ending = len(question) if prompt.endswith(question) and question != prompt else 0
        form = form_of(sample, mode.answer) if self._work.forms else None
        # Truncated prompts begin alike too, but not up to their questions.
        shared = len(prompt) - ending if queued.shared and not removed else 0
        call = Call(
            sample.id, epoch, self._work.seed, caps[0], mode.stop_sent, mode.continued, answers[0], ending, form, shared
        )
        return Prepared(prompt, prompt_hash, removed, call, mode)

    async def _reply(self, queued: Queued[Job], cap: int, requests: list[Reply]) -> tuple[str, Reply]:
        """The hash of the prompt, "" if nothing was sent, and the reply; those to all requests are added to a list."""
        # Only this frame refers to the prompt, so that it is freed when the reply has arrived.
        sample, _ = queued.job
        prepared = self._prepare(queued, cap)
        if isinstance(prepared, Reply):
            return "", prepared
        prompt_hash, removed, call, mode = prepared.prompt_hash, prepared.removed, prepared.call, prepared.mode
        caps, answers = mode.caps(cap), mode.answers
        reply = await self._answer(sample, prepared.prompt, call, mode, requests)
        del prepared
        if mode.follow_up is not None and reply.answered:  # a truncated reply is followed up too
            prompt = mode.follow_up(reply.text, sample)
            second = replace(call, max_output_tokens=caps[-1], answer=answers[-1], ending=0, form=None, shared=0)
            reply = together(reply, await self._ask(prompt, second, mode, requests))
        return prompt_hash if requests else "", replace(reply, truncated=reply.truncated + removed)

    async def _answer(self, sample: Sample, prompt: str, call: Call, mode: RequestMode, requests: list[Reply]) -> Reply:
        """The reply to the prompt, or that of the system around the model."""
        system = self._work.system
        if system is None:
            return await self._ask(prompt, call, mode, requests)

        # Its prompts share no prefix with others.
        call = replace(call, shared=0)
        tokenizer = self._work.tokenizer()
        # Notes are free text: only the output cap ends them.
        noting = replace(mode, stop=(), capped=False, endless=False)
        limit = self._work.limit
        question = prompt[len(prompt) - call.ending :]

        async def send(request: Request) -> Reply:
            if request.notes is None:
                same_end = request.prompt.endswith(question)
                own = call if same_end else replace(call, ending=0)
                reply = await self._ask(request.prompt, own, mode, requests)
            else:
                cap = self._work.sent_cap(request.notes)
                own = replace(call, max_output_tokens=cap, stop=(), answer="notes", ending=0)
                reply = await self._ask(request.prompt, own, noting, requests)
            # Servers count for themselves; missing counts are computed here, so that systems can be compared.
            # A request that failed after others were answered has no tokens.
            failed = reply.status in ("error", "overflow") and len(requests) > 1
            if reply.tokens_in is None and not failed:
                reply = requests[-1] = replace(reply, tokens_in=tokenizer.count(request.prompt))
            return reply

        split = split_prompt(sample, self._texts)
        turn_cap = max(call.max_output_tokens, self._work.sent_cap(TURN))
        converse = partial(self._converse, call=call, mode=mode, turn_cap=turn_cap, requests=requests)
        answer_cap, language = call.max_output_tokens, sample.language
        task = Task(split, answer_cap, limit.budget, tokenizer, send, language, converse, turn_cap)
        if split.units:
            return await system.answer(task)
        # A client that truncates prompts by itself does so here too.
        over = None if limit.by_client else too_long(task, prompt, "a prompt without a text to choose from")
        budget = limit.budget(answer_cap)
        if over is None or budget is None or budget < 1:
            return over or await send(Request(prompt))
        fitted = fit(prompt, budget, limit.policy, tokenizer)
        return over if fitted is None else replace(await send(Request(fitted.prompt)), truncated=fitted.removed)

    async def _converse(
        self, chat: Chat, *, call: Call, mode: RequestMode, turn_cap: int, requests: list[Reply]
    ) -> Turn:
        """One turn of a conversation."""
        client, turn = self._engine.client, Turn(Reply(status="error"))
        if not isinstance(client, Conversing):
            raise FathomError("this model cannot call tools")
        # Words beside a tool call are no answer: nothing but the cap ends a turn.
        own = call if chat.last else replace(call, max_output_tokens=turn_cap, stop=())

        async def send() -> Reply:
            nonlocal turn
            turn = await client.converse(chat, own)
            return turn.reply

        reply = await self._ask(
            f"turn {len(chat.messages)}", own, replace(mode, stop=(), capped=False, endless=False), requests, send
        )
        if turn.message is None or turn.message.tool_calls:
            return Turn(reply, turn.message)
        return Turn(ended(within(reply, call.max_output_tokens, self._work.tokenizer()), mode), turn.message)

    async def _ask(
        self, prompt: str, call: Call, mode: RequestMode, requests: list[Reply], send: Sending | None = None
    ) -> Reply:
        return await self._received(await self._engine.ask(prompt, call, send), mode, requests)

    def _note(self, call: Call, attempt: Attempt) -> None:
        """Take down a request of a sample; those that only ask whether the server works are no such requests."""
        reply = Reply("ok", tokens_in=attempt.tokens_in, tokens_out=attempt.tokens_out)
        self._ledger.note((call.sample, call.epoch), attempt, cost_of(reply, self._work.terms.price))

    async def _received(self, reply: Reply, mode: RequestMode, requests: list[Reply]) -> Reply:
        """Count the reply to a request, and end it where the task ends it."""
        requests.append(reply)
        self._replies += reply.status != "error"
        self._reasoned += bool(reply.reasoning or reply.tokens_reasoning)
        if len(reply.reasoning) > LARGE_TEXT:
            return ended(await asyncio.to_thread(self._with_thoughts_counted, reply), mode)
        return ended(self._with_thoughts_counted(reply), mode)

    def _with_thoughts_counted(self, reply: Reply) -> Reply:
        """The reply with its reasoning tokens counted; some providers return the text without a number, or with 0."""
        if not reply.reasoning or reply.tokens_reasoning or self._tokenizer is None:
            return reply
        return replace(reply, tokens_reasoning=self._tokenizer.count(reply.reasoning))

    @cached_property
    def _tokenizer(self) -> Tokenizer | None:
        """The suite's tokenizer; None if it cannot be loaded, which does not stop the run."""
        try:
            return self._work.tokenizer()
        except FathomError:
            return None

    def _price(self, sample: Sample, requests: Sequence[Reply]) -> float | None:
        """The price of all requests for a sample, each by itself: long prompts have prices of their own."""
        # After others that were answered, one that failed without a count adds nothing.
        answered = [reply for reply in requests if reply.status in ("ok", "incomplete") or reply.tokens_out is not None]
        return total_cost(cost_of(reply, self._work.terms.price, sample.tokens) for reply in answered or requests)

    def _count(self, sample: Sample, reply: Reply, cost: float | None, *, sent: bool, before: Status | None) -> None:
        """Add a reply to the totals, which are only read again if another process has written."""
        self._asked += 1
        old = self._totals
        counts = {**old.counts, reply.status: old.counts[reply.status] + 1}
        if before is not None:
            counts[before] -= 1
        read = sample.tokens if reply.tokens_in is None else reply.tokens_in
        self._totals = replace(
            old,
            counts=counts,
            tokens_in=old.tokens_in + (read if sent else 0),
            tokens_out=old.tokens_out + (reply.tokens_out or 0),
            paid=old.paid + (cost or 0.0),
            priced=old.priced + (sent and cost is not None),
            unpriced=old.unpriced + (cost is None),
        )
        self._check_limits()
        self._work.progress(self._state())

    def _check_limits(self) -> None:
        self._engine.check_limits(self._totals.tokens_in + self._totals.tokens_out, self._totals.paid)

    def _state(self) -> Progress:
        totals = self._totals
        return Progress(
            finished=totals.finished,
            total=max(totals.finished, self._total),
            counts=dict(totals.counts),
            tokens_in=totals.tokens_in,
            tokens_out=totals.tokens_out,
            cost=totals.cost,
            unpriced=totals.unpriced,
            seconds=time.monotonic() - self._started,
            asked=self._asked,
        )

    async def _is_enough(self) -> bool:
        """Whether no more replies are needed, which ends the run."""
        if self._work.enough is not None:
            self._decided = await asyncio.to_thread(self._work.enough, self._ledger.folder)
            self._engine.stop = self._engine.stop or self._decided
        return bool(self._decided)

    async def _look_for_end(self) -> None:
        """Look now and then, for a small share of the time, whether replies enough are there."""
        while self._work.enough is not None and not self._blind:
            started = time.monotonic()
            if await self._look():
                return
            await asyncio.sleep(max(LOOK_SECONDS, (time.monotonic() - started) / LOOKING_SHARE))

    async def _look(self) -> bool:
        """Whether no more replies are needed; what keeps this from being known is told once."""
        try:
            return await self._is_enough()
        except Exception as error:
            # A file that another process replaces can be read at the next look.
            self._blind = not isinstance(error, FathomError)
            why = unexpected_error_message(error) if self._blind else str(error)
            if why not in self._noted:
                self._noted.add(why)
                self._work.tell(f"it cannot be decided {'while the run goes on' if self._blind else 'now'}: {why}")
            return False

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            with suppress(FathomError):
                self._ledger.beat()
