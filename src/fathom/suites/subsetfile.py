"""The file of a subset: the items that represent a benchmark, their weights, and how they were chosen.

One JSON object:

| field | content |
| --- | --- |
| `format` | `fathom subset` |
| `version` | 2; files of version 1 have no checksum |
| `name`, `method` | texts |
| `design`, `provenance` | objects |
| `members` | a list of objects with `item`, `weight` and, if known, `stratum` and `probability` |
| `checksum` | the SHA-256 of all other fields |
"""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NotRequired

from annotated_types import Predicate
from typing_extensions import TypedDict

from fathom.storage.atomic import whole_file
from fathom.storage.checksums import CHECKSUM, check_content, check_format, with_checksum
from fathom.storage.encodings import decode
from fathom.storage.foreign import read_regular
from fathom.storage.schema import MismatchError, read_as
from fathom.types import FathomError, Json, Member, Subset

FORMAT = "fathom subset"
VERSION = 2
_ADVICE = "expected a file written by `fathom compress select` or fathom.suites.subsetfile.write_subset"


class MemberRecord(TypedDict):
    """An item with its weight."""

    item: Annotated[str, Predicate(bool), "the id of an item or a sample"]
    weight: float
    stratum: NotRequired[str]
    probability: NotRequired[float | None]


class SubsetRecord(TypedDict):
    """The content of a file."""

    name: str
    method: str
    design: Mapping[str, Any]
    provenance: Mapping[str, Any]
    members: list[MemberRecord]


def read_subset(path: Path) -> Subset:
    """Read a subset.

    Args:
        path: A file written by ``write_subset``.

    Raises:
        FathomError: The file cannot be read, is not a subset, or has an invalid field; the message names the field.
    """
    try:
        content = json.loads(decode(read_regular(Path(path))))
        json.dumps(content, ensure_ascii=False).encode()  # lone surrogates could not be written again
    except OSError as error:
        raise FathomError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeEncodeError as error:
        raise FathomError(f"{path}: a text is not valid Unicode ({error.reason}); {_ADVICE}") from None
    except (ValueError, RecursionError) as error:
        raise FathomError(f"{path}: not JSON ({error}); {_ADVICE}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FathomError(f"{path}: not a subset (its format is not {FORMAT!r}); {_ADVICE}")
    if check_format(path, content.get("version"), VERSION, _ADVICE) > 1 or CHECKSUM in content:
        check_content(path, content, _ADVICE)
    try:
        fields = read_as(SubsetRecord, content)
    except MismatchError as error:
        raise FathomError(f"{path}: {error} ({_ADVICE})") from None
    members = tuple(
        Member(
            item=member["item"],
            weight=float(member["weight"]),
            stratum=member.get("stratum", ""),
            probability=member.get("probability"),
        )
        for member in fields["members"]
    )
    return checked(
        Subset(fields["name"], members, fields["method"], fields["design"], fields["provenance"]),
        str(path),
    )


def write_subset(subset: Subset, path: Path) -> None:
    """Write a subset; the file appears complete or not at all.

    Args:
        path: The file; its folder is created if missing.

    Raises:
        FathomError: The subset has no members, a duplicate item or an invalid number, or cannot be written.
    """
    checked(subset, str(path))
    content: dict[str, Json] = {
        "format": FORMAT,
        "version": VERSION,
        "name": subset.name,
        "method": subset.method,
        "design": dict(subset.design),
        "provenance": dict(subset.provenance),
        "members": [_record(member) for member in subset.members],
    }
    try:
        text = json.dumps(with_checksum(content), indent=1, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError) as error:
        raise FathomError(f"{path}: the subset cannot be written as JSON: {error}") from None
    with whole_file(Path(path)) as stream:
        stream.write(text + "\n")


def subset_hash(subset: Subset) -> str:
    """First 16 hexadecimal digits of a hash of the members: their items, weights, strata and probabilities.

    It depends neither on their order nor on the name.
    """
    records = sorted((_record(member) for member in subset.members), key=lambda record: str(record["item"]))
    return hashlib.sha256(json.dumps(records, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def checked(subset: Subset, where: str) -> Subset:
    """The subset, if it is valid.

    Args:
        subset: Any subset.
        where: Its source, for messages.

    Raises:
        FathomError: It has no members, a duplicate item, a negative weight, weights whose sum is 0 or not finite, or a
            probability outside (0, 1].
    """
    if not subset.members:
        raise FathomError(f"{where}: the subset has no members; expected at least one")
    seen: set[str] = set()
    for number, member in enumerate(subset.members, start=1):
        place = f"{where}: member {number} ({member.item!r})"
        if member.item in seen:
            raise FathomError(f"{place}: duplicate; name each item once, with the sum of its weights")
        seen.add(member.item)
        if not (math.isfinite(member.weight) and member.weight >= 0):
            raise FathomError(f"{place}: weight {member.weight}; expected 0 or a positive number")
        if member.probability is not None and not 0 < member.probability <= 1:
            raise FathomError(f"{place}: probability {member.probability}; expected more than 0 and at most 1")
    total = sum(member.weight for member in subset.members)
    if not 0 < total < math.inf:
        raise FathomError(f"{where}: the weights add up to {total}; expected a positive number")
    return subset


def _record(member: Member) -> Mapping[str, Json]:
    record: dict[str, Json] = {"item": member.item, "weight": float(member.weight)}
    if member.stratum:
        record["stratum"] = member.stratum
    if member.probability is not None:
        record["probability"] = float(member.probability)
    return record
