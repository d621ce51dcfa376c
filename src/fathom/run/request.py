"""What a run asks: the samples of a suite that the settings choose, and how a model is asked them."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from fathom.plugins import loading
from fathom.run.chosen import Chosen, choose
from fathom.run.options import check_choice
from fathom.run.subset import describe_subset, members_of
from fathom.runfile.manifest import describe_run
from fathom.runfile.settings import RunSettings
from fathom.suites.subsetfile import read_subset
from fathom.suites.suitefile import BuiltSuite, facts_of, values_of, why_none
from fathom.tokens.length import thinking as with_thoughts
from fathom.tokens.tokenizers import Tokenizer, get_tokenizer
from fathom.types import FathomError, Json, Sample


@dataclass(frozen=True)
class RunRequest:
    """What a run asks.

    Attributes:
        settings: Which of its samples are asked, how, and up to which limits.
        chosen: How the model is asked, and what the tables say of it.
        only: Ids of samples and names of items, of which all others are left out; None for all.
        manifest: The content of ``run.json``.
    """

    suite: BuiltSuite
    settings: RunSettings
    chosen: Chosen
    only: frozenset[str] | None
    manifest: Mapping[str, Json]

    def facts(self) -> Iterator[Sample]:
        """The samples in the order of the suite, without recipes."""
        return self._stream(parts=False)

    def samples(self) -> Iterator[Sample]:
        """The samples in the order of the suite."""
        return self._stream(parts=True)

    def samples_by_name(self, ids: Collection[str]) -> Iterator[Sample]:
        """Some samples of the suite, wanted or not, without recipes."""
        return map(self._as_asked, self.suite.samples(only=ids, parts=False))

    def sample(self, id: str) -> Sample:
        """A sample by its id."""
        return self._as_asked(self._recipes[id])

    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the suite."""
        return get_tokenizer(self.suite.manifest["tokenizer"])

    def _stream(self, parts: bool) -> Iterator[Sample]:
        chosen = self.settings
        samples = self.suite.samples(
            tasks=chosen.tasks,
            lengths=chosen.lengths,
            limit=chosen.limit,
            only=self.only,
            where=chosen.where,
            parts=parts,
        )
        return map(self._as_asked, samples)

    @cached_property
    def _recipes(self) -> Mapping[str, Sample]:
        return self.suite.by_id()

    def _as_asked(self, sample: Sample) -> Sample:
        """The sample with the prompt that asks for reasoning, if the model is asked so."""
        thinking = self.chosen.settings.thinking
        if thinking is None or not thinking.visible:
            return sample
        if not sample.thinking_tokens:
            raise FathomError(
                f"`thinking` on: sample {sample.id!r} of task {sample.task} has no thinking prompt, which a model "
                "without native reasoning needs for a thinking score; leave the task out with `tasks`"
            )
        return with_thoughts(sample)

    def check(self) -> None:
        """Check that there is a sample.

        Raises:
            FathomError: There is none; the message says which settings exclude all.
        """
        if next(self.facts(), None) is not None:
            return
        chosen = self.settings
        if chosen.where:
            samples = self.suite.samples(tasks=chosen.tasks, lengths=chosen.lengths, only=self.only, parts=False)
            if values := values_of(map(facts_of, samples)):
                raise FathomError(f"{self.suite.folder}: {why_none(chosen.where, values)}")
        raise FathomError(
            f"{self.suite.folder}: no sample has both the requested tasks and lengths"
            f"{' in this subset' if self.only else ''}; its manifest.json lists them"
        )


def request_of(
    suite: BuiltSuite, model: str, settings: RunSettings, command: Mapping[str, Json] | None = None
) -> RunRequest:
    """What a run asks.

    Args:
        settings: Which samples are asked, how, and up to which limits.
        command: The options given and the configuration file they came from, for ``run.json``.

    Raises:
        FathomError: A setting is wrong, or the suite has no such samples.
    """
    subset = read_subset(settings.subset) if settings.subset is not None else None
    chosen = choose(
        model,
        settings,
        settings,
        system=settings.system,
        server_command=settings.server_command,
        label=settings.label,
        step=settings.step,
        subset=describe_subset(subset) if subset else None,
    )
    loading.use_again(suite.manifest.get("plugins"), suite.folder)
    check_choice(suite.manifest, settings.tasks, settings.lengths)
    only = members_of(subset, suite) if subset else None
    manifest = describe_run(suite.folder, suite.manifest, chosen.settings, command=command)
    request = RunRequest(suite, settings, chosen, only, manifest)
    request.check()
    return request
