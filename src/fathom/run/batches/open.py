"""Whether a run can be sent in batches, and the batch API of its model."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from fathom.models.protocol import Settings
from fathom.models.request_mode import RequestModes
from fathom.models.retry import Retry
from fathom.plugins.extras import MissingLibraryError, install
from fathom.printing import several
from fathom.run.batches.provider import HOURS, Provider
from fathom.run.batches.recording import Recording
from fathom.run.batches.sender import Asking, Pace, Sender
from fathom.run.batches.session import BatchSession
from fathom.run.server_facts import explaining
from fathom.run.session import Work
from fathom.runfile.batches import FILE, BatchStore, batches_of, waiting, without_batches
from fathom.runfile.ledger import Ledger
from fathom.runfile.progress import RunSummary
from fathom.runfile.worker import this_worker
from fathom.types import FathomError, Sample

_LIBRARIES = {"openai": "openai", "openai-api": "openai", "anthropic": "anthropic", "google": "google.genai"}
"""The client library of each provider with a batch API."""
_HALF = frozenset({"openai", "anthropic", "google"})
PACE = Pace()
INTERRUPTED = (
    "interrupted; all replies so far are kept, and batches that were sent go on at the provider. Run the same command "
    "again to collect them"
)


def open_recording(settings: Settings) -> Recording:
    """The client that makes the requests of batches.

    Raises:
        FathomError: The model or its settings cannot be asked in batches, or a library or a key is missing.
    """
    provider = settings.model.partition("/")[0]
    if provider not in _LIBRARIES:
        raise FathomError(
            f"`batch`: {settings.model!r} has no batch API that fathom knows; expected a model of OpenAI "
            "(openai/NAME), Anthropic (anthropic/NAME) or Google (google/NAME), or openai/NAME with the "
            "`model_base_url` of a server that has OpenAI's /files and /batches"
        )
    if settings.chat_template != "always":
        raise FathomError(f"`batch`: prompts are sent as chats; leave out `chat_template` {settings.chat_template}")
    if settings.system.name != "whole":
        raise FathomError(
            f"`batch`: `system` {settings.system.name} sends several requests, each made of replies to others; leave "
            "one of the two out"
        )
    try:
        import_module(_LIBRARIES[provider])
    except ModuleNotFoundError:
        raise MissingLibraryError(
            f"`batch`: the library of {provider!r} is not installed: {install('batch')}"
        ) from None
    return Recording(settings)


def check_tasks(tasks: Iterable[str], mode: RequestModes) -> None:
    """Check that tasks can be asked in batches.

    Args:
        tasks: Their names.

    Raises:
        FathomError: One of them sends two requests for a sample.
    """
    for task in tasks:
        if mode(task).follow_up is not None:
            raise FathomError(
                f"`batch`: task {task} sends a second request made of the first reply; leave it out with `tasks`, and "
                "run it without `batch`"
            )


def share_of_price(settings: Settings) -> float:
    """The price of a request in a batch as a share of the standard price, if the price table does not say.

    A server at another address than the provider's may give no discount.
    """
    return 0.5 if settings.base_url is None and settings.model.partition("/")[0] in _HALF else 1.0


def check_none_waits(folder: Path, file: str = FILE) -> None:
    """Check that no batch of a run is under way, for processes that send plain requests.

    Args:
        file: Name of the file of the batches.

    Raises:
        FathomError: There is one; its requests would be sent, and paid, again.
    """
    if batches := waiting(folder, file):
        count = sum(batch.requests for batch in batches)
        raise FathomError(
            f"{folder}: {several(count, 'request is', 'requests are')} in batches at the "
            "provider; run the same command with `batch` to collect them"
        )


@contextmanager
def asked_plainly(folder: Path, judge: str) -> Iterator[None]:
    """Keep other processes from sending batches of a judge while it is sent plain requests.

    Args:
        folder: The run folder.
        judge: Name of the judge.

    Raises:
        FathomError: One sends them, or some are under way at the provider.
    """
    if judge.partition("/")[0] not in _LIBRARIES:
        yield  # it has no batches
        return
    with without_batches(folder, batches_of(judge)):
        check_none_waits(folder, batches_of(judge))
        yield


def described() -> str:
    """What the forecast says of a run in batches."""
    return f"in batches, to be answered within {HOURS} hours; prices are those of batches"


def open_provider(recording: Recording) -> Provider:
    """The batch API of a model.

    Raises:
        FathomError: Its service has none.
    """
    if recording.model.startswith("anthropic/"):
        from fathom.run.batches.anthropic_messages import open_anthropic_messages

        return open_anthropic_messages(recording.api.client)
    if recording.model.startswith("google/"):
        from fathom.run.batches.google_files import open_google_files

        return open_google_files(recording.api)
    from fathom.run.batches.openai_files import open_openai_files

    if recording.server is None:
        raise AssertionError("unreachable: a model of OpenAI has a client of its library")
    return open_openai_files(recording.server[0])


async def work_in_batches(
    out: Path,
    recording: Recording,
    work: Work,
    total: int,
    *,
    named: Callable[[set[str]], Iterable[Sample]],
    tell: Callable[[str], None],
) -> RunSummary:
    """Work on an existing run, as the only process.

    Args:
        out: The run folder.
        recording: Makes requests and reads replies; closed at the end.
        work: What to do.
        total: Replies that the run will have when finished.
        named: Samples of the suite by id, without recipes.
        tell: Called with a line about each batch.

    Raises:
        FathomError: See ``run``.
    """
    provider = open_provider(recording)
    ledger = Ledger(out, this_worker())
    try:
        store = BatchStore(out)
        try:
            ledger.plan(total, (work.facts or work.samples)(), work.epochs)
            session = BatchSession(ledger, recording, provider, store, work, total, named=named, tell=tell, pace=PACE)
            async with explaining(recording):
                await session.work_through()
            return session.summary()
        finally:
            store.close()
    finally:
        ledger.close()
        await provider.close()
        await recording.close()


async def send_in_batches(
    asking: Asking, folder: Path, recording: Recording, *, file: str, retry: Retry, tell: Callable[[str], None]
) -> None:
    """Send requests in batches, as the only process, and hand the replies on.

    Args:
        asking: What is asked, and who keeps the replies.
        recording: Makes requests and reads replies.
        file: Name of the file of the batches.
        retry: When failed requests are repeated.
        tell: Called with a line about each batch.

    Raises:
        FathomError: Another process sends batches, or the provider denies them or is out of reach.
    """
    provider = open_provider(recording)
    try:
        store = BatchStore(folder, file, alone=True)
        try:
            await Sender(asking, folder, recording, provider, store, retry=retry, tell=tell, pace=PACE).work_through()
        finally:
            store.close()
    finally:
        await provider.close()
