"""``run.json``: the settings of a run. Written once, and compared when the run is resumed."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

from fathom.extend.methods import FULL, NONE, WHOLE
from fathom.extend.servers import method_of_command
from fathom.models.hugging_face import PLACES, cache_of, is_local, method_of
from fathom.models.local_model import starts_server
from fathom.models.model_settings import KINDS, SWITCHES
from fathom.models.protocol import Settings, is_baseline, is_ray_vllm
from fathom.models.thinking import MODES, PROMPTS
from fathom.plugins.names import beside
from fathom.safety.secrets import hide_in_address, hide_in_command, hide_secrets
from fathom.storage.atomic import whole_file
from fathom.storage.checksums import CHECKSUM, check_content, check_format, with_checksum
from fathom.storage.foreign import check_files, read_regular
from fathom.suites.suitefile import is_suite
from fathom.types import FathomError, Json

FILE = "run.json"
FORMAT = 2
"""Of ``run.json``. Format 1 has no checksum."""
MODE = "thinking.mode"
_LOCAL, _REMOTE, _SERVED = ("torch", "transformers"), ("inspect-ai", "openai", "anthropic"), ("openai", "xllamacpp")
_RAY_VLLM = ("ray", "vllm", "transformers")
_ADVICE = "restore it from a copy, or move the folder away and run again"

# Files that may be in a folder before run.json: another process may be starting.
_OURS = (".run-", "replies.sqlite", FILE)


class _Kind(NamedTuple):
    type: type
    words: str
    needed: bool = False
    among: tuple[str, ...] = ()


# Fields that other packages rely on; null if the run has none.
_FIELDS = {
    "model": _Kind(str, "a text", needed=True),
    "suite": _Kind(dict, "an object", needed=True),
    "generation": _Kind(dict, "an object"),
    "model_args": _Kind(dict, "an object"),
    "base_url": _Kind(str, "a text or null"),
    "window": _Kind(int, "a whole number or null"),
    "on_overflow": _Kind(str, "a text"),
    "chat_template": _Kind(str, "a text"),
    "subset": _Kind(dict, "an object or null"),
    "extension": _Kind(dict, "an object or null"),
    "server_command": _Kind(str, "a text"),
    "label": _Kind(str, "a text"),
    "step": _Kind(int, "a whole number"),
    "variant": _Kind(str, "a text"),
    "observed": _Kind(dict, "an object"),
    "thinking": _Kind(dict, "an object or null"),
    "versions": _Kind(dict, "an object"),
}
_THINKING_FIELDS = {
    "mode": _Kind(str, "on or off", needed=True, among=MODES),
    "kind": _Kind(str, "a kind of model", needed=True, among=KINDS),
    "prompt": _Kind(str, "plain or thinking", needed=True, among=PROMPTS),
    "switch": _Kind(str, "a way to switch reasoning", needed=True, among=SWITCHES),
    "truncation": _Kind(int, "a whole number or null"),
}
_SUITE_FIELDS = {
    "name": _Kind(str, "a text", needed=True),
    "fingerprint": _Kind(str, "a text", needed=True),
    "tokenizer": _Kind(str, "a text", needed=True),
    "samples": _Kind(int, "a whole number or null"),
    "unread_files": _Kind(int, "a whole number or null"),
    "questions_left_out": _Kind(int, "a whole number or null"),
    "pools": _Kind(list, "a list"),
}
_TAKEN = ("pools", "plugins", "questions_left_out")  # fields of the manifest of a suite that only some have


def describe_run(
    suite: Path,
    suite_manifest: Mapping[str, Any],
    settings: Settings,
    packages: Sequence[str] = (),
    command: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """The content of ``run.json``.

    Args:
        suite: The suite folder.
        settings: How the model is asked.
        packages: Packages whose versions are recorded; by default those used to ask the model.
        command: The options given, and the configuration file they came from.

    Returns:
        A JSON object without secrets: values of arguments whose names look like keys are ``***``.
    """
    thinking = settings.thinking
    asking = _asking(settings.model)
    return {
        "format": FORMAT,
        "suite": {
            "name": suite_manifest.get("suite"),
            "path": str(suite),
            "fingerprint": suite_manifest.get("fingerprint"),
            "tokenizer": suite_manifest.get("tokenizer"),
            "samples": sum((suite_manifest.get("samples") or {}).values()) or None,
            "unread_files": sum(folder["missed"] for folder in suite_manifest.get("files_of_corpus") or ()) or None,
            **{name: suite_manifest[name] for name in _TAKEN if name in suite_manifest},
        },
        "model": settings.model,
        **({"extension": extension} if (extension := _extension(settings)) else {}),
        "base_url": hide_in_address(settings.base_url),
        **({} if settings.server_command is None else {"server_command": hide_in_command(settings.server_command)}),
        "model_args": hide_secrets(settings.model_args),
        "generation": {
            "temperature": settings.temperature,
            "seed": settings.seed,
            "max_output_tokens": settings.max_output_tokens,
            **hide_secrets(settings.generation),
        },
        "window": settings.window,
        "on_overflow": settings.on_overflow,
        "chat_template": settings.chat_template,
        "subset": dict(settings.subset) if settings.subset is not None else None,
        **({} if settings.kind is None else {"model_kind": settings.kind}),
        **({} if settings.system == WHOLE else {"system": settings.system.record()}),
        **({} if thinking is None else {"thinking": asdict(thinking)}),
        **({"label": settings.label} if settings.label else {}),
        **({} if settings.step is None else {"step": settings.step}),
        **({"variant": variant} if (variant := _variant(settings)) else {}),
        "versions": {name: installed for name in packages or ("fathom-eval", *asking) if (installed := _version(name))},
        **({} if command is None else {"command": _command_without_keys(command)}),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _variant(settings: Settings) -> str:
    """What tells this run apart from others of the same model: label, step, the score that it is for, system."""
    step = "" if settings.step is None else f"step {settings.step}"
    score = settings.thinking.score if settings.thinking else ""
    system = settings.system.words if settings.system != WHOLE else ""
    return ", ".join(filter(None, (settings.label, step, score, system)))


def _extension(settings: Settings) -> dict[str, Json]:
    """The methods that the model's name asks for, or else the one that its server was started with; {} for none."""
    method, cache = method_of(settings.model), cache_of(settings.model)
    of_cache: dict[str, Json] = {} if cache == FULL else {"cache": cache.record()}
    if of_cache or method is not NONE:
        return {**method.record(), **of_cache}
    of_server = method_of_command(settings.server_command or "")
    return {} if of_server is None else of_server.record()


def _command_without_keys(command: Mapping[str, Json]) -> dict[str, Json]:
    """The options without keys, also without those in addresses."""
    options = command.get("options")
    given = options if isinstance(options, Mapping) else {}
    addresses = {name: hide_in_address(str(value)) for name, value in given.items() if name.endswith("base_url")}
    lines = {name: hide_in_command(str(given[name])) for name in ("server_command",) if name in given}
    return hide_secrets({**command, "options": {**given, **addresses, **lines}})


def check_run(folder: Path, manifest: Mapping[str, Json]) -> None:
    """Check that a folder can hold a run, without creating anything.

    Raises:
        FathomError: It holds something else, or a run with different settings; the message names the first.
    """
    if folder.exists() and not folder.is_dir():
        raise FathomError(f"{folder}: is a file; give a folder with `out`")
    if (folder / FILE).exists():
        compare_runs(folder / FILE, read_manifest(folder), manifest)
    elif folder.exists() and any(not name.name.startswith(_OURS) for name in folder.iterdir()):
        raise FathomError(f"{folder}: contains other files but no run; give a new folder with `out`")


def join_run(folder: Path, manifest: Mapping[str, Json]) -> None:
    """Create a run folder with its ``run.json``, or join the run that another process has created.

    Args:
        folder: The run folder; created if missing.
        manifest: What ``describe_run`` returns for the run to start or resume.

    Raises:
        FathomError: The folder holds something else, or a run with different settings; the message names the first.
    """
    check_run(folder, manifest)
    path = folder / FILE
    if path.exists():
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FathomError(f"{folder}: cannot make the run folder: {error.strerror}") from None
    if not _write_first(path, manifest):
        compare_runs(path, read_manifest(folder), manifest)


def no_run(path: Path, file: str = FILE) -> FathomError:
    """The error for a path of results where there are none.

    Args:
        path: A folder, or a path that does not exist.
    """
    if not path.exists():
        return FathomError(f"{path}: no such run folder or rows file{beside(path) or '; `fathom run` writes one'}")
    if is_suite(path):
        return FathomError(
            f"{path}: a suite, which has no replies yet; run it first: fathom run {path} --model PROVIDER/NAME"
        )
    runs = sorted(run.parent for depth in ("*", "*/*") for run in path.glob(f"{depth}/{file}"))
    if runs:
        return FathomError(f"{path}: no run here, but a folder of runs; give one of them, such as {runs[0]}")
    return FathomError(f"{path}: no run here ({file} is missing); expected a folder written by fathom run")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The content of a run's ``run.json``.

    Raises:
        FathomError: It is missing, cannot be read, or lacks a required field.
    """
    path = folder / FILE
    try:
        check_files(folder, (FILE,))
        manifest = json.loads(read_regular(path))
        json.dumps(manifest, ensure_ascii=False, allow_nan=False).encode()  # no infinite numbers, no lone surrogates
    except FileNotFoundError:
        raise no_run(folder) from None
    except (OSError, ValueError, RecursionError) as error:
        raise FathomError(f"{path}: cannot be read: {error}; {_ADVICE}") from None
    if not isinstance(manifest, dict):
        raise FathomError(f"{path}: expected an object; {_ADVICE}")
    if check_format(path, manifest.get("format"), FORMAT, _ADVICE) > 1 or CHECKSUM in manifest:
        check_content(path, manifest, _ADVICE)
    _check_fields(path, "", manifest, _FIELDS)
    _check_fields(path, "suite.", manifest["suite"], _SUITE_FIELDS)
    if manifest.get("thinking") is not None:
        _check_fields(path, "thinking.", manifest["thinking"], _THINKING_FIELDS)
    return manifest


def observed_in(folder: Path) -> Mapping[str, Any]:
    """What was recorded of the server of a run; empty if there is no run, or nothing was.

    Raises:
        FathomError: The file cannot be read.
    """
    return (read_manifest(folder).get("observed") or {}) if (folder / FILE).is_file() else {}


def observe_run(folder: Path, observed: Mapping[str, Json]) -> None:
    """Record in ``run.json`` what is known of the server and of requests; nothing is written if it is known already.

    Args:
        observed: ``served``, the number of replies by the name of the model that answered, ``negotiated``, the
            parameters that the server refuses, each with its other name or "", ``servers``, what servers state, or
            ``orders``, in which samples were asked.

    Raises:
        FathomError: The file cannot be read or written.
    """
    manifest = read_manifest(folder)
    merged = {**(manifest.get("observed") or {}), **observed}
    if manifest.get("observed") == merged:
        return
    content = {name: value for name, value in manifest.items() if name != CHECKSUM} | {"observed": merged}
    text = json.dumps(with_checksum(content) if CHECKSUM in manifest else content, indent=2, ensure_ascii=False) + "\n"
    with whole_file(folder / FILE) as file:
        file.write(text)


def _check_fields(path: Path, place: str, values: Mapping[str, Any], fields: Mapping[str, _Kind]) -> None:
    for name, kind in fields.items():
        value = values.get(name)
        absent = value is None and not kind.needed
        # In Python true and false are integers.
        right = isinstance(value, kind.type) and not isinstance(value, bool) and (not kind.among or value in kind.among)
        if not absent and not right:
            raise FathomError(
                f"{path}: {place}{name} = {str(value)[:60]!r}, expected {kind.words}; the file is damaged: {_ADVICE}"
            )


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _write_first(path: Path, manifest: Mapping[str, Json]) -> bool:
    """Write the file unless it exists; False if another process was first."""
    text = json.dumps(with_checksum(manifest), indent=2, ensure_ascii=False) + "\n"
    try:
        with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=".run-", delete=False) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o644)
    except OSError as error:
        raise FathomError(f"{path}: cannot be written: {error.strerror}") from None
    # A hard link either appears complete or fails because the name is taken; replacing would not fail.
    try:
        os.link(file.name, path)
    except FileExistsError:
        return False
    except OSError:
        Path(file.name).replace(path)
        return True
    finally:
        Path(file.name).unlink(missing_ok=True)
    return True


def compare_runs(path: Path | str, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """The server's address, the suite's location and versions may change; settings that affect replies may not.

    Raises:
        FathomError: A setting that affects replies differs.
    """
    olds, news = _shaping(old), _shaping(json.loads(json.dumps(new)))
    # The mode determines most of the others, so it is named first.
    for name in sorted({*olds, *news}, key=lambda name: (name != MODE, name)):
        before, now = olds.get(name), news.get(name)
        if before != now:
            same = "the same setting"
            if name == "suite fingerprint":
                same = "the suite of that run (other items, lengths or documents make another suite)"
            raise FathomError(
                f"{path}: this folder holds a run with {name} = {before!r}, but {name} = {now!r} was requested; "
                f"give another folder with `out`, or {same}"
            )


def _asking(model: str) -> tuple[str, ...]:
    """The packages with which a model is asked."""
    if is_baseline(model):
        return ()
    if starts_server(model):
        return _SERVED
    return _LOCAL if is_local(model) else _RAY_VLLM if is_ray_vllm(model) else _REMOTE


def _shaping(manifest: Mapping[str, Any]) -> dict[str, Any]:
    suite = manifest.get("suite") or {}
    arguments: Mapping[str, Any] = manifest.get("model_args") or {}
    extension: Mapping[str, Any] = manifest.get("extension") or {}
    model = str(manifest.get("model"))
    free = PLACES if is_local(model) else ("threads",) if starts_server(model) else ()
    return {
        "model": manifest.get("model"),
        "suite fingerprint": suite.get("fingerprint"),
        "window": manifest.get("window"),
        "on_overflow": manifest.get("on_overflow"),
        # Runs of earlier versions had no such option.
        "chat template": manifest.get("chat_template") or "always",
        "`model_kind`": manifest.get("model_kind"),
        "`system`": manifest.get("system"),
        "`server_command`": manifest.get("server_command"),
        "`label`": manifest.get("label"),
        "`step`": manifest.get("step"),
        "subset": (manifest.get("subset") or {}).get("hash"),
        **{f"thinking.{name}": value for name, value in (manifest.get("thinking") or {}).items()},
        **{f"model_args.{name}": arguments[name] for name in arguments if name not in free},
        **(manifest.get("generation") or {}),
        # They may come from a file, of which the model's name has only the path.
        **{f"extension.{name}": extension[name] for name in ("long_factor", "short_factor") if name in extension},
    }
