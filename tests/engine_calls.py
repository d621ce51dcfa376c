"""What asks models, called with single settings as keywords: for tests, which set one or two of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fathom.models.settings import Reasoning, Sampling
from fathom.options.declare import fields_of
from fathom.run import JudgeSummary, RunSummary, runner, sharded
from fathom.run import judge as _judge
from fathom.run import likelihood as _likelihood
from fathom.run.chosen import Chosen
from fathom.run.chosen import choose as _choose
from fathom.run.runner import Callbacks
from fathom.run.shards.cutting import Shard
from fathom.runfile.settings import JudgeSettings, LikelihoodSettings, RunSettings
from fathom.suites.build import BuildConfig
from fathom.suites.build import configure as _configure
from fathom.suites.settings import BuildSettings

CALLBACKS = ("confirm", "progress", "tell", "watch", "enough")
LEAST = 256
"""The smallest window and length that users can give, in tokens."""


def run(suite: Path, model: str, *, out: Path, command: Any = None, **given: Any) -> RunSummary:
    """See ``fathom.run.run``."""
    callbacks, window = _callbacks(given), given.get("window")
    small = isinstance(window, int) and 0 < window < LEAST
    settings = RunSettings(**(given | {"window": None} if small else given))
    if small:  # for prompts of some hundred tokens; users cannot give such a window
        object.__setattr__(settings, "window", window)
    return runner.run(suite, model, settings, out=out, command=command, callbacks=callbacks)


def run_shard(
    suite: Path, model: str, *, out: str | Path, shard: Shard, verified: bool = False, **given: Any
) -> RunSummary:
    """See ``fathom.run.sharded.run_shard``."""
    callbacks = _callbacks(given)
    settings = RunSettings(**given)
    return sharded.run_shard(suite, model, settings, out=out, shard=shard, verified=verified, callbacks=callbacks)


def run_on_ray(
    suite: Path, model: str, *, out: str | Path, shards: int | None, address: str | None, **given: Any
) -> RunSummary:
    """See ``fathom.run.sharded.run_on_ray``."""
    callbacks = _callbacks(given)
    settings = RunSettings(**given)
    return sharded.run_on_ray(suite, model, settings, out=out, shards=shards, address=address, callbacks=callbacks)


def judge(run: Path, model: str, **given: Any) -> JudgeSummary:
    """See ``fathom.run.judge``."""
    own = {name: given.pop(name) for name in CALLBACKS if name in given}
    return _judge(run, model, JudgeSettings(**given), **own)


def likelihood(suite: Path, model: str, *, out: Path, **given: Any) -> RunSummary:
    """See ``fathom.run.likelihood``."""
    own = {name: given.pop(name) for name in CALLBACKS if name in given}
    return _likelihood(suite, model, LikelihoodSettings(**given), out=out, **own)


def choose(model: str, **given: Any) -> Chosen:
    """See ``fathom.run.chosen.choose``."""
    groups = [
        {field.name: given.pop(field.name) for field in fields_of(kind) if field.name in given}
        for kind in (Sampling, Reasoning)
    ]
    return _choose(model, Sampling(**groups[0]), Reasoning(**groups[1]), **given)


def configure(target: str, **given: Any) -> BuildConfig:
    """See ``fathom.suites.build.configure``."""
    small = {
        name: tuple(given.pop(name))
        for name in ("lengths", "truncate")
        if not isinstance(given.get(name), str | int) and any(one < LEAST for one in given.get(name) or ())
    }
    settings = BuildSettings(**given)
    for name, lengths in small.items():  # of tiny documents; users cannot give such lengths
        object.__setattr__(settings, name, lengths)
    return _configure(target, settings)


def _callbacks(given: dict[str, Any]) -> Callbacks:
    return Callbacks(**{name: given.pop(name) for name in CALLBACKS if name in given})
