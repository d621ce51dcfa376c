"""The relabelling attack on bundles: no other word for wrong replies (refused, failed, cut) raises score or rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from fathom import api
from fathom.board.bundles.bundle import DIGESTS, REPLIES, ROWS, archive, hashed
from fathom.board.bundles.check import check
from fathom.board.bundles.findings import RefusedError
from fathom.board.bundles.opening import parse_bundle
from fathom.board.measured import measured
from fathom.board.model import Entry
from fathom.board.results import Batch
from fathom.board.table import TableEntry, model_keys, table
from fathom.rows.table import RowsTable
from fathom.types import STATUSES, Status
from fathom.types.boards import Category, Part
from made_bundles import Content, consistent, in_format_2, in_format_3, taken_apart
from made_results_board import BOARD

pytestmark = pytest.mark.slow  # all look at what takes long to make

TASK = "leader_passkey_5_short"
PASSKEY = replace(BOARD, suites=(TASK,), categories=(Category("find", "Find", (Part((TASK,)),)),))
ATTACKED, RIVALS = "fathom/lexical?window=1k&truncate=middle", ("fathom/lexical", "fathom/guess")


@dataclass(frozen=True)
class Honest:
    """An honest bundle of a baseline that is wrong on some of the longer prompts, and the lines it stands among."""

    suite: Path
    bundles: dict[bool, bytes]
    rivals: tuple[Entry, ...]

    def content(self, logs: bool = True, form: int = 4) -> Content:
        """The bundle taken apart, as it was written in that format; format 1 has no word on answers."""
        content = taken_apart(self.bundles[logs])
        if form == 3:
            in_format_3(content)
        elif form < 3:
            in_format_2(content)
        if form == 1:
            content.head["format"] = 1
            for row in content.lines[ROWS]:
                del row["answered"]
        return content

    @cached_property
    def before(self) -> TableEntry:
        """Where it stands itself."""
        return self.line(self.bundles[True])

    def line(self, data: bytes) -> TableEntry:
        """Where a bundle stands on the board."""
        found = measured([PASSKEY], Batch(RowsTable(parse_bundle(data).rows_of("official")), "submitted")).entries[
            "made"
        ]
        entries = [*self.rivals, *found]
        lines = table(PASSKEY, entries, model_keys({"made": entries})).entries
        return next(line for line in lines if line.entry.origin.provenance == "submitted")

    def wrong(self) -> list[str]:
        """Samples with a wrong reply."""
        return sorted({row["sample"] for row in self.content().lines[ROWS] if row["value"] == 0.0})


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Honest:
    return make_honest(tmp_path_factory.mktemp("relabelling"))


def make_honest(folder: Path) -> Honest:
    """Build the suite, run it, and bundle the run that is attacked."""
    suite = folder / "suite"
    api.build(TASK, suite, lengths=(1024, 2048), items=10, corpus=("world",), languages=("en",))
    for number, model in enumerate((ATTACKED, *RIVALS)):
        api.run(suite, model, folder / str(number))
    bundles = {}
    for logs in (True, False):
        api.board_bundle([folder / "0"], folder / "b.zip", logs=logs)
        bundles[logs] = (folder / "b.zip").read_bytes()
    rivals = measured([PASSKEY], Batch(RowsTable(api.rows([folder / "1", folder / "2"], rule="official")))).entries[
        "made"
    ]
    return Honest(suite, bundles, tuple(rivals))


def relabelled(
    content: Content, samples: Collection[str], status: str, *, answered: bool, value: float | None, emptied: bool
) -> bytes:
    """The bundle with another word for some replies, all counts and hashes in step."""
    for record in (line for name in (ROWS, DIGESTS) for line in content.lines[name] if line["sample"] in samples):
        record["status"] = status
        if "value" in record:
            record |= {"value": value, "valid": False, "answer": None, "detail": "", "grader": ""}
        if "answered" in record:
            record["answered"] = answered
        if "reply_hash" in record and emptied:
            record["reply_hash"] = hashed("")
    for reply in content.lines.get(REPLIES, ()):
        if reply["sample"] in samples and emptied:
            reply["text"] = ""
    ended = Counter(digest["status"] for digest in content.lines[DIGESTS])
    content.head["parts"][0]["statuses"] = dict(sorted(ended.items()))
    return content.packed()


def raised(honest: Honest, data: bytes) -> str | None:
    """By what a bundle stands higher than the honest one; "" if by nothing, None if it is refused."""
    before = honest.before
    try:
        after = honest.line(data)
    except RefusedError:
        return None
    assert before.standing.overall is not None
    if after.standing.overall is not None and after.standing.overall.value > before.standing.overall.value + 1e-12:
        return f"score {after.standing.overall.value}"
    assert before.rank is not None
    if after.rank is not None and (after.rank < before.rank or after.standing.overall is None):
        return f"rank {after.rank}"
    return ""


def ways() -> Iterator[tuple[bool, int, bool, float | None, bool]]:
    """With and without logs, in all formats, answered or not, with no score or 0, emptied or not."""
    return product((True, False), (1, 2, 3), (True, False), (None, 0.0), (True, False))


def test_the_honest_bundle_is_ranked(honest: Honest) -> None:
    line = honest.line(honest.bundles[True])
    assert line.standing.complete
    assert line.standing.overall is not None
    assert line.standing.overall.value == 0.8
    assert line.rank is not None
    assert len(honest.wrong()) == 4
    for form in (1, 2, 3, 4):
        assert raised(honest, honest.content(form=form).packed()) == ""


@pytest.mark.parametrize(
    "status", [STATUSES[0], *(pytest.param(status, marks=pytest.mark.long) for status in STATUSES[1:])]
)
def test_no_other_word_for_wrong_replies_raises_a_score_or_a_rank(honest: Honest, status: Status) -> None:
    wrong = honest.wrong()
    taken = 0
    for samples in (wrong, wrong[:1]):
        for logs, form, answered, value, emptied in ways():
            data = relabelled(
                honest.content(logs, form), samples, status, answered=answered, value=value, emptied=emptied
            )
            by = raised(honest, data)
            assert not by, (by, len(samples), logs, form, answered, value, emptied)
            taken += by is not None
    assert taken, "every forgery was refused, so that nothing was shown of what counts"


@pytest.mark.parametrize("status", STATUSES)
def test_a_bundle_with_logs_shows_that_its_replies_were_relabelled(
    honest: Honest, status: Status, tmp_path: Path
) -> None:
    """Text that is still there gives it away, and so does a score that is not; what was emptied counts 0."""
    wrong = honest.wrong()
    for answered, value, emptied in product((True, False), (None, 0.0), (True, False)):
        path = tmp_path / "b.zip"
        path.write_bytes(relabelled(honest.content(), wrong, status, answered=answered, value=value, emptied=emptied))
        checked = check(path, [honest.suite])
        assert not checked.accepted or (emptied and not answered), (status, answered, value, emptied)
        if checked.complete:
            assert raised(honest, path.read_bytes()) == ""


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("emptied", [True, False])
def test_a_careful_forger_gains_nothing_either(honest: Honest, status: Status, emptied: bool, tmp_path: Path) -> None:
    """Every row is what this installation makes of the relabelled reply."""
    bundle, wrong = parse_bundle(honest.bundles[True]), set(honest.wrong())
    results = []
    for result in bundle.results:
        if result.rows[0].sample in wrong:
            rows = tuple(replace(row, status=status) for row in result.rows)
            said = result.log
            assert said is not None
            said = replace(said, text="") if emptied else said
            result = replace(result, rows=rows, log=said, reply_hash=hashed(said.text))
        results.append(result)
    data = archive(consistent(replace(bundle, results=tuple(results))))
    (tmp_path / "b.zip").write_bytes(data)
    checked = check(tmp_path / "b.zip", [honest.suite])
    assert not raised(honest, data)
    assert checked.accepted == (emptied or status == "ok")
    assert checked.complete == (checked.accepted and status != "error")


@settings(deadline=None, max_examples=12, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(data=st.data())
def test_no_choice_of_replies_and_words_raises_a_score(honest: Honest, data: st.DataObject) -> None:
    samples = sorted({row["sample"] for row in honest.content().lines[ROWS]})
    content = honest.content(data.draw(st.booleans()), data.draw(st.sampled_from((1, 2))))
    forged = b""
    for _ in range(data.draw(st.integers(1, 3))):
        forged = relabelled(
            content,
            data.draw(st.sets(st.sampled_from(samples), min_size=1)),
            data.draw(st.sampled_from(STATUSES)),
            answered=data.draw(st.booleans()),
            value=data.draw(st.sampled_from((None, 0.0))),
            emptied=data.draw(st.booleans()),
        )
    assert not (raised(honest, forged) or "").startswith("score")
