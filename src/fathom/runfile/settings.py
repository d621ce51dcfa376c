"""Settings of a run, as users give them: groups of options, which the engine takes whole."""

from typing import Annotated, Literal, TypeAlias

from fathom.models.settings import (
    Backoff,
    BaseUrl,
    Generation,
    Limits,
    ModelArgs,
    Reasoning,
    ReasoningEffort,
    ReasoningTokens,
    Sampling,
    Served,
    Step,
)
from fathom.options.declare import Options, Read, at_least, given, opt, unset
from fathom.options.values import MaybePath, Names, temperature_or_default
from fathom.suites.settings import Lengths, Where
from fathom.types.choices import Method

Tasks: TypeAlias = Annotated[Names, opt("Only these tasks, separated by commas.")]
Epochs: TypeAlias = Annotated[int, opt("How often each sample is asked.", check=at_least(1))]
Limit: TypeAlias = Annotated[int | None, opt("Samples per task, language and length.", check=at_least(1))]
Subset: TypeAlias = Annotated[MaybePath, opt("Subset file: only its samples or items.")]


class Choice(Options, kw_only=True):
    """Samples."""

    lengths: Lengths = unset
    tasks: Tasks = unset
    limit: Limit = None
    epochs: Epochs = 1
    subset: Subset = unset
    where: Where = unset


class SystemSettings(Options, kw_only=True):
    """Options."""

    system: Annotated[
        str,
        opt(
            "A system around the model: whole, or for instance retrieval?top=8, which sends only the passages that "
            "resemble the question. `fathom lab methods` lists them.",
            metavar="NAME",
        ),
    ] = "whole"
    embedding_base_url: Annotated[
        str | None,
        opt("Address of the server of --system retrieval?by=embed/NAME; by default OpenAI's.", metavar="URL"),
    ] = None
    batch: Annotated[
        bool,
        opt(
            "Send the requests through the provider's batch API, at half the price and answered within 24 hours. The "
            "same command collects them after an interruption."
        ),
    ] = False
    backoff: Backoff = 1.0


class RunSettings(SystemSettings, Choice, Sampling, Served, Reasoning, Limits, kw_only=True):
    """All settings of a run: which samples are asked, how, and up to which limits."""


class JudgeSettings(Limits, kw_only=True):
    """Options."""

    model_base_url: Annotated[BaseUrl, opt(flag="--judge-base-url")] = None
    temperature: Annotated[
        Read[float | str | None, float | Literal["default"] | None],
        opt(
            "Sampling temperature; negative leaves it to the provider. Default: 0.",
            metavar="NUMBER",
            read=temperature_or_default,
        ),
    ] = given("default")
    max_output_tokens: Annotated[
        int | None,
        opt(
            "Cap on every reply of the judge; by default 1024, with room for reasoning.",
            metavar="TOKENS",
            check=at_least(1),
        ),
    ] = None
    reasoning_effort: ReasoningEffort = None
    reasoning_tokens: ReasoningTokens = None
    generation: Generation = unset
    model_args: ModelArgs = unset
    again: Annotated[bool, opt("Ask once more for judgements that could not be read.")] = False
    batch: Annotated[
        bool,
        opt(
            "Send the requests through the provider's batch API, at half the price; each step of a rubric is answered "
            "within 24 hours. The same command collects them after an interruption."
        ),
    ] = False
    backoff: Backoff = 1.0


class CaseSettings(JudgeSettings, kw_only=True):
    """Options."""

    model_base_url: BaseUrl = None
    max_output_tokens: Annotated[
        int | None,
        opt("Cap on every reply; by default 1024, with room for reasoning.", metavar="TOKENS", check=at_least(1)),
    ] = None
    again: Annotated[bool, opt("Ask once more where the reply could not be read.")] = False
    batch: Annotated[
        bool,
        opt(
            "Send the requests through the provider's batch API, at half the price; each step is answered within 24 "
            "hours. The same command collects them after an interruption."
        ),
    ] = False


class DraftSettings(CaseSettings, kw_only=True):
    """Options."""

    per_document: Annotated[int, opt("Questions to draft for each document.", check=at_least(1))] = 2
    checker_base_url: Annotated[BaseUrl, opt("Address of the checker's server; default: that of the model.")] = None


class LikelihoodSettings(Limits, kw_only=True):
    """Options."""

    method: Annotated[
        Method,
        opt(
            "orders: the order with the lowest perplexity of all N!. pairs: the most likely chain of segments, from "
            "N^2 + N short texts. gold: of any task, how likely the gold answer is after the prompt; models without a "
            "chat template are measured so."
        ),
    ] = "orders"
    model_base_url: Annotated[
        str | None,
        opt(
            "Address of a server that returns log-probabilities of prompts (see docs/how-to/likelihood.md).",
            metavar="URL",
        ),
    ] = None
    model_args: ModelArgs = unset
    via: Annotated[
        Literal["auto", "echo", "prompt_logprobs"],
        opt("How the server is asked: echo, prompt_logprobs (vLLM), or auto, which tries both.", metavar="WAY"),
    ] = "auto"
    lengths: Lengths = unset
    tasks: Tasks = unset
    limit: Limit = None
    step: Step = None
    most_orders: Annotated[int, opt("With orders: maximum number of orders per question.", check=at_least(1))] = 120
    max_connections: Annotated[
        int, opt("Samples processed in parallel; the texts of one sample are sent in sequence.", check=at_least(1))
    ] = 1
    backoff: Backoff = 1.0
