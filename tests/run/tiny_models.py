"""Tiny language models with random weights, in the files of llama.cpp and of Hugging Face.

They know nothing and are sure of it: their weights are large, so that the log-probabilities of tokens differ widely and
a number that belongs to another token cannot pass for the right one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

SENTENCE = "the ferry leaves at nine and a keeper of lanterns wrote it down in winter before day river stone"
WORDS = tuple(SENTENCE.split())
WIDTH, HEADS, LAYERS, INNER, WINDOW = 32, 4, 2, 48, 4096
SPREAD = 0.6
Weights: TypeAlias = dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]
ANSWER = "<|answer|>"
CHAT = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if enable_thinking is defined and not enable_thinking %}No thoughts.{% endif %}"
    f"{ANSWER}"
)


def make_gguf(path: Path, *, bos: bool = True, seed: int = 0, reply: str = "", longer: str = "") -> Path:
    """A model of Llama's architecture with a SentencePiece vocabulary: words, letters, and all bytes.

    Args:
        path: The file to be written.
        bos: Whether texts begin with a BOS token.
        seed: Seed of the weights.
        reply: If given, the model has a chat template and answers every chat with this text (see ``make_answering``).
        longer: A further token, however long, that takes part in the text wherever it occurs.
    """
    from gguf import TokenType

    letters = [*"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,;:!?'\"-", "▁", "\n"]
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL, *[TokenType.BYTE] * 256]
    # SentencePiece joins neighbours step by step, so that the beginnings of words must be pieces too.
    starts = {f"▁{word}"[:size] for word in WORDS for size in range(2, len(word) + 2)}
    normal = [*letters, *sorted(starts)]
    own = [ANSWER, reply] if reply else [longer] if longer else []
    words = len(pieces) + len(normal) + len(own)
    width = words + -words % (2 * HEADS) if reply else WIDTH
    writer = _shaped(path, words, width)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([*pieces, *normal, *own])
    writer.add_token_scores([0.0] * len(pieces) + [float(len(piece)) for piece in normal] + [0.0] * len(own))
    writer.add_token_types([*kinds, *[TokenType.NORMAL] * len(normal), *[TokenType.USER_DEFINED] * len(own)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(bos)
    if reply:
        writer.add_chat_template(CHAT)
    weights_by_name = _answering(words, width) if reply else _weights(words, np.random.default_rng(seed))
    return _written(writer, weights_by_name, path)


def make_gguf_of_bytes(path: Path, tokenizer: Any, *, seed: int = 0) -> Path:
    """A model of Llama's architecture with a byte-level BPE vocabulary and a BOS token of its own.

    Args:
        path: The file to be written.
        tokenizer: A byte-level BPE tokenizer of ``tokenizers`` that splits as GPT-2's does.
        seed: Seed of the weights.
    """
    from gguf import TokenType

    model = json.loads(tokenizer.to_str())["model"]
    known = sorted(model["vocab"], key=model["vocab"].__getitem__)
    words = len(known) + 1
    writer = _shaped(path, words, WIDTH)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([*known, "<|bos|>"])
    writer.add_token_types([*[TokenType.NORMAL] * len(known), TokenType.CONTROL])
    writer.add_token_merges([one if isinstance(one, str) else " ".join(one) for one in model["merges"]])
    writer.add_bos_token_id(len(known))
    writer.add_eos_token_id(len(known))
    writer.add_add_bos_token(True)
    return _written(writer, _weights(words, np.random.default_rng(seed)), path)


def _shaped(path: Path, words: int, width: int) -> Any:
    from gguf import GGUFWriter

    writer = GGUFWriter(path, "llama")
    writer.add_context_length(WINDOW)
    writer.add_embedding_length(width)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // HEADS)
    writer.add_vocab_size(words)
    return writer


def _written(writer: Any, weights_by_name: Weights, path: Path) -> Path:
    for name, weights in weights_by_name.items():
        writer.add_tensor(name, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _answering(words: int, width: int) -> Weights:
    """Layers that add nothing; the last token but one is followed by the last, and all others by the end."""
    following = np.zeros((words, width), dtype=np.float32)
    following[2, :words] = 1
    following[:, words - 2] = 0
    following[words - 1, words - 2] = 1
    weights = {
        "token_embd.weight": np.eye(words, width, dtype=np.float32),
        "output.weight": following,
        "output_norm.weight": np.ones(width, dtype=np.float32),
    }
    ones, square = np.ones(width, dtype=np.float32), np.zeros((width, width), dtype=np.float32)
    inner = np.zeros((INNER, width), dtype=np.float32)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        weights |= {f"{block}.attn_norm.weight": ones, f"{block}.ffn_norm.weight": ones}
        weights |= {f"{block}.attn_{name}.weight": square for name in ("q", "k", "v", "output")}
        weights |= {f"{block}.ffn_{name}.weight": inner for name in ("gate", "up")}
        weights[f"{block}.ffn_down.weight"] = inner.T.copy()
    return weights


def _weights(words: int, rng: np.random.Generator) -> Weights:
    def drawn(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return (rng.standard_normal(shape) * SPREAD).astype(np.float32)

    ones = np.ones(WIDTH, dtype=np.float32)
    weights = {
        "token_embd.weight": drawn(words, WIDTH),
        "output.weight": drawn(words, WIDTH),
        "output_norm.weight": ones,
    }
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        weights |= {f"{block}.attn_norm.weight": ones, f"{block}.ffn_norm.weight": ones}
        weights |= {f"{block}.attn_{name}.weight": drawn(WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
        weights |= {f"{block}.ffn_{name}.weight": drawn(INNER, WIDTH) for name in ("gate", "up")}
        weights[f"{block}.ffn_down.weight"] = drawn(WIDTH, INNER)
    return weights


def make_hugging_face(folder: Path, *, seed: int = 0, window: int | None = None) -> Path:
    """A Llama of ``transformers`` with a byte-level BPE tokenizer that was trained on a few sentences.

    Args:
        folder: The folder to be written.
        seed: Seed of the weights.
        window: Tokens of its sliding window; None where every token sees all before it.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    shape = {
        "vocab_size": len(tokenizer),
        "hidden_size": WIDTH,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "max_position_embeddings": WINDOW,
        "initializer_range": SPREAD,
    }
    model = (
        LlamaForCausalLM(LlamaConfig(**shape))
        if window is None
        else MistralForCausalLM(MistralConfig(**shape, sliding_window=window))
    )
    model.save_pretrained(folder)
    return folder


def make_answering(folder: Path, reply: str, *, head: int | None = None) -> Path:
    """A Llama of ``transformers`` with a chat template that answers every chat with one text.

    Its layers add nothing, so that a token alone decides which one follows: the last one of the template is followed by
    a token that stands for the whole reply, and any other by the end.

    Args:
        folder: The folder to be written.
        reply: The text.
        head: Width of a head, where not every width is supported.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = make_tokenizer()
    tokenizer.add_tokens([ANSWER, reply])
    tokenizer.chat_template = CHAT
    tokenizer.save_pretrained(folder)
    words = len(tokenizer)
    width = words + -words % 8
    config = LlamaConfig(
        vocab_size=words,
        hidden_size=width,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=WINDOW,
        **({} if head is None else {"head_dim": head}),
    )
    model = LlamaForCausalLM(config)
    following = {tokenizer.convert_tokens_to_ids(ANSWER): tokenizer.convert_tokens_to_ids(reply)}
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(words, width))
        model.lm_head.weight.zero_()
        for token in range(words):
            model.lm_head.weight[following.get(token, tokenizer.eos_token_id), token] = 1.0
    model.save_pretrained(folder)
    return folder


def make_tokenizer() -> Any:
    """A byte-level BPE tokenizer of ``transformers`` that was trained on a few sentences."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    trained = ByteLevelBPETokenizer()
    sentences = [" ".join(WORDS[start:] + WORDS[:start]) for start in range(len(WORDS))]
    trained.train_from_iterator(sentences, vocab_size=400, special_tokens=["<s>", "</s>"])
    return PreTrainedTokenizerFast(tokenizer_object=trained._tokenizer, bos_token="<s>", eos_token="</s>")
