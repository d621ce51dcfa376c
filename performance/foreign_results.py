"""Result files of other programs, made by really running each on the same twelve samples.

Each program gets an environment of its own (``uv``), a task of our own (twelve prompts of 64 and 128 words that ask
for a code) and a server on the loopback that answers by the number of the question. What the program writes is copied
to ``tests/rows/foreign/NAME``, without addresses, folders and logs. The tests read these files with fathom and compare
every score with what the program itself reports.

    python performance/foreign_results.py                     # all of them
    python performance/foreign_results.py lm-eval lighteval   # some
    python performance/foreign_results.py helmet --helmet CHECKOUT   # HELMET is not a package: give its repository
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = HERE / "foreign"
FIXTURES = HERE.parent / "tests" / "rows" / "foreign"
sys.path.insert(0, str(HERE.parent / "tests"))
from code_server import MODEL, serving  # noqa: E402

LENGTHS = (64, 128)
ITEMS = 6
TORCH = "torch"


@dataclass(frozen=True)
class Place:
    """Where one program runs.

    Attributes:
        folder: Its working folder, with the samples.
        python: The Python of its environment.
        address: The server's address.
        helmet: A checkout of HELMET, if given.
    """

    folder: Path
    python: Path
    address: str
    helmet: Path | None = None

    def run(self, *command: object, **more: str) -> None:
        """Run a program of the environment in the working folder; its output goes to ``run.log``."""
        offline = {"HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "none", "NO_PROXY": "127.0.0.1", "HF_HOME": "hub"}
        path = f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, **offline, "PATH": path, "PYTHONPATH": str(self.folder), **more}
        words = [str(self.python.parent / str(command[0])), *map(str, command[1:])]
        with (self.folder / "run.log").open("a") as log:
            subprocess.run(words, cwd=self.folder, env=environment, stdout=log, stderr=log, check=True)


def samples() -> list[dict[str, object]]:
    """Six items at two lengths; the prompt has as many words as its length says."""
    rng = random.Random(7)
    codes = [rng.randrange(10_000, 100_000) for _ in range(200)]
    made = []
    for length in LENGTHS:
        for item in range(ITEMS):
            question = f"[item {item}] What is the code of harbour {item}? Reply with the number alone."
            room = (length - len(question.split())) // 6
            others = [f"code of harbour {n} is {codes[n]}." for n in range(ITEMS, ITEMS + room - 1)]
            place = item * len(others) // ITEMS
            lines = [*others[:place], f"code of harbour {item} is {codes[item]}.", *others[place:]]
            made.append(
                {
                    "id": f"{item}@{length}",
                    "item": item,
                    "max_length": length,
                    "prompt": " ".join((*lines, question)),
                    "answer": str(codes[item]),
                    "answers": [str(codes[item])],
                }
            )
    return made


def lm_eval(place: Place) -> list[Path]:
    """Two tasks: one with two filters and two metrics, and one that names its metrics by length."""
    shutil.copy(SCRIPTS / "lm_eval_tasks.py", place.folder)
    common = (
        "dataset_path: json\ndataset_kwargs:\n  data_files:\n    test: codes.jsonl\ntest_split: test\n"
        "output_type: generate_until\ndoc_to_text: '{{prompt}}'\ndoc_to_target: '{{answer}}'\n"
        "generation_kwargs:\n  until: []\n  max_gen_toks: 32\n  do_sample: false\n"
    )
    choose = "  - name: {}\n    filter:\n{}      - function: take_first\n"
    extract = "      - function: regex\n        regex_pattern: '(\\d{5})'\n"
    metric = "  - metric: {}\n    aggregation: {}\n    higher_is_better: true\n"
    (place.folder / "codes.yaml").write_text(
        f"task: codes\n{common}metric_list:\n{metric.format('exact_match', 'mean')}"
        f"filter_list:\n{choose.format('strict-match', '')}{choose.format('flexible-extract', extract)}"
        "metadata:\n  version: 1.0\n"
    )
    lengths = "".join(metric.format(repr(str(one)), "!function lm_eval_tasks.mean_of_length") for one in LENGTHS)
    (place.folder / "codes_by_length.yaml").write_text(
        f"task: codes_by_length\n{common}process_results: !function lm_eval_tasks.by_length\nmetric_list:\n{lengths}"
        "metadata:\n  version: 1.0\n"
    )
    server = f"model={MODEL},base_url={place.address}/completions,num_concurrent=1,max_retries=1"
    tokens = "tokenizer_backend=None,tokenized_requests=False"
    place.run(
        *("lm_eval", "--model", "local-completions", "--model_args", f"{server},{tokens}", "--batch_size", 1),
        *("--tasks", "codes,codes_by_length", "--include_path", ".", "--output_path", "out", "--log_samples"),
    )
    return sorted((place.folder / "out").rglob("*.json*"))


def lighteval(place: Place) -> list[Path]:
    """One task at two lengths, with two metrics, asked through litellm."""
    shutil.copy(SCRIPTS / "lighteval_tasks.py", place.folder)
    data = place.folder / "codes"
    data.mkdir()
    shutil.copy(place.folder / "codes.jsonl", data / "test.jsonl")
    config = (
        f"model_parameters:\n  model_name: openai/{MODEL}\n  provider: openai\n  base_url: {place.address}\n"
        "  api_key: none\n  concurrent_requests: 1\n  generation_parameters:\n    temperature: 0.0\n"
    )
    (place.folder / "model.yaml").write_text(config)
    for one in (place.python.parents[1] / "lib").rglob("tiny_benchmarks.py"):
        (
            one.parent / "tinyBenchmarks.pkl"
        ).touch()  # it is downloaded at import otherwise, and read by its own tasks only
    place.run(
        *("lighteval", "endpoint", "litellm", "model.yaml", "codes:64|0,codes:128|0"),
        *("--custom-tasks", "lighteval_tasks.py", "--save-details", "--output-dir", "out"),
    )
    return sorted([*(place.folder / "out").rglob("*.json"), *(place.folder / "out").rglob("*.parquet")])


def opencompass(place: Place) -> list[Path]:
    """Two evaluators: one that gives the correctness of each sample, and one that gives its details only."""
    text = (SCRIPTS / "opencompass_config.py").read_text().replace("ADDRESS", place.address)
    (place.folder / "config.py").write_text(text)
    _word_tokenizer(place)
    place.run("opencompass", "config.py", "-w", "out", "--dump-eval-details", "--max-num-workers", 1)
    made = next((place.folder / "out").iterdir())
    return sorted(
        path for path in made.rglob("*") if path.is_file() and path.parts[-2] != "logs" and "logs" not in path.parts
    )


def nemo(place: Place) -> list[Path]:
    """A benchmark of our own in the program's form, its results with and without single samples."""
    shutil.copy(SCRIPTS / "nemo_benchmark.py", place.folder)
    # 0.2.8 writes into a folder of the benchmark, and then reads from the one above: here both are one.
    (place.folder / "out").mkdir()
    (place.folder / "out" / "codes").symlink_to(".")
    place.run("nemo-evaluator-byob", "nemo_benchmark.py", "--install-dir", "benchmarks")
    place.run(
        *("nemo-evaluator", "run_eval", "--eval_type", "byob_codes.codes", "--model_id", MODEL, "--model_type", "chat"),
        *("--model_url", f"{place.address}/chat/completions", "--output_dir", "out"),
    )
    return [place.folder / "out" / name for name in ("results.yml", "byob_results.json", "byob_predictions.jsonl")]


def inspect(place: Place) -> list[Path]:
    """Two scorers and two epochs, in both formats; and a task whose samples have no length."""
    shutil.copy(SCRIPTS / "inspect_task.py", place.folder)
    for kind, name in (("eval", "codes"), ("json", "codes"), ("eval", "codes_without_length")):
        place.run(
            *("inspect", "eval", f"inspect_task.py@{name}", "--model", f"openai-api/loop/{MODEL}"),
            *("--model-base-url", place.address, "--log-dir", f"out/{kind}", "--log-format", kind, "--display", "none"),
            LOOP_API_KEY="none",
        )
    return sorted([*(place.folder / "out").rglob("*.eval"), *(place.folder / "out").rglob("*.json")])


def helmet(place: Place) -> list[Path]:
    """The released eval.py on two of its tasks, through its client for servers."""
    if place.helmet is None:
        raise SystemExit("helmet: give a checkout of princeton-nlp/HELMET with --helmet")
    _word_tokenizer(place)
    for length in LENGTHS:
        own = [one for one in samples() if one["max_length"] == length]
        lines = [
            {
                "context": str(one["prompt"]).split(" [item")[0],
                "question": f"[item {one['item']}] harbour {one['item']}",
                "answer": one["answer"],
                "num_kvs": length,
                "demos": [],
            }
            for one in own
        ]
        _write_lines(place.folder / f"kv_{length}.jsonl", lines)
        place.run(
            *("python", place.helmet / "eval.py", "--model_name_or_path", MODEL, "--use_tgi_or_vllm_serving"),
            *("--endpoint_url", place.address, "--datasets", "json_kv", "--test_files", f"kv_{length}.jsonl"),
            *("--demo_files", f"kv_{length}.jsonl", "--shots", 0, "--input_max_length", 8 * length, "--no_cuda"),
            *("--generation_max_length", 32, "--output_dir", "out", "--num_workers", 0, "--max_test_samples", ITEMS),
            *("--use_chat_template", "True"),
        )
    return sorted((place.folder / "out").rglob("*.json*"))


def _word_tokenizer(place: Place) -> None:
    """A tokenizer of words under the model's name, because the clients of HELMET and OpenCompass load one."""
    code = (
        "from tokenizers import Tokenizer, models, pre_tokenizers\n"
        "from transformers import PreTrainedTokenizerFast\n"
        "made = Tokenizer(models.WordLevel({'[UNK]': 0}, unk_token='[UNK]'))\n"
        "made.pre_tokenizer = pre_tokenizers.Whitespace()\n"
        f"PreTrainedTokenizerFast(tokenizer_object=made, unk_token='[UNK]').save_pretrained({MODEL!r})\n"
    )
    place.run("python", "-c", code)


@dataclass(frozen=True)
class Program:
    """One program: what its environment needs, and what runs it and gives the files that it wrote."""

    needs: Sequence[str]
    make: Callable[[Place], list[Path]]


PROGRAMS = {
    "inspect": Program(("inspect-ai", "openai"), inspect),
    "lm-eval": Program(("lm-eval[api]",), lm_eval),
    "lighteval": Program(("lighteval[litellm]", "huggingface_hub<1", "transformers<5", "xxhash<4", TORCH), lighteval),
    "opencompass": Program(("opencompass", "pyarrow<20", TORCH), opencompass),
    "nemo-evaluator": Program(("nemo-evaluator", "openai", "tenacity", "tqdm"), nemo),
    "helmet": Program((TORCH, "transformers", "datasets", "rouge_score", "pytrec_eval-terrier", "openai"), helmet),
}


def _environment(folder: Path, needs: Sequence[str]) -> Path:
    """The Python of an environment with some packages; made only if it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run(["uv", "venv", "-q", "--seed", "--python", sys.executable, folder], check=True)
        subprocess.run(["uv", "pip", "install", "-q", "--python", python, *needs], check=True)
    return python


def _versions(python: Path, needs: Sequence[str]) -> str:
    names = [re.split(r"[\[=<]", need)[0] for need in needs if need != TORCH]
    code = f"import importlib.metadata as m; print(', '.join(f'{{n}} {{m.version(n)}}' for n in {names!r}))"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def _keep(files: Sequence[Path], place: Place, target: Path) -> None:
    """Copy files, without the server's port and the folders of this machine."""
    shutil.rmtree(target, ignore_errors=True)
    start = place.folder / "out"
    for file in files:
        copy = target / file.relative_to(start)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix in (".parquet", ".eval"):
            shutil.copy(file, copy)
            continue
        text = file.read_text(encoding="utf-8").replace(place.address, "http://127.0.0.1:8000/v1")
        text = text.replace(str(place.python.parents[1]), "venv").replace(str(place.folder), ".")
        if place.helmet is not None:
            text = text.replace(str(place.helmet), "HELMET")
        copy.write_text(text, encoding="utf-8")


def _write_lines(path: Path, lines: Sequence[object]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def main() -> None:
    """Run the chosen programs, and say what each wrote."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="NAME", help=f"some of {', '.join(PROGRAMS)}; default: all")
    parser.add_argument("--work", type=Path, default=Path("foreign-work"), help="folder of the environments and runs")
    parser.add_argument("--helmet", type=Path, help="a checkout of princeton-nlp/HELMET")
    chosen = parser.parse_args()
    for name in chosen.programs or PROGRAMS:
        program = PROGRAMS[name]
        work = chosen.work.resolve()
        work.mkdir(parents=True, exist_ok=True)
        python = _environment(work / f"env-{name}", program.needs)
        folder = work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        _write_lines(folder / "codes.jsonl", samples())
        for length in LENGTHS:
            _write_lines(folder / f"codes_{length}.jsonl", [one for one in samples() if one["max_length"] == length])
        with serving() as address:
            place = Place(folder, python, address, chosen.helmet and chosen.helmet.resolve())
            files = program.make(place)
        _keep(files, place, FIXTURES / name)
        print(f"{name} ({_versions(python, program.needs)}): {len(files)} files")


if __name__ == "__main__":
    main()
