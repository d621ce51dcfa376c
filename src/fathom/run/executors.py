"""How the samples of a run are asked: from this process, in plain requests or in batches. Shards are executors too."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from fathom.models.clients import negotiation_of, open_client
from fathom.models.loop import drive
from fathom.models.negotiation import Negotiation
from fathom.models.prices import Price
from fathom.models.protocol import Client, Settings
from fathom.models.request_mode import RequestModes
from fathom.run.batches.open import (
    INTERRUPTED,
    check_none_waits,
    check_tasks,
    described,
    open_recording,
    share_of_price,
    work_in_batches,
)
from fathom.run.batches.recording import Recording
from fathom.run.order import even_order, random_order
from fathom.run.request import RunRequest
from fathom.run.server_facts import explaining
from fathom.run.server_identity import noting_server
from fathom.run.session import Session, Work
from fathom.runfile.batches import requests_under_way
from fathom.runfile.ledger import Key, Ledger
from fathom.runfile.manifest import check_run, join_run, observe_run, observed_in
from fathom.runfile.progress import RunSummary
from fathom.runfile.serving import served_names
from fathom.runfile.store import peek
from fathom.runfile.worker import this_worker
from fathom.tokens.tokenizers import Tokenizer
from fathom.types import FathomError, Json, Sample


class DirectExecutor:
    """Sends requests directly from this process; several processes can work on the same run.

    Args:
        out: The run folder.
        request: What is asked.

    Attributes:
        out: The run folder.
        request: What is asked.
        batches: How the requests are sent, for the forecast, if they are sent in batches; "" for plain requests.
        random: Whether the order of the requests is that of a run that stops early (``random_order``).
    """

    batches = ""
    random = False

    def __init__(self, out: Path, request: RunRequest) -> None:
        self.out = out
        self.request = request

    def facts(self) -> Iterator[Sample]:
        """The samples that are asked, without recipes, in the order of the suite."""
        return self.request.facts()

    def samples(self) -> Iterator[Sample]:
        """The samples that are asked, in the order of the suite."""
        return self.request.samples()

    def in_order(self) -> Iterator[Sample]:
        """The samples in the order in which they are asked."""
        return map(self.request.sample, self._order)

    @cached_property
    def _order(self) -> list[str]:
        ids: list[str] = []

        def seen() -> Iterator[Sample]:
            for sample in self.facts():
                ids.append(sample.id)
                yield sample

        return [ids[place] for place in (random_order if self.random else even_order)(seen())]

    def price(self, price: Price) -> Price:
        """The prices that apply to this executor."""
        return price

    def open_client(self, settings: Settings, tokenizer: Callable[[], Tokenizer]) -> Client:
        """The client of the model.

        Raises:
            FathomError: The model is unknown or not supported here, its library is absent, or a key is missing.
        """
        return open_client(settings, tokenizer)

    def check(self, tasks: Iterable[str], modes: RequestModes) -> None:
        """Check that this executor supports the tasks.

        Args:
            tasks: Names of the tasks.

        Raises:
            FathomError: It does not support one of them.
        """
        check_none_waits(self.out)

    def under_way(self) -> Collection[Key]:
        """Samples and epochs of requests that are in batches already."""
        return ()

    def check_place(self, manifest: Mapping[str, Json]) -> None:
        """Check that the run folder can hold the run, without creating anything.

        Raises:
            FathomError: It holds something else, or a run with different settings.
        """
        check_run(self.out, manifest)

    def join(self, manifest: Mapping[str, Json]) -> None:
        """Create the run, or join the one that another process has created.

        Raises:
            FathomError: See ``check_place``.
        """
        join_run(self.out, manifest)

    def execute(self, client: Client, work: Work, total: int, tell: Callable[[str], None]) -> RunSummary:
        """Ask for all replies that are missing.

        Args:
            client: Answers the prompts; closed at the end.
            work: What to do.
            total: Replies that the run will have when finished.
            tell: Called with a line about each batch.

        Raises:
            FathomError: See ``fathom.run.run``.
        """
        return drive(work_on(self.out, client, work, total))


class BatchExecutor(DirectExecutor):
    """Sends requests through the provider's batch API, as the only process."""

    batches = described()

    def price(self, price: Price) -> Price:
        """See ``DirectExecutor``."""
        return price.in_batches(share_of_price(self.request.chosen.settings))

    def open_client(self, settings: Settings, tokenizer: Callable[[], Tokenizer]) -> Client:
        """See ``DirectExecutor``: it sends nothing."""
        return open_recording(settings)

    def check(self, tasks: Iterable[str], modes: RequestModes) -> None:
        """See ``DirectExecutor``: no task may send a second request."""
        check_tasks(tasks, modes)

    def under_way(self) -> Collection[Key]:
        """See ``DirectExecutor``."""
        return requests_under_way(self.out)

    def execute(self, client: Client, work: Work, total: int, tell: Callable[[str], None]) -> RunSummary:
        """See ``DirectExecutor``."""
        assert isinstance(client, Recording), "it was opened here"
        working = work_in_batches(self.out, client, work, total, named=self.request.samples_by_name, tell=tell)
        return drive(working, INTERRUPTED)


@contextmanager
def recorded(folder: Path, client: Client) -> Iterator[Negotiation]:
    """What the model's server refuses, by what ``run.json`` has of it; what is learned inside is recorded there.

    Raises:
        FathomError: The earlier requests of the run were sent without a parameter that the user chooses now.
    """
    negotiation = negotiation_of(client)
    negotiation.resume(observed_in(folder).get("negotiated") or {})
    try:
        yield negotiation
    finally:  # what cannot be recorded now will be at the next call
        with suppress(FathomError), peek(folder) as store:
            served = served_names(store.served())
            if served or negotiation.changes:
                observe_run(folder, {"served": served, "negotiated": dict(negotiation.changes)})


async def work_on(out: Path, client: Client, work: Work, total: int) -> RunSummary:
    """Work on an existing run, as one of the processes that may share it.

    Args:
        out: The run folder.
        client: Answers the prompts; closed at the end.
        work: What to do.
        total: Replies that the run will have when finished.

    Raises:
        FathomError: See ``fathom.run.run``.
    """
    ledger = Ledger(out, this_worker())
    try:
        # A process that sends batches, and joins later, sees this one.
        check_none_waits(out)
        ledger.plan(total, (work.facts or work.samples)(), work.epochs)
        session = Session(ledger, client, work, total)
        async with explaining(client), noting_server(out, client, lambda: session.asked > 0):
            await session.work_through()
        return session.summary()
    finally:
        ledger.close()
        await client.close()
