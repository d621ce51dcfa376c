"""``merge``: the shards of a run, joined into an ordinary run folder."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from fathom.printing import several
from fathom.run.shards.cutting import Shard
from fathom.run.shards.files import PLAN, Plan, finished_file, finished_rows, read_plan, state_of
from fathom.run.shards.store import Store, open_store
from fathom.runfile.ledger import Ledger
from fathom.runfile.manifest import join_run
from fathom.runfile.part import note_order
from fathom.runfile.progress import Progress, RunSummary
from fathom.runfile.worker import this_worker
from fathom.suites.suitefile import fresh_folder
from fathom.types import FathomError

SHOWN = 10  # shards named in a message


def merge(place: str | Path, out: Path) -> RunSummary:
    """Join the shards of a run into an ordinary run folder.

    Args:
        place: The folder or object store that ``fathom run --shard`` wrote.
        out: The run folder; must be new or empty.

    Returns:
        The state of the run.

    Raises:
        FathomError: Shards are missing, unfinished or damaged, two have different replies to one sample, or the folder
            is not empty. Nothing is written then.
    """
    store = open_store(place)
    plan = read_plan(store)
    if plan is None:
        raise FathomError(
            f"{store.where}: no shards here ({PLAN} is missing); expected what `fathom run --shard` wrote"
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise FathomError(f"{out}: contains other files; give a new folder with `out`")
    state = state_of(store, plan.shards)
    if state.unfinished or state.missing:
        words = [_shard_list(state.missing, "missing"), _shard_list(state.unfinished, "unfinished")]
        raise FathomError(
            f"{store.where}: {len(state.finished):,} of {plan.shards:,} shards are finished; "
            f"{'; '.join(filter(None, words))}. Run these with the same command, then merge again"
        )
    with fresh_folder(out) as folder:
        join_run(folder, plan.run)
        note_order(folder, random=False, begun=False)
        with closing(Ledger(folder, this_worker())) as ledger:
            ledger.plan(plan.samples * plan.epochs, (), plan.epochs)
            for shard in state.finished:
                _add(ledger, store, shard, plan)
            totals = ledger.totals()
        if totals.finished != plan.samples * plan.epochs:
            raise FathomError(
                f"{store.where}: the shards have {totals.finished:,} replies instead of "
                f"{plan.samples * plan.epochs:,}; one of them is damaged, remove its file and run it again"
            )
    errors = totals.counts["error"]
    hints = [f"{several(errors, 'sample')} failed; `fathom run` with --out {out} asks them again"] if errors else []
    progress = Progress(
        finished=totals.finished,
        total=totals.finished,
        counts=dict(totals.counts),
        tokens_in=totals.tokens_in,
        tokens_out=totals.tokens_out,
        cost=totals.cost,
        seconds=0.0,
        asked=0,
        unpriced=totals.unpriced,
    )
    return RunSummary(out, progress, hints=tuple(hints))


def _add(ledger: Ledger, store: Store, shard: Shard, plan: Plan) -> None:
    rows = finished_rows(store, shard, plan.digest) or ()
    for sample, epoch in ledger.adopt(rows):
        raise FathomError(
            f"{store.where}/{finished_file(shard)}: another shard has a different reply to sample {sample!r} (epoch "
            f"{epoch}); one of the two files is not of this run: remove it and run that shard again"
        )


def _shard_list(shards: Sequence[Shard], state: str) -> str:
    """``3 missing (3/64, 5/64, 6/64)``; "" for none."""
    if not shards:
        return ""
    more = ", ..." if len(shards) > SHOWN else ""
    return f"{len(shards):,} {state} ({', '.join(f'{shard.number}/{shard.of}' for shard in shards[:SHOWN])}{more})"
