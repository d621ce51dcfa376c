"""What the configuration of a model in this process says of its window."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fathom.models.hugging_face import window_words


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"max_position_embeddings": 8192}, "8,192 tokens by its configuration"),
        ({}, ""),
        (
            {
                "max_position_embeddings": 32768,
                "rope_parameters": {
                    "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768, "rope_theta": 1e6,
                },
            },
            "131,072 tokens by its configuration; with rope_type yarn and factor 4",
        ),
        (
            {"max_position_embeddings": 4096, "rope_scaling": {"type": "linear", "factor": 4.0}},
            "4,096 tokens by its configuration; with rope_type linear and factor 4; if they are those of the "
            "pretraining, give --window 16384",
        ),
        (
            {"max_position_embeddings": 32768, "sliding_window": 4096, "layer_types": ["sliding_attention"] * 3},
            "32,768 tokens by its configuration; 3 of its 3 layers see only the last 4,096 tokens",
        ),
        (
            {"max_position_embeddings": 32768, "sliding_window": 4096, "layer_types": ["full_attention"] * 3},
            "32,768 tokens by its configuration",
        ),
        (
            {"max_position_embeddings": 32768, "sliding_window": 4096},
            "32,768 tokens by its configuration; its layers see only the last 4,096 tokens",
        ),
    ],
)  # fmt: skip
def test_a_configuration_says_its_window_its_scaling_and_layers_that_see_less(
    config: dict[str, Any], words: str
) -> None:
    assert window_words(SimpleNamespace(**config)) == words
