"""Write a folder to start a private family of the suite ``world`` from, or prove one."""

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Annotated, Any

from fathom.commands.shared import Json
from fathom.options.declare import arg, command


class FamilyOptions(Json):
    folder: Annotated[Path | str, arg("A new folder to write, or the folder of a family to prove.")]
    _: KW_ONLY


@command(FamilyOptions)
def data_family(options: FamilyOptions) -> list[dict[str, Any]]:
    """Write a folder to start a private family of the suite `world` from, or prove one.

    A new folder gets the packaged names and sentence forms. Of a folder that exists, each form is read by the text
    solver and each name compared (docs/how-to/private-families.md).
    """
    from fathom.storage.atomic import whole_file
    from fathom.world.private import FILES, file_name, packaged, packaged_text
    from fathom.world.private_proof import prove_private

    folder = Path(options.folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        own = prove_private(folder).tables
        return [_counts(name, own[name], packaged(name)) for name in FILES if name in own]
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        with whole_file(folder / file_name(name)) as stream:
            stream.write(packaged_text(name))
    return [_counts(name, packaged(name), packaged(name)) for name in FILES]


def _counts(name: str, own: Mapping[str, Any], packaged: Mapping[str, Any]) -> dict[str, Any]:
    from fathom.world.private import file_name

    known = set(_texts(packaged))
    texts = list(_texts(own))
    return {"file": file_name(name), "texts": len(texts), "own": sum(text not in known for text in texts)}


def _texts(value: Any) -> Iterator[str]:
    """All texts of a table."""
    if isinstance(value, str):
        yield value
    else:
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)


def main(line: FamilyOptions) -> None:
    """Write or prove, and print a table or JSON."""
    from fathom.options.terminal import print_json, print_records, tell_next

    records = data_family.body(line)
    if line.as_json:
        return print_json(records)
    print_records(records, denominator="none")
    if not any(record["own"] for record in records):
        print(f"{line.folder}: written; replace what shall be your own, and remove the rest")
    else:
        tell_next("build", "world", "--family", line.folder)
