"""What sections 4, 5.5 and 5.6 of the LongBench Pro paper print, recomputed from the 80 published summaries.

    fathom rows --from longbench-pro LongBench-Pro/output --out published.parquet
    python performance/pro_paper.py published.parquet

The "mainstream" models of figures 7 to 9 are not named in the text. With `MODELS`, one of each maker, the averages of
section 5.5 and both ends of the gap in section 5.6 come out as printed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

from fathom.analysis import GroupScore
from fathom.analysis.breakdown import breakdown
from fathom.benchmarks.pro.secondary_tasks import QUESTIONS
from fathom.rows import read_rows

MODELS = (
    "Gemini-2.5-Pro",
    "GPT-5",
    "Claude-4-Sonnet",
    "DeepSeek-V3.2",
    "Qwen3-235B-A22B-Thinking-2507",
    "GLM-4.6",
    "Kimi-K2-Instruct-0905",
    "MiniMax-M2",
    "Ministral-3-14B-Instruct-2512",
    "Llama-3.1-405B-Instruct",
)
PRINTED = {"T1": "above 80", "T2": "above 80", "T3": "below 55", "T4": "below 55", "T5": "63.47", "T6": "57.72",
           "T7": "below 49", "T8": "around 60", "T9": "around 60", "T10": "around 60", "T11": "below 49"}  # fmt: skip


def table(scores: list[GroupScore], dimension: str) -> pl.DataFrame:
    """Scores in percent: a row for each model and mode, a column for each group."""
    rows = [
        (score.model, score.variant, score.group.partition(".")[0], 100 * score.score)
        for score in scores
        if score.dimension == dimension
    ]
    frame = pl.DataFrame(rows, ["model", "variant", "group", "score"], orient="row")
    return frame.pivot("group", index=["model", "variant"], values="score")


def main() -> None:
    dimensions = ("overall", "difficulty", "contextual_requirement", "primary_task")
    scores = breakdown(read_rows(Path(sys.argv[1])), by=dimensions)
    noted = {(score.model, score.variant) for score in scores if score.note}
    overall, levels = table(scores, "overall"), table(scores, "difficulty")
    print("figure 4, questions of each group")
    for name, groups in QUESTIONS.items():
        numbers = [f"{group.partition('.')[0]} {number}" for group, number in groups.items()]
        print(f"  {name}: {', '.join(numbers)}")
    whole = [(row["model"], row["variant"]) not in noted for row in overall.iter_rows(named=True)]
    names = list(QUESTIONS["difficulty"])
    wanted, known = overall["all"].to_numpy()[whole], levels.select(names).to_numpy()[whole]
    counts, _, rank, _ = np.linalg.lstsq(known, 1500 * wanted, rcond=None)
    solved = ", ".join(f"{name} {count:.3f}" for name, count in zip(names, counts, strict=True))
    print(f"  difficulty solved from {sum(whole)} summaries (rank {rank}): {solved}; left out: {sorted(noted)}")
    chosen = table(scores, "primary_task").filter(pl.col("model").is_in(MODELS), variant="thinking")
    print(f"\nsection 5.5, mean over {len(chosen)} models")
    for task, printed in PRINTED.items():
        print(f"{task:>4} {float(chosen[task].to_numpy().mean()):.3f} printed {printed}")
    needs = table(scores, "contextual_requirement").with_columns(gap=pl.col("Partial") - pl.col("Full"))
    gaps = needs.filter(pl.col("model").is_in(MODELS), variant="thinking").sort("gap")
    print("\nsection 5.6, Partial - Full in points, printed 7.32 to 10.84")
    for row in gaps.iter_rows(named=True):
        print(
            f"{row['model']:30} {row['gap']:.3f}  rounded first {round(row['Partial'], 2) - round(row['Full'], 2):.2f}"
        )
    every = needs.filter(variant="thinking").sort("gap")
    ends = [f"{every['gap'][place]:.2f} ({every['model'][place]})" for place in (0, -1)]
    print(f"all {len(every)} models: {' to '.join(ends)}")


if __name__ == "__main__":
    main()
