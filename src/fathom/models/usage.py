"""Token counts from servers: impossible ones are treated as unknown, when written and when read."""

from dataclasses import replace

from fathom.types import Reply

MOST_TOKENS = 1_000_000_000
"""No request has more: larger numbers are server errors, and their sums would overflow."""


def count(value: object) -> int | None:
    """A number of tokens, or None if invalid: a text, a fraction, a negative or an impossibly large number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_TOKENS:
        return None
    return int(value) if value == int(value) else None


def with_counts(reply: Reply) -> Reply:
    """The reply with invalid counts set to None."""
    return replace(
        reply,
        tokens_in=count(reply.tokens_in),
        tokens_out=count(reply.tokens_out),
        tokens_reasoning=count(reply.tokens_reasoning),
        tokens_cached=count(reply.tokens_cached),
        tokens_written=count(reply.tokens_written),
    )


def counted(column: str) -> str:
    """SQL for a column of token counts, NULL if ``count`` would return None."""
    whole = f"typeof({column}) = 'integer' OR (typeof({column}) = 'real' AND {column} = round({column}))"
    return f"CASE WHEN ({whole}) AND {column} BETWEEN 0 AND {MOST_TOKENS} THEN CAST({column} AS INTEGER) END"


def paid(cost: str = "cost", *columns: str) -> str:
    """SQL for the cost of a request, NULL if it was computed from invalid counts."""
    sound = "".join(f" AND ({column} IS NULL OR {counted(column)} IS NOT NULL)" for column in columns)
    return (
        f"CASE WHEN typeof({cost}) IN ('real', 'integer') AND {cost} BETWEEN 0 AND {MOST_TOKENS}{sound} THEN {cost} END"
    )
