"""What would make a comparison wrong without a word, found before anything is asked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fathom.lab.plan import Wanted, Way
from fathom.names import folder_name
from fathom.run.hugging_face import is_local
from fathom.run.model import is_baseline
from fathom.suitefile import BuiltSuite
from fathom.types import FathomError, Sample

OF_SAMPLES = ("tasks", "lengths", "limit", "where")
"""Options of ``fathom.run.run`` that choose samples."""


def run_name(setup: Wanted, way: Way) -> str:
    """The name of the folder of a setup's run in one way."""
    return folder_name(" ".join(filter(None, (setup.name, way.values))))


def chosen_samples(suite: BuiltSuite, options: Mapping[str, Any], *, parts: bool = False) -> Iterator[Sample]:
    """The samples that a run with these options asks, of all subsets."""
    return suite.samples(**{name: options.get(name) for name in OF_SAMPLES}, parts=parts)


def check_names(what: str, names: Iterable[tuple[str, str]]) -> None:
    """Two runs must not share a folder: the second would show the replies of the first.

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


def check_servers(model: str, servers: Mapping[str, str], base_url: str | None) -> None:
    """Servers must be others than that of the base.

    Raises:
        FathomError: The model is in this process, or two servers have one address.
    """
    if servers and (is_local(model) or is_baseline(model)):
        raise FathomError(f"--server {next(iter(servers))}: {model} is in this process, and asks no server")
    owners = {} if base_url is None else {base_url.rstrip("/"): "--model-base-url"}
    for name, url in servers.items():
        other = owners.setdefault(url.rstrip("/"), f"--server {name}")
        if other != f"--server {name}":
            raise FathomError(f"--server {name} has the address of {other}: one server has one method")


def check_tuning(
    suite: BuiltSuite, tuning: BuiltSuite, options: Mapping[str, Any], windows: Sequence[int], *, folder: Path
) -> None:
    """Values must be chosen on other items than those of the report, and beyond the window.

    Items are the same if they have the same prompt, or the same name, answers and sentences of their own, as items have
    at another length.

    Args:
        suite: The suite of the report.
        tuning: The suite on which values are chosen.
        options: Options of ``fathom.run.run``.
        windows: Trained windows of the models, in tokens.
        folder: Folder of the tuning suite, for messages.

    Raises:
        FathomError: An item is in both, or the tuning suite has no sample beyond a window.
    """
    other = "build it with another --seed, or of other data"
    if tuning.manifest["fingerprint"] == suite.manifest["fingerprint"]:
        raise FathomError(
            f"--tuning {folder} has the same samples as {suite.folder}: values must be chosen on other items; {other}"
        )
    known = {key for sample in chosen_samples(suite, options, parts=True) for key in _same(sample)}
    shared, lengths = set(), set()
    for sample in chosen_samples(tuning, options, parts=True):
        lengths.add(sample.length)
        if not known.isdisjoint(_same(sample)):
            shared.add(sample.item)
    if shared:
        raise FathomError(
            f"--tuning {folder} has {len(shared):,} items of {suite.folder}, such as {min(shared)}: values must be "
            f"chosen on other items; {other}"
        )
    for window in windows:
        if not any(length > window for length in lengths):
            raise FathomError(
                f"--tuning {folder}: no sample is beyond the window of {window:,} tokens, where values are chosen"
            )


def _same(sample: Sample) -> tuple[int, int]:
    """What two samples of one item have in common: at one length, and at any."""
    own = tuple(part for part in sample.parts if isinstance(part, str))
    return hash((sample.task, sample.parts)), hash((sample.item, sample.targets, own))
