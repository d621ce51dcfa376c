"""The programs whose results become rows: one table, from which options, messages and documentation derive."""

from dataclasses import dataclass

OWN, TABLE = "fathom", "table"
"""Names after ``--from`` that are no other program: fathom's own results and what is recognised, and any table."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A program whose results become rows.

    Attributes:
        name: Its name after ``--from``.
        title: Its name in sentences.
        reads: What a source is.
        module: The module with its reader ``read``, and with ``recognises``, which says whether a file is one of its
            results; "" for published results, whose benchmark declares the reader.
    """

    name: str
    title: str
    reads: str
    module: str = ""


ORIGINS = (
    Origin("inspect", "Inspect", "`.eval` and `.json` logs, and folders of them", "fathom.rows.inspect_log"),
    Origin(
        "lm-eval",
        "lm-evaluation-harness",
        "`samples_*.jsonl` (written with `--log_samples`), and folders and `.zip` archives of them",
        "fathom.rows.lm_eval_log",
    ),
    Origin(
        "lighteval",
        "lighteval",
        "`details_*.parquet` (written with `--save-details`), and its output folder",
        "fathom.rows.lighteval_log",
    ),
    Origin(
        "opencompass",
        "OpenCompass",
        "its work folder, or `results/MODEL/DATASET.json` (written with `--dump-eval-details`)",
        "fathom.rows.opencompass_log",
    ),
    Origin("helmet", "HELMET", "the `.json` files of its `eval.py`, and folders of them", "fathom.rows.helmet_log"),
    Origin(
        "nemo-evaluator",
        "NeMo Evaluator",
        "its output folder with `byob_predictions.jsonl` or `nemo-evaluator-per-sample-outputs/`",
        "fathom.rows.nemo_log",
    ),
    Origin(
        TABLE, "a table", "JSONL, JSON, CSV, TSV, Parquet or Arrow with a row for each reply", "fathom.rows.named_table"
    ),
)
"""Programs in the order in which documentation lists them."""
