"""Whether recovery orders four stops of a training: python performance/recovery_training.py FOLDER.

A small Llama learns the tasks of ``small_model_tasks`` from rows of at most 128 tokens, then goes on with rows of 512
tokens, and is stopped at four points. Each stop reads the same 300 items at 128 to 512 tokens, with the evidence alone
and without context, through fathom's own client for local models. It prints the replies right at 512 tokens as the
training counts them on items of its own, what each stop recovers, and what ``fathom gate --on recovery`` says of
neighbours. FOLDER keeps models, runs, report and picture; the same command resumes. Needs torch and transformers.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import small_model_tasks
from fathom import api
from fathom.suites.suitefile import is_suite
from fathom.types import Sample
from recovery_checkpoints import compare, write_suite
from small_model_tasks import FIRST, REPLY, TASKS_OF_ITEMS, Drawn, draw, lay_out, save_tokenizer, text_of
from small_model_training import STATE, Course, Shape, train

LENGTHS = (128, 256, 512)
FACTOR = 4
ITEM_SEED = 11
MODEL, EVERY = "model", 25


def samples_of(count: int) -> Iterator[Sample]:
    """Items of all tasks at every length, with their evidence alone, and without context."""
    import numpy as np

    for task in TASKS_OF_ITEMS:
        for number in range(count):
            rng = np.random.default_rng([ITEM_SEED, TASKS_OF_ITEMS.index(task), number])
            drawn = draw(task, rng, max(LENGTHS), (number + 0.5) / count)
            depth = round(float(drawn.depths[drawn.asked]), 4)
            for length in LENGTHS:
                item = lay_out(task, drawn, length)
                yield sample_of(task, number, f"@{length}", item.prompt, drawn, length, {"depth": depth})
            question = drawn.chains[drawn.asked]
            first, asked = (FIRST,), tuple(question[: drawn.shown].tolist())
            alone = (*first, *question.tolist(), *asked)
            yield sample_of(task, number, "@alone", alone, drawn, 0, {"context": "alone"})
            yield sample_of(task, number, "@none", (*first, *asked), drawn, 0, {"context": "none"})


def sample_of(
    task: str, number: int, end: str, prompt: tuple[int, ...], drawn: Drawn, length: int, facets: dict[str, str | float]
) -> Sample:
    """One of the forms in which an item is asked."""
    return Sample(
        id=f"{task}{number}{end}",
        item=f"{task}{number}",
        task=task,
        parts=(text_of(prompt),),
        targets=(text_of(tuple(drawn.chains[drawn.asked][-REPLY:].tolist())),),
        length=length,
        tokens=len(prompt),
        chance=0.0,
        facets=facets,
    )


def stopped(folder: Path, stops: Sequence[int], rate: float) -> Iterator[Path]:
    """The folder of the model after each stop, trained where it is missing."""
    from transformers import LlamaForCausalLM

    if not train(folder / MODEL, Shape(), Course(every=100), device="cpu")["reached"]:
        raise SystemExit("the model has not learned its window yet; the same command goes on")
    model = LlamaForCausalLM.from_pretrained(folder / MODEL)
    model.config.max_position_embeddings = FACTOR * Shape().window
    longer = Shape(window=FACTOR * Shape().window, seed=1)
    # The same rate for every stop, and a pause after each check.
    course = Course(steps=max(stops), every=EVERY, minutes=0, goal=2.0, rate=rate)
    for stop in stops:
        place, going = folder / f"step-{stop}", folder / "going"
        if not place.exists() and not stop:
            model.save_pretrained(place)
            save_tokenizer(place)
        while not place.exists():
            state = train(going, longer, course, device="cpu", started=model)
            if state["step"] > stop:
                raise SystemExit(f"the training in {going} is beyond step {stop}; give another folder")
            if state["step"] == stop:
                shutil.copytree(going, place)
        yield place


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stops", default="0,50,100,200", help=f"steps of further training, multiples of {EVERY}")
    parser.add_argument("--rate", type=float, default=5e-4, help="largest learning rate of further training")
    parser.add_argument("--items", type=int, default=100, help="of each of three tasks")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    folder: Path = given.folder
    stops = sorted(map(int, given.stops.split(",")))
    if any(stop % EVERY for stop in stops):
        parser.error(f"--stops: expected multiples of {EVERY}, found {given.stops}")
    folder.mkdir(parents=True, exist_ok=True)
    if not is_suite(folder / "suite"):
        write_suite(folder / "suite", "small", list(samples_of(given.items)))
    api.use_plugin(small_model_tasks.__file__)
    runs = []
    for stop, place in zip(stops, stopped(folder, stops, given.rate), strict=True):
        model = f"hf/step-{stop}?extend=none&length={max(LENGTHS) + REPLY}"
        runs.append(folder / f"run-{stop}")
        arguments = {"model_path": str(place), "device": "cpu", "dtype": "float32", "batch_size": 20}
        api.run(folder / "suite", model, runs[-1], step=stop, chat_template="never", model_args=arguments)
        if (place / STATE).exists():
            print(stop, json.loads((place / STATE).read_text("utf-8"))["accuracy"], flush=True)
    compare(runs, [str(stop) for stop in stops], LENGTHS)
    api.report(runs, folder / "report.html", title="Stops of a training")
    api.plot(runs, "recovery-steps", out=folder / "steps.svg")


if __name__ == "__main__":
    main()
