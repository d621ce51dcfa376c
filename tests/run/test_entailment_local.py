"""An entailment model of transformers itself, tiny and made here, checks gold texts (see `make test-models`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathom import api
from fathom.models.entailment import Entailment
from fathom.types import FathomError

torch = pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", "the", "boat", "sea", "is", "quiet", "loud", "what"]
WINDOW = 32


def make_model(folder: Path, labels: tuple[str, ...]) -> Path:
    """A classifier with random weights, which need not be right, and tokens that are words."""
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    torch.manual_seed(0)
    folder.mkdir()
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(WORDS), "utf-8")
    made = BertTokenizerFast(vocab_file=str(vocabulary), vocab=str(vocabulary), model_max_length=WINDOW)
    made.save_pretrained(folder)
    shape: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(
        vocab_size=len(WORDS), max_position_embeddings=WINDOW, intermediate_size=32, initializer_range=1.0,
        id2label=dict(enumerate(labels)), label2id={label: number for number, label in enumerate(labels)}, **shape,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "nli", ("contradiction", "ENTAILMENT", "neutral"))


def probability(folder: Path, premise: str, hypothesis: str) -> float:
    """What the model itself says of one pair."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(folder)(premise, hypothesis, return_tensors="pt")
    with torch.no_grad():
        logits = AutoModelForSequenceClassification.from_pretrained(folder)(**tokens).logits
    return float(logits.softmax(-1)[0, 1])


def test_the_best_piece_of_a_passage_counts(tiny: Path) -> None:
    model = Entailment(str(tiny))
    pieces = ["the boat is quiet. " * 2, "the sea is loud. " * 2, "what is the sea? " * 2]
    found = model("".join(pieces), "the sea is quiet")
    assert found is not None
    share, piece = found
    own = model._pieces("".join(pieces))
    assert len(own) > 1
    assert "".join("".join(own).split()) == "".join("".join(pieces).split())  # nothing is lost
    assert share == pytest.approx(max(probability(tiny, one, "the sea is quiet") for one in own), abs=1e-5)
    assert share == pytest.approx(probability(tiny, piece, "the sea is quiet"), abs=1e-5)


def test_texts_without_sentences_are_split_too(tiny: Path) -> None:
    pieces = Entailment(str(tiny))._pieces("sea " * 200)
    assert " ".join(pieces).split() == ["sea"] * 200
    assert all(len(piece.split()) <= WINDOW // 2 for piece in pieces)


def test_a_statement_that_does_not_fit_is_not_truncated(tiny: Path) -> None:
    assert Entailment(str(tiny))("the sea is quiet", "the sea is quiet " * 10) is None


def test_models_that_do_not_classify_entailment_are_refused(tmp_path: Path) -> None:
    other = make_model(tmp_path / "other", ("bad", "good"))
    with pytest.raises(FathomError, match=r"not an entailment model: its labels are bad, good"):
        Entailment(str(other)).load()
    with pytest.raises(FathomError, match="not a classifier of texts"):
        Entailment(str(tmp_path / "absent")).load()


def test_gold_texts_are_checked_without_a_server(tiny: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    rows: list[dict[str, Any]] = [{"text": f"{n} gulls were counted on pier {n * 7}. " * 20} for n in range(9)]
    rows[0] = {
        "text": "The boat is quiet. The sea is loud.",
        "summary": "The boat is quiet. The sea is loud. The sea is loud.",
        "questions": [
            {"question": "What is loud?", "answers": ["the sea"]},
            {"question": "What is the sea?", "answers": ["loud " * 30]},
        ],
    }
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    suite, out = tmp_path / "suite", tmp_path / "gold"
    api.build("single_doc_qa,single_doc_summary", suite, corpus=str(corpus), lengths="256", tokenizer="words")
    plans: list[Any] = []

    def confirm(plan: object) -> bool:
        plans.append(plan)
        return True

    first = api.check_gold(suite, f"nli/{tiny}", out, confirm=confirm)
    assert (plans[0].requests, plans[0].cost_most) == (4, 0)  # two of three statements differ
    rows = [json.loads(line) for line in (out / "support.jsonl").read_text("utf-8").splitlines()]
    by_question = {row["question"]: row for row in rows}
    assert by_question["What is the sea?"]["verdict"] == "undecided"
    assert (
        by_question["What is the sea?"]["reason"] == "the statement is longer than half of what the model reads at once"
    )
    held = probability(tiny, "The boat is quiet. The sea is loud.", "What is loud? the sea") >= 0.5
    assert by_question["What is loud?"]["support"] == float(held)
    assert len(by_question[""]["statements"]) == 3
    assert api.check_gold(suite, f"nli/{tiny}", out, confirm=confirm) == first
    assert len(plans) == 1
