"""Progress of a run, for its caller and for other processes."""

import time
from dataclasses import dataclass
from pathlib import Path

from fathom.printing import readable, several
from fathom.runfile.batches import waiting
from fathom.runfile.manifest import read_manifest
from fathom.runfile.servers import checkpoints, server_lines
from fathom.runfile.serving import asked_in, is_of_system, notes_on_server
from fathom.runfile.store import peek
from fathom.runfile.worker import is_alive
from fathom.tokens.length import format_length
from fathom.types import Status


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a run, reported after every reply.

    Attributes:
        finished: Replies in the store.
        total: Replies that the store will hold when finished.
        counts: Finished replies by status.
        tokens_in: Prompt tokens so far, as counted by providers.
        tokens_out: Completion tokens so far.
        cost: US dollars so far, as far as prices are known; None if none is.
        seconds: Time since this process started asking.
        asked: Replies that this process received.
        unpriced: Replies whose price is unknown.
        in_batches: Requests that a provider has answered in batches that have not ended.
    """

    finished: int
    total: int
    counts: dict[Status, int]
    tokens_in: int
    tokens_out: int
    cost: float | None
    seconds: float
    asked: int
    unpriced: int = 0
    in_batches: int = 0


@readable
@dataclass(frozen=True, slots=True)
class RunSummary:
    """The result of ``run``.

    Attributes:
        folder: The run folder.
        progress: The final state; None if nothing was started.
        stopped: Why the run stopped early; "" if it did not.
        hints: Suggestions for the user.
        shard: Address of the shard, if this is not a whole run; ``folder`` is then where all of them are.
        remarks: What the counts do not say, such as "8 of them empty".
    """

    folder: Path
    progress: Progress | None
    stopped: str = ""
    hints: tuple[str, ...] = ()
    shard: str = ""
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line; "" if nothing was started."""
        where = self.shard or self.folder
        if self.stopped or self.progress is None:
            return f"{where}: stopped: {self.stopped}" if self.stopped else ""
        counts = ", ".join(f"{count} {status}" for status, count in self.progress.counts.items() if count)
        counts = "; ".join(filter(None, (counts, *self.remarks)))
        return f"{where}: {self.progress.finished:,} of {self.progress.total:,} replies ({counts})"


@dataclass(frozen=True, slots=True)
class ScoreSoFar:
    """The score at one length, of the replies so far.

    Attributes:
        length: Length in tokens.
        finished: Replies so far, without those that failed.
        planned: Replies that there will be.
        mean: Mean over tasks, in [0, 1]; None without a score.
        low: Lower end of its 95% interval; None without a score.
        high: Upper end.
    """

    length: int
    finished: int
    planned: int
    mean: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        """For instance "2k 85% [78, 91]"."""
        if self.mean is None or self.low is None or self.high is None:
            return f"{format_length(self.length)} no score"
        score = f"{self.mean:.0%} [{100 * self.low:.0f}, {100 * self.high:.0f}]"
        return f"{format_length(self.length)} {score}"


@readable
@dataclass(frozen=True, slots=True)
class RunStatus:
    """The state of a run as seen by another process.

    Attributes:
        folder: The run folder.
        model: The model's name.
        suite: The suite's name.
        alive: Number of processes working on it now.
        finished: Replies in the store, errors among them.
        total: Replies that it will hold when finished.
        counts: Finished replies by status.
        tokens_in: Prompt tokens so far.
        tokens_out: Completion tokens so far.
        cost: US dollars so far, as far as prices are known; None if none is.
        rate: Replies per second, lately; None if unknown.
        eta: Seconds to the end, by what prompts of each task and length took; None if unknown.
        last: Seconds since the epoch of the last reply; None if there is none.
        unpriced: Replies whose price is unknown.
        in_batches: Requests in batches that have not ended, or are not collected.
        scorer_errors: Sentences on replies that the scorers of their tasks could not score.
        server: Sentences on what replies show about the server.
        asked_again: Replies that were asked for more than once.
        scores: The scores by length so far, if they are known.
        served: What the servers that were asked state of themselves, a line each.
    """

    folder: Path
    model: str
    suite: str
    alive: int
    finished: int
    total: int
    counts: dict[Status, int]
    tokens_in: int
    tokens_out: int
    cost: float | None
    rate: float | None
    eta: float | None
    last: float | None
    unpriced: int = 0
    in_batches: int = 0
    scorer_errors: tuple[str, ...] = ()
    server: tuple[str, ...] = ()
    asked_again: int = 0
    scores: tuple[ScoreSoFar, ...] = ()
    served: tuple[str, ...] = ()

    def facts(self) -> dict[str, str]:
        """What the command prints: each fact by its name."""
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items() if count) or "none yet"
        unknown = f", and {several(self.unpriced, 'reply')} of unknown price" if self.unpriced else ""
        return {
            "state": self._state,
            "model": self.model,
            **({"served by": "; then ".join(self.served)} if self.served else {}),
            "suite": self.suite,
            "replies": f"{self.finished:,} of {self.total:,} ({counts})",
            "tokens": f"{self.tokens_in:,} in, {self.tokens_out:,} out",
            "cost": "unknown" if self.cost is None else f"${self.cost:,.4f}{unknown}",
            **({"scores": ", ".join(map(str, self.scores))} if self.scores else {}),
            **({"batches": f"{several(self.in_batches, 'request')} at the provider"} if self.in_batches else {}),
            **({"asked more than once": f"{self.asked_again:,} of {self.finished:,}"} if self.asked_again else {}),
            **({"scoring": "; ".join(self.scorer_errors)} if self.scorer_errors else {}),
            **({"server": "; ".join(self.server)} if self.server else {}),
        }

    @property
    def _state(self) -> str:
        """Whether it goes on, and what to do if it does not."""
        if self.alive:
            rate = f", {self.rate:.2f} replies a second" if self.rate else ""
            minutes = round((self.eta or 0) / 60)
            left = f", about {several(minutes, 'minute')} left" if minutes else ""
            return f"running, {several(self.alive, 'process', 'processes')}{rate}{left}"
        if self.in_batches:
            return "waiting for batches; the same command collects them"
        if self.finished < self.total or self.counts.get("error"):
            return "stopped; the same command resumes"
        return "finished"


def status(folder: Path) -> RunStatus:
    """The state of a run, from any process, during the run or after it.

    Args:
        folder: The run folder.

    Raises:
        FathomError: The folder holds no run.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    now = time.time()
    # A run that is just starting has a run.json but no store.
    with peek(folder) as store:
        totals = store.totals()
        rows = store.workers()
        living = [row for row in rows if is_alive(row.worker, beat=row.beat, now=now)]
        since = min((row.worker.started for row in living), default=now)
        recent, again = store.finished_since(since), store.asked_again()
        server = () if is_of_system(folder) else tuple(map(str, notes_on_server(store.served(), asked_in(manifest))))
    if len(several := checkpoints(manifest.get("observed"))) > 1:
        server += (f"the server served {', then '.join(several)} under one name; run each in a folder of its own",)
    finished = totals.finished
    total = max([finished, *(row.planned for row in rows)])
    rate = recent / max(now - since, 1e-3) if living and recent else None
    return RunStatus(
        folder=folder,
        model=manifest["model"],
        suite=manifest["suite"]["name"],
        alive=len(living),
        finished=finished,
        total=total,
        counts=dict(totals.counts),
        tokens_in=totals.tokens_in,
        tokens_out=totals.tokens_out,
        cost=totals.cost,
        rate=rate,
        eta=(total - finished) / rate if rate else None,
        last=totals.last,
        unpriced=totals.unpriced,
        in_batches=sum(batch.requests for batch in waiting(folder)),
        server=server,
        asked_again=again,
        served=server_lines(manifest.get("observed")),
    )
