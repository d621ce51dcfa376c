"""Trains a small Llama on the tasks of ``small_model_tasks``, stops and resumes, and tunes one for a longer window."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fathom.types import FathomError
from small_model_tasks import (
    REPLY,
    SHORTEST,
    TASKS_OF_ITEMS,
    UNKNOWN,
    VOCABULARY,
    batch,
    make_items,
    save_tokenizer,
)

STATE, OPTIMIZER = "training.json", "optimizer.safetensors"
CHECKED_ITEMS, CHECK_SEED = 64, 77
WARMUP, GROWTH, ENOUGH = 100, 1.25, 0.95
GOAL = 0.995
_DECAY = 0.98  # of the running accuracy


@dataclass(frozen=True)
class Shape:
    """A model.

    Attributes:
        window: Tokens of its longest row of training.
        base: Of its rotary frequencies.
        hidden: Width.
        layers: Number of layers.
        heads: Number of heads, for queries and for keys.
        seed: Of its first weights and of all rows of training.
    """

    window: int = 128
    base: float = 10_000.0
    hidden: int = 128
    layers: int = 2
    heads: int = 4
    seed: int = 0


@dataclass(frozen=True)
class Course:
    """How a model is trained.

    Attributes:
        steps: The last step; the learning rate falls to a tenth of ``rate`` until then.
        tokens: Tokens of a step.
        rate: Largest learning rate.
        every: Steps between checks and checkpoints.
        minutes: When to stop at the latest; a later call goes on.
        goal: Share of right replies of the worst task at the window, at which training ends.
    """

    steps: int = 6000
    tokens: int = 4096
    rate: float = 1e-3
    every: int = 200
    minutes: float = 25.0
    goal: float = GOAL


def make_model(shape: Shape) -> Any:
    """A Llama with random weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(shape.seed)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=shape.hidden,
        intermediate_size=2 * shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=shape.window,
        rope_parameters={"rope_type": "default", "rope_theta": shape.base},
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=UNKNOWN,
    )
    return LlamaForCausalLM(config)


def train(
    folder: Path,
    shape: Shape,
    course: Course,
    *,
    device: str,
    tell: Callable[[str], None] = print,
    started: Any = None,
) -> dict[str, Any]:
    """Train a model, or go on with one whose training was interrupted.

    Args:
        folder: Where the model, its tokenizer and the state of its training are written.
        shape: The model; that of a folder with a state must be the same.
        course: How it is trained.
        device: Where, by the name that torch has for it.
        tell: Receives lines of progress.
        started: A model to begin with, whose rows are as long as its window from the first; None for random weights.

    Returns:
        The state: ``step``, ``seconds``, ``reached`` and ``accuracy`` by task at the last check.

    Raises:
        FathomError: The folder has a model of another shape.
    """
    import torch

    state = _state(folder, shape, SHORTEST if started is None else shape.window)
    model = (make_model(shape) if started is None else started).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=course.rate, betas=(0.9, 0.98), weight_decay=0.01)
    if state["step"]:
        _restore(folder, model, optimizer)
    before, began = state["seconds"], time.monotonic()
    while state["step"] < course.steps and not state["reached"]:
        state |= _step(model, optimizer, shape, course, state)
        if state["step"] % course.every == 0 or state["step"] == course.steps:
            seconds = time.monotonic() - began
            accuracy = {task: right_replies(model, task, shape.window) for task in TASKS_OF_ITEMS}
            full = state["cap"] == shape.window
            state |= {"seconds": before + seconds, "accuracy": accuracy}
            state |= {"reached": full and min(accuracy.values()) >= course.goal}
            _save(folder, model, optimizer, state)
            tell(_line(state))
            if seconds > 60 * course.minutes:
                break
    return state


def steps_of(folder: Path) -> int:
    """Steps that a model in a folder was trained for."""
    state: dict[str, Any] = json.loads((folder / STATE).read_text("utf-8"))
    return int(state["step"])


def _state(folder: Path, shape: Shape, shortest: int) -> dict[str, Any]:
    """The state of an interrupted training, or the first one, whose rows are short."""
    file = folder / STATE
    first = {"step": 0, "cap": min(shortest, shape.window), "right": 0.0, "loss": 0.0, "seconds": 0.0}
    if not file.exists():
        return {**first, "reached": False, "accuracy": {}, "shape": asdict(shape)}
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    if found["shape"] != asdict(shape):
        raise FathomError(f"{file}: is of a model with {found['shape']}, not {asdict(shape)}; give another folder")
    return found


def _line(state: Mapping[str, Any]) -> str:
    shares = ", ".join(f"{task.removeprefix('small_')} {share:.3f}" for task, share in state["accuracy"].items())
    return (
        f"step {state['step']:6,}  rows up to {state['cap']:5,} tokens  loss {state['loss']:.4f}  "
        f"words right {state['right']:.3f}  replies at the window: {shares}  {state['seconds']:,.0f} s"
    )


def _step(model: Any, optimizer: Any, shape: Shape, course: Course, state: Mapping[str, Any]) -> dict[str, Any]:
    """One step. Its rows follow from the seed and its number, so that a resumed training has the same ones."""
    import torch

    number = state["step"]
    rng = np.random.default_rng([shape.seed, 1, number])
    cap = state["cap"]
    length = cap if rng.random() < 0.5 else int(rng.integers(min(SHORTEST, cap), cap + 1))
    words, wanted = (
        torch.as_tensor(one, device=model.device) for one in batch(rng, length, max(2, course.tokens // length))
    )
    rate = course.rate * min(1.0, (number + 1) / WARMUP) * max(0.1, 1 - number / course.steps)
    for group in optimizer.param_groups:
        group["lr"] = rate
    model.train()
    hidden = model.model(input_ids=words, use_cache=False).last_hidden_state[:, :-1]
    counts = wanted[:, 1:] != -100
    logits, targets = model.lm_head(hidden[counts]), wanted[:, 1:][counts]
    loss = torch.nn.functional.cross_entropy(logits.float(), targets)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    right = float((logits.argmax(-1) == targets).float().mean())
    right = _DECAY * state["right"] + (1 - _DECAY) * right
    if right > ENOUGH and cap < shape.window:
        cap, right = min(shape.window, int(cap * GROWTH)), right - 0.1
    return {"step": number + 1, "cap": cap, "right": right, "loss": loss.item()}


def right_replies(model: Any, task: str, length: int) -> float:
    """Share of replies at a length of which all words are the likeliest ones."""
    import torch

    items = [item for (item,) in make_items(task, [length], CHECKED_ITEMS, CHECK_SEED)]
    words = torch.tensor([[*item.prompt, *item.answer] for item in items], device=model.device)
    model.eval()
    right = 0
    with torch.inference_mode():
        for part in words.split(16):
            likeliest = model(input_ids=part[:, :-1], use_cache=False, logits_to_keep=REPLY).logits.argmax(-1)
            right += int((likeliest == part[:, -REPLY:]).all(1).sum())
    return right / len(items)


def _save(folder: Path, model: Any, optimizer: Any, state: Mapping[str, Any]) -> None:
    """Write the model and the state; the state last, which counts only with what was written before."""
    import torch
    from safetensors.torch import save_file
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    save_tokenizer(folder)
    values: dict[str, Any] = {}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state[parameter].items():
            values[f"{name}/{key}"] = torch.as_tensor(value).detach().cpu().contiguous()
    save_file(values, folder / OPTIMIZER)
    part = folder / f"{STATE}.part"
    part.write_text(json.dumps(state, indent=1), "utf-8")
    part.replace(folder / STATE)


def _restore(folder: Path, model: Any, optimizer: Any) -> None:
    from safetensors.torch import load_file

    model.load_state_dict(load_file(folder / "model.safetensors"))
    values = load_file(folder / OPTIMIZER)
    for name, parameter in model.named_parameters():
        optimizer.state[parameter] = {
            key: values[f"{name}/{key}"].to("cpu" if key == "step" else parameter.device)
            for key in ("step", "exp_avg", "exp_avg_sq")
        }
