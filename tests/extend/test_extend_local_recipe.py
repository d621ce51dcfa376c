"""The recipe that trains a checkpoint for longer texts, on a toy: its data mix, its guard, and what fathom reads."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from fathom import api

pytest.importorskip("torch")
pytest.importorskip("transformers")
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "performance"))
from small_model_tasks import UNKNOWN, WORDS, save_tokenizer, write_suite  # noqa: E402
from small_model_training import Shape, make_model  # noqa: E402

pytestmark = pytest.mark.slow
WINDOW, LENGTH = 64, 128


@pytest.fixture(scope="module")
def recipe() -> ModuleType:
    spec = importlib.util.spec_from_file_location("extend_checkpoint", ROOT / "examples" / "extend_checkpoint.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A tiny Llama with random weights, texts of two sources, and chats."""
    folder = tmp_path_factory.mktemp("toy")
    make_model(Shape(window=WINDOW, hidden=32, heads=2)).save_pretrained(folder / "model")
    save_tokenizer(folder / "model")
    rng = np.random.default_rng(0)

    def text(words: int) -> str:
        return " ".join(WORDS[UNKNOWN + 1 + int(word)] for word in rng.integers(0, 60, words))

    (folder / "texts" / "notes").mkdir(parents=True)
    lines = [json.dumps({"text": text(40)}) for _ in range(40)] + [json.dumps({"text": text(300)}) for _ in range(4)]
    (folder / "texts" / "web.jsonl").write_text("\n".join(lines), "utf-8")
    for number in range(21):
        (folder / "texts" / "notes" / f"{number}.txt").write_text(text(30), "utf-8")
    chat = {"messages": [{"role": "user", "content": text(20)}, {"role": "assistant", "content": text(5)}]}
    (folder / "chats.jsonl").write_text("\n".join([json.dumps(chat)] * 4), "utf-8")
    return folder / "model", folder / "texts", folder / "chats.jsonl"


def run(recipe: ModuleType, toy: tuple[Path, Path, Path], out: Path, *more: str) -> int:
    words = (str(toy[0]), "--texts", str(toy[1]), "--out", str(out), "--length", str(LENGTH), "--device", "cpu")
    code: int = recipe.main([*words, "--tokens", "256", *more])
    return code


@pytest.mark.parametrize("method", ["pi", "yarn", "abf"])
def test_checkpoints_have_the_frequencies_of_their_method_and_are_drawn_against_their_step(
    recipe: ModuleType, toy: tuple[Path, Path, Path], tmp_path: Path, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    theta = ["--theta", "80000"] if method == "abf" else []
    chats = ["--instruct", str(toy[2]), "--instruct-steps", "2"]
    code = run(
        recipe, toy, tmp_path, "--method", method, "--steps", "4", "--save", "2,4", "--rate", "1e-4", *theta, *chats
    )
    assert code == 0
    assert sorted(place.name for place in tmp_path.glob("step-*")) == ["step-2", "step-4", "step-6"]
    config = json.loads((tmp_path / "step-6" / "config.json").read_text("utf-8"))
    wanted = {"pi": "linear", "yarn": "yarn", "abf": "default"}[method]
    assert config["rope_parameters"]["rope_type"] == wanted
    assert config["rope_parameters"]["rope_theta"] == (80000 if method == "abf" else 10000)
    assert config["max_position_embeddings"] == LENGTH
    assert [step for step, _ in json.loads((tmp_path / "training.json").read_text("utf-8"))["short"]] == [0, 2, 4, 6]
    assert f"--label {method} --step 6" in capsys.readouterr().out


def test_a_checkpoint_that_loses_its_short_texts_ends_the_training(
    recipe: ModuleType, toy: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    code = run(recipe, toy, tmp_path, "--method", "none", "--steps", "4", "--save", "2", "--short-loss", "-9")
    assert code == 3
    assert (tmp_path / "refused" / "config.json").exists()
    assert not list(tmp_path.glob("step-*"))


def test_sources_keep_their_shares_and_long_texts_get_theirs(recipe: ModuleType, toy: tuple[Path, Path, Path]) -> None:
    from transformers import AutoTokenizer

    sources = recipe.read_sources(toy[1], AutoTokenizer.from_pretrained(toy[0]), WINDOW)
    assert [source.name for source in sources] == ["notes", "web.jsonl"]
    assert all(source.held_out for source in sources)
    rng, drawn = np.random.default_rng(1), dict.fromkeys(("long", "short"), 0)
    web = [source for source in sources if source.long]
    for _ in range(20_000):
        text = recipe.draw_text(rng, web, 0.7)
        drawn["long" if len(text) > WINDOW else "short"] += len(text)
    assert drawn["long"] / sum(drawn.values()) == pytest.approx(0.7, abs=0.02)
    assert len(recipe.draw_row(rng, sources, LENGTH, 0.7)) == LENGTH


def test_fathom_reads_a_checkpoint_beyond_its_first_window(
    recipe: ModuleType, toy: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    assert run(recipe, toy, tmp_path / "out", "--method", "yarn", "--steps", "1") == 0
    write_suite(tmp_path / "suite", [LENGTH - 16], 1, 5)
    api.use_plugin(str(ROOT / "performance" / "small_model_tasks.py"))
    model = f"hf/{tmp_path / 'out' / 'step-1'}"
    summary = api.run(
        tmp_path / "suite", model, tmp_path / "run", step=1, chat_template="never", model_args={"device": "cpu"}
    )
    assert summary.progress is not None
    assert summary.progress.finished == summary.progress.total
    assert json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))["step"] == 1
