"""A realistic table of rows: three readers with different windows, six tasks, eight lengths, some failures."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from fathom.rows import to_frame
from fathom.types import Row, Status

LENGTHS = (1024, 2048, 4096, 6144, 8192, 16384, 32768, 65536)
CHANCE = {
    "kv_retrieval": 0.0,
    "counting_stars": 0.2,
    "passkey": 0.0,
    "passage_count": 0.02,
    "passage_retrieval": 0.05,
    "single_doc_qa": 0.0,
}
TASKS = tuple(CHANCE)
# model, variant, window in tokens, ability at short lengths, price in dollars per million prompt tokens
READERS = (
    ("acme/long-1", "thinking", 48_000, 0.96, 2.5),
    ("fathom/lexical?window=8k", "", 8_192, 0.93, None),
    ("orca/small-7b", "", 20_000, 0.72, 0.2),
)
OTHERS = tuple((f"lab-{n % 5}/model-{n}", "", 4_000 * (n + 1), 0.5 + 0.02 * n, 1.0) for n in range(30))


def make_rows(
    *,
    models: int = 3,
    tasks: int = 6,
    lengths: Sequence[int] = LENGTHS,
    items: int = 20,
    depths: bool = True,
    failures: bool = True,
    seed: int = 7,
) -> pl.DataFrame:
    """A table of rows as ``fathom rows`` writes it; the first three models are those of ``READERS``."""
    rng = np.random.default_rng(seed)
    readers = (*READERS, *OTHERS)[:models]
    names = [*TASKS, *(f"extra_task_{n}" for n in range(tasks))][:tasks]
    found = []
    for model, variant, window, ability, price in readers:
        for task in names:
            for number in range(items):
                luck, depth = rng.random(), float(rng.random())
                for length in lengths:
                    status = _status(rng.random(), model) if failures else "ok"
                    if failures and model == "orca/small-7b" and length > 32_768:
                        status = "overflow"
                    said = status == "ok" or (status == "incomplete" and number % 2 == 0)
                    value = _value(task, luck, ability, length, window, rng) if said else None
                    facets = {"depth": round(depth, 3)} if depths and task in ("kv_retrieval", "passkey") else {}
                    cut = max(0, length - window) if "?" in model else 0
                    row = _row(model, variant, task, number, length, value, status, price)
                    found.append(dataclasses.replace(row, facets=facets, truncated=cut))
    return to_frame(found)


def with_cuts(rows: pl.DataFrame, lengths: Sequence[int] = (1024, 4096)) -> pl.DataFrame:
    """The rows, and beside those of the longest length the same prompts cut, of which every other one fails."""
    full = max(rows["length"].to_list())
    whole = rows.filter(pl.col("length") == full)
    cuts = [
        whole.with_columns(
            length=pl.lit(length, pl.Int64),
            sample=pl.col("sample") + f"/cut{length}",
            tokens=pl.lit(length, pl.Int64),
            facets=pl.col("facets")
            .str.replace(r"^\{", f'{{"cut_from": {full}, ')
            .str.replace(", }", "}", literal=True),
            value=pl.when(pl.int_range(pl.len()) % 2 == 0).then(0.0).otherwise("value"),
        )
        for length in lengths
    ]
    return pl.concat([rows, *cuts])


def with_evidence_alone(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows, and beside those of the shortest length the same questions over their evidence alone, all right."""
    whole = rows.filter(pl.col("length") == rows["length"].min())
    alone = whole.with_columns(
        length=pl.lit(0, pl.Int64),
        sample=pl.col("sample") + "@alone",
        facets=pl.col("facets").str.replace(r"^\{", '{"context": "alone", ').str.replace(", }", "}", literal=True),
        value=pl.lit(1.0),
    )
    return pl.concat([rows, alone])


def _status(draw: float, model: str) -> Status:
    """Requests fail with one model only: a cell of so few items has no score where one of them is missing."""
    failed: Status = "error" if model == "orca/small-7b" else "ok"
    return failed if draw < 0.004 else "incomplete" if draw < 0.012 else "refused" if draw < 0.014 else "ok"


def _value(task: str, luck: float, ability: float, length: int, window: int, rng: np.random.Generator) -> float:
    chance = CHANCE.get(task, 0.1)
    hard = 0.2 if task == "passage_count" else 1.0
    fade = 1 / (1 + math.exp(4 * (math.log2(length) - math.log2(window) - 0.3)))
    right = chance + (ability * hard - chance) * (1 - 0.03 * math.log2(length / 512)) * fade
    if task == "single_doc_qa":
        return float(np.clip(right * rng.beta(6, 2), 0, 1))
    return float(luck * 0.7 + rng.random() * 0.3 < right)


def _row(
    model: str,
    variant: str,
    task: str,
    number: int,
    length: int,
    value: float | None,
    status: Status,
    price: float | None,
) -> Row:
    reached = status != "overflow"
    return Row(
        suite="first-light",
        task=task,
        item=f"{task}-{number}",
        sample=f"{task}-{number}@{length}",
        model=model,
        length=length,
        value=value,
        variant=variant,
        valid=value is not None and (number + length // 1024) % 17 != 0,
        status=status,
        stop="stop" if status == "ok" else "",
        answer="7" if status == "ok" else None,
        target="7",
        chance=CHANCE.get(task, 0.1),
        tokens=length - number % 9,
        tokens_in=length + 11 if reached else None,
        tokens_out=40 if reached else None,
        tokens_reasoning=220 if variant and reached else None,
        cost=length * price / 1e6 if price is not None and reached else None,
        seconds=0.4 + length / 9000 if reached else None,
        metric="exact" if task != "single_doc_qa" else "token_f1",
        grader="rule",
        tokenizer="tekken",
        prompt_hash="0" * 16,
        fathom_version="0.1.0",
    )
