from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.tokens.quick import probes
from fathom.tokens.tokenizers import CONTROL_TOKEN, HuggingFaceTokenizer, TiktokenTokenizer, get_tokenizer, public_name
from fathom.types import FathomError


def tiny_rank_file(folder: Path) -> Path:
    pieces = [bytes([byte]) for byte in range(256)] + [b"th", b"the", b" the", b"12", b"123"]
    path = folder / "tiny.tiktoken"
    path.write_bytes(b"\n".join(base64.b64encode(piece) + b" %d" % rank for rank, piece in enumerate(pieces)) + b"\n")
    return path


def tiny_json(folder: Path) -> Path:
    import tokenizers
    from tokenizers import models, pre_tokenizers, trainers

    engine = tokenizers.Tokenizer(models.BPE())
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    engine.train_from_iterator(["the river and the market by the river"] * 20, trainer)
    path = folder / "tokenizer.json"
    path.write_text(engine.to_str(), encoding="utf-8")
    return path


def tiny_sentencepiece(folder: Path) -> Path:
    import io

    import sentencepiece

    model = io.BytesIO()
    text = [f"the river and the market number {n} by the river" for n in range(200)]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text), model_writer=model, vocab_size=300, byte_fallback=True, model_type="bpe",
        minloglevel=2, remove_extra_whitespaces=False, normalization_rule_name="identity",
    )  # fmt: skip
    path = folder / "tokenizer.model"
    path.write_bytes(model.getvalue())
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("tokenizers")
    return {
        "ranks": str(tiny_rank_file(folder)),
        "json": str(tiny_json(folder)),
        "sentencepiece": str(tiny_sentencepiece(folder)),
    }


KINDS = ["tekken", "words", "chars", "ranks", "json", "sentencepiece"]


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text(max_size=60), tokens=st.integers(0, 20))
def test_head_and_tail_keep_within_their_budget(files: dict[str, str], kind: str, text: str, tokens: int) -> None:
    tokenizer = get_tokenizer(files.get(kind, kind))
    head, tail = tokenizer.head(text, tokens), tokenizer.tail(text, tokens)
    assert text.startswith(head)
    assert text.endswith(tail)
    if tokenizer.count(text) <= tokens:
        assert head == tail == text
    # A cut can leave half a word whose own pieces are more than before; never by more than a few.
    assert tokenizer.count(head) <= tokens + 4
    assert tokenizer.count(tail) <= tokens + 4


def test_words_and_chars_count_what_they_say() -> None:
    assert get_tokenizer("words").count("two words, 三个字") == 5
    assert get_tokenizer("chars").count("abc\n") == 4


@cache
def mistral_tekken() -> tuple[bytes, Any]:
    """The vocabulary file of mistral-common, and its tokenizer."""
    import mistral_common
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    path = Path(mistral_common.__file__).parent / "data" / "tekken_240911.json"
    return path.read_bytes(), Tekkenizer.from_file(path)


@pytest.mark.slow
def test_the_packaged_tekken_has_the_tokens_ranks_and_fingerprint_of_the_one_of_mistral() -> None:
    tekken, (content, _) = get_tokenizer("tekken"), mistral_tekken()
    assert isinstance(tekken, TiktokenTokenizer)
    model = json.loads(content)
    ordinary = model["config"]["default_vocab_size"] - model["config"]["default_num_special_tokens"]
    ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in model["vocab"][:ordinary]}
    assert tekken.encoding._mergeable_ranks == ranks
    assert tekken.encoding._pat_str == model["config"]["pattern"]
    assert tekken.fingerprint == f"tekken/{hashlib.sha256(content).hexdigest()[:16]}"


@pytest.mark.slow
@given(text=st.text(max_size=400) | st.text("ab \n\t.,1<|>[]/é口令🙂", max_size=400))
def test_the_packaged_tekken_splits_every_text_as_mistral_does(text: str) -> None:
    tekken, (_, mistral) = get_tokenizer("tekken"), mistral_tekken()
    special = mistral.num_special_tokens
    assert isinstance(tekken, TiktokenTokenizer)
    expected = [token - special for token in mistral.encode(text, bos=False, eos=False)]
    assert tekken.encoding.encode_ordinary(text) == expected
    assert tekken.count(text) == len(expected)


def test_tekkens_recorded_fingerprint_never_changes() -> None:
    assert get_tokenizer("tekken").fingerprint == "tekken/1948e2d48b0e7377"


def test_a_damaged_vocabulary_of_tekken_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tekken.zst").write_bytes(b"damaged")
    monkeypatch.setattr("fathom.tokens.tokenizers.files", lambda package: tmp_path)
    with pytest.raises(FathomError, match="reinstall fathom"):
        get_tokenizer.__wrapped__("tekken")


def test_tekken_needs_no_network_and_counts_special_marks_as_text() -> None:
    assert get_tokenizer("tekken").count("<s>[INST] hello </s>") > 3


@pytest.mark.parametrize("mark", ["<|eot_id|>", "</s>", "<think>", "[INST]"])
def test_control_tokens_in_a_text_count_as_text_with_every_tokenizer(tmp_path: Path, mark: str) -> None:
    import sentencepiece
    import tokenizers

    engine = tokenizers.Tokenizer.from_file(str(tiny_json(tmp_path)))
    text = f"by {mark} it {mark}{mark}"
    plain = get_tokenizer(str(tmp_path / "tokenizer.json")).count(text)
    special = mark not in ("<think>", "[INST]")
    (engine.add_special_tokens if special else engine.add_tokens)([mark])
    (tmp_path / "marked").mkdir()
    engine.save(str(tmp_path / "marked" / "tokenizer.json"))
    assert len(engine.encode(text).ids) < plain
    assert get_tokenizer(str(tmp_path / "marked")).count(text) == plain
    model, words = io.BytesIO(), iter([f"the river and the market number {n} by <>|/[]_INST" for n in range(200)])
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=words, model_writer=model, vocab_size=300, byte_fallback=True, minloglevel=2,
        user_defined_symbols=[mark], model_type="bpe",
    )  # fmt: skip
    (tmp_path / "marked.model").write_bytes(model.getvalue())
    marked = get_tokenizer(str(tmp_path / "marked.model"))
    if CONTROL_TOKEN.fullmatch(mark):
        assert marked.count(text) - marked.count("by  it ") >= 3 * 2


def test_control_tokens_are_those_of_models_and_not_of_pages() -> None:
    text = "<|im_end|> <｜end▁of▁sentence｜> [/INST] <s> <end_of_turn> <<SYS>> <p> </strong> [1] [NOTE] a<b|c> x<s"
    assert len(CONTROL_TOKEN.findall(text)) == 6


def test_rank_files_split_digits_as_their_vocabulary_was_trained(files: dict[str, str]) -> None:
    assert get_tokenizer(files["ranks"]).count("123") == 1


@pytest.mark.slow
def test_llama_qwen_and_gpt2_files_load(shared: Path) -> None:
    folder = shared / "data" / "tokenizers"
    text = "The passkey is 12345. 口令是12345。"
    counts = {
        name: get_tokenizer(str(folder / name)).count(text)
        for name in ("llama2/tokenizer.model", "llama3/tokenizer.model", "qwen/qwen.tiktoken", "gpt2/tokenizer.json")
    }
    assert all(8 <= count <= 40 for count in counts.values()), counts


@pytest.mark.parametrize("name", ["", "nonsense", "tiktoken:nonsense", "/no/such/file"])
def test_unknown_names_are_explained(name: str) -> None:
    with pytest.raises(FathomError, match=r"tokenizer|tiktoken"):
        get_tokenizer(name)


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"nonsense", b"\x00\xff" * 40, json.dumps({"a": 1}).encode()])
def test_files_that_are_no_tokenizer_are_explained(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.model"
    path.write_bytes(content)
    with pytest.raises(FathomError, match="not a tokenizer"):
        get_tokenizer(str(path))


def test_the_folder_of_a_model_is_read_by_its_tokenizer_file(tmp_path: Path) -> None:
    tiny_json(tmp_path)
    assert get_tokenizer(str(tmp_path)).fingerprint == get_tokenizer(str(tmp_path / "tokenizer.json")).fingerprint


@pytest.mark.parametrize(
    ("name", "public"),
    [
        ("tekken", "tekken"),
        ("words", "words"),
        ("hf:lab/model", "hf:lab/model"),
        ("tiktoken:cl100k_base", "tiktoken:cl100k_base"),
        ("/somewhere/of/mine/llama2", "llama2"),
        ("/somewhere/of/mine/llama2/tokenizer.model", "llama2"),
        ("../llama2/tokenizer.json", "llama2"),
        ("C:\\mine\\llama2.tiktoken", "llama2.tiktoken"),
        ("tokenizer.model", "tokenizer.model"),
    ],
)
def test_others_read_no_path_of_a_tokenizer(name: str, public: str) -> None:
    assert public_name(name) == public


@given(text=st.text(max_size=80) | st.text("the river<|x>\n ", max_size=80))
def test_counting_without_offsets_gives_the_number_of_ids(files: dict[str, str], text: str) -> None:
    tokenizer = get_tokenizer(files["json"])
    assert isinstance(tokenizer, HuggingFaceTokenizer)
    assert tokenizer.count(text) == len(tokenizer.engine.encode(text, add_special_tokens=False).ids)


class Engine:
    """What is used of gigatoken: made by a test of a tokenizer of the library and a fault."""

    made: ClassVar[list[dict[str, Any]]] = []
    fault: ClassVar[Callable[[str], int]]

    def __init__(self, engine: Any) -> None:
        self.engine = engine

    @classmethod
    def from_json(cls, model: str) -> Engine:
        import tokenizers

        cls.made.append(json.loads(model))
        return cls(tokenizers.Tokenizer.from_str(model))

    def encode(self, text: str) -> list[int]:
        return [0] * (len(self.engine.encode(text, add_special_tokens=False).ids) + type(self).fault(text))


class RustPanic(BaseException):
    """As pyo3's: not an Exception."""


def panics(text: str) -> int:
    raise RustPanic("assertion failed\n  left: 3")


@pytest.fixture
def gigatoken(monkeypatch: pytest.MonkeyPatch) -> type[Engine]:
    Engine.made = []
    Engine.fault = lambda text: 0
    monkeypatch.setitem(sys.modules, "gigatoken", cast(Any, SimpleNamespace(Tokenizer=Engine)))
    return Engine


def loaded(path: str) -> HuggingFaceTokenizer:
    tokenizer = get_tokenizer.__wrapped__(path)
    assert isinstance(tokenizer, HuggingFaceTokenizer)
    return tokenizer


def test_gigatoken_counts_where_it_is_installed_and_counts_alike(
    tmp_path: Path, gigatoken: type[Engine], caplog: pytest.LogCaptureFixture
) -> None:
    import tokenizers

    engine = tokenizers.Tokenizer.from_file(str(tiny_json(tmp_path)))
    engine.add_special_tokens(["<|eot_id|>"])
    engine.add_tokens(["<think>", "riverbank"])
    path = tmp_path / "with_marks.json"
    engine.save(str(path))
    quick = loaded(str(path))
    assert quick.quick is not None
    assert not caplog.records
    # Control tokens are text; another token that was added is one.
    assert [token["content"] for token in gigatoken.made[0]["added_tokens"]] == ["riverbank"]
    plain = replace(quick, quick=None)
    for text in ("by the riverbank", "<|eot_id|>", "a <think>b", ""):
        assert quick.count(text) == plain.count(text)
    assert quick.fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (lambda text: int("口" in text), r"counts \d+ tokens instead of \d+ in '.*口"),
        (lambda text: int(len(text) > 3000), r"tokens instead of"),
        (panics, "RustPanic: assertion failed$"),
    ],
)
def test_gigatoken_is_not_used_where_it_counts_otherwise_and_that_is_said(
    tmp_path: Path,
    gigatoken: type[Engine],
    caplog: pytest.LogCaptureFixture,
    fault: Callable[[str], int],
    why: str,
) -> None:
    gigatoken.fault = fault
    assert loaded(str(tiny_json(tmp_path))).quick is None
    (said,) = caplog.messages
    assert re.search(rf"tokenizer\.json: counted without gigatoken: .*{why}", said)


def test_gigatoken_is_not_asked_about_a_tokenizer_that_merges_no_pairs(
    tmp_path: Path, gigatoken: type[Engine], caplog: pytest.LogCaptureFixture
) -> None:
    import tokenizers

    path = tmp_path / "words.json"
    tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "?": 1}, unk_token="?")).save(str(path))
    assert loaded(str(path)).quick is None
    assert not gigatoken.made
    assert not caplog.records


def test_probes_are_hundreds_of_different_texts_and_the_same_each_time() -> None:
    texts = list(probes(["<|own|>"]))
    assert texts == list(probes(["<|own|>"]))
    assert len(set(texts)) > 500
    assert {"", "<|own|>", "a<|own|>b <|own|>"} <= set(texts)
