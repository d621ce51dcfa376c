"""Train a checkpoint further so that it reads longer texts, and keep what it can do with short ones.

    python examples/extend_checkpoint.py MODEL --texts TEXTS --method yarn --length 32k --out trained/yarn
    python examples/extend_checkpoint.py MODEL --texts TEXTS --method abf --theta 5e6 --length 32k \
        --instruct chats.jsonl --instruct-steps 200 --out trained/abf

MODEL is a folder in Hugging Face's format, of a model with rotary positions whose configuration has no method yet. It
gets the frequencies of PI, YaRN or ABF (LongLeader, table 7; ``none`` is the control), is trained on plain texts, and
then, with --instruct, on chats, of which only the answers are learned.

TEXTS is a folder. Each file of it (.jsonl with a field ``text`` in each line, or .txt) or folder of files is a source.
Sources keep their shares of all tokens, while texts that are longer than the trained window get --long-share of the
tokens of each source (Fu et al. 2024, "Data engineering for scaling language models to 128K context": per-source length
upsampling). A row has --length tokens: as many texts as fit, the last one cut off.

One text in twenty is held out. Before the training, and at each checkpoint, the loss per token of these is measured
within the trained window. A checkpoint whose loss is more than --short-loss above that of MODEL ends the training with
exit code 3; it is kept in ``refused``, and is no checkpoint. OUT gets ``step-N`` for each checkpoint, which fathom
reads as ``hf/OUT/step-N``, and ``training.json``. The script prints the commands that measure them. Needs torch and
transformers 5.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

METHODS = ("none", "pi", "yarn", "abf")
HELD_OUT = 20
WARMUP = 20
REFUSED = 3


@dataclass(frozen=True)
class Source:
    """Texts as numbers of tokens: those of training, by whether they are longer than the window, and those held out."""

    name: str
    long: tuple[Sequence[int], ...]
    short: tuple[Sequence[int], ...]
    held_out: tuple[Sequence[int], ...]

    @property
    def tokens(self) -> int:
        """Tokens of training."""
        return sum(map(len, (*self.long, *self.short)))


# ---------------------------------------------------------------------------------------------------------------- data


def texts_of(place: Path) -> Iterator[str]:
    """The texts of a file, or of all files of a folder."""
    for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
        if path.suffix == ".jsonl":
            yield from (json.loads(line)["text"] for line in path.read_text("utf-8").splitlines() if line.strip())
        elif path.suffix == ".txt":
            yield path.read_text("utf-8")


def read_sources(folder: Path, tokenizer: Any, window: int) -> list[Source]:
    """The sources of a folder; a source without a text of training is left out."""
    end = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
    sources = []
    for place in sorted(folder.iterdir()):
        texts = [[*tokenizer(text, add_special_tokens=False)["input_ids"], *end] for text in texts_of(place)]
        rest = [text for number, text in enumerate(texts) if number % HELD_OUT]
        long, short = (tuple(text for text in rest if (len(text) > window) is wanted) for wanted in (True, False))
        if rest:
            sources.append(Source(place.name, long, short, tuple(texts[::HELD_OUT])))
    if not sources:
        raise SystemExit(f"{folder}: no source with texts; expected .txt and .jsonl files, or folders of them")
    return sources


def draw_text(rng: np.random.Generator, sources: Sequence[Source], long_share: float) -> Sequence[int]:
    """A text: of a source by its share of all tokens, and long with the probability that gives these their share."""
    sizes = np.array([source.tokens for source in sources], dtype=float)
    source = sources[rng.choice(len(sources), p=sizes / sizes.sum())]
    if source.long and source.short:
        # Texts are drawn one by one, but shares are of tokens: long ones are drawn less often than their share.
        means = [np.mean([len(text) for text in group]) for group in (source.long, source.short)]
        often = [long_share / means[0], (1 - long_share) / means[1]]
        group = source.long if rng.random() < often[0] / sum(often) else source.short
    else:
        group = source.long or source.short
    return group[int(rng.integers(len(group)))]


def draw_row(rng: np.random.Generator, sources: Sequence[Source], length: int, long_share: float) -> list[int]:
    """Texts one after another, ``length`` tokens of them."""
    row: list[int] = []
    while len(row) < length:
        text = draw_text(rng, sources, long_share)
        start = int(rng.integers(len(text) - length + 1)) if len(text) > length else 0
        row += text[start : start + length]
    return row[:length]


def read_chats(path: Path, tokenizer: Any, length: int) -> list[tuple[list[int], list[int]]]:
    """Tokens of each chat, and what is learned of them: the last answer (-100 elsewhere)."""
    chats = []
    for line in path.read_text("utf-8").splitlines():
        messages = json.loads(line)["messages"]
        if tokenizer.chat_template:
            ask = tokenizer.apply_chat_template(messages[:-1], add_generation_prompt=True, tokenize=False)
        else:
            ask = "\n".join(message["content"] for message in messages[:-1]) + "\n"
        asked, answer = (
            tokenizer(text, add_special_tokens=False)["input_ids"] for text in (ask, messages[-1]["content"])
        )
        answer += [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
        if len(asked) + len(answer) <= length:
            chats.append((asked + answer, [-100] * len(asked) + answer))
    if not chats:
        raise SystemExit(f"{path}: no chat fits {length} tokens")
    return chats


# --------------------------------------------------------------------------------------------------------------- model


def rope_of(method: str, factor: float, window: int, theta: float) -> dict[str, Any]:
    """The frequencies of a method, as the configuration of a model of transformers has them."""
    ways: dict[str, dict[str, Any]] = {
        "none": {"rope_type": "default", "rope_theta": theta},
        "abf": {"rope_type": "default", "rope_theta": theta},
        "pi": {"rope_type": "linear", "rope_theta": theta, "factor": factor},
        "yarn": {
            "rope_type": "yarn",
            "rope_theta": theta,
            "factor": factor,
            "original_max_position_embeddings": window,
        },
    }
    return ways[method]


def load(folder: Path, given: argparse.Namespace) -> tuple[Any, Any, int]:
    """The model with the frequencies of the method, its tokenizer, and the window that it was trained with."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    config = AutoConfig.from_pretrained(folder)
    window, rope = config.max_position_embeddings, config.rope_parameters
    if rope["rope_type"] != "default":
        raise SystemExit(f"{folder}: its frequencies are those of {rope['rope_type']} already")
    if given.method == "abf" and given.theta is None:
        raise SystemExit("--method abf: say with --theta which base the model gets")
    theta = given.theta if given.method == "abf" else rope["rope_theta"]
    config.rope_parameters = rope_of(given.method, given.length / window, window, theta)
    config.max_position_embeddings = max(window, given.length)
    dtype = torch.float32 if given.device == "cpu" else torch.bfloat16
    model = AutoModelForCausalLM.from_pretrained(folder, config=config, dtype=dtype).to(given.device)
    if given.device != "cpu":
        model.gradient_checkpointing_enable()
    return model, AutoTokenizer.from_pretrained(folder), window


def loss_of(model: Any, rows: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]] | None = None) -> Any:
    """The mean loss per token of rows, each computed by itself."""
    import torch

    losses = []
    for row, labels in zip(rows, wanted or rows, strict=True):
        tokens, targets = (torch.tensor([list(one)], device=model.device) for one in (row, labels))
        losses.append(model(input_ids=tokens, labels=targets, use_cache=False).loss)
    return torch.stack(losses).mean()


def short_loss(model: Any, sources: Sequence[Source], window: int, most: int) -> float:
    """The loss per token of held-out texts within the trained window."""
    import torch

    rows = [text[:window] for source in sources for text in source.held_out[:most] if len(text) > 1]
    if not rows:
        raise SystemExit("no text is held out, so that the loss of short texts cannot be watched")
    model.eval()
    with torch.inference_mode():
        return float(loss_of(model, rows))


# ------------------------------------------------------------------------------------------------------------ training


def train(model: Any, tokenizer: Any, sources: Sequence[Source], window: int, given: argparse.Namespace) -> int:
    """Train, with a checkpoint at each of ``--save``; 0, or 3 if one lost too much within the window."""
    import torch

    rng = np.random.default_rng(given.seed)
    chats = read_chats(given.instruct, tokenizer, given.length) if given.instruct else []
    last = given.steps + (given.instruct_steps if chats else 0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=given.rate, betas=(0.9, 0.95), weight_decay=0.0)
    record: dict[str, Any] = {"method": given.method, "length": given.length, "short": [[0, given.base]], "losses": []}
    began = time.monotonic()
    for step in range(1, last + 1):
        rows = max(1, given.tokens // given.length)
        if step <= given.steps:
            texts = [draw_row(rng, sources, given.length, given.long_share) for _ in range(rows)]
            pairs: list[tuple[Sequence[int], Sequence[int]]] = [(text, text) for text in texts]
        else:
            pairs = [chats[int(rng.integers(len(chats)))] for _ in range(rows)]
        model.train()
        for group in optimizer.param_groups:
            group["lr"] = given.rate * min(1.0, step / WARMUP)
        for pair in pairs:  # one row at a time, so that memory is that of one
            loss = loss_of(model, [pair[0]], [pair[1]]) / len(pairs)
            loss.backward()
            record["losses"].append(round(loss.item() * len(pairs), 4))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step in given.save or step == last:
            now = short_loss(model, sources, window, given.watched)
            record["short"].append([step, now])
            refused = now > given.base + given.short_loss
            keep(model, tokenizer, given.out / ("refused" if refused else f"step-{step}"))
            (given.out / "training.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
            tell(f"step {step}: short texts {now:.3f} (was {given.base:.3f}), {time.monotonic() - began:,.0f} s")
            if refused:
                tell(f"the loss of short texts rose by more than {given.short_loss:g}: lower --rate or --long-share")
                return REFUSED
    return 0


def keep(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a checkpoint as a folder of Hugging Face's format."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def tell(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def commands(given: argparse.Namespace, steps: Mapping[int, Path]) -> Iterator[str]:
    """What measures the checkpoints."""
    label = given.method
    for step, place in steps.items():
        yield f"fathom lab diagnose hf/{place} SUITE --label {label} --step {step} --out diagnosed/{label}-{step}"
    yield f"fathom report diagnosed/{label}-*/run --out recovery.html"
    last = max(steps)
    trained = f"hf/{steps[last]}: {label}, {last} steps"
    yield f"fathom lab compare SUITE --model hf/{given.model} --setup yarn --trained '{trained}' --out lab"


def number_of(text: str) -> int:
    """A number of tokens: 32k is 32,768."""
    return int(text.removesuffix("k")) * (1024 if text.endswith("k") else 1)


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The options, with the defaults of this machine."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--method", choices=METHODS, default="yarn")
    parser.add_argument("--length", type=number_of, required=True, help="tokens of a row: the window to be")
    parser.add_argument("--theta", type=float, help="the base of abf")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--tokens", type=number_of, default=128 * 1024, help="tokens of a step")
    parser.add_argument("--rate", type=float, default=2e-5)
    parser.add_argument("--long-share", type=float, default=0.7, help="of the tokens of a source")
    parser.add_argument("--save", type=lambda text: {int(part) for part in text.split(",")}, default=set())
    parser.add_argument("--instruct", type=Path, help="JSONL with `messages` in each line")
    parser.add_argument("--instruct-steps", type=int, default=100)
    parser.add_argument("--short-loss", type=float, default=0.05, help="largest rise of the loss per token, in nats")
    parser.add_argument("--watched", type=int, default=8, help="held-out texts of each source")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Train, and print what measures the checkpoints."""
    from transformers import AutoModelForCausalLM

    given = arguments(words)
    model, tokenizer, window = load(given.model, given)
    sources = read_sources(given.texts, tokenizer, window)
    for source in sources:
        tell(
            f"{source.name}: {source.tokens:,} tokens, {len(source.long)} texts beyond {window:,}, "
            f"{len(source.short)} within"
        )
    before = AutoModelForCausalLM.from_pretrained(given.model, dtype=model.dtype).to(given.device)
    given.base = short_loss(before, sources, window, given.watched)
    del before
    given.out.mkdir(parents=True, exist_ok=True)
    code = train(model, tokenizer, sources, window, given)
    steps = {int(place.name.removeprefix("step-")): place for place in given.out.glob("step-*")}
    for line in commands(given, dict(sorted(steps.items()))) if steps else ():
        tell(line)
    return code


if __name__ == "__main__":
    sys.exit(main())
