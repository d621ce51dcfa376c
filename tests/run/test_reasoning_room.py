"""Models that reason get room for it in the output caps of all tasks, whatever provider they are asked through."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from run_suites import make_suite
from scripted_server import ScriptedServer, completion

from engine_calls import run
from fathom.models.model_settings import model_table, reasoning_settings
from fathom.models.prices import find_price
from fathom.models.protocol import Settings
from fathom.models.request_mode import request_modes
from fathom.run import read_manifest, replies
from fathom.run.preflight import REASONING_ALLOWANCE, output_caps, reasons, sent_cap
from fathom.suites.registry import get_task, suites, tasks
from fathom.types import FathomError, Json

# Inspect calls tenacity in a way that tenacity's newest release deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

REASONERS = [name for name, entry in model_table().items() if entry.by_default]
WAYS = (
    "openrouter/deepseek/{}",
    "openrouter/x/{}:free",
    "together/deepseek-ai/{}",
    "vllm/{}",
    "openai/{}-AWQ",
    "hf//models/{}",
    "ollama/{}-q4_K_M",
)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def own_cap(task: str) -> int:
    return get_task(task).max_output_tokens


def test_the_table_names_models_that_reason() -> None:
    assert {"DeepSeek-R1", "DeepSeek-R1-0528", "GPT-5", "Qwen3-32B", "Gemini-2.5-Flash", "GLM-4.6"} <= set(REASONERS)
    assert not {"GPT-4o", "DeepSeek-V3.1", "Claude-4-Sonnet", "Qwen3-4B-Instruct-2507"} & set(REASONERS)


@pytest.mark.parametrize("name", REASONERS)
def test_the_cap_of_every_task_of_every_suite_has_room(name: str) -> None:
    assert suites()
    for way in WAYS:
        settings = Settings(way.format(name.lower()))
        price = find_price(settings.model)
        sent, caps = sent_cap(settings, price), output_caps(settings, price, own_cap)
        assert reasons(settings, price)
        mode = request_modes("always", reasons=True, sent=sent)
        for task in tasks().values():
            assert caps(task.name) == task.max_output_tokens + REASONING_ALLOWANCE
            # Stop texts would end the reasoning; a reply at the cap is not one of the task's own cap.
            assert mode(task.name).stop_sent == ()
            assert not mode(task.name).capped
            for cap, own in zip(mode(task.name).caps(caps(task.name))[1:], (task.follow_up_tokens,), strict=False):
                assert cap == (own or task.max_output_tokens) + REASONING_ALLOWANCE


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("ollama/deepseek-r1:32b", "DeepSeek-R1"),
        ("vllm/deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "DeepSeek-R1"),
        ("ollama/qwen3:32b", "Qwen3-32B"),
        ("openai/gpt-5-2025-08-07", "GPT-5"),
        ("vllm/Qwen/Qwen3-4B-Instruct-2507-FP8", None),
        ("openai/gpt-4o", None),
        ("openai/gpt-50", None),
        ("openai/my-model", None),
        ("openai/gpt", None),
        ("x/", None),
    ],
)
def test_names_may_continue_after_that_of_an_entry(model: str, known: str | None) -> None:
    assert reasoning_settings(model) == (None if known is None else model_table()[known])


@pytest.mark.parametrize(
    ("options", "room"),
    [
        ({"model": "vllm/DeepSeek-R1"}, True),
        ({"model": "vllm/DeepSeek-R1", "kind": "instruct"}, False),
        ({"model": "openai/my-model"}, False),
        ({"model": "openai/my-model", "kind": "thinking"}, True),
        ({"model": "openai/my-model", "kind": "mixed"}, True),
        ({"model": "vllm/Qwen3-32B", "generation": {"reasoning_effort": "none"}}, False),
        ({"model": "hf/Qwen/Qwen3-32B", "model_args": {"enable_thinking": False}}, False),
        ({"model": "openai/my-model", "kind": "instruct", "generation": {"reasoning_effort": "low"}}, True),
    ],
)
def test_the_user_has_the_last_word(options: dict[str, object], room: bool) -> None:
    settings = Settings(**options)  # type: ignore[arg-type]
    assert sent_cap(settings, find_price(settings.model))(3) == 3 + room * REASONING_ALLOWANCE


def go(suite: Path, server: ScriptedServer, out: Path, model: str, **options: Json) -> dict[str, object]:
    run(suite, model, out=out, model_base_url=server.base_url, backoff=0.002, **options)
    return server.requests[-1]


@pytest.mark.slow
def test_a_run_sends_the_room_and_the_temperature_of_the_table(tmp_path: Path, server: ScriptedServer) -> None:
    suite = make_suite(tmp_path, 1, tasks=("leader_code_debug",))
    own = own_cap("leader_code_debug")
    sent = go(suite, server, tmp_path / "r1", "openai/deepseek-r1")
    assert (sent["max_tokens"], sent["temperature"]) == (own + REASONING_ALLOWANCE, 0.6)
    sent = go(suite, server, tmp_path / "given", "openai/deepseek-r1", temperature=0.0, max_output_tokens=99)
    assert (sent["max_tokens"], sent["temperature"]) == (99, 0)
    sent = go(suite, server, tmp_path / "other", "openai/my-model")
    assert (sent["max_tokens"], sent["temperature"]) == (own, 0)
    sent = go(suite, server, tmp_path / "said", "openai/my-model", model_kind="thinking")
    assert (sent["max_tokens"], sent["temperature"]) == (own + REASONING_ALLOWANCE, 0)
    assert read_manifest(tmp_path / "said")["model_kind"] == "thinking"
    with pytest.raises(FathomError, match=r"this folder holds a run with `model_kind` = None"):
        go(suite, server, tmp_path / "other", "openai/my-model", model_kind="thinking")


def test_replies_that_end_in_reasoning_name_the_option(tmp_path: Path, server: ScriptedServer) -> None:
    server.script = lambda number, before: completion("<think>The ferry", finish="length")
    suite = make_suite(tmp_path, 2)
    summary = run(suite, "openai/my-model", out=tmp_path / "run", model_base_url=server.base_url)
    assert {row.reply.status for row in replies(tmp_path / "run")} == {"incomplete"}
    assert "the model reasons: use --model-kind thinking, in another run folder" in summary.hints[0]
    summary = run(
        suite, "openai/my-model", out=tmp_path / "again", model_base_url=server.base_url, model_kind="thinking"
    )
    assert "raise --max-output-tokens" in summary.hints[0]


@pytest.mark.parametrize(
    ("model", "given", "expected"),
    [
        ("openrouter/deepseek/deepseek-r1", None, {"max_tokens": own_cap("leader_code_debug") + REASONING_ALLOWANCE}),
        ("openrouter/deepseek/deepseek-r1", 50, {}),
        ("openai/my-model", None, {}),
    ],
)
def test_inspect_gets_the_room_too(model: str, given: int | None, expected: dict[str, int]) -> None:
    from inspect_ai.model import GenerateConfig, ModelName
    from inspect_ai.model._generate_config import set_active_generate_config
    from inspect_ai.solver import TaskState

    from fathom.run.inspect_tasks import asked_with_room

    asked: list[object] = []

    async def generate(state: TaskState, **options: object) -> TaskState:
        asked.append(options)
        return state

    async def solve() -> None:
        set_active_generate_config(GenerateConfig(max_tokens=given))
        state = TaskState(ModelName(model), "1", 1, "Which?", [])
        await asked_with_room("leader_code_debug")(state, generate)  # type: ignore[arg-type]

    asyncio.run(solve())
    assert asked == [expected]
