"""Embeddings by sentence-transformers itself, of a tiny model that is made here (see `make test-models`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine_calls import judge
from fathom.models.embedding import SentenceTransformer
from fathom.rows import rows_from_run
from fathom.types import FathomError
from judged_runs import install_tasks, make_run, sample

pytest.importorskip("sentence_transformers")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "boat", "sea", "is", "quiet"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    torch.manual_seed(0)
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(WORDS), "utf-8")
    BertTokenizerFast(vocab_file=str(vocabulary), vocab=str(vocabulary)).save_pretrained(folder)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(WORDS), max_position_embeddings=32, **shape)).save_pretrained(folder)
    return folder


def test_vectors_are_those_of_the_texts(tiny: Path) -> None:
    texts = ["the boat is quiet", "the sea is quiet", "the boat is quiet", "the sea " * 100]
    found = SentenceTransformer(str(tiny))(texts)
    assert found.shape == (4, 16)
    assert found[0] == pytest.approx(found[2], abs=1e-5)
    assert np.abs(found[0] - found[1]).max() > 1e-3
    assert np.isfinite(found[3]).all()  # longer than the model's window


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="not a sentence-transformers model"):
        SentenceTransformer(str(tmp_path / "absent"))(["the sea"])


def test_the_side_of_padding_reaches_the_tokenizer(tiny: Path) -> None:
    right, left = (SentenceTransformer(str(tiny), padding=side) for side in ("right", "left"))
    together = ["the sea", "the boat is quiet"]
    # This model counts places from the left, padding included: only padding on the right leaves its vectors alone.
    assert right(together)[0] == pytest.approx(right(together[:1])[0], abs=1e-5)
    assert np.abs(left(together)[0] - left(together[:1])[0]).max() > 1e-3


def test_a_local_model_judges_summaries(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_tasks(monkeypatch)
    texts = ("the boat is quiet", "the sea", "[Answer]\nthe boat is quiet")
    asked = [(sample(at, "abstracts", references=("The boat is quiet", "sea")), text) for at, text in enumerate(texts)]
    run = make_run(tmp_path / "run", asked)
    summary = judge(run, f"embed-local/{tiny}")
    assert (summary.judged, summary.spent.cost) == (3, 0)
    first, second, third = rows_from_run(run).sort("sample")["value"].to_list()
    assert first == third == pytest.approx(1.0, abs=1e-5)
    assert 0 < second < first
