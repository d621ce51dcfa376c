"""Names of models in tiers: as papers write them, without their providers."""

from __future__ import annotations

import pytest
from simulated import row

from fathom.analysis.difficulty import models_of
from fathom.analysis.questions import asked
from fathom.rows import to_frame
from fathom.types import FathomError

TIERS = {"high": ("GPT-5",), "mid": ("lab/GPT-4o",), "low": ("small",)}


def test_a_model_is_found_by_the_last_part_of_its_name() -> None:
    known = asked(to_frame(row(1.0, model=name) for name in ("openai/GPT-5", "lab/GPT-4o", "a/b/small")))
    chosen = models_of(TIERS, known)
    assert [one.model for models in chosen.values() for one in models] == ["openai/GPT-5", "lab/GPT-4o", "a/b/small"]


def test_a_last_part_that_two_models_share_is_refused() -> None:
    known = asked(to_frame(row(1.0, model=name) for name in ("openai/GPT-5", "azure/GPT-5", "lab/GPT-4o", "small")))
    with pytest.raises(FathomError, match=r"'azure/GPT-5', 'openai/GPT-5'|'openai/GPT-5', 'azure/GPT-5'"):
        models_of(TIERS, known)


def test_without_any_reply_it_is_said_why() -> None:
    with pytest.raises(FathomError, match="no reply of model 'GPT-5', or of any other, has a score"):
        models_of(TIERS, [])


def test_a_variant_is_found_without_its_provider_too() -> None:
    known = asked(to_frame(row(1.0, model="lab/a", variant=name) for name in ("thinking", "non-thinking")))
    (one,) = models_of({"high": ("a · thinking",)}, known)["high"]
    assert (one.model, one.variant) == ("lab/a", "thinking")
    with pytest.raises(FathomError, match="several variants"):
        models_of({"high": ("a",)}, known)
