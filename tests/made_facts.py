"""Rows about facts of conversations, from a system that keeps a known share of them at each compaction."""

from __future__ import annotations

from random import Random

from fathom.types import Row


def rows_of(variant: str, kept: float, rng: Random, *, conversations: int = 30, fresh: float = 1.0) -> list[Row]:
    """Rows of a system that keeps a share of its facts at each compaction, eight facts in each conversation."""
    rows = []
    for item in range(conversations):
        for question in range(8):
            compactions = question // 2
            right = rng.random() < fresh * kept**compactions
            rows.append(
                Row(
                    suite="memory",
                    task="memory_facts",
                    item=f"i{item}",
                    sample=f"i{item}/q{question}",
                    model="m",
                    variant=variant,
                    length=8192,
                    value=float(right),
                    valid=True,
                    tokens_in=1000 + 100 * compactions,
                    cost=0.01,
                    facets={
                        "kind": "rule" if question % 2 else "date",
                        "age": 900 << compactions,
                        "compactions": compactions,
                    },
                )
            )
    return rows
