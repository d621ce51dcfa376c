"""Print the changelog's section of a version, for the page of its release.

    python .github/release_notes.py v0.1.0

Stops with exit code 2 if the tag is not the version of the package, or the changelog has no dated section for it.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def notes(changelog: str, version: str) -> str:
    """The text of a version's section, without its heading.

    Args:
        changelog: The text of CHANGELOG.md.
        version: The version, without a "v".

    Raises:
        ValueError: There is no section with a date for this version, or it is empty.
    """
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    parts = re.split(heading, changelog, maxsplit=1, flags=re.MULTILINE)
    if len(parts) == 1:
        raise ValueError(f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD'")
    text = re.split(r"^## |^\[[^\]]+\]: ", parts[1], maxsplit=1, flags=re.MULTILINE)[0].strip()
    if not text:
        raise ValueError(f"the section of {version} in CHANGELOG.md is empty")
    return text


def main(tag: str) -> None:
    """Print the notes of a tag, or say what is wrong with it."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    source = (ROOT / "src" / "fathom" / "__init__.py").read_text("utf-8")
    imported = re.findall(r'^__version__ = "(.*)"$', source, re.MULTILINE)
    if not tag == f"v{declared}" == f"v{''.join(imported)}":
        raise ValueError(
            f"the tag is {tag}, pyproject.toml has {declared}, fathom.__version__ is {', '.join(imported)}"
        )
    print(notes((ROOT / "CHANGELOG.md").read_text("utf-8"), declared))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (ValueError, TypeError) as error:
        print(f"release_notes: {error}", file=sys.stderr)
        sys.exit(2)
