"""Tokenizers with a common interface, by name or path.

A name is one of ``tekken`` (the default, packaged in ``tekken.zst``, so that it works offline), ``tiktoken:NAME``,
``hf:NAME``, ``words``, ``chars``, or the path of a tiktoken rank file, a ``tokenizers`` JSON or a SentencePiece model.
Special tokens and chat templates are never counted, and control tokens in a text (``<|eot_id|>``) count as the text
that they are, with every tokenizer.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.resources import files
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fathom.storage.foreign import read_regular
from fathom.tokens.quick import quick_count
from fathom.types import FathomError

if TYPE_CHECKING:
    import tiktoken

DEFAULT = "tekken"
_FILES = ("tokenizer.json", "tokenizer.model", "*.tiktoken")  # files of a model's folder, in order of preference
KNOWN = ("tekken", "tiktoken:cl100k_base", "tiktoken:o200k_base", "hf:NAME", "PATH", "words", "chars")

# How the GPT-4 family splits text before merging; Llama 3 and Qwen do too, with other runs of digits.
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

CONTROL_TOKEN = re.compile(
    r"<\|[\w.:/+-]{1,40}\|?>|<｜[\w▁.-]{1,40}｜>|</?s>|<(?:bos|eos|pad|unk|mask)>|<(?:start|end)_of_(?:turn|image)>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|THINK)\]|<</?SYS>>|\[(?:CLS|SEP|MASK|PAD|UNK)\]"
)
"""Control tokens of models as texts write them; a server may read them in a prompt as the end of a turn."""
_TAG = re.compile(r"</?[A-Za-z_]\w{0,40}>")


class Tokenizer(Protocol):
    """Splits text into tokens. ``fingerprint`` changes whenever counts could change."""

    @property
    def name(self) -> str:
        """The name that ``get_tokenizer`` takes."""
        ...

    @property
    def fingerprint(self) -> str:
        """Identity of the vocabulary."""
        ...

    def count(self, text: str) -> int:
        """Number of tokens of ``text``."""
        ...

    def head(self, text: str, tokens: int) -> str:
        """The longest prefix of ``text`` of at most ``tokens`` tokens."""
        ...

    def tail(self, text: str, tokens: int) -> str:
        """The longest suffix of ``text`` of at most ``tokens`` tokens."""
        ...


def is_path(name: str) -> bool:
    """Whether a tokenizer's name is a path, which is meaningless on another machine."""
    return not (name in _SPLITTERS or name == DEFAULT or name.startswith(("tiktoken:", "hf:")))


def public_name(name: str) -> str:
    """The name of a tokenizer for publication: for a path its last specific part.

    Args:
        name: A name for ``get_tokenizer``; the file or folder need not exist.
    """
    if not is_path(name):
        return name
    parts = [part for part in re.split(r"[/\\]", name) if part not in ("", ".", "..")]
    named = [part for part in parts if part not in _FILES]
    return (named or parts or [""])[-1]


@lru_cache(maxsize=8)
def get_tokenizer(name: str = DEFAULT) -> Tokenizer:
    """Load a tokenizer.

    Args:
        name: See the module's docstring.

    Raises:
        FathomError: The name is unknown, or the vocabulary cannot be read or downloaded.
    """
    if name in _SPLITTERS:
        return SplitTokenizer(name, f"{name}/1", _SPLITTERS[name])
    if name == "tekken":
        return _tekken()
    if name.startswith("tiktoken:"):
        return _tiktoken(name)
    if name.startswith("hf:"):
        return _hugging_face(name)
    if Path(name).is_dir():
        paths = [path for pattern in _FILES for path in sorted(Path(name).glob(pattern))]
        if paths:
            return _from_file(paths[0])
    if Path(name).is_file():
        return _from_file(Path(name))
    raise FathomError(
        f"unknown tokenizer {name!r}: expected one of {', '.join(KNOWN)}, where PATH is an existing tiktoken rank "
        "file, tokenizers JSON or SentencePiece model, or a folder with one"
    )


def bounded_by_bytes(tokenizer: Tokenizer) -> bool:
    """Whether no text has more tokens than bytes in UTF-8; others may normalise it to a longer one first."""
    return isinstance(tokenizer, TiktokenTokenizer | SplitTokenizer)


def adds_up(tokenizer: Tokenizer) -> bool:
    """Whether a text has nearly the tokens of its parts together; not so if a long word is one unknown token."""
    if isinstance(tokenizer, HuggingFaceTokenizer):
        return type(tokenizer.engine.model).__name__ in ("BPE", "Unigram")
    return isinstance(tokenizer, TiktokenTokenizer | SplitTokenizer | SentencePieceTokenizer)


def is_at_hand(name: str) -> bool:
    """Whether a tokenizer ``hf:NAME`` is in the local cache, so that it needs no network."""
    return name.startswith("hf:") and _downloaded(name.partition(":")[2]) is not None


def _downloaded(repository: str) -> Path | None:
    """The ``tokenizer.json`` of a repository in the Hugging Face cache; None if it is missing."""
    from huggingface_hub import try_to_load_from_cache

    try:
        cached = try_to_load_from_cache(repository, "tokenizer.json")
    except ValueError:  # not the name of a repository; the hub's error will say so
        return None
    return Path(cached) if isinstance(cached, str) else None


@dataclass(frozen=True)
class SplitTokenizer:
    """Tokens are the matches of a regular expression: words or characters."""

    name: str
    fingerprint: str
    pattern: re.Pattern[str]

    def count(self, text: str) -> int:
        """Number of matches."""
        return len(text) if self.name == "chars" else len(self.pattern.findall(text))

    def head(self, text: str, tokens: int) -> str:
        """Text up to the end of match number ``tokens``."""
        ends = [match.end() for match in self.pattern.finditer(text)]
        return text if len(ends) <= tokens else text[: ends[tokens - 1] if tokens > 0 else 0]

    def tail(self, text: str, tokens: int) -> str:
        """Text from the start of the last ``tokens`` matches."""
        starts = [match.start() for match in self.pattern.finditer(text)]
        return text if len(starts) <= tokens else text[starts[-tokens] if tokens > 0 else len(text) :]


# Chinese, Japanese and Korean characters count one each; other text counts by runs between spaces.
_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0002ffff"
_SPLITTERS = {
    "words": re.compile(rf"[{_CJK}]|[^\s{_CJK}]+"),
    "chars": re.compile(r".", re.DOTALL),
}


@dataclass(frozen=True)
class TiktokenTokenizer:
    """Byte-pair encoding with tiktoken's engine."""

    name: str
    fingerprint: str
    encoding: tiktoken.Encoding

    def count(self, text: str) -> int:
        """Number of tokens; text that looks like a special token is ordinary text."""
        return len(self.encoding.encode_ordinary(text))

    def head(self, text: str, tokens: int) -> str:
        """Prefix of at most ``tokens`` tokens, without a partial character at the end."""
        ids = self.encoding.encode_ordinary(text)
        return text if len(ids) <= tokens else _shared_start(text, self.encoding.decode(ids[: max(0, tokens)]))

    def tail(self, text: str, tokens: int) -> str:
        """Suffix of at most ``tokens`` tokens, without a partial character at the start."""
        ids = self.encoding.encode_ordinary(text)
        if len(ids) <= tokens:
            return text
        kept = self.encoding.decode(ids[-tokens:]) if tokens > 0 else ""
        return text[len(text) - len(kept.lstrip("\ufffd")) :]


def _shared_start(text: str, decoded: str) -> str:
    return text[: len(decoded.rstrip("\ufffd"))]


@dataclass(frozen=True)
class HuggingFaceTokenizer:
    """A tokenizer of the ``tokenizers`` library.

    Attributes:
        name: The name that ``get_tokenizer`` takes.
        fingerprint: Identity of its vocabulary.
        engine: The library's tokenizer.
        quick: Counts the same tokens in less time; None to count with ``engine``.
    """

    name: str
    fingerprint: str
    engine: Any
    quick: Callable[[str], int] | None = None

    def count(self, text: str) -> int:
        """Number of tokens without special tokens."""
        return self.quick(text) if self.quick else _count(self.engine, text)

    def head(self, text: str, tokens: int) -> str:
        """Prefix of at most ``tokens`` tokens, cut at a token's own character offsets."""
        offsets = self.engine.encode(text, add_special_tokens=False).offsets
        return text if len(offsets) <= tokens else text[: offsets[tokens][0] if tokens > 0 else 0]

    def tail(self, text: str, tokens: int) -> str:
        """Suffix of at most ``tokens`` tokens, cut at a token's own character offsets."""
        offsets = self.engine.encode(text, add_special_tokens=False).offsets
        return text if len(offsets) <= tokens else text[offsets[-tokens - 1][1] :]


@dataclass(frozen=True)
class SentencePieceTokenizer:
    """A SentencePiece model. Character offsets of pieces would need protobuf, so cuts are found by bisection.

    Attributes:
        name: The path of the model.
        fingerprint: Identity of its vocabulary.
        engine: The library's processor.
        marks: Matches the control tokens that the model would read as one piece, which count as ordinary text.
    """

    name: str
    fingerprint: str
    engine: Any
    marks: re.Pattern[str] | None = None

    def count(self, text: str) -> int:
        """Number of pieces without begin and end marks."""
        count = len(self.engine.encode(text))
        marks = self.marks.findall(text) if self.marks else ()
        return count + sum(_pieces_beyond_one(self.engine, mark) for mark in marks)

    def head(self, text: str, tokens: int) -> str:
        """Prefix of at most ``tokens`` pieces."""
        fits = bisect_right(range(1, len(text) + 1), tokens, key=lambda end: self.count(text[:end]))
        return text[:fits]

    def tail(self, text: str, tokens: int) -> str:
        """Suffix of at most ``tokens`` pieces."""
        fits = bisect_right(range(1, len(text) + 1), tokens, key=lambda size: self.count(text[-size:]))
        return text[len(text) - fits :]


def _tekken() -> Tokenizer:
    import tiktoken

    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    file = files("fathom.tokens").joinpath("tekken.zst")
    try:
        header, _, content = zstd.decompress(file.read_bytes()).partition(b"\n")
    except (OSError, zstd.ZstdError) as error:
        raise FathomError(f"{file}: cannot read tekken's vocabulary ({error}); reinstall fathom") from error
    model = json.loads(header)
    number = model["tokens"]
    ends = [*accumulate(content[:number], initial=number)]
    ranks = {content[start:end]: rank for rank, (start, end) in enumerate(pairwise(ends))}
    encoding = tiktoken.Encoding("tekken", pat_str=model["pattern"], mergeable_ranks=ranks, special_tokens={})
    return TiktokenTokenizer("tekken", f"tekken/{model['sha256'][:16]}", encoding)


def _tiktoken(name: str) -> Tokenizer:
    import tiktoken

    encoding_name = name.partition(":")[2]
    if encoding_name not in tiktoken.list_encoding_names():
        raise FathomError(f"{name}: tiktoken knows {', '.join(sorted(tiktoken.list_encoding_names()))}")
    try:
        encoding = tiktoken.get_encoding(encoding_name)
    except Exception as error:  # tiktoken passes on any exception of its HTTP client
        raise FathomError(
            f"{name}: its vocabulary is neither in tiktoken's cache nor can it be downloaded ({type(error).__name__}); "
            f"connect once, set TIKTOKEN_CACHE_DIR to a filled cache, or use `tokenizer` {DEFAULT}"
        ) from error
    return TiktokenTokenizer(name, f"{name}/{encoding.n_vocab}", encoding)


def _hugging_face(name: str) -> Tokenizer:
    import tokenizers

    repository = name.partition(":")[2]
    downloaded = _downloaded(repository)
    try:
        load = tokenizers.Tokenizer
        engine = load.from_file(str(downloaded)) if downloaded else load.from_pretrained(repository)
    except Exception as error:  # the hub's client has its own exceptions, which it does not export
        raise FathomError(
            f"{name}: cannot load tokenizer.json of {repository!r} from the Hugging Face hub ({type(error).__name__}: "
            f"{error}); check the name and the connection, or give the path of a downloaded tokenizer.json"
        ) from error
    return _hugging_face_engine(name, engine)


def _hugging_face_engine(name: str, engine: Any) -> Tokenizer:
    # Texts are given one at a time. A pool of threads would gain nothing, and warn of the fork of every process.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    engine.no_truncation()
    engine.no_padding()
    content = engine.to_str()
    added = engine.get_added_tokens_decoder().values()
    if any(not token.special and _is_mark(token.content) for token in added):
        engine = _with_all_special(content)
    engine.encode_special_tokens = True  # they are read as ordinary text, as with tiktoken
    quick = quick_count(name, engine, partial(_count, engine))
    return HuggingFaceTokenizer(name, f"tokenizers/{_digest(content.encode())}/text", engine, quick)


def _count(engine: Any, text: str) -> int:
    """Tokens of a text; the only method that computes no offsets, a third of the time, takes a batch."""
    return len(engine.encode_batch_fast([text], add_special_tokens=False)[0])


def _is_mark(text: str) -> bool:
    return _TAG.fullmatch(text) is not None or CONTROL_TOKEN.fullmatch(text) is not None


def _with_all_special(content: str) -> Any:
    """A tokenizer whose added control tokens are all special, which some are not (``<think>`` of Qwen)."""
    import tokenizers

    model = json.loads(content)
    for token in model["added_tokens"]:
        token["special"] = token["special"] or _is_mark(token["content"])
    return tokenizers.Tokenizer.from_str(json.dumps(model))


def _from_file(path: Path) -> Tokenizer:
    content = read_regular(path)
    try:
        if content.lstrip()[:1] == b"{":
            import tokenizers

            return _hugging_face_engine(str(path), tokenizers.Tokenizer.from_str(content.decode("utf-8")))
        if re.match(rb"[A-Za-z0-9+/]+=* \d+\r?\n", content):
            return _rank_file(path, content)
        import sentencepiece

        if not content:
            raise ValueError("the file is empty")
        engine = sentencepiece.SentencePieceProcessor(model_proto=content)
        return _sentence_pieces(str(path), content, engine)
    except Exception as error:  # three libraries, each with its own exceptions
        raise FathomError(
            f"{path}: not a tokenizer ({type(error).__name__}: {error}); expected a tiktoken rank file, "
            "a tokenizers JSON or a SentencePiece model"
        ) from error


def _sentence_pieces(name: str, content: bytes, engine: Any) -> SentencePieceTokenizer:
    pieces = (engine.id_to_piece(number) for number in range(engine.get_piece_size()))
    marks = [piece for piece in pieces if CONTROL_TOKEN.fullmatch(piece) and _is_one(engine, piece)]
    pattern = re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True)))) if marks else None
    return SentencePieceTokenizer(name, f"sentencepiece/{_digest(content)}{'/text' if marks else ''}", engine, pattern)


def _is_one(engine: Any, mark: str) -> bool:
    """Whether a text is read as the piece of that name, wherever it is."""
    return list(engine.encode(f"a{mark}b")).count(engine.piece_to_id(mark)) == 1


def _pieces_beyond_one(engine: Any, mark: str) -> int:
    """How many pieces more than one a control token is as a text, which it is in two parts."""
    return len(engine.encode(f"a{mark[:1]}")) - len(engine.encode("a")) + len(engine.encode(f"a{mark[1:]}")) - 2


def _rank_file(path: Path, content: bytes) -> Tokenizer:
    import tiktoken

    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, content.splitlines())}
    # Rank files do not specify how text is split first. A vocabulary with three-digit tokens was trained on
    # groups of up to three digits (GPT-4, Llama 3), one without them on single digits (Qwen).
    digits = "{1,3}" if b"123" in ranks else ""
    pattern = _SPLIT.replace("DIGITS", digits)
    encoding = tiktoken.Encoding(path.name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return TiktokenTokenizer(str(path), f"tiktoken/{_digest(content)}", encoding)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
