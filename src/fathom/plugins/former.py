"""Modules under the names that they had: plugins and other packages import them."""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_MODELS = (
    "answers baselines clients completions embedding embedding_judge entailment failures form hugging_face "
    "inspect_client local_client loop model_settings overflow prices ray_vllm request_mode retry streaming thinking "
    "usage wire"
)
_ROOMS = {
    "documents": "records corpus sources",
    "suites": "compose build suitefile subsetfile tasks registry",
    "safety": "secrets address",
    "storage": "atomic checksums",
    "plugins": "discovery extras names usertable",
    "parallel": "units",
    "tokens": "counts length",
    "options": "terminal",
}
_MERGED = {
    "benchmarks.ada.candidates": "benchmarks.ada.bestanswer",
    "benchmarks.ada.segments": "benchmarks.ada.tsort",
    "benchmarks.hundred.biomedicine_sources": "benchmarks.hundred.sources",
    "benchmarks.hundred.law_sources": "benchmarks.hundred.sources",
    "benchmarks.hundred.meetings_sources": "benchmarks.hundred.sources",
    "benchmarks.hundred.news_sources": "benchmarks.hundred.sources",
    "benchmarks.leader.shots": "benchmarks.leader.icl_tasks",
    "benchmarks.longbench.mini_records": "benchmarks.longbench.records",
    "benchmarks.longbench.v2_suite": "benchmarks.longbench.suite",
    "documents.corpus.drawn": "documents.corpus.files",
    "documents.records.parts": "documents.records.streams",
}
FORMER = {
    **{f"fathom.{name}": f"fathom.{room}.{name}" for room, names in _ROOMS.items() for name in names.split()},
    **{f"fathom.run.{name}": f"fathom.models.{name}" for name in _MODELS.split()},
    **{
        f"fathom.run.{name}": f"fathom.runfile.{name}"
        for name in ("manifest", "store", "store_checks", "judgements", "ledger", "worker", "progress")
    },
    **{
        f"fathom.report.{name}": f"fathom.report.sections.{name}"
        for name in ("answers", "breakdown", "hundred", "known", "position", "truncation")
    },
    "fathom.run.model": "fathom.models.protocol",
    "fathom.run.batches.store": "fathom.runfile.batches",
    "fathom.run.batches.judging": "fathom.run.cases.session",
    "fathom.run.judge_plan": "fathom.run.cases.pending",
    "fathom.run.judging": "fathom.run.cases.session",
    "fathom.run.shards.running": "fathom.run.sharded",
    "fathom.corpus.world": "fathom.world.corpus",
    "fathom.documents.world": "fathom.world.corpus",
    "fathom.corpus.world.grammar": "fathom.world.plans",
    "fathom.world.corpus.grammar": "fathom.world.plans",
    "fathom.corpus.world.generator": "fathom.world.corpus.articles",
    "fathom.documents.world.generator": "fathom.world.corpus.articles",
    "fathom.compress.estimated": "fathom.compress.estimates",
    "fathom.studio.agreements": "fathom.studio.statistics",
    "fathom.studio.audits": "fathom.studio.statistics",
    "fathom.studio.backup": "fathom.studio.auditing",
    "fathom.studio.projection": "fathom.studio.schema",
    "fathom.studio.tables": "fathom.studio.quality",
    "fathom.cluster": "fathom.parallel.on_ray",
    "fathom.failures": "fathom.cli.failures",
    **{f"fathom.{former}": f"fathom.{now}" for former, now in _MERGED.items()},
}
"""The name of each module that was moved, by its former name; a package with all that is below it."""


def name_now(name: str) -> str | None:
    """The name of a module by a former one; None if it is not one, or is gone from a package that was moved."""
    parts = name.split(".")
    for count in range(len(parts), 1, -1):
        if moved := FORMER.get(".".join(parts[:count])):
            now = ".".join([moved, *parts[count:]])
            return now if count == len(parts) or find_spec(now) else None
    return None


class FormerNames(MetaPathFinder):
    """Finds modules by their former names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module itself, under both names; None for other modules."""
        now = name_now(fullname) if fullname.startswith("fathom.") else None
        return None if now is None else ModuleSpec(fullname, _Moved(now))


class _Moved(Loader):
    def __init__(self, now: str) -> None:
        self.now = now
        self.spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        warnings.warn(f"{spec.name} is now {self.now}", DeprecationWarning, stacklevel=2)
        module = import_module(self.now)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import of the former name has replaced it


def install() -> None:
    """Has Python find modules of fathom by their former names; once."""
    if not any(isinstance(finder, FormerNames) for finder in sys.meta_path):
        # Before the others: they would load what is below a package a second time.
        sys.meta_path.insert(0, FormerNames())


def moved(package: str, name: str, now: str) -> Any:
    """What a package had itself when it was a module, and a module of it has now.

    Args:
        name: The name that it lacks.

    Raises:
        AttributeError: The module has no such name either.
    """
    value = None if name.startswith("__") else getattr(import_module(now), name, None)
    if value is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    warnings.warn(f"{package}.{name} is now {now}.{name}", DeprecationWarning, stacklevel=3)
    return value
