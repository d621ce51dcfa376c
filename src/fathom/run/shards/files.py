"""The files of a run in shards, in one store.

| file | content |
| --- | --- |
| ``shards.json`` | what the shards share, ``run.json`` among it; written once, compared afterwards |
| ``shard-03-of-64.parquet`` | all replies of a finished shard |
| ``shard-03-of-64/PROCESS-000001.parquet`` | replies of an unfinished shard, as they came |

A reply is a row of ``replies.sqlite`` with its checksum.
"""

import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fathom.run.shards.cutting import MOST, Cut, Shard, shards
from fathom.run.shards.store import Store
from fathom.runfile.manifest import compare_runs
from fathom.runfile.store import CHECKED, SPLIT
from fathom.storage.checksums import check_content, check_format, row_checksum, with_checksum
from fathom.storage.parquet import ParquetFile, ParquetWriter
from fathom.types import FathomError, Json

PLAN = "shards.json"
FORMAT = 1
UNCHECKED: Mapping[str, Any] = {"served": "", "asked_again": 0}
"""Columns that files of earlier versions lack, each with what it then is."""
_SUMMED = tuple(CHECKED[SPLIT][0].columns.split(", "))
"""Columns that the checksum is of."""
COLUMNS = (*_SUMMED, *UNCHECKED, "checksum")
"""Of a row, in this order."""
_AT = {name: number for number, name in enumerate(COLUMNS)}
_WHOLE = (
    *("epoch", "length", "tokens", "tokens_in", "tokens_out", "tokens_reasoning", "tokens_cached", "attempts"),
    *("truncated", "asked_again", "checksum"),
)
_REAL = ("chance", "seconds", "cost", "finished_at")
# Of processes; any other file in the folder of a shard is none of its replies.
_PART = re.compile(r"[^/]+/\w+-\d+\.parquet")
READS = 100
"""How often the parts of a shard are read, if another process replaces them meanwhile."""
_ADVICE = "restore it from a copy, or remove it and run the shard again"

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Plan:
    """What the shards of a run share.

    Attributes:
        shards: Number of shards.
        samples: Number of samples in all of them.
        epochs: Repetitions of each sample.
        digest: Which samples these are (``Cut.digest``).
        run: The content of ``run.json``.
    """

    shards: int
    samples: int
    epochs: int
    digest: str
    run: Mapping[str, Any]


def plan_of(cut: Cut, epochs: int, run: Mapping[str, Json]) -> Plan:
    """What the shards of a run will share."""
    return Plan(cut.of, sum(cut.samples.values()), epochs, cut.digest, run)


def read_plan(store: Store) -> Plan | None:
    """The plan of a store; None if there is none.

    Raises:
        FathomError: It cannot be read.
    """
    data, where = store.read(PLAN), f"{store.where}/{PLAN}"
    if data is None:
        return None
    try:
        content = json.loads(data)
        check_format(where, content.get("format"), FORMAT, _ADVICE)
        check_content(where, content, _ADVICE)
        plan = Plan(content["shards"], content["samples"], content["epochs"], content["digest"], content["run"])
    except (ValueError, AttributeError, KeyError, RecursionError):
        raise FathomError(f"{where}: not a file of `fathom run --shard`, or damaged; {_ADVICE}") from None
    if not 1 <= plan.shards <= MOST:
        raise FathomError(f"{where}: {plan.shards} shards; the file is damaged: {_ADVICE}")
    return plan


def check_place(store: Store) -> Plan | None:
    """The plan of a store; None if it is empty.

    Raises:
        FathomError: It holds something else, or the plan cannot be read.
    """
    plan = read_plan(store)
    if plan is None and (others := [name for name in store.names() if not name.startswith("shard-")]):
        raise FathomError(f"{store.where}: contains other files ({others[0]}) but no {PLAN}; give another `out`")
    return plan


def check_plan(store: Store, plan: Plan) -> bool:
    """Check that a store can hold the shards of a run, without writing anything.

    Returns:
        Whether its plan is there already.

    Raises:
        FathomError: It holds something else, or shards of another run; the message names the first difference.
    """
    stored = check_place(store)
    if stored is None:
        return False
    where, advice = f"{store.where}/{PLAN}", "give another `out`, or the same"
    compare_runs(where, stored.run, plan.run)
    if stored.shards != plan.shards:
        raise FathomError(
            f"{where}: this run was cut into {stored.shards} shards, not {plan.shards}; {advice} number of shards"
        )
    if stored.epochs != plan.epochs:
        raise FathomError(f"{where}: `epochs` was {stored.epochs}, not {plan.epochs}; {advice} epochs")
    if stored.digest != plan.digest:
        raise FathomError(
            f"{where}: this run has {stored.samples:,} other samples than the {plan.samples:,} requested; {advice} "
            "`tasks`, `lengths`, `limit`, `subset` and `where`"
        )
    return True


def join_plan(store: Store, plan: Plan) -> None:
    """Write the plan, or join the run whose plan another process has written.

    Raises:
        FathomError: See ``check_plan``.
    """
    if check_plan(store, plan):
        return
    content: dict[str, Json] = {
        "format": FORMAT,
        "shards": plan.shards,
        "samples": plan.samples,
        "epochs": plan.epochs,
        "digest": plan.digest,
        "run": dict(plan.run),
    }
    text = json.dumps(with_checksum(content), indent=2, ensure_ascii=False) + "\n"
    if not store.create(PLAN, text.encode()):
        check_plan(store, plan)


def finished_file(shard: Shard) -> str:
    """Name of the file with all replies of a shard."""
    return f"{shard.name}.parquet"


@dataclass(frozen=True)
class State:
    """Which shards have files.

    Attributes:
        finished: Those with all replies.
        unfinished: Those with some.
        missing: Those with none.
    """

    finished: Sequence[Shard]
    unfinished: Sequence[Shard]
    missing: Sequence[Shard]


def state_of(store: Store, of: int) -> State:
    """Which shards of a run have files."""
    names = store.names()
    files, folders = set(names), {name.partition("/")[0] for name in names if "/" in name}
    all_of = shards(of)
    left = [shard for shard in all_of if finished_file(shard) not in files]
    return State(
        [shard for shard in all_of if finished_file(shard) in files],
        [shard for shard in left if shard.name in folders],
        [shard for shard in left if shard.name not in folders],
    )


def key_of(row: Row) -> tuple[str, int]:
    """Sample and epoch of a row."""
    return row[_AT["sample"]], row[_AT["epoch"]]


def failed(row: Row) -> bool:
    """Whether the request failed, and is sent again when the shard is."""
    return bool(row[_AT["status"]] == "error")


def finished_rows(store: Store, shard: Shard, digest: str) -> list[Row] | None:
    """The rows of a finished shard; None if it is not finished.

    Raises:
        FathomError: Its file is damaged, or one of another shard or run.
    """
    data = store.read(finished_file(shard))
    return None if data is None else read_rows(data, f"{store.where}/{finished_file(shard)}", shard, digest)


def stored_rows(store: Store, shard: Shard, digest: str) -> tuple[list[Row], bool, list[str]]:
    """All replies of a shard, one for each sample and epoch; whether it is finished; and the names of its parts.

    Of several replies the first counts: those of the finished file, then those that came earlier; a failed request only
    if there is no other.

    Raises:
        FathomError: A file is damaged, or one of another shard or run.
    """
    for _ in range(READS):
        parts = [(name, store.read(name)) for name in store.names(shard.name) if _PART.fullmatch(name)]
        # Another process of the same shard may replace parts by a larger one at any moment.
        unread = next((name for name, data in parts if data is None), "")
        if not unread:
            break
    else:
        raise FathomError(f"{store.where}/{unread}: is listed, and cannot be read; {_ADVICE}")
    # Read last: a process that finishes the shard writes this file, and then removes the parts.
    whole = finished_rows(store, shard, digest)
    came = [
        row
        for name, data in parts
        if data is not None
        for row in read_rows(data, f"{store.where}/{name}", shard, digest)
    ]
    rows = one_each((*(whole or ()), *sorted(came, key=lambda row: row[_AT["finished_at"]])))
    return rows, whole is not None, [name for name, _ in parts]


def one_each(rows: Iterable[Row]) -> list[Row]:
    """The first row of each sample and epoch; failed requests only where there is no other."""
    unique: dict[tuple[str, int], Row] = {}
    for row in rows:
        old = unique.get(key_of(row))
        if old is None or (failed(old) and not failed(row)):
            unique[key_of(row)] = row
    return list(unique.values())


def write_rows(rows: Sequence[Row], shard: Shard, digest: str) -> bytes:
    """Rows as a Parquet file that says which shard of which run they are of."""
    import polars as pl

    about = {"format": str(FORMAT), "shard": shard.name, "digest": digest, "rows": str(len(rows))}
    stream, schema = io.BytesIO(), _schema()
    writer = ParquetWriter(stream, schema, {f"fathom.{name}": value for name, value in about.items()})
    writer.write(pl.DataFrame(rows, schema=schema, orient="row", strict=True))
    writer.close()
    return stream.getvalue()


def _schema() -> dict[str, Any]:
    import polars as pl

    kinds = {**dict.fromkeys(_WHOLE, pl.Int64), **dict.fromkeys(_REAL, pl.Float64)}
    return {name: kinds.get(name, pl.String) for name in COLUMNS}


def read_rows(data: bytes, where: str, shard: Shard, digest: str) -> list[Row]:
    """The rows of a file, each checked against its checksum.

    Args:
        data: What ``write_rows`` made.
        where: The file, for messages.
        shard: The shard that it must be of.
        digest: The run that it must be of.

    Raises:
        FathomError: It is damaged, of a newer version, or of another shard or run.
    """
    import polars as pl

    try:
        file = ParquetFile(data, verify=True)
        about = {name.removeprefix("fathom."): value for name, value in file.metadata.items()}
        check_format(where, int(about["format"]), FORMAT, _ADVICE)
        if about["digest"] != digest:
            raise FathomError(f"{where}: holds {about['shard']} of another run; {_ADVICE}")
        if about["shard"] != shard.name:
            raise FathomError(f"{where}: holds {about['shard']} of this run, not {shard.name}; {_ADVICE}")
        schema = _schema()
        if [name for name in COLUMNS if name in file.names or name not in UNCHECKED] != file.names:
            raise ValueError("unexpected columns")
        rows: list[Row] = []
        for group in range(len(file.rows)):
            table = file.read(group)
            missing = [pl.lit(value, schema[name]).alias(name) for name, value in UNCHECKED.items()]
            table = table.with_columns(column for column in missing if column.meta.output_name() not in table.columns)
            table = table.select(COLUMNS)
            if dict(table.schema) != schema:
                raise ValueError("unexpected columns")
            rows += table.rows()
        intact = len(rows) == int(about["rows"])
    except (KeyError, ValueError, OSError) as error:
        raise FathomError(f"{where}: damaged ({error}); {_ADVICE}") from None
    if not intact or any(row_checksum(row[: len(_SUMMED)]) != row[-1] for row in rows):
        raise FathomError(f"{where}: damaged (checksum mismatch); {_ADVICE}")
    return rows
