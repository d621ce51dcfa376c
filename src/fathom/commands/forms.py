"""Forms of written files, which their suffixes say."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from fathom.types import FathomError

Format: TypeAlias = Literal["html", "markdown", "json"]
TextFormat: TypeAlias = Format | Literal["text"]
Form = TypeVar("Form", bound=str)
REPORTS: Mapping[str, Format] = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json"}
SUFFIXES: Mapping[str, TextFormat] = {".txt": "text", **REPORTS}
RECORDS: Mapping[str, str] = dict.fromkeys((".jsonl", ".ndjson", ".json", ".txt"), "jsonl")


def form_of(
    out: Path | str, forms: Mapping[str, Form], what: str, *, option: str = "out", default: Form | None = None
) -> Form:
    """The form of a file, before the work on it.

    Args:
        forms: Forms by suffix.
        what: What is written, such as ``a report``.
        option: The option that names the file.
        default: The form of a file without a suffix (of letters: ``model-4.5`` has none); None if it needs one.

    Raises:
        FathomError: The suffix is that of no form.
    """
    suffix = Path(out).suffix.lower()
    if suffix in forms:
        return forms[suffix]
    if default is not None and not suffix[1:2].isalpha():
        return default
    choice = "; or give `format`" if option == "out" and len(set(forms.values())) > 1 else ""
    raise FathomError(f"`{option}` {out}: {what} ends in {', '.join(forms)}{choice}")
