"""The suffix of a written file says its form, and one that no form has is refused before any work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fathom import api
from fathom.commands.forms import REPORTS, form_of
from fathom.types import FathomError

ABSENT = Path("no-such-run")
TEXTS = r"\.txt, \.html, \.htm, \.md, \.json; or give `format`"
COMMANDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "report": (lambda out: api.report([ABSENT], out), r"\.html, \.htm, \.md, \.json; or give `format`"),
    "compare": (lambda out: api.compare([ABSENT, ABSENT], out), TEXTS),
    "card": (lambda out: api.card("m", [ABSENT], out), TEXTS),
    "export": (lambda out: api.export(ABSENT, out), r"\.jsonl, \.ndjson, \.json, \.txt$"),
    "board diff": (lambda out: api.board_diff(ABSENT, ABSENT, out), r"\.json$"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_another_suffix_is_refused_before_anything_is_read(name: str, tmp_path: Path) -> None:
    command, listed = COMMANDS[name]
    with pytest.raises(FathomError, match=r"f\.pdf: an? [a-z ]+ ends in " + listed):
        command(tmp_path / "f.pdf")


def test_a_file_without_a_suffix_of_letters_has_the_default_form() -> None:
    assert [form_of(name, REPORTS, "a report", default="html") for name in ("page", "model-4.5", "-")] == ["html"] * 3
    assert form_of("F.MD", REPORTS, "a report") == "markdown"
    with pytest.raises(FathomError, match="`report` page: a report ends in"):
        form_of("page", REPORTS, "a report", option="report")
