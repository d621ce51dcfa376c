"""The client for models that vLLM computes on a Ray cluster, without a server (``ray-vllm/PATH``): ``ray.data.llm``.

Prompts that wait are handed over together. Ray starts vLLM for them, as many times as ``concurrency`` says, and ends it
with the last reply; each reply counts as soon as it comes. Prompts are made into tokens as vLLM's server does it: by
the chat template, without a second token that begins the text.
"""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from math import prod
from pathlib import Path
from typing import Any

from fathom.models.answers import Output, checked, to_reply
from fathom.models.failures import Failure, failure_of
from fathom.models.loop import in_thread
from fathom.models.overflow import Overflow
from fathom.models.protocol import RAY_VLLM, Call, RequestError, Settings
from fathom.parallel.on_ray import connected, said_by
from fathom.types import FathomError, Json, Reply

AT_ONCE = 1000
"""Prompts that are handed over together, and held in memory, unless told otherwise."""
GATHER_SECONDS = 1.0
"""Prompts are handed over when no other has come for so long."""
# Arguments of the client and of Ray; all others are those of vLLM's engine.
_OWN = ("at_once",)
_RAY = ("batch_size", "concurrency", "accelerator_type", "placement_group_config", "runtime_env")
_TEMPLATE = ("enable_thinking", "thinking")
# Generation options that vLLM's SamplingParams has under the same name.
_SAMPLING = (
    *("top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty", "repetition_penalty"),
    *("logit_bias", "min_tokens", "ignore_eos"),
)
_BESIDES = ("stop_seqs", "extra_body", "reasoning_effort")
_ERROR = "__inference_error__"


@dataclass(eq=False)
class _Job:
    """A prompt that waits for its reply."""

    row: dict[str, Any]
    reply: "asyncio.Future[Output | Failure]" = field(repr=False)


class RayVllmClient:
    """Hands prompts to vLLM on a cluster; ``window`` is None because it truncates nothing.

    Attributes:
        at_once: Prompts that are handed over together.
    """

    window: int | None = None
    policy: Overflow = "refuse"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._model = settings.model.removeprefix(RAY_VLLM)
        given = settings.model_args.get("at_once", AT_ONCE)
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            raise FathomError(f"model {settings.model}: at_once={given}: expected a positive number")
        self.at_once = given
        self._waiting: list[_Job] = []
        self._working = asyncio.Lock()

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Compute one reply, together with all others that wait.

        Raises:
            RequestError: The engine failed.
        """
        plain = call.continued or self._settings.chat_template == "never"
        row = {"prompt": prompt, "plain": plain, "sampling_params": _sampling(self._settings, call)}
        job = _Job(row, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        try:
            async with self._working:
                if not job.reply.done():
                    await self._gathered()
                    await self._compute([other for other in self._waiting if not other.reply.done()][: self.at_once])
        finally:
            self._waiting.remove(job)
        answer = await job.reply
        if isinstance(answer, Failure):
            raise RequestError(answer)
        return checked(to_reply(answer))

    async def close(self) -> None:
        """Nothing stays open."""

    async def _gathered(self) -> None:
        """Return when enough prompts wait, or no other comes."""
        before = 0
        while before < len(self._waiting) < self.at_once:
            before = len(self._waiting)
            await asyncio.sleep(GATHER_SECONDS)

    async def _compute(self, jobs: Sequence[_Job]) -> None:
        loop, ended = asyncio.get_running_loop(), threading.Event()

        def work() -> None:
            for row in self.rows([job.row for job in jobs]):
                if ended.is_set():
                    return
                loop.call_soon_threadsafe(_tell, jobs[row["number"]], row)

        await in_thread(work, ended)
        await asyncio.sleep(0)  # the last replies are on their way
        for job in jobs:
            if not job.reply.done():
                job.reply.set_result(Failure("busy", "vLLM returned nothing for this prompt"))

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        """The rows with what vLLM returned, as they come.

        Args:
            rows: Each with ``prompt``, whether it is ``plain``, without a chat template, and ``sampling_params``.

        Raises:
            FathomError: There is no cluster, or vLLM cannot be started.
        """
        with connected(None):
            import ray
            from ray.data.llm import build_processor, vLLMEngineProcessorConfig

            ray.data.DataContext.get_current().enable_progress_bars = False
            arguments = self._settings.model_args
            taken = (*_OWN, *_RAY, *_TEMPLATE)
            try:
                config = vLLMEngineProcessorConfig(
                    model_source=self._model,
                    engine_kwargs={name: value for name, value in arguments.items() if name not in taken},
                    chat_template_stage=False,
                    tokenize_stage=False,
                    detokenize_stage=False,
                    should_continue_on_error=True,
                    log_engine_metrics=False,
                    **{name: arguments[name] for name in _RAY if name in arguments},
                )
                tokenized = partial(_tokenized, self._model, _template_options(self._settings))
                processor = build_processor(config, preprocess=tokenized, postprocess=_returned)
                numbered = [{"number": number, **row} for number, row in enumerate(rows)]
                yield from processor(ray.data.from_items(numbered)).iter_rows()
            except (ray.exceptions.RayError, ImportError, ValueError, OSError, RuntimeError) as error:
                raise FathomError(
                    f"model {self._settings.model}: vLLM could not compute it: {said_by(error)}. Replies that came are "
                    "kept; the same command resumes"
                ) from None


def open_ray_vllm_client(settings: Settings) -> RayVllmClient:
    """The client of a model that vLLM computes on a Ray cluster.

    Raises:
        FathomError: An option cannot be followed, or Ray is missing.
    """
    import ray  # noqa: F401  # said now if it is missing

    if settings.base_url is not None:
        raise FathomError(f"model {settings.model}: no server computes it; leave out `model_base_url`")
    for name in settings.generation:
        if name not in (*_SAMPLING, *_BESIDES):
            raise FathomError(
                f"model {settings.model}: the generation option {name!r} is not supported; choose "
                f"{', '.join((*_SAMPLING, 'stop_seqs'))}"
            )
    return RayVllmClient(settings)


def gpus_of(arguments: Mapping[str, Json]) -> int:
    """GPUs that a model takes while it is computed, by the arguments of its engine."""
    counts = (arguments.get(name, 1) for name in ("tensor_parallel_size", "pipeline_parallel_size", "concurrency"))
    return prod(count if isinstance(count, int) and count > 0 else 1 for count in counts)


def _sampling(settings: Settings, call: Call) -> dict[str, Any]:
    """vLLM's sampling parameters of a request."""
    given = settings.generation.get("stop_seqs")
    stops = [*(map(str, given) if isinstance(given, list | tuple) else ()), *call.stop]
    return {
        **{name: settings.generation[name] for name in _SAMPLING if name in settings.generation},
        **({} if settings.temperature is None else {"temperature": settings.temperature}),
        "max_tokens": call.max_output_tokens,
        "seed": call.seed + call.epoch - 1,
        **({"stop": stops} if stops else {}),
    }


def _template_options(settings: Settings) -> dict[str, Json]:
    """What the chat template is told besides the prompt."""
    options: dict[str, Json] = {name: settings.model_args[name] for name in _TEMPLATE if name in settings.model_args}
    if "reasoning_effort" in settings.generation:
        options["reasoning_effort"] = settings.generation["reasoning_effort"]
    body = settings.generation.get("extra_body")
    given = body.get("chat_template_kwargs") if isinstance(body, Mapping) else None
    return {**options, **(given if isinstance(given, Mapping) else {})}


@cache
def _tokenizer(model: str) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(Path(model).expanduser()) if Path(model).expanduser().exists() else model)


def _tokenized(model: str, template: Mapping[str, Json], row: dict[str, Any]) -> dict[str, Any]:
    """The columns that vLLM's stage reads; on a machine of the cluster."""
    tokenizer, text, plain = _tokenizer(model), row["prompt"], row["plain"]
    if not plain:
        messages = [{"role": "user", "content": text}]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **template)
    return {
        "number": row["number"],
        "tokenized_prompt": tokenizer(text, add_special_tokens=plain)["input_ids"],
        "opened": text.rstrip().endswith("<think>"),
        "sampling_params": row["sampling_params"],
        "max_tokens": row["sampling_params"]["max_tokens"],
    }


def _returned(row: dict[str, Any]) -> dict[str, Any]:
    """The columns of a reply that are read here."""
    names = ("number", "generated_text", "num_input_tokens", "num_generated_tokens", "time_taken_llm", "opened")
    return {name: row[name] for name in (*names, "max_tokens")}


def _tell(job: _Job, row: Mapping[str, Any]) -> None:
    if job.reply.done():  # its request was given up
        return
    if row.get(_ERROR):
        reason = str(row[_ERROR])
        job.reply.set_result(failure_of(None, reason) or Failure("bad", reason))
        return
    text, written = str(row["generated_text"]), int(row["num_generated_tokens"])
    job.reply.set_result(
        Output(
            # Templates of some reasoning models begin the reasoning themselves.
            text=f"<think>{text}" if row["opened"] else text,
            # Ray does not say why vLLM stopped.
            stop="stop" if written < row["max_tokens"] else "max_tokens",
            tokens_in=int(row["num_input_tokens"]),
            tokens_out=written,
            seconds=float(row["time_taken_llm"]),
        )
    )
