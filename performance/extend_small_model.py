"""How far methods that extend a window reach with a small model trained on the spot, whose window is known.

    python performance/extend_small_model.py FOLDER [--window 128] [--minutes 25] [--finetune 500] [--quick]

A Llama with random weights learns three tasks (``small_model_tasks``) from rows of at most ``--window`` tokens. Then
the same held-out items, at a quarter of the window to 8 times the window, are asked by fathom's own client for local
models, ``hf/FOLDER?extend=...``: once for each method for positions, and once for each of several methods for the cache
under ``--under``. With ``--finetune``, copies of the model are trained further at ``--factor`` windows, each with the
frequencies of one method, and measured beside the same methods without that.

FOLDER keeps the model, the suite, the runs, ``results.json`` and ``tables.md``. The same command resumes what was
interrupted, in training as in runs. A GPU is used where there is one, with a larger model by default.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import small_model_tasks
from fathom import __version__, api
from fathom.analysis.compare import compare
from fathom.analysis.profile import profiles
from fathom.extend.frequencies import frequencies
from fathom.extend.methods import FULL, make_method, settled, split_name
from fathom.stats.intervals import interval_of
from fathom.suites.suitefile import read_manifest
from small_model_tasks import REPLY, SHORTEST, TASKS_OF_ITEMS, fingerprint, write_suite
from small_model_training import Course, Shape, steps_of, train

REACH = 8  # windows of the longest prompts
ITEM_SEED = 5
MODEL, SUITE, RUNS = "model", "suite", "runs"


@dataclass(frozen=True)
class Setting:
    """A model of the table.

    Attributes:
        name: What its line is called.
        query: What comes after the name of the model: ``extend=yarn&length=1024``.
        model: The folder of its weights within the folder of the study.
        table: The table that it belongs to.
    """

    name: str
    query: str
    model: str = MODEL
    table: str = "positions"


# --------------------------------------------------------------------------------------------- what is measured


def position_settings(shape: Shape) -> list[Setting]:
    """Every method for positions, so that it reads ``REACH`` windows, with values that follow from the window."""
    window, length = shape.window, REACH * shape.window
    half, group = window // 2, 2 * REACH
    reading = f"length={length}"
    queries = {
        "none": reading,
        "pi": reading,
        "ntk": reading,
        "dynamic": reading,
        "yarn": reading,
        "abf": f"theta={shape.base * REACH:g}&{reading}",
        "llama3": f"factor={REACH}&{reading}",
        "longrope": f"long_factor={','.join(f'{one:.6g}' for one in yarn_divisors(shape))}&{reading}",
        "rerope": f"window={half}&{reading}",
        "leaky": f"window={half}&group={group}&{reading}",
        "selfextend": f"window={half // group * group}&group={group}&{reading}",
        "dca": reading,
        "streaming": f"sinks=4&window={window - 4}&{reading}",
    }
    return [Setting(name, f"extend={name}&{more}") for name, more in queries.items()]


def yarn_divisors(shape: Shape) -> list[float]:
    """By what YaRN divides each frequency: a stand-in for LongRoPE's, which are searched for a model."""
    size = shape.hidden // shape.heads
    own = frequencies(make_method("none"), size, shape.base)[0]
    method = settled(make_method("yarn", {"factor": REACH}), shape.window)
    return [float(one) for one in own / frequencies(method, size, shape.base)[0]]


def cache_settings(under: str, positions: Sequence[Setting], budget: int) -> list[Setting]:
    """Methods for the cache with one budget, under one method for positions."""
    query = next(one.query for one in positions if one.name == under)
    half = f"budget={budget}&recent={budget // 2}"
    queries = {
        "full": "",
        "snapkv": f"cache=snapkv&budget={budget}&window={max(2, budget // 4)}",
        "h2o": f"cache=h2o&{half}",
        "random": f"cache=random&{half}",
        "recent": f"cache=recent&budget={budget}",
        "fp8": "cache=fp8",
    }
    table = f"caches of {budget} tokens, positions by {under}"
    return [Setting(name, f"{query}&{more}".rstrip("&"), table=table) for name, more in queries.items()]


def tuned_settings(shape: Shape, names: Sequence[str], factor: int) -> list[Setting]:
    """Each of some methods with and without further training."""
    most, found = REACH * shape.window, []
    table = f"tuned at {factor} windows"
    for name in names:
        query = f"extend={name}&length={most}" if name == "none" else f"extend={name}&factor={factor}&length={most}"
        found.append(Setting(f"{name}, not tuned", query, table=table))
        # Its configuration has the frequencies already.
        found.append(Setting(f"{name}, tuned", f"extend=none&length={most}", f"tuned-{name}", table))
    return found


# ---------------------------------------------------------------------------------------------------- measuring


def measure(setting: Setting, given: argparse.Namespace) -> Path:
    """Run the suite with one setting, or what is left of it; in batches where its method allows them."""
    place: Path = given.folder / setting.model
    # A model that was trained further is another one; a setting that is in two tables is run once.
    model = f"hf/{setting.model}-{steps_of(place)}?{setting.query}"
    out: Path = given.folder / RUNS / hashlib.sha256(model.encode()).hexdigest()[:12]
    _, positions, cache = split_name(model)
    batches = {} if positions.kind.per_request or cache != FULL else {"batch_size": given.batch}
    arguments = {"model_path": str(place), "device": given.device, "dtype": "float32"}
    api.run(given.folder / SUITE, model, out, chat_template="never", model_args=arguments | batches)
    return out


def figures_of(rows: Any) -> dict[str, Any]:
    """Means with intervals by task and length of the one model of a rows table."""
    found: dict[str, Any] = {}
    for profile in profiles(rows):
        found[profile.task] = {
            str(length): [round(float(mean), 4), round(interval.low, 4), round(interval.high, 4)]
            for length, mean, draws in zip(profile.lengths, profile.means, profile.draws.T, strict=True)
            for interval in [interval_of(draws, float(mean))]
        }
    return found


def differences_of(rows: Any, first: str, second: str) -> dict[str, Any]:
    """Differences of two models over all tasks by length, paired over items, with intervals and p-values."""
    return {
        str(one.length): [
            round(one.difference, 4),
            round(one.interval.low, 4),
            round(one.interval.high, 4),
            one.p_value,
        ]
        for one in compare(rows, first, second)
        if one.task == "all" and one.length is not None
    }


def measured(given: argparse.Namespace, settings: Sequence[Setting]) -> Iterator[dict[str, Any]]:
    """The record of each setting; the differences are from the first of its table."""
    import polars as pl

    first: Any = None
    for setting in settings:
        began = time.monotonic()
        out = measure(setting, given)
        rows = api.rows([out])
        record = {**asdict(setting), "seconds": round(time.monotonic() - began, 1), "means": figures_of(rows)}
        if first is None:
            first = rows
        else:
            name, other = rows["model"][0], first["model"][0]
            record["difference"] = differences_of(pl.concat([first, rows]), name, other)
        tell(f"{setting.table} {setting.name}: {line_of(record['means']['all'])}  ({record['seconds']:.0f} s)")
        yield record


def line_of(means: dict[str, Any]) -> str:
    return "  ".join(f"{length} {values[0]:.2f}" for length, values in means.items())


# ------------------------------------------------------------------------------------------------------- tables


def tables(results: dict[str, Any]) -> str:
    """All results as Markdown."""
    parts = []
    for table in dict.fromkeys(one["table"] for one in results["settings"]):
        records = [one for one in results["settings"] if one["table"] == table]
        for task in ("all", *TASKS_OF_ITEMS):
            parts.append(f"{table}: {'mean of the tasks, 95% intervals' if task == 'all' else task}\n")
            parts.append(table_of(records, task, results["lengths"]))
    return "\n".join(parts)


def table_of(records: Sequence[dict[str, Any]], task: str, lengths: Sequence[int]) -> str:
    """One table: settings by lengths; with intervals for the mean over tasks."""
    lines = [f"| method | {' | '.join(map(str, lengths))} |", f"| --- |{' --- |' * len(lengths)}"]
    for one in records:
        cells = [cell(one["means"].get(task, {}).get(str(length)), whole=task == "all") for length in lengths]
        lines.append(f"| {one['name']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def cell(values: Sequence[float] | None, *, whole: bool) -> str:
    if values is None:
        return ""
    mean, low, high = (short(one) for one in values)
    return f"{mean} ({low} to {high})" if whole else mean


def short(value: float) -> str:
    """A share with two digits and without its zero."""
    return (
        "-" if math.isnan(value) else {"0.00": "0", "1.00": "1"}.get(f"{value:.2f}", f"{value:.2f}".removeprefix("0"))
    )


# ------------------------------------------------------------------------------------------------- the whole study


def tell(line: str) -> None:
    print(line, flush=True)


def trained(state: dict[str, Any], course: Course) -> dict[str, Any]:
    """The state of a training that is finished; a model that is still learning is not measured."""
    if not state["reached"] and state["step"] < course.steps:
        raise SystemExit(
            f"training was stopped at step {state['step']:,}; the same command goes on, and with --steps "
            f"{state['step']} the model is measured as it is"
        )
    return state


def tune(folder: Path, name: str, shape: Shape, course: Course, factor: int, device: str) -> dict[str, Any]:
    """Train a copy of the model further, at ``factor`` windows, with the frequencies of a method."""
    from fathom.models.hugging_face import load_model

    query = f"extend={name}" if name == "none" else f"extend={name}&factor={factor}"
    loaded = load_model(
        f"hf/{MODEL}?{query}", {"model_path": str(folder / MODEL), "device": device, "dtype": "float32"}
    )
    loaded.model.config.max_position_embeddings = factor * shape.window
    state = train(
        folder / f"tuned-{name}",
        replace(shape, window=factor * shape.window, seed=shape.seed + 1),
        course,
        device=device,
        tell=lambda line: tell(f"{name}: {line}"),
        started=loaded.model,
    )
    return trained(state, course)


def lengths_of(window: int) -> list[int]:
    """A quarter of the window to ``REACH`` windows, each twice as long as the one before."""
    longest = REACH * window
    return [length for length in (longest >> step for step in range(8)) if length >= max(SHORTEST, window // 4)][::-1]


def prepare_suite(folder: Path, lengths: list[int], count: int) -> None:
    """Write the suite, or check that the one that is there has the same items."""
    if not folder.exists():
        write_suite(folder, lengths, count, ITEM_SEED)
    if read_manifest(folder)["fingerprint"] != fingerprint(lengths, count, ITEM_SEED):
        raise SystemExit(f"{folder} has other lengths or items; give the same options as before, or another folder")


def study(given: argparse.Namespace) -> dict[str, Any]:
    """Train, measure and write everything; what is there already is not done again."""
    import torch

    folder: Path = given.folder
    shape = Shape(given.window, given.base, given.hidden, given.layers, given.heads, given.seed)
    course = Course(given.steps, given.tokens, given.rate, given.every, given.minutes)
    lengths = lengths_of(shape.window)
    state = trained(train(folder / MODEL, shape, course, device=given.device, tell=tell), course)
    prepare_suite(folder / SUITE, lengths, given.items)
    api.use_plugin(small_model_tasks.__file__)
    results: dict[str, Any] = {
        "fathom": __version__,
        "torch": torch.__version__,
        "processor": platform.machine() if given.device == "cpu" else torch.cuda.get_device_name(),
        "threads": torch.get_num_threads(),
        "shape": asdict(shape),
        "course": asdict(course),
        "training": state,
        "lengths": lengths,
        "items": given.items,
        "item_seed": ITEM_SEED,
        "reply": REPLY,
        "settings": [],
        "tuning": {},
    }
    positions = position_settings(shape)
    chosen = positions if given.methods is None else [one for one in positions if one.name in given.methods]
    groups = [chosen] + [cache_settings(under, positions, given.budget) for under in given.under]
    for group in groups:
        record(given, group, results)
    if given.finetune:
        longer = replace(course, steps=given.finetune, goal=2.0, rate=course.rate / 2)
        for name in given.tuned:
            results["tuning"][name] = tune(folder, name, shape, longer, given.factor, given.device)
        record(given, tuned_settings(shape, given.tuned, given.factor), results)
    return results


def record(given: argparse.Namespace, settings: Sequence[Setting], results: dict[str, Any]) -> None:
    """Measure settings and write all results after each."""
    for one in measured(given, settings):
        results["settings"].append(one)
        write(given.folder, results)


def write(folder: Path, results: dict[str, Any]) -> None:
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    (folder / "tables.md").write_text(tables(results), "utf-8")


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The options, with defaults that follow from the machine."""
    import torch

    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--window", type=int, default=512 if gpu else 128, help="tokens of the longest rows of training"
    )
    parser.add_argument("--base", type=float, default=10_000.0, help="base of the rotary frequencies")
    parser.add_argument("--hidden", type=int, default=512 if gpu else 128)
    parser.add_argument("--layers", type=int, default=4 if gpu else 2)
    parser.add_argument("--heads", type=int, default=8 if gpu else 4)
    parser.add_argument("--steps", type=int, default=20_000 if gpu else 6000)
    parser.add_argument("--tokens", type=int, default=65_536 if gpu else 4096, help="tokens of a step")
    parser.add_argument("--rate", type=float, default=1e-3, help="largest learning rate")
    parser.add_argument("--every", type=int, default=100, help="steps between checks and checkpoints")
    parser.add_argument("--minutes", type=float, default=25.0, help="training stops then; the same command goes on")
    parser.add_argument("--items", type=int, default=200 if gpu else 40, help="held-out items of each task")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--methods", help="methods for positions, separated by commas; by default all")
    parser.add_argument("--under", default="none", help="the method for positions under which caches are measured")
    parser.add_argument("--budget", type=int, help="tokens that caches keep; by default half of the window")
    parser.add_argument("--finetune", type=int, default=0, metavar="STEPS", help="steps of further training")
    parser.add_argument("--tuned", default="none,pi,yarn", help="methods that are trained further: none, pi, ntk, yarn")
    parser.add_argument("--factor", type=int, default=4, help="windows that further training is for")
    parser.add_argument("--batch", type=int, default=16 if gpu else 8, help="prompts at once, where methods allow it")
    parser.add_argument("--device", default="cuda" if gpu else "cpu")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch on a CPU")
    parser.add_argument("--quick", action="store_true", help="a model that learns nothing and few items: does it run?")
    given = parser.parse_args(words)
    given.methods = given.methods.split(",") if given.methods else None
    given.tuned = given.tuned.split(",")
    given.under = [name for name in given.under.split(",") if name]
    if given.quick:
        quick = {"window": 32, "hidden": 32, "layers": 1, "heads": 2, "steps": 4, "tokens": 256, "every": 2, "items": 1}
        vars(given).update({**quick, "finetune": min(given.finetune, 2), "device": "cpu"})
    given.budget = given.budget or given.window // 2
    return given


def main(words: Sequence[str] | None = None) -> dict[str, Any]:
    import torch

    given = arguments(words)
    if given.device == "cpu":
        torch.set_num_threads(given.threads)
    results = study(given)
    tell((given.folder / "tables.md").read_text("utf-8"))
    return results


if __name__ == "__main__":
    main()
