"""Compares setups of a model: chooses values on one suite, asks all setups the samples of another, measures times."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import isnan, nan
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from fathom.analysis import curve
from fathom.analysis.grid import ALL
from fathom.analysis.setups import Setup, Trial, Tuned, compare_setups
from fathom.extend.methods import WHOLE
from fathom.lab.checks import check_commands, check_names, check_servers, chosen_samples, run_name, shared_items
from fathom.lab.page import Comparison
from fathom.lab.plan import RequestedSetup, Sizes, Way, best_way, changes_model, read_setup, trained
from fathom.lab.ready import Forecasts, SetupForecast, look_ahead
from fathom.lab.times import Prompt, Times, prompts_of, times_of
from fathom.models.hugging_face import bytes_of_token, is_local, trained_window
from fathom.models.local_client import check_local_model
from fathom.models.protocol import Settings, is_baseline
from fathom.models.settings import Reasoning, Sampling
from fathom.plugins import loading
from fathom.plugins.names import folder_name, listed
from fathom.printing import several
from fathom.rows import load
from fathom.run import Progress, run
from fathom.run.chosen import choose
from fathom.run.runner import Callbacks
from fathom.runfile.settings import RunSettings
from fathom.stats.outcomes import Unanswered
from fathom.storage.atomic import whole_file
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError, Sample, StoppedError

RECORD = "lab.json"
BASE = WHOLE.name
"""The base of models that are not in this process."""
TEMPLATE = 64
"""Tokens that a chat template adds, at most."""
MATCHED_TIMES = "its factor is another one at each length"
_DEFAULTS = RunSettings()

Tell: TypeAlias = Callable[[str, Progress | None], None]
"""Called with what is done, and how far it is."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is compared, and how.

    Attributes:
        suite: The suite that results are reported on.
        models: Names of the models; each is compared with itself.
        setups: Setups as users name them (``fathom.lab.plan.read_setup``); the base is added.
        trained: Setups of the first model with other weights (``fathom.lab.plan.trained``).
        servers: Addresses of servers that the user started for a setup of the first model, by the name of the setup.
        commands: The command lines with which these were started, and under the name of the base that of the server
            which all other setups are asked on.
        tuning: The suite on which values are chosen; None if there are none to choose.
        settings: Settings of the runs, the same for all setups, which set system and command line of the server
            themselves. The window is the trained one of the models; None for that of their configuration.
        repeats: Measured requests for times; 0 for none.
    """

    suite: Path
    models: tuple[str, ...]
    setups: tuple[str, ...]
    trained: tuple[str, ...] = ()
    servers: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)
    tuning: Path | None = None
    settings: RunSettings = _DEFAULTS
    repeats: int = 5


@dataclass(frozen=True, slots=True)
class _Plan:
    """The setups of one model, checked.

    Attributes:
        model: Its name.
        window: Its trained window.
        every: Its setups, the base first.
        folder: Folder of its runs.
        left_out: Items of the tuning suite that are not used, because the report is on them.
        failed: Why a setup cannot be asked, by its name.
    """

    model: str
    window: int
    every: tuple[RequestedSetup, ...]
    folder: Path
    left_out: frozenset[str] = frozenset()
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def base(self) -> RequestedSetup:
        return self.every[0]


def compare(
    recipe: Recipe,
    out: Path,
    *,
    unanswered: Unanswered = "zero",
    seed: int = 0,
    tell: Tell = lambda words, state: None,
    confirm: Callable[[Forecasts], bool] | None = None,
) -> Iterator[Comparison]:
    """Run a comparison; repeating the call resumes it.

    Everything is checked, and every setup is opened, before the first request. A setup that cannot be opened, or fails
    later, is left out of the comparison and told with its reason; the base must not fail. Then values are chosen on the
    tuning suite, all setups are asked the samples of the suite, and times are measured.

    Args:
        recipe: What is compared.
        out: Folder for the runs and the record.
        unanswered: How unanswered replies count.
        seed: Seed of intervals, and of the order in which times are measured.
        tell: Called with progress.
        confirm: Called with what is ahead before the first request; False stops.

    Yields:
        The comparison of each model, when it is finished.

    Raises:
        FathomError: A setup is wrong, two runs would share a folder, values are to be chosen and there is no tuning
            suite with other items, or the base cannot be asked. What is finished is kept.
        StoppedError: It was interrupted, or a limit is reached.
    """
    suite = _opened(recipe.suite)
    plans = _plans(recipe, suite, out)
    asker = _Asker(recipe, tell)
    prompts = prompts_of(suite, recipe.settings) if confirm else {}
    opened = [_opened_setups(recipe, plan, suite, prompts, tell) for plan in plans]
    if confirm and not confirm(Forecasts(tuple(ahead for _, every in opened for ahead in every))):
        return
    for plan, _ in opened:
        chosen, tuned = _choose(plan, asker)
        chosen, frames = _asked_all(chosen, suite, asker)
        times = _timed(recipe, chosen, suite, seed, tell)
        words_of = {values.setup: _in_words(values) for values in tuned}
        setups = [
            Setup(
                setup.name, setup.kind, setup.trained, words_of.get(setup.name, ""), times.kernels.get(setup.name, "")
            )
            for setup in chosen.every
        ]
        rows = pl.concat(frames)
        results = compare_setups(
            rows, setups, plan.base.name, plan.window, timings=times.timings, unanswered=unanswered, seed=seed
        )
        _write(recipe, chosen, tuned, times)
        notes = (*_notes(recipe, suite, chosen), *_missing(times))
        yield Comparison(
            plan.model,
            plan.folder,
            tuple(results),
            plan.base.name,
            plan.window,
            tuple(tuned),
            rows,
            notes,
            chosen.failed,
        )


# What is to be done, checked before anything is asked


def _opened(folder: Path) -> BuiltSuite:
    """A suite, with the files of tasks that it was built with."""
    suite = open_suite(folder)
    loading.use_again(suite.manifest.get("plugins"), folder)
    return suite


def _plans(recipe: Recipe, suite: BuiltSuite, out: Path) -> list[_Plan]:
    """The setups of all models.

    Raises:
        FathomError: See ``compare``.
    """
    if not recipe.models:
        raise FathomError("name a model with `model`")
    if len(set(recipe.models)) < len(recipe.models):
        raise FathomError(f"`model` {listed(recipe.models)}: expected each once")
    plans = []
    for number, model in enumerate(recipe.models):
        window = _window(recipe, model)
        every = _setups(recipe, suite, model, window, more=number == 0)
        folder = out if len(recipe.models) == 1 else out / folder_name(model)
        plans.append(_Plan(model, window, tuple(every), folder))
    if len(plans) > 1:
        check_names("model", ((plan.model, plan.folder.name) for plan in plans))
    check_servers(recipe.models[0], recipe.servers, recipe.settings.model_base_url)
    check_commands(recipe.commands, (BASE, *recipe.servers))
    unused = [text for text in recipe.setups if changes_model(text) and not any(map(is_local, recipe.models))]
    if unused:
        read_setup(unused[0], recipe.models[0], Sizes(1, 1, 1))  # which says why
    for plan in plans:
        _check(recipe, plan)
    if recipe.tuning is not None and any(setup.tuned for plan in plans for setup in plan.every):
        windows = [plan.window for plan in plans if any(setup.tuned for setup in plan.every)]
        shared = shared_items(suite, _opened(recipe.tuning), recipe.settings, windows)
        plans = [replace(plan, left_out=shared) for plan in plans]
    return plans


def _window(recipe: Recipe, model: str) -> int:
    if "?" in model and is_local(model):
        raise FathomError(f"model {model}: name methods as setups, as in `setup` 'yarn?factor=4'")
    window = recipe.settings.window
    if window is None and is_baseline(model):
        from fathom.models.baselines import baseline_client

        window = baseline_client(model, get_tokenizer).window
    if window is None and is_local(model):
        check_local_model(_settings(recipe, Way(model)))
        window = trained_window(model, recipe.settings.model_args or {})
    if window is None:
        window = choose(model, Sampling(), Reasoning()).price.window
    if window is None:
        raise FathomError(f"the window of {model} is unknown; give it with `window`, for instance `window` 32k")
    return window


def _setups(recipe: Recipe, suite: BuiltSuite, model: str, window: int, *, more: bool) -> list[RequestedSetup]:
    """All setups of a model, the base first; with ``more`` also those on other servers and with other weights."""
    sizes = _sizes(recipe, suite, model, window)
    base = "none" if is_local(model) else BASE
    texts = dict.fromkeys([base, *(text for text in recipe.setups if is_local(model) or not changes_model(text))])
    setups = [read_setup(text, model, sizes) for text in texts]
    if more:
        for name, url in recipe.servers.items():
            way = Way(model, base_url=url, server_command=recipe.commands.get(name))
            setups.append(RequestedSetup(name, "position", (way,)))
        setups += [trained(text) for text in recipe.trained]
    names = [setup.name for setup in setups]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FathomError(f"two setups have the name {twice[0]!r}; leave one out, or give it another value")
    return setups


def _sizes(recipe: Recipe, suite: BuiltSuite, model: str, window: int) -> Sizes:
    from fathom.suites.registry import get_task

    settings = recipe.settings
    facts = list(chosen_samples(suite, settings))
    if not facts:
        raise FathomError(f"{recipe.suite}: no sample has both the requested tasks and lengths")
    longest = max(sample.tokens for sample in facts)
    caps = {get_task(task).max_output_tokens for task in {sample.task for sample in facts}}
    # The model's tokenizer may count more than the suite's.
    reserve = (settings.max_output_tokens or max(caps)) + longest // 32
    template = 0 if settings.chat_template == "never" else TEMPLATE
    lengths = {length: max(own.tokens for own in facts if own.length == length) for length in {*map(_length, facts)}}
    given = recipe.settings.window is not None
    token_bytes = bytes_of_token(model, recipe.settings.model_args or {}) if is_local(model) else 0
    return Sizes(window, longest, reserve + template, given, lengths, token_bytes)


def _length(sample: Sample) -> int:
    return sample.length


def _check(recipe: Recipe, plan: _Plan) -> None:
    to_tune = [setup.name for setup in plan.every if setup.tuned]
    if to_tune and recipe.tuning is None:
        raise FathomError(
            f"setup {to_tune[0]!r} has values to choose from, which needs other items than those of the report: build "
            "a second suite with another `seed`, and name it with `tuning`"
        )
    check_names("setup", ((setup.name, run_name(setup, way)) for setup in plan.every for way in setup.ways))
    for way in plan.base.ways:
        if is_local(way.model):
            check_local_model(_settings(recipe, way))


def _settings(recipe: Recipe, way: Way) -> Settings:
    """How a model is asked."""
    asked = _run_settings(recipe, way)
    return choose(way.model, asked, asked, system=way.system).settings


def _run_settings(recipe: Recipe, way: Way) -> RunSettings:
    """Settings of a run. Models in this process and baselines have their windows from their names."""
    given = recipe.settings
    return given.but(
        window=None if is_local(way.model) or is_baseline(way.model) else given.window,
        model_base_url=given.model_base_url if way.base_url is None else way.base_url,
        server_command=recipe.commands.get(BASE) if way.base_url is None else way.server_command,
        system=way.system,
    )


# What is done


def _opened_setups(
    recipe: Recipe, plan: _Plan, suite: BuiltSuite, prompts: Mapping[int, Prompt], tell: Tell
) -> tuple[_Plan, list[SetupForecast]]:
    """The plan with the setups that can be opened, and what is ahead of each way.

    Raises:
        FathomError: The base cannot be opened.
    """
    every, failed, ahead = [], dict(plan.failed), []
    for setup in plan.every:
        able = []
        for way in setup.ways:
            name = " ".join(filter(None, (setup.name, way.values)))
            tell(f"opening {name}", None)
            asked = recipe.tuning if setup.tuned and recipe.tuning is not None else suite.folder
            place = plan.folder / ("tuning" if setup.tuned else "runs")
            settings, repeats = _run_settings(recipe, way), 0 if setup.tuned else recipe.repeats
            parts = [
                look_ahead(
                    name,
                    asked,
                    own.model,
                    _of_lengths(settings, lengths),
                    path,
                    {length: prompts[length] for length in lengths or prompts if length in prompts},
                    repeats,
                )
                for own, lengths, path in _parts(setup, way, place)
            ]
            ahead += parts
            reason = next(filter(None, (part.reason for part in parts)), "")
            if not reason:
                able.append(way)
        if able:
            every.append(replace(setup, ways=tuple(able)))
            continue
        if setup is plan.base:
            raise FathomError(reason)
        failed[setup.name] = reason
    return replace(plan, every=tuple(every), failed=failed), ahead


def _asked_all(plan: _Plan, suite: BuiltSuite, asker: "_Asker") -> tuple[_Plan, list[pl.DataFrame]]:
    """The rows of all setups that can be asked, and the plan without the others.

    Raises:
        FathomError: The base fails.
        StoppedError: Work was stopped.
    """
    every, frames, failed = [], [], dict(plan.failed)
    for number, setup in enumerate(plan.every, 1):
        words = f"{setup.name} ({number} of {len(plan.every)})"
        try:
            frames.append(asker.rows(suite, setup, plan.folder / "runs", words))
        except StoppedError:
            raise
        except FathomError as error:
            if setup is plan.base:
                raise
            failed[setup.name] = str(error)
        else:
            every.append(setup)
    return replace(plan, every=tuple(every), failed=failed), frames


class _Asker:
    """Asks setups, and keeps the limits for all runs together."""

    def __init__(self, recipe: Recipe, tell: Tell) -> None:
        self.recipe, self._tell = recipe, tell
        self._spent: dict[Path, tuple[int, float]] = {}

    def rows(self, suite: BuiltSuite, setup: RequestedSetup, place: Path, words: str) -> pl.DataFrame:
        """The rows of a setup, under its name, for the samples that are asked for now.

        An earlier call may have asked more of them.
        """
        settings = self.recipe.settings
        asked = [sample.id for sample in chosen_samples(suite, settings)]
        return (
            load(self.ask(suite.folder, setup, place, words))
            .filter(pl.col("sample").is_in(asked), pl.col("epoch") <= settings.epochs)
            .with_columns(pl.lit(setup.name).alias("model"), pl.lit("").alias("variant"))
        )

    def ask(self, suite: Path, setup: RequestedSetup, place: Path, words: str) -> list[Path]:
        """The folders of the runs of a setup with its first way; a finished one is not asked again.

        Raises:
            FathomError: The run fails.
            StoppedError: A limit for all runs together is reached.
        """
        return [
            self._ask_part(suite, way, _of_lengths(_run_settings(self.recipe, way), lengths), folder, words)
            for way, lengths, folder in _parts(setup, setup.ways[0], place)
        ]

    def _ask_part(self, suite: Path, way: Way, settings: RunSettings, folder: Path, words: str) -> Path:
        others = [spent for path, spent in self._spent.items() if path != folder]
        left = {
            "max_tokens_total": _left(settings.max_tokens_total, sum(tokens for tokens, _ in others)),
            "max_cost": _left(settings.max_cost, sum(cost for _, cost in others)),
        }
        for limit, rest in left.items():
            if rest is not None and rest <= 0:
                raise StoppedError(f"stopped: `{limit}` is reached; all finished replies are kept")
        self._tell(words, None)
        callbacks = Callbacks(progress=lambda state: self._tell(words, state))
        done = run(suite, way.model, settings.but(**left), out=folder, callbacks=callbacks)
        if done.progress is not None:
            self._spent[folder] = (done.progress.tokens_in + done.progress.tokens_out, done.progress.cost or 0.0)
        return folder


def _parts(setup: RequestedSetup, way: Way, place: Path) -> list[tuple[Way, tuple[int, ...], Path]]:
    """The runs of a setup in one way, with the lengths of each; () for all lengths."""
    name = run_name(setup, way)
    return [(own, lengths, place / (f"{name}-{max(lengths)}" if lengths else name)) for own, lengths in way.parts]


def _of_lengths(settings: RunSettings, lengths: tuple[int, ...]) -> RunSettings:
    """Settings of a run of some lengths only; without any, the settings."""
    return settings.but(lengths=lengths) if lengths else settings


def _left(limit: float | None, spent: float) -> float | None:
    return None if limit is None else limit - spent


def _choose(plan: _Plan, asker: _Asker) -> tuple[_Plan, list[Tuned]]:
    """The setups with the values that are best on the tuning suite, and all that were tried."""
    if asker.recipe.tuning is None or not any(candidate.tuned for candidate in plan.every):
        return plan, []
    suite = _opened(asker.recipe.tuning)
    place = plan.folder / "tuning"

    def rows_of(asked: RequestedSetup, words: str) -> pl.DataFrame:
        return asker.rows(suite, asked, place, f"tuning: {words}").filter(~pl.col("item").is_in(list(plan.left_out)))

    base = rows_of(plan.base, plan.base.name)
    every, tuned, failed = [], [], dict(plan.failed)
    for setup in plan.every:
        if not setup.tuned:
            every.append(setup)
            continue
        try:
            scores = [_means(rows_of(replace(setup, ways=(way,)), f"{setup.name}, {way.values}")) for way in setup.ways]
        except StoppedError:
            raise
        except FathomError as error:
            failed[setup.name] = str(error)
            continue
        best, halves = best_way(scores, _means(base), plan.window)
        trials = tuple(
            Trial(way.values, _known(short), _known(long), number == best)
            for number, (way, (short, long)) in enumerate(zip(setup.ways, halves, strict=True))
        )
        every.append(replace(setup, ways=(setup.ways[best],)))
        tuned.append(Tuned(setup.name, base["item"].n_unique(), trials))
    return replace(plan, every=tuple(every), failed=failed), tuned


def _timed(recipe: Recipe, plan: _Plan, suite: BuiltSuite, seed: int, tell: Tell) -> Times:
    if not recipe.repeats:
        return Times()
    asked = [(setup, _settings(recipe, setup.ways[0])) for setup in plan.every if not setup.ways[0].at]
    matched = {setup.name: MATCHED_TIMES for setup in plan.every if setup.ways[0].at}
    alone = [
        (setup, settings) for setup, settings in asked if settings.system == WHOLE and not is_baseline(settings.model)
    ]
    times = times_of(
        alone,
        prompts_of(suite, recipe.settings),
        plan.folder,
        repeats=recipe.repeats,
        seed=seed,
        tell=lambda name: tell(f"times: {name}", None),
    )
    return replace(times, missing={**times.missing, **matched})


# What came of it


def _means(rows: pl.DataFrame) -> dict[int, float]:
    """Mean score over tasks at each length, NaN without one."""
    points = curve(rows)
    over = ALL if any(point.task == ALL for point in points) else points[0].task
    return {point.length: nan if point.mean is None else point.mean for point in points if point.task == over}


def _known(value: float) -> float | None:
    return None if isnan(value) else value


def _in_words(tuned: Tuned) -> str:
    """How values were chosen."""
    chosen = next(trial for trial in tuned.trials if trial.chosen)
    if chosen.long is None:
        return f"{chosen.value}, the first of {len(tuned.trials)}: none has a score at all lengths beyond the window"
    return f"{chosen.value}, the best of {len(tuned.trials)} on {tuned.items} other items"


def _notes(recipe: Recipe, suite: BuiltSuite, plan: _Plan) -> list[str]:
    window, lengths = plan.window, {sample.length for sample in chosen_samples(suite, recipe.settings)} - {0}
    notes = [f"{listed(names)} are one setup in several spellings." for names in _spellings(plan)]
    if not any(length > window for length in lengths):
        notes.append(f"No length is beyond the window of {window:,} tokens: no gain can be measured.")
    if not any(length <= window for length in lengths):
        notes.append(f"No length is within the window of {window:,} tokens: no loss can be measured.")
    if recipe.tuning is not None:
        shared = set(suite.texts()) & set(open_suite(recipe.tuning).texts())
        if shared:
            notes.append(
                f"{several(len(shared), 'document is', 'documents are')} in the suite and in the tuning suite."
            )
    if plan.left_out:
        notes.append(
            f"{several(len(plan.left_out), 'item')} of the tuning suite left out, because they are also in the suite: "
            "values were chosen on the others."
        )
    return notes


def _spellings(plan: _Plan) -> list[list[str]]:
    """Names of setups that ask the model in the same way."""
    names: dict[Way, list[str]] = {}
    for setup in plan.every:
        names.setdefault(replace(setup.ways[0], values=""), []).append(setup.name)
    return [each for each in names.values() if len(each) > 1]


def _missing(times: Times) -> list[str]:
    """Why setups have no times; setups that share a reason are together."""
    why: dict[str, list[str]] = {}
    for name, reason in times.missing.items():
        why.setdefault(reason, []).append(name)
    return [f"No times of {listed(sorted(names))}: {reason}." for reason, names in why.items()]


def _write(recipe: Recipe, plan: _Plan, tuned: Sequence[Tuned], times: Times) -> None:
    """The record of the comparison: what was asked how, and what was tried."""
    record = {
        "suite": str(recipe.suite),
        "tuning": None if recipe.tuning is None else str(recipe.tuning),
        "model": plan.model,
        "window": plan.window,
        "base": plan.base.name,
        "setups": [
            {"name": setup.name, "kind": setup.kind, "trained": setup.trained, **_asked(setup.ways[0])}
            for setup in plan.every
        ],
        "failed": dict(plan.failed),
        "tuned": [asdict(values) for values in tuned],
        "kernels": dict(times.kernels),
        "timings": [asdict(timing) for timing in times.timings],
    }
    with whole_file(plan.folder / RECORD) as stream:
        stream.write(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def _asked(way: Way) -> dict[str, Any]:
    """A way without the address of its server, which is no part of a run either."""
    at = {"at": dict(way.at)} if way.at else {}
    return {"model": way.model, "system": way.system, "values": way.values, **at}
