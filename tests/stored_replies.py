"""Replies as a run's store holds them, for tests of scoring."""

from __future__ import annotations

from fathom.runfile.store import StoredReply
from fathom.types import Reply, Sample


def stored(sample: Sample, text: str) -> StoredReply:
    """A whole reply to a sample."""
    return StoredReply(
        sample=sample.id,
        item=sample.item,
        task=sample.task,
        length=sample.length,
        tokens=sample.tokens,
        language=sample.language,
        chance=sample.chance,
        targets=sample.targets,
        facets=dict(sample.facets),
        inputs=dict(sample.inputs),
        asked=sample.asked,
        epoch=1,
        reply=Reply("ok", text),
        prompt_hash="",
        cost=None,
        finished_at=0.0,
        fathom_version="0",
    )
