"""Checks of a comparison before any request, for faults that would otherwise go unnoticed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from fathom.lab.plan import RequestedSetup, Way
from fathom.models.hugging_face import is_local
from fathom.models.protocol import is_baseline
from fathom.plugins.names import folder_name, listed
from fathom.runfile.settings import Choice
from fathom.suites.suitefile import BuiltSuite
from fathom.types import FathomError, Sample


def run_name(setup: RequestedSetup, way: Way) -> str:
    """The name of the folder of a setup's run in one way."""
    return folder_name(" ".join(filter(None, (setup.name, way.values))))


def chosen_samples(suite: BuiltSuite, choice: Choice, *, parts: bool = False) -> Iterator[Sample]:
    """The samples that a run with these settings asks, of all subsets."""
    return suite.samples(
        tasks=choice.tasks, lengths=choice.lengths, limit=choice.limit, where=choice.where, parts=parts
    )


def check_names(what: str, names: Iterable[tuple[str, str]]) -> None:
    """Raise if two runs would share a folder: the second would show the replies of the first.

    Args:
        what: What has the names, for the message.
        names: The name of each as the user gives it, and that of its folder.

    Raises:
        FathomError: Two of the folders have the same name, perhaps but for capital letters, which some disks ignore.
    """
    owners: dict[str, str] = {}
    for name, folder in names:
        other = owners.setdefault(folder.casefold(), name)
        if other != name:
            raise FathomError(
                f"{what} {other!r} and {name!r} would share a folder, {folder}; name one of them otherwise"
            )


def check_commands(commands: Iterable[str], servers: Sequence[str]) -> None:
    """Raise if a command line belongs to no server.

    Raises:
        FathomError: There is no server of that name.
    """
    for name in commands:
        if name not in servers:
            raise FathomError(f"`server_command` {name}: no server has this name; there are {listed(servers)}")


def check_servers(model: str, servers: Mapping[str, str], base_url: str | None) -> None:
    """Raise if a setup reuses the server of the base.

    Raises:
        FathomError: The model is in this process, or two servers have one address.
    """
    if servers and (is_local(model) or is_baseline(model)):
        raise FathomError(f"`server` {next(iter(servers))}: {model} is in this process, and asks no server")
    owners = {} if base_url is None else {base_url.rstrip("/"): "`model_base_url`"}
    for name, url in servers.items():
        other = owners.setdefault(url.rstrip("/"), f"`server` {name}")
        if other != f"`server` {name}":
            raise FathomError(f"`server` {name} has the address of {other}: one server has one method")


def shared_items(suite: BuiltSuite, tuning: BuiltSuite, choice: Choice, windows: Sequence[int]) -> frozenset[str]:
    """The items of the tuning suite that the report is on too; values are chosen on the others.

    Items are the same if they have the same prompt, the same name and answers from the same seed, or a question of
    their own with the same answers.

    Args:
        choice: The settings that choose samples.
        windows: Trained windows of the models, in tokens.

    Raises:
        FathomError: No other item is left, or none beyond a window.
    """
    advice = "values must be chosen on other items; build it with another `seed`, or of other data"
    if tuning.manifest["fingerprint"] == suite.manifest["fingerprint"]:
        raise FathomError(f"`tuning` {tuning.folder} has the same samples as {suite.folder}: {advice}")
    known, asked = _keys(suite, choice), _keys(tuning, choice)
    every = {key for keys in known.values() for key in keys}
    shared = frozenset(item for item, keys in asked.items() if not every.isdisjoint(keys))
    if len(shared) == len(asked):
        raise FathomError(f"`tuning` {tuning.folder} has no item that is not in {suite.folder}: {advice}")
    longest = max(sample.length for sample in chosen_samples(tuning, choice) if sample.item not in shared)
    for window in windows:
        if longest <= window:
            raise FathomError(
                f"`tuning` {tuning.folder}: no sample is beyond the window of {window:,} tokens, where values are "
                "chosen"
            )
    return shared


def _keys(suite: BuiltSuite, choice: Choice) -> dict[str, set[int]]:
    """Hashes that identify each item; they need little memory."""
    by_item: dict[str, set[int]] = {}
    owners: dict[tuple[str, str], set[str]] = {}
    asked: dict[str, list[tuple[str, str, int]]] = {}
    for sample in chosen_samples(suite, choice, parts=True):
        own = by_item.setdefault(sample.item, set())
        own.add(hash((sample.task, sample.parts)))
        own.add(hash((sample.item, sample.targets, suite.manifest.get("seed"))))
        if sample.asked:
            owners.setdefault((sample.task, sample.asked), set()).add(sample.item)
            key = hash((sample.task, sample.asked, sample.targets))
            asked.setdefault(sample.item, []).append((sample.task, sample.asked, key))
    for item, questions in asked.items():
        by_item[item] |= {key for task, question, key in questions if len(owners[task, question]) == 1}
    return by_item
