"""The client for Hugging Face models in this process (``hf/PATH``): chat template, greedy decoding, batches.

One request is computed at a time, or as many as ``batch_size`` says. With one, the context of a prompt is computed
before its question, always and for itself, and questions on the same context that come next compute only the rest: the
reply to a prompt depends on nothing that was asked before. With ``reuse=prefix``, all tokens that a prompt shares with
the last one are used again, if they are at least half of it. That saves more, and rounding depends on the order.
"""

import asyncio
import copy
import inspect
import threading
import time
import zlib
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.extend.caches import evicts, is_apart, kind_of
from fathom.extend.hf.calls import cache_in, with_cache
from fathom.extend.methods import FULL
from fathom.models.answers import Output, checked, to_reply
from fathom.models.failures import Failure
from fathom.models.hugging_face import (
    Loaded,
    cache_of,
    failure_of_model,
    load_model,
    load_tokenizer,
    method_of,
    plan,
    turns_by_length,
    window_words,
)
from fathom.models.loop import in_thread
from fathom.models.overflow import Overflow
from fathom.models.protocol import Call, Measured, RequestError, Settings
from fathom.storage.foreign import read_text
from fathom.types import FathomError, Json, Reply

if TYPE_CHECKING:
    from fathom.extend.hf.extension import Extension

# Arguments of the client; all others are those of the model.
_OWN = ("batch_size", "chat_template", "use_chat_template", "enable_thinking", "prefill_chunk_size", "reuse")
# Generation options that transformers has under the same name, and those that concern the prompt or nothing here.
_SAMPLING = ("top_p", "top_k", "repetition_penalty")
_BESIDES = ("stop_seqs", "reasoning_effort", "reasoning_tokens", "extra_body")
# How long an incomplete batch waits for the prompts that are being rendered.
GATHER_SECONDS = 0.02
BATCHES = 4
"""In flight at once, of which a batch is made of prompts of like lengths."""
PATIENCE = 6
"""Batches that may pass over a request before it goes first."""
# Further tokens that are searched for a stop text: it may begin within one.
_MARGIN = 8


@dataclass(eq=False)
class _Job:
    """One prompt on its way through the model.

    ``exact`` is a reply that ends at its cap and nowhere else; ``context`` are the tokens of the prompt that are
    computed before the question; ``passed`` counts the batches that were computed while it waited.
    """

    prompt: str
    call: Call
    exact: bool = False
    ids: list[int] = field(default_factory=list)
    context: int = 0
    stops: tuple[str, ...] = ()
    opened: bool = False
    given_up: bool = False
    passed: int = 0
    written: int | None = None
    output: Output | None = None
    failure: Failure | None = None
    first: float = 0.0
    whole: float = 0.0

    @property
    def finished(self) -> bool:
        return self.output is not None or self.failure is not None

    @cached_property
    def size(self) -> int:
        """Bytes of the prompt, which tokens follow more closely than characters."""
        return len(self.prompt.encode("utf-8", "replace"))


class LocalClient:
    """Asks a model of ``transformers``; ``window`` is None because it truncates nothing.

    Attributes:
        context: Tokens that the model holds by its configuration, prompt and reply together; None if unknown.
        batch_size: Prompts that are computed at once.
        cached: Bytes of keys and values of the last request or batch, after its prompt and at its end; None after
            requests that failed, and for models that keep something else (states of linear attention).
    """

    window: int | None = None
    policy: Overflow = "refuse"

    def __init__(self, loaded: Loaded, settings: Settings) -> None:
        self._loaded, self._settings = loaded, settings
        self.batch_size = _count(settings, "batch_size", 1) or 1
        self.context = loaded.window
        # The user may know better than the configuration.
        self._held = None if loaded.window is None else max(loaded.window, settings.window or 0)
        self._template = _template(loaded.tokenizer, settings)
        self._more = _template_options(settings)
        self._config = _generation(loaded, settings, _count(settings, "prefill_chunk_size", None))
        self._endings = frozenset(self._config.eos_token_id or ())
        self._reuse = _reuse(settings)
        self._splits = self._reuse == "context" and self.batch_size == 1 and _reads_in_parts(loaded)
        self._waiting: list[_Job] = []
        self._turns = asyncio.Condition()
        self._busy = False
        self._ids: list[int] = []
        self._cache: Any = None
        self._context = 0
        self._fitted: Hashable = None
        self.cached: tuple[int, int] | None = None
        self._replies = self._single = 0

    @property
    def extension(self) -> "Extension | None":
        """The method that makes the model read beyond its window; None if there is none."""
        return self._loaded.extension

    @property
    def window_words(self) -> str:
        """What its configuration, with the method that extends it, says of the window; "" if nothing."""
        extension = self._loaded.extension
        if extension is not None and extension.window is not None:
            return f"{extension.window:,} tokens with {self._settings.model.partition('?')[2]}"
        return window_words(self._loaded.model.config)

    @property
    def kernel(self) -> str:
        """The attention that computes the model, by its name in transformers or in words."""
        own = self._loaded.extension.kernel if self._loaded.extension is not None else ""
        return own or str(getattr(self._loaded.model.config, "_attn_implementation", None) or "")

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the results must know of how the model is computed."""
        cache = cache_of(self._settings.model)
        if not self._single or not evicts(cache) or is_apart(cache):
            return self._loaded.notes
        note = (
            f"{self._single:,} of {self._replies:,} replies have one token, which comes from the full cache: they say "
            "nothing about what was left out of it"
        )
        return *self._loaded.notes, note

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Compute one reply, with others that wait, if batches are allowed.

        Raises:
            RequestError: The model failed, or memory ran out.
        """
        job = _Job(prompt, call)
        self._waiting.append(job)
        try:
            async with self._turn(lambda: job.finished) as computes:
                if computes:
                    if len(self._waiting) < self.batch_size:
                        await asyncio.sleep(GATHER_SECONDS)
                    await self._compute(self._batch_of(job))
        finally:
            job.given_up = True
            self._waiting.remove(job)
        if job.output is None:
            raise RequestError(job.failure or Failure("bad", "the model returned nothing"))
        return checked(to_reply(job.output))

    @asynccontextmanager
    async def _turn(self, finished: Callable[[], bool] = lambda: False) -> AsyncIterator[bool]:
        """Wait until nothing else is computed; false, without waiting further, if the request is finished before."""
        async with self._turns:
            await self._turns.wait_for(lambda: finished() or not self._busy)
            computes = not finished()
            self._busy = self._busy or computes
        try:
            yield computes
        finally:
            if computes:
                self._busy = False
                async with self._turns:
                    self._turns.notify_all()

    def _batch_of(self, job: _Job) -> list[_Job]:
        """A request, with those that wait whose prompts are closest to its length: the rows of a batch are padded.

        One that was passed over often goes first, so that none waits long.
        """
        others = [other for other in self._waiting if not other.finished and other is not job]
        others.sort(key=lambda other: (other.passed < PATIENCE, abs(other.size - job.size)))
        for other in others[self.batch_size - 1 :]:
            other.passed += 1
        return [job, *others[: self.batch_size - 1]]

    async def measure(self, prompt: str, call: Call) -> Measured:
        """Compute one reply of exactly ``call.max_output_tokens`` tokens, alone and from the beginning of its prompt.

        Nothing of the prompt before is used, and nothing stays for the next one. Seconds count from the tokens of the
        prompt.

        Raises:
            RequestError: The model cannot compute it.
        """
        job = _Job(prompt, call, exact=True)
        async with self._turn():
            self._forget()
            try:
                await self._compute([job])
            finally:
                self._forget()
        if job.output is None:
            raise RequestError(job.failure or Failure("bad", "the model returned nothing"))
        return Measured(job.first, job.whole, job.output.tokens_in, job.output.tokens_out, self.cached)

    async def close(self) -> None:
        """Release the memory of the last prompt."""
        self._forget()

    async def _compute(self, jobs: list[_Job]) -> None:
        ended = threading.Event()
        # The thread ends at the next token; until then the model is in use.
        await in_thread(lambda: self._run(jobs, ended), ended)

    def _run(self, jobs: list[_Job], ended: threading.Event) -> None:
        """Generate replies, and leave them in the jobs. Tokenizers are not made for several threads at once."""
        try:
            for job in jobs:
                self._tokenize(job)
            if fitting := [job for job in jobs if job.failure is None]:
                self._generate(fitting, ended)
        except Exception as error:
            self._forget()
            failure = failure_of_model(error, max(len(job.ids) for job in jobs))
            for job in jobs:
                job.failure = job.failure or failure

    def _tokenize(self, job: _Job) -> None:
        tokenizer, call = self._loaded.tokenizer, job.call
        plain = call.continued or self._settings.chat_template == "never"
        text = job.prompt if plain else self._loaded.chat_text(job.prompt, self._template, **self._more)
        ids = tokenizer(text, add_special_tokens=plain)["input_ids"]
        given = self._settings.generation.get("stop_seqs")
        job.ids, job.written = list(ids), None
        job.stops = (*(map(str, given) if isinstance(given, list | tuple) else ()), *call.stop)
        # Templates of some reasoning models begin the reasoning themselves.
        job.opened = text.rstrip().endswith("<think>")
        if self._held is not None and len(job.ids) + call.max_output_tokens > self._held:
            reason = (
                f"the prompt has {len(job.ids):,} tokens of the model; with a reply of {call.max_output_tokens:,} they "
                f"exceed the {self._held:,} of its window"
            )
            job.failure = Failure("overflow", reason)
            return
        extension = self._loaded.extension
        apart = extension is not None and is_apart(extension.cache)
        try:
            job.context = self._context_of(job, text, special=plain) if apart or self._splits else 0
        except FathomError as error:
            if apart:
                job.failure = Failure("bad", str(error))
                return
        if not apart and 2 * job.context < len(job.ids):
            job.context = 0  # nothing worth keeping
        if extension is not None:
            try:
                extension.check_prompt(job.context if apart else len(job.ids))
            except FathomError as error:
                job.failure = Failure("bad", str(error))

    def _context_of(self, job: _Job, text: str, *, special: bool) -> int:
        """Tokens before the question; the text of the prompt, with what a chat template adds, is cut between tokens.

        Raises:
            FathomError: Where the question begins is unknown.
        """
        prompt, ending = job.prompt, job.call.ending
        start = text.find(prompt.strip())
        if not 0 < ending < len(prompt) or start < 0:
            raise FathomError(
                "question=apart needs to know where in the prompt the question begins, and this sample does not say; "
                "leave out question=apart, or these samples (`tasks`)"
            )
        place = start + len(prompt) - ending - (len(prompt) - len(prompt.lstrip()))
        tokens = tokens_before(self._loaded.tokenizer, text, place, special)
        if not tokens:
            raise FathomError("question=apart: nothing comes before the question of this sample; leave out its task")
        return min(tokens, len(job.ids) - 1)

    def _generate(self, jobs: list[_Job], ended: threading.Event) -> None:
        import torch

        model, longest = self._loaded.model, max(len(job.ids) for job in jobs)
        pad = self._config.pad_token_id
        rows = [[pad] * (longest - len(job.ids)) + job.ids for job in jobs]
        mask = [[0] * (longest - len(job.ids)) + [1] * len(job.ids) for job in jobs]
        config = copy.deepcopy(self._config)
        config.max_new_tokens = max(job.call.max_output_tokens for job in jobs)
        config.min_new_tokens = config.max_new_tokens if jobs[0].exact else None
        self._fit(longest + config.max_new_tokens)
        cache, shared = self._shared(jobs)
        extension = self._loaded.extension
        context = jobs[0].context if len(jobs) == 1 else 0
        if cache is None and extension is not None:
            cache = extension.new_cache(jobs[0].ids[: context or None])
        elif cache is None and context:
            cache = _full_cache(model)
        self.cached = None
        ends = _Ends(jobs, longest, ended, self._loaded.tokenizer)
        torch.manual_seed(_seed(jobs[0], config))
        thinning = nullcontext() if extension is None else extension.thinning(model)
        with torch.inference_mode(), _hooked(model, ends.see):
            start = _now(model.device)
            if context and not shared:
                with thinning:
                    base, step = model.base_model, config.prefill_chunk_size or context
                    for place in range(0, context, step):
                        part = torch.tensor([rows[0][place : min(place + step, context)]], device=model.device)
                        base(part, **with_cache(base, cache))
            with nullcontext() if context else thinning:
                output = model.generate(
                    input_ids=torch.tensor(rows, device=model.device),
                    attention_mask=torch.tensor(mask, device=model.device),
                    generation_config=config,
                    stopping_criteria=[ends],
                    **with_cache(model, cache),
                )
            last = _now(model.device)
        if extension is not None and extension.cache != FULL and cache_in(output) is not cache:
            raise FathomError(f"{extension.cache.name}: the model replaced its cache by another one; leave out cache")
        if ended.is_set():
            self._forget()
            return
        at_end = _bytes_of(ends.cache)
        self.cached = None if ends.after_prompt is None or at_end is None else (ends.after_prompt, at_end)
        written = [row[longest:] for row in output.sequences.tolist()]
        if len(jobs) == 1:
            self._cache, self._ids = cache_in(output), [*jobs[0].ids, *written[0][:-1]]
            self._context = context
        for job, ids in zip(jobs, written, strict=True):
            job.output = self._output(job, ids, shared)
            job.first, job.whole = ends.first - start, last - start
            self._replies, self._single = self._replies + 1, self._single + (job.output.tokens_out == 1)

    def _output(self, job: _Job, ids: list[int], shared: int) -> Output:
        # Rows that end before others are filled up.
        ids = ids[: job.written]
        ended = next((place for place, token in enumerate(ids) if token in self._endings), None)
        text = self._loaded.tokenizer.decode(ids[:ended], skip_special_tokens=True)
        stopped = ended is not None or any(stop in text for stop in job.stops)
        return Output(
            text=f"<think>{text}" if job.opened else text,
            stop="stop" if stopped else "max_tokens",
            tokens_in=len(job.ids),
            tokens_out=len(ids) if ended is None else ended + 1,
            tokens_cached=shared,
        )

    def _fit(self, tokens: int) -> None:
        """Prepare the model for a request; what was computed with other frequencies is of no use for it."""
        fitted = self._loaded.fit(tokens)
        if fitted != self._fitted:
            self._forget()
        self._fitted = fitted

    def _shared(self, jobs: list[_Job]) -> tuple[Any, int]:
        """The cache of the last prompt, shortened to what the next one shares with it, and its tokens."""
        ids, cache = jobs[0].ids, self._cache
        same, cached, context = 0, len(self._ids), self._context
        # The last token is computed in any case: its logits give the first of the reply.
        while same < min(cached, len(ids) - 1) and self._ids[same] == ids[same]:
            same += 1
        if self._reuse == "context":
            # Another context, or none, was computed in other parts: its numbers are rounded otherwise.
            same = context if jobs[0].context == context <= same else 0
        self._forget()
        if len(jobs) > 1 or 2 * same < len(ids) or not keeps_all(cache):
            return None, 0
        if cached > same:
            cache.crop(same - cached)
        return cache, same

    def _forget(self) -> None:
        self._ids, self._cache, self._context = [], None, 0


class _Ends:
    """Ends each row of a batch at its own cap or stop text, and all when the request is given up.

    Attributes:
        cache: Keys and values, as the model returned them last; None before.
        first: When the first token of the reply was there; 0 before.
        after_prompt: Bytes of the cache at that time; None before, and if it cannot be measured.
    """

    def __init__(self, jobs: list[_Job], start: int, ended: threading.Event, tokenizer: Any) -> None:
        self._jobs, self._start, self._ended, self._tokenizer = jobs, start, ended, tokenizer
        self.cache: Any = None
        self.first = 0.0
        self.after_prompt: int | None = None

    def see(self, _model: Any, _inputs: Any, output: Any) -> None:
        """Remember the cache that the model returned, which generation makes by itself."""
        self.cache = cache_in(output)

    def __call__(self, input_ids: Any, scores: Any, **more: Any) -> Any:
        import torch

        if not self.first:
            self.first, self.after_prompt = _now(input_ids.device), _bytes_of(self.cache)
        ended = [self._ends(job, row) for job, row in zip(self._jobs, input_ids, strict=True)]
        return torch.tensor(ended, device=input_ids.device, dtype=torch.bool)

    def _ends(self, job: _Job, row: Any) -> bool:
        written = len(row) - self._start
        if job.written is None and (written >= job.call.max_output_tokens or self._stops(job, row, written)):
            job.written = written
        return job.written is not None or job.given_up or self._ended.is_set()

    def _stops(self, job: _Job, row: Any, written: int) -> bool:
        if not job.stops:
            return False
        last = min(written, max(map(len, job.stops)) + _MARGIN)
        text = self._tokenizer.decode(row[-last:], skip_special_tokens=True)
        return any(stop in text for stop in job.stops)


def open_local_client(settings: Settings) -> LocalClient:
    """Load a model and open its client.

    Raises:
        FathomError: See ``load_model``; or an option is not supported, or there is no chat template.
    """
    _check(settings)
    return LocalClient(load_model(settings.model, _of_model(settings)), settings)


def check_local_model(settings: Settings) -> None:
    """Check all of a model but its weights, which take long to load.

    Raises:
        FathomError: See ``open_local_client``.
    """
    _check(settings)
    tokenizer = load_tokenizer(settings.model, _of_model(settings))
    plan(settings.model, _of_model(settings))
    _template(tokenizer, settings)


def _check(settings: Settings) -> None:
    if settings.base_url is not None:
        raise FathomError(
            f"model {settings.model}: hf/ models run in this process; leave out `model_base_url`, or name the model "
            "openai/NAME, as the server at that address knows it"
        )
    able = sorted({*_SAMPLING, *_BESIDES})
    for name in settings.generation:
        if name not in able:
            raise FathomError(
                f"model {settings.model}: the generation option {name!r} is not supported for models in this process; "
                f"they support {', '.join(able)}"
            )
    for name in ("batch_size", "prefill_chunk_size"):
        _count(settings, name, None)
    _reuse(settings)
    method = method_of(settings.model)
    if method.kind.per_request and (_count(settings, "batch_size", 1) or 1) > 1:
        raise FathomError(
            f"model {settings.model}: with {method.name} the frequencies depend on the length of each request; leave "
            "out -M batch_size"
        )
    _check_cache(settings)
    _check_whole(settings)


def _check_whole(settings: Settings) -> None:
    """Check that prompts are computed whole and alone, where transformers changes frequencies with the length."""
    given = [
        name
        for name, most in (("batch_size", 1), ("prefill_chunk_size", 0))
        if (_count(settings, name, None) or 0) > most
    ]
    if given and turns_by_length(settings.model, _of_model(settings)):
        raise FathomError(
            f"model {settings.model}: by its configuration, frequencies depend on the length, so that each prompt has "
            f"to be computed as a whole and alone; leave out -M {given[0]}"
        )


def _check_cache(settings: Settings) -> None:
    """Check that prompts are computed whole and alone, where less than all of their keys and values stays."""
    cache = cache_of(settings.model)
    if cache == FULL:
        return
    why = kind_of(cache).no_batch
    if (_count(settings, "batch_size", 1) or 1) > 1:
        raise FathomError(f"model {settings.model}: with {cache.name}, {why}; leave out -M batch_size")
    if _count(settings, "prefill_chunk_size", None) is not None:
        raise FathomError(
            f"model {settings.model}: {cache.name} needs the prompt as a whole, before anything is left out; leave out "
            "-M prefill_chunk_size"
        )


def _bytes_of(cache: Any) -> int | None:
    """Bytes of a cache; None for one that keeps something else than keys and values."""
    layers = getattr(cache, "layers", None)
    if not layers or not all(hasattr(layer, "keys") and not hasattr(layer, "recurrent_states") for layer in layers):
        return None
    from fathom.extend.hf.caches import bytes_of

    return bytes_of(cache)


def _now(device: Any) -> float:
    """The time at which a device has done what it was told."""
    import torch

    getattr(torch, device.type).synchronize()
    return time.perf_counter()


@contextmanager
def _hooked(model: Any, see: Callable[[Any, Any, Any], None]) -> Iterator[None]:
    """Call a function after each forward pass."""
    hook = model.register_forward_hook(see)
    try:
        yield
    finally:
        hook.remove()


def _of_model(settings: Settings) -> dict[str, Json]:
    return {name: value for name, value in settings.model_args.items() if name not in _OWN}


def _seed(job: _Job, config: Any) -> int:
    """Of a drawn reply the user's; of others one that depends on what is thinned out, because presses may draw."""
    if config.do_sample:
        return job.call.seed + job.call.epoch - 1
    return zlib.crc32(repr(job.ids[: job.context or None]).encode())


def tokens_before(tokenizer: Any, text: str, place: int, special: bool = True) -> int:
    """How many tokens of a text end at or before a place of it.

    Args:
        tokenizer: A tokenizer of ``transformers``.
        text: The whole text.
        place: A number of characters.
        special: Whether the text gets the tokenizer's special tokens.
    """
    if tokenizer.is_fast:
        offsets = tokenizer(text, add_special_tokens=special, return_offsets_mapping=True)["offset_mapping"]
        return next((number for number, (_, end) in enumerate(offsets) if end > place), len(offsets))
    whole, start = (tokenizer(part, add_special_tokens=special)["input_ids"] for part in (text, text[:place]))
    same = (part == two for part, two in zip(whole, start, strict=False))
    return next((number for number, alike in enumerate(same) if not alike), min(len(whole), len(start)))


def keeps_all(cache: Any) -> bool:
    """Whether a cache can be shortened anywhere: sliding windows and recurrent states cannot."""
    layers: list[object] = getattr(cache, "layers", None) or []
    return bool(layers) and all(type(layer).__name__ == "DynamicLayer" for layer in layers)


def _full_cache(model: Any) -> Any:
    from transformers import DynamicCache

    return DynamicCache(config=model.config.get_text_config())


def _reads_in_parts(loaded: Loaded) -> bool:
    """Whether a prompt may be computed in two parts: of texts alone, with a cache that keeps all of the first."""
    config, extension = loaded.model.config, loaded.extension
    if config.get_text_config() is not config or loaded.turns_by_length or getattr(loaded.model, "_is_stateful", False):
        return False
    if not with_cache(loaded.model, "").keys() & inspect.signature(loaded.model.forward).parameters.keys():
        return False
    return keeps_all(_full_cache(loaded.model)) and (extension is None or extension.cache == FULL)


def _reuse(settings: Settings) -> str:
    """What of the last prompt is used for the next one."""
    given = str(settings.model_args.get("reuse", "context"))
    if given not in ("context", "prefix"):
        raise FathomError(f"model {settings.model}: reuse={given}: expected context or prefix")
    return given


def _count(settings: Settings, name: str, default: int | None) -> int | None:
    given = settings.model_args.get(name, default)
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
        raise FathomError(f"model {settings.model}: {name}={given}: expected a positive whole number")
    return given


def _template(tokenizer: Any, settings: Settings) -> str | None:
    """The user's chat template; None for the tokenizer's own, and where none is used."""
    if settings.chat_template == "never":
        return None
    given = settings.model_args.get("chat_template")
    if settings.model_args.get("use_chat_template") is False:
        raise FathomError(f"model {settings.model}: use_chat_template=false: use `chat_template` never")
    if given is not None:
        path = Path(str(given)).expanduser()
        if "{" in str(given):
            return str(given)
        try:
            return read_text(path)
        except (OSError, ValueError) as error:
            raise FathomError(f"model {settings.model}: chat_template={given}: cannot be read: {error}") from error
    if not tokenizer.chat_template:
        raise FathomError(
            f"model {settings.model}: its tokenizer has no chat template, as those of base models. Use `chat_template` "
            "never, which sends prompts unchanged, or give a template with -M chat_template=FILE.jinja"
        )
    return None


def _template_options(settings: Settings) -> dict[str, Json]:
    """What the chat template is told besides the prompt."""
    options: dict[str, Json] = {}
    if "enable_thinking" in settings.model_args:
        options["enable_thinking"] = settings.model_args["enable_thinking"]
    if "reasoning_effort" in settings.generation:
        options["reasoning_effort"] = settings.generation["reasoning_effort"]
    body = settings.generation.get("extra_body")
    given = body.get("chat_template_kwargs") if isinstance(body, Mapping) else None
    return {**options, **(given if isinstance(given, Mapping) else {})}


def _generation(loaded: Loaded, settings: Settings, chunk: int | None) -> Any:
    """How tokens are drawn: greedily at temperature 0, otherwise by the model's own configuration and the user's."""
    config = copy.deepcopy(loaded.model.generation_config)
    config.return_dict_in_generate, config.use_cache, config.max_length = True, True, None
    if chunk is not None:
        config.prefill_chunk_size = chunk
    # Fine-tuned models often end with a token that only their tokenizer names.
    known = config.eos_token_id
    ends = [*(known if isinstance(known, list) else [known]), loaded.tokenizer.eos_token_id]
    config.eos_token_id = sorted({token for token in ends if token is not None}) or None
    if config.pad_token_id is None:
        pad = loaded.tokenizer.pad_token_id
        config.pad_token_id = pad if pad is not None else (config.eos_token_id or [0])[0]
    if settings.temperature == 0:
        config.do_sample, config.temperature, config.top_p, config.top_k = False, None, None, None
        return config
    for name in _SAMPLING:
        if name in settings.generation:
            setattr(config, name, settings.generation[name])
    if settings.temperature is not None:
        config.do_sample, config.temperature = True, settings.temperature
    return config
