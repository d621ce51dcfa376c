"""The parts of fathom that need more libraries, and what to install where one is missing."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

from fathom.types import FathomError

PACKAGE = "fathom-eval"


@dataclass(frozen=True, slots=True)
class Extra:
    """Libraries that are installed with ``pip install 'fathom-eval[NAME]'``.

    Attributes:
        use: What needs them.
        modules: The modules that only they provide, as they are imported.
    """

    use: str
    modules: tuple[str, ...]


EXTRAS: Mapping[str, Extra] = {
    "batch": Extra("fathom run with anthropic/NAME and google/NAME, in batches too", ("anthropic", "google.genai")),
    "board": Extra("fathom board serve", ("fastapi", "uvicorn", "sqlalchemy", "psycopg", "prometheus_client")),
    "cloud": Extra("object stores (s3://, gs://, az://)", ("obstore",)),
    "compress": Extra(
        "fathom compress, reports of its estimates, fathom analyze difficulty",
        ("scipy", "sklearn"),
    ),
    "documents": Extra(
        "PDF, Word, PowerPoint, HTML and EPUB files and workbooks",
        ("lxml", "mammoth", "pptx", "pypdfium2", "python_calamine"),
    ),
    "dump": Extra("archives of Stack Exchange (.7z)", ("py7zr",)),
    "embed": Extra("embedding models as judges, and fathom compress embed", ("sentence_transformers",)),
    "figures": Extra("figures as PNG and PDF files", ("vl_convert",)),
    "gigatoken": Extra("quicker counts with tokenizers of Hugging Face", ("gigatoken",)),
    "hf": Extra("local models as hf/PATH, entailment models as nli/NAME", ("torch", "transformers", "accelerate")),
    "hub": Extra("fathom data fetch", ("filelock", "huggingface_hub")),
    "inspect": Extra(
        "models of OpenAI, Anthropic, Google and others, --system agent, and logs and tasks of Inspect", ("inspect_ai",)
    ),
    "kvpress": Extra("presses of NVIDIA's kvpress, in an environment of its own", ("kvpress",)),
    "local": Extra("the small model local and models as local/PATH.gguf, which fathom serves itself", ("xllamacpp",)),
    "mlflow": Extra("fathom convert --to mlflow", ("mlflow",)),
    "ray": Extra("Ray clusters: --engine ray, models as ray-vllm/PATH", ("ray",)),
    "studio": Extra("fathom studio", ("argon2", "zxcvbn", "multipart", "python_multipart")),
    "wandb": Extra("fathom convert --to wandb", ("wandb",)),
    "zh": Extra("scores of Chinese answers, which need their words", ("jieba",)),
}
"""By name. A module of several extras is listed with the first that most people want."""
_EXTRA_OF = {module: name for name, extra in EXTRAS.items() for module in extra.modules}


class MissingLibraryError(FathomError):
    """A library is missing that an extra of fathom installs."""


def install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install '{PACKAGE}[{extra}]'"


def missing_library(error: ModuleNotFoundError) -> MissingLibraryError | None:
    """What to say of a module that was not found; None if no extra provides it."""
    name = (error.name or "").partition(".")[0]
    extra = _EXTRA_OF.get(name)
    if extra is None:
        return None
    return MissingLibraryError(f"{name} is not installed, which is for {EXTRAS[extra].use}: {install(extra)}")


@contextmanager
def libraries_of(what: str, extra: str) -> Iterator[None]:
    """Say what to install where a library is missing.

    Args:
        what: What needs it.
        extra: The extra of fathom-eval that has it.

    Raises:
        FathomError: A library is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "fathom":
            raise
        raise FathomError(f"{what} needs {error.name}: {install(extra)}") from error


def require(module: str) -> None:
    """Check that a module of an extra is installed, without importing it.

    Args:
        module: Its name, without those of parts.

    Raises:
        MissingLibraryError: It is not.
    """
    missing = missing_library(ModuleNotFoundError(name=module)) if find_spec(module) is None else None
    if missing is not None:
        raise missing
