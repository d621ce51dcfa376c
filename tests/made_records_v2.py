"""Made-up records of LongBench v2, in the form in which its authors publish them, and templates of prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from made import make_document

CHOICES = "$C_A$|$C_B$|$C_C$|$C_D$"
TEMPLATES = {
    "0shot.txt": f"{{Read}}: $DOC$\n--\n$Q$ ({CHOICES}) say $X$:",
    "0shot_cot.txt": f"Think: $DOC$\n--\n$Q$ ({CHOICES}):",
    "0shot_cot_ans.txt": f"No text. $Q$ ({CHOICES}) thought $COT$, so:",
    "0shot_no_context.txt": f"No text. $Q$ ({CHOICES}):",
}


def make_v2(number: int, sentences: int = 12) -> dict[str, Any]:
    """A record whose answer goes round from A to D; blanks stand around its texts."""
    made = make_document(number, "en", sentences)
    return {
        "_id": f"66f{number:021x}",
        "domain": "Single-Document QA",
        "sub_domain": "Academic",
        "difficulty": ("easy", "hard")[number % 2],
        "length": ("short", "medium", "long")[number % 3],
        "question": f" Who keeps volume {number} of {{asked}} and $COT$? ",
        **{f"choice_{letter}": f"{letter.lower()} keeper {number}\n" for letter in "ABCD"},
        "answer": "ABCD"[number % 4],
        "context": f"  {made.text}\r\n\r\nThe end. \n",
    }


def write_v2(folder: Path, count: int = 4, *, name: str = "data.json", sentences: int = 12) -> Path:
    """A file of records, by default as the hub has it, in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [make_v2(number, sentences) for number in range(count)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / name).write_text(json.dumps(rows) if name.endswith(".json") else lines, encoding="utf-8")
    return folder


def write_v2_templates(folder: Path) -> Path:
    """The text files in which LongBench keeps the prompts of version 2, in a folder below this one."""
    (folder / "prompts").mkdir(parents=True, exist_ok=True)
    for name, text in TEMPLATES.items():
        (folder / "prompts" / name).write_text(text, encoding="utf-8")
    return folder
