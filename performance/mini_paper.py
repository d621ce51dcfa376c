"""Table 1, the cost of 4.5% and Appendix H of the MiniLongBench paper, recomputed.

    python performance/mini_paper.py minilongbench REPLIES

`minilongbench` is the folder of released data. REPLIES has one folder for each model with TASK.jsonl files (also
compressed) as the code of LongBench writes them: their `length` is that of the record, in words or Chinese characters.
The 237 items are the released ones, by their rows.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from fathom.benchmarks.longbench.records import DATA_SETS
from fathom.compress import released
from fathom.compress.irt import ability
from fathom.compress.minilongbench import published
from fathom.documents.records import Record, read_records

PRINTED = {  # average lengths of LongBench and of MiniLongBench in Table 1
    "narrativeqa": (18409, 22967), "qasper": (3619, 2933), "multifieldqa_en": (4559, 4519),
    "multifieldqa_zh": (6701, 6300), "hotpotqa": (9151, 8856), "2wikimqa": (4887, 4286), "musique": (11214, 10910),
    "dureader": (15768, 12996), "gov_report": (8734, 7592), "qmsum": (10614, 8253), "multi_news": (2113, 1785),
    "vcsum": (15380, 10400), "trec": (5177, 6077), "triviaqa": (8209, 9719), "samsum": (6258, 5974),
    "lsht": (22337, 22759), "passage_count": (11414, 10627), "passage_retrieval_en": (9289, 9394),
    "passage_retrieval_zh": (6745, 6684), "lcc": (1235, 1187), "repobench-p": (4206, 3723),
}  # fmt: skip
REPEATS = 100


def lengths_of(folder: Path, task: str) -> list[int]:
    """Lengths of the records of one task, from the first file with as many as it should have."""
    for file in sorted(folder.glob(f"*/{task}.jsonl*")):
        rows = [record for record in read_records(file) if isinstance(record, Record)]
        if len(rows) == DATA_SETS[task].size:
            return [int(str(row.fields["length"])) for row in rows]
    sys.exit(f"{folder}: no whole file of {task}")


def main() -> None:
    released_data, replies = Path(sys.argv[1]), Path(sys.argv[2])
    layout, chosen = released.read_layout(released_data), released.read_anchors(released_data)
    tasks = np.array([task.removeprefix("longbench_") for task in layout.tasks])
    whole: dict[str, list[int]] = {}
    mini: dict[str, list[int]] = {}
    print(
        "| task | items | LongBench | printed | MiniLongBench | printed |\n| --- | ---: | ---: | ---: | ---: | ---: |"
    )
    for task, printed in PRINTED.items():
        whole[task] = lengths_of(replies, task)
        first = int(np.flatnonzero(tasks == task)[0])
        mini[task] = [whole[task][item - first] for item in chosen if tasks[item] == task]
        ours = [f"{np.mean(lengths):,.0f}" for lengths in (whole[task], mini[task])]
        print(f"| {task} | {len(mini[task])} | {ours[0]} | {printed[0]:,} | {ours[1]} | {printed[1]:,} |")
    for name, language in (("English and code, words", "en"), ("Chinese, characters", "zh")):
        both = [
            [length for task in PRINTED if DATA_SETS[task].language == language for length in of[task]]
            for of in (whole, mini)
        ]
        items, sums, means = (len(both[1]) / len(both[0]), sum(both[1]) / sum(both[0]), [np.mean(of) for of in both])
        print(f"{name}: {items:.2%} of the items, {sums:.2%} of the length; means {means[0]:,.0f} and {means[1]:,.0f}")
    cost(released_data)


def cost(released_data: Path) -> None:
    """Appendix H: what is stored for a prediction, and how long fitting an ability takes on a processor."""
    benchmark = published(released_data)
    parameters, seen = benchmark.parameters, benchmark.seen()
    size = parameters.discrimination.nbytes + parameters.difficulty.nbytes
    print(
        f"stored: parameters of {len(seen):,} items in {parameters.discrimination.shape[1]} dimensions, {size:,} bytes"
    )
    scores = np.where(seen[:, None], released.read_released(released_data).scores.T, np.nan)
    times = []
    for number in range(REPEATS):
        begun = time.process_time()
        ability(scores[:, number % scores.shape[1]], parameters)
        times.append(time.process_time() - begun)
    print(f"fitting an ability: mean of {REPEATS} fits {np.mean(times):.4f} s of processor time")


if __name__ == "__main__":
    main()
