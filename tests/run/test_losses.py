"""``fathom lab loss``: the loss of the same texts by the tokens before, of models whose reach is known."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scripted_likelihood import SPACE, LikelihoodServer, answer, tokens_of, written
from scripted_server import Act

from command_line import Call
from fathom import api
from fathom.analysis.losses import compared, parts_of, rises_in
from fathom.lab.losses import LOSSES, Reader, Text, losses_in, measure_losses
from fathom.run.likelihood.tokens import TokenLogprobs
from fathom.types import FathomError

REACH = 373
"""Tokens of the server's own kind, words and spaces, that the shorter model reads well: 187 words."""


def reader(request: Mapping[str, Any]) -> Act:
    """The longer a text, the better a model knows it; the model ``short`` knows nothing beyond its reach."""
    if not request.get("echo"):
        return written(request)
    tokens = tokens_of(request["prompt"])
    luck = random.Random(request["prompt"]).random() / 10
    reach = REACH if request["model"] == "short" else len(tokens)
    words = [-3 - luck + place / 1024 if place < reach else -8 - luck for place in range(1, len(tokens))]
    logprobs = [None, *(SPACE if token.isspace() else known for token, known in zip(tokens[1:], words, strict=True))]
    offsets = list(accumulate(map(len, tokens), initial=0))
    shown = {"tokens": [*tokens, " "], "token_logprobs": [*logprobs, SPACE], "text_offset": offsets}
    return answer({"text": request["prompt"] + " ", "logprobs": shown}, len(tokens))


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    for number in range(5):
        draw = random.Random(number)
        (folder / f"{number}.txt").write_text(" ".join(f"w{draw.randrange(900)}" for _ in range(400 if number else 20)))
    return folder


def test_a_model_that_reads_half_as_far_is_found_out_and_nothing_is_asked_twice(texts: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"length": 375, "tokenizer": "words", "out": tmp_path / "out"}
    with LikelihoodServer(reader) as server:
        asked["model_base_url"] = server.base_url
        api.lab_loss(str(texts), ["openai/long"], **asked)
        found = api.lab_loss(str(texts), ["openai/long", "openai/short"], **asked)
        sent = [text for text in server.texts if len(text) > 100]
    assert len(sent) == 8  # four texts are long enough, and each model reads them once
    assert all(sent.count(text) == 2 for text in sent)
    assert [rise.model for rise in found.rises] == ["openai/short"]
    assert (found.rises[0].after.start, found.rises[0].after.end) == (187, 375)
    by_part = {(point.model, point.end): point for point in found.points}
    short = by_part["openai/short", 375]
    assert short.texts == 4
    assert short.difference is not None
    assert short.difference_low is not None
    assert short.difference_low > 1
    assert by_part["openai/short", 187].difference == pytest.approx(0)
    assert by_part["openai/long", 375].loss < by_part["openai/long", 187].loss
    assert "short" in (tmp_path / "out" / "loss.svg").read_text("utf-8")


def test_the_command_prints_what_python_returns(texts: Path, tmp_path: Path, call: Call) -> None:
    with LikelihoodServer(reader) as server:
        line = ["lab", "loss", str(texts), "-m", "openai/long", "-m", "openai/short", "--length", "375"]
        line += ["--tokenizer", "words", "--model-base-url", server.base_url, "--out", str(tmp_path / "out")]
        code, shown, _ = call(*line)
        assert code == 0
        code, printed, _ = call(*line, "--json")
        assert code == 0
    points = json.loads(printed)["points"]
    assert "openai/short: the loss rises from" in shown
    assert len(points) == 2 * len(parts_of(375))


def test_texts_that_are_too_short_are_refused_with_the_longest(texts: Path, tmp_path: Path) -> None:
    with pytest.raises(FathomError, match=r"no text has 9,000 tokens \(the longest has 400\)"):
        api.lab_loss(str(texts), ["openai/x"], length=9000, tokenizer="words", out=tmp_path, model_base_url="http://x")


def test_another_file_of_this_name_is_not_overwritten(texts: Path, tmp_path: Path) -> None:
    (tmp_path / LOSSES).write_text("my notes")
    with pytest.raises(FathomError, match="remove it"):
        api.lab_loss(str(texts), ["openai/x"], length=100, tokenizer="words", out=tmp_path, model_base_url="http://x")
    assert (tmp_path / LOSSES).read_text() == "my notes"


def test_another_text_server_or_argument_is_measured_anew(tmp_path: Path) -> None:
    class Flat:
        def __init__(self, loss: float) -> None:
            self.loss = loss

        async def score(self, text: str) -> TokenLogprobs:
            return TokenLogprobs(tuple(range(len(text))), (None, *[-self.loss] * (len(text) - 1)))

        async def close(self) -> None:
            pass

    def measured(loss: float, text: str, described: str) -> float:
        reader = Reader("m", lambda: Flat(loss), described)
        (parts,) = measure_losses([reader], [Text("t", text, (4, 8), (4, 4))], tmp_path, lambda *_: None)["m"].values()
        return parts[1]

    assert measured(1, "abcdefgh", "server a") == 1
    assert measured(2, "abcdefgh", "server a") == 1
    assert measured(3, "abcdefgh", "server b") == 3
    assert measured(4, "abcdefgi", "server a") == 4


def test_models_with_other_tokens_are_compared_on_the_same_characters() -> None:
    text = Text("t", "abcdefghijkl", (4, 8, 12), (2, 2, 2))
    letters = TokenLogprobs(tuple(range(12)), (None, *[-1.0] * 11))
    pairs = TokenLogprobs(tuple(range(0, 12, 2)), (None, *[-2.0] * 5))
    assert losses_in(letters, text) == [3.0, 2.0, 2.0]
    assert losses_in(pairs, text) == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("logprob", [None, float("nan"), float("-inf")])
def test_a_part_without_a_finite_loss_is_named(logprob: float | None) -> None:
    with pytest.raises(FathomError, match=r"text t, part 2: .*dtype=float32"):
        losses_in(TokenLogprobs((0, 1, 4), (None, -1.0, logprob)), Text("t", "abcdefgh", (4, 8), (4, 4)))


def test_parts_halve() -> None:
    assert parts_of(8192) == (128, 256, 512, 1024, 2048, 4096, 8192)
    assert len(parts_of(10**6)) == 8


@pytest.mark.slow
def test_a_flat_loss_rises_in_few_of_many_runs() -> None:
    """Eight texts with luck of their own, eight parts, 400 models: the part with the least loss is the lucky one."""
    rng = np.random.default_rng(7)
    losses = 3 + rng.normal(0, 0.3, (400, 8, 1)) + rng.normal(0, 0.2, (400, 8, 8))
    measured = {str(model): {str(t): row.tolist() for t, row in enumerate(texts)} for model, texts in enumerate(losses)}
    ends = parts_of(32768)
    assert len(rises_in(measured, compared(measured, ends))) <= 0.05 * 400
    losses[:, :, 6:] += 1.5
    measured = {str(model): {str(t): row.tolist() for t, row in enumerate(texts)} for model, texts in enumerate(losses)}
    rises = rises_in(measured, compared(measured, ends))
    assert len(rises) > 0.95 * 400
    assert sum(rise.after.start >= ends[5] for rise in rises) > 0.95 * 400


def test_intervals_are_those_of_scipy_and_one_text_has_none() -> None:
    measured = {"a": {"x": [1.0], "y": [2.0], "z": [4.0]}, "b": {"x": [1.5], "y": [2.0], "z": [5.0]}}
    a, b = compared(measured, (128,))
    low, high = stats.t.interval(0.95, 2, loc=7 / 3, scale=stats.sem([1.0, 2.0, 4.0]))
    assert [a.low, a.high] == pytest.approx([low, high])
    low, high = stats.t.interval(0.95, 2, loc=0.5, scale=stats.sem([0.5, 0.0, 1.0]))
    assert [b.difference, b.difference_low, b.difference_high] == pytest.approx([0.5, low, high])
    (alone,) = compared({"a": {"x": [1.0]}}, (128,))
    assert (alone.low, alone.high, alone.difference) == (None, None, None)
    assert rises_in({"a": {"x": [1.0, 9.0]}}, compared({"a": {"x": [1.0, 9.0]}}, (128, 256))) == []
