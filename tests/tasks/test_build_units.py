"""Tasks that are built on their own, on another engine, make the same suite byte by byte."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from engine_calls import configure
from fathom.suites.build import build
from fathom.types import FathomError


class Elsewhere:
    """An engine whose units share nothing with this process, in another order; it fails after some."""

    def __init__(self, most: int = 100) -> None:
        self.most = most
        self.done: list[str] = []

    def __call__(self, work: Callable[[Any], Any], units: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        sent = pickle.dumps(work)
        for name in reversed(list(units)):
            if len(self.done) == self.most:
                raise FathomError("the driver was killed")
            self.done.append(name)
            work = pickle.loads(sent)  # noqa: S301
            yield name, json.loads(json.dumps(work(units[name])))


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("where", [None, {"task": ["passkey", "single_doc_qa"]}])
def test_a_suite_is_the_same_on_another_engine_also_after_a_kill(
    tmp_path: Path, where: dict[str, list[str]] | None
) -> None:
    tasks = "passkey,kv_retrieval,single_doc_qa"
    wanted = configure(tasks, lengths=[512, 1024], items=2, tokenizer="words", where=where, truncate=[512])
    build(wanted, tmp_path / "here")
    first, second = Elsewhere(1), Elsewhere()
    with pytest.raises(FathomError, match="killed"):
        build(wanted, tmp_path / "there", engine=first)
    build(wanted, tmp_path / "there", engine=second)
    assert files(tmp_path / "there") == files(tmp_path / "here")
    assert len(first.done) == 1
    assert not set(first.done) & set(second.done)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "there"]
