"""Published replies to LongBench as rows by the length of their records, for 100-LongBench's figures 1 and 9 to 12.

    python performance/longbench_lengths.py FOLDER rows.parquet hotpotqa,narrativeqa,triviaqa
    fathom plot length-shares rows.parquet --out figure1.svg

The folder has one folder for each model, with TASK.jsonl files (also compressed) as the code of LongBench writes them:
`pred`, `answers`, `all_classes` and `length` (words). Lengths are grouped up to 1, 2, 4, 8 and 16 thousand words and
above. Scored by LongBench's official rules.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from fathom.benchmarks.longbench.records import DATA_SETS
from fathom.documents.records import Record, read_records
from fathom.rows import to_frame, write_rows
from fathom.score.registry import ScoringRow, get_scorer
from fathom.types import Row

GROUPS = (1000, 2000, 4000, 8000, 16000, 32000)


def rows(file: Path, task: str) -> Iterator[Row]:
    """The scored replies of one model to one task."""
    metric = f"longbench_v1/{DATA_SETS[task].metric}"
    scorer = get_scorer(metric, "official")
    for number, record in enumerate(read_records(file)):
        if not isinstance(record, Record):
            sys.exit(f"{file}: {record.reason}")
        fields = record.fields
        score = scorer(ScoringRow(fields["pred"], fields["answers"], fields.get("all_classes"), dataset=task))
        length = next(group for group in GROUPS if int(str(fields["length"])) <= group or group == GROUPS[-1])
        item = f"{task}/{number}"
        yield Row(
            suite="longbench",
            task=task,
            item=item,
            sample=f"{item}@{length}",
            model=file.parent.name,
            length=length,
            value=score.value,
            valid=score.valid,
            grader=metric,
            metric=DATA_SETS[task].metric,
            rule="official",
        )


def main() -> None:
    folder, out, tasks = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3].split(",")
    files = [file for task in tasks for file in sorted(folder.glob(f"*/{task}.jsonl*"))]
    write_rows([to_frame([row for file in files for row in rows(file, file.name.partition(".")[0])]).lazy()], out)


if __name__ == "__main__":
    main()
