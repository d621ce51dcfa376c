"""What a method does to the first layer of a small model: how much its heads attend to the tokens just before.

    python performance/small_model_heads.py FOLDER "extend=none" "extend=pi&factor=2" [--lengths 64,128,512]

FOLDER is that of ``extend_small_model.py``, after training. For each method: the mean attention of each head of the
first layer to distances 0 to 3, in prompts of the task that copies a pattern at the first length (not for maps of
positions, which have an attention of their own); and for each task and length the share of replies whose words are all
the likeliest ones after the right words before.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fathom.models.hugging_face import load_model
from small_model_tasks import COPY, TASKS_OF_ITEMS, make_items
from small_model_training import right_replies

ITEMS, SEED, NEAR = 32, 9, 4
BEGIN = 16  # queries before have few tokens to attend to


def near_attention(model: Any, length: int) -> list[list[float]]:
    """Mean attention of each head of the first layer by distance, heads x ``NEAR``."""
    import torch

    items = [item for (item,) in make_items(COPY, [length], ITEMS, SEED)]
    words = torch.tensor([item.prompt for item in items], device=model.device)
    kept = model.config._attn_implementation
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        found = model(input_ids=words, output_attentions=True, use_cache=False).attentions[0]
    model.set_attn_implementation(kept)
    queries = torch.arange(BEGIN, words.shape[1])
    columns = [found[:, :, queries, queries - distance].mean((0, 2)) for distance in range(NEAR)]
    return [[float(one) for one in line] for line in torch.stack(columns, 1)]


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("queries", nargs="+", help="extend=METHOD&OPTION=VALUE")
    parser.add_argument("--lengths", default="64,128,256,512,1024", help="tokens of prompt and reply")
    given = parser.parse_args()
    torch.set_num_threads(1)
    lengths = [int(length) for length in given.lengths.split(",")]
    for query in given.queries:
        loaded = load_model(f"hf/model?{query}", {"model_path": str(given.folder / "model"), "dtype": "float32"})
        print(query)
        own = loaded.extension is None or loaded.extension.attention is None
        for head, shares in enumerate(near_attention(loaded.model, lengths[0]) if own else ()):
            print(f"  head {head}: attention at distances 0 to {NEAR - 1}: {'  '.join(f'{one:.2f}' for one in shares)}")
        for task in TASKS_OF_ITEMS:
            shares = []
            for length in lengths:
                loaded.fit(length)
                shares.append(right_replies(loaded.model, task, length))
            print(f"  {task}: {'  '.join(f'{length} {one:.2f}' for length, one in zip(lengths, shares, strict=True))}")


if __name__ == "__main__":
    main()
