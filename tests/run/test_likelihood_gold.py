"""The likelihood of gold answers: of any task, with its context and without."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scripted_likelihood import LikelihoodServer, answer, tokens_of, written
from scripted_server import Act

from engine_calls import likelihood
from fathom import api
from fathom.analysis import recovery
from fathom.rows import load
from fathom.rows.scoring import score_of_likelihood
from fathom.run import replies
from fathom.run.likelihood.client import continued
from fathom.types import FathomError, Sample
from stored_replies import stored

pytestmark = pytest.mark.slow

SEEN, NEW = -0.1, -3.0
SAMPLE = Sample("kv/0@2048", "kv/0", "kv", (), ("blue",), 2048, 2048)


def copying(request: Mapping[str, Any]) -> Act:
    """A model that finds likely what it has read in the last 1,200 words, and nothing else."""
    if not request.get("echo"):
        return written(request)
    tokens = tokens_of(request["prompt"])
    words = [token.strip(".,?:") for token in tokens]
    logprobs, last = list[float | None](), dict[str, int]()
    for place, word in enumerate(words):
        logprobs.append(None if place == 0 else SEEN if place - last.get(word, -math.inf) <= 2400 else NEW)
        last[word] = place
    offsets = list(accumulate(map(len, tokens), initial=0))
    shown = {"tokens": [*tokens, " "], "token_logprobs": [*logprobs, NEW], "text_offset": offsets}
    return answer({"text": request["prompt"] + " ", "logprobs": shown}, len(tokens))


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gold") / "suite"
    options: dict[str, Any] = {"closed_book": True, "alone": True, "padded": 0.5, "depths": "front"}
    api.build("passkey,single_doc_qa", folder, lengths="1k,4k", items=6, **options)
    return folder


@pytest.fixture(scope="module")
def run(suite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run")
    with LikelihoodServer(copying) as server:
        likelihood(suite, "openai/copying", out=out, method="gold", model_base_url=server.base_url)
    return out


def test_every_sample_gets_the_mean_probability_of_its_answers_tokens(suite: Path, run: Path) -> None:
    rows = load([run])
    assert len(rows) == sum(json.loads((suite / "manifest.json").read_text())["samples"].values())
    passkeys = rows.filter(pl.col("task") == "passkey", pl.col("length") == 1024)
    assert passkeys["value"].to_list() == pytest.approx([math.exp(SEEN)] * len(passkeys))
    assert set(rows["variant"]) == {"likelihood, gold"}
    assert set(rows["metric"]) == {"likelihood of the gold answer"}
    for reply in list(replies(run))[:5]:
        assert json.loads(reply.reply.text)["method"] == "gold"


def test_recovery_by_likelihood_sees_the_window_of_the_model(run: Path) -> None:
    found = {(one.task, one.length): one for one in recovery(load([run]))}
    short, long = found["passkey", 1024].recovery, found["passkey", 4096].recovery
    assert short is not None
    assert long is not None
    assert short.value == pytest.approx(1)
    assert long.value < 0.2


def test_a_space_stands_before_an_answer_where_a_word_would_follow_without() -> None:
    assert continued("Answer:", "yes") == "Answer: yes"
    assert continued("Answer: ", "yes") == "Answer: yes"
    assert continued("答案：", "是") == "答案：是"
    assert continued("", "yes") == "yes"


def test_likelihoods_of_gold_answers_are_bundled_for_no_board(run: Path, tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="are not answers"):
        api.board_bundle([run], tmp_path / "bundle.zip")


def test_a_log_probability_that_is_no_number_is_no_score() -> None:
    for logprob in (math.nan, -math.inf, None):
        text = json.dumps({"method": "gold", "logprob": logprob, "tokens": 3})
        assert score_of_likelihood(stored(SAMPLE, text)).score.value is None
