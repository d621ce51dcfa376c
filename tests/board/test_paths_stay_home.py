"""A suite counted by a file of a vocabulary: where the file lies is nobody's business, and decides nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from fathom import api
from made import write_corpus


def vocabulary(folder: Path) -> Path:
    """A tokenizer of words in a folder of its own."""
    engine = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    engine.pre_tokenizer = Whitespace()
    folder.mkdir(parents=True)
    engine.save(str(folder / "tokenizer.json"))
    return folder


@pytest.mark.slow
def test_the_place_of_a_tokenizer_is_in_no_bundle_and_on_no_site(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, 30)
    suites = []
    for name in ("mine", "theirs"):
        tokenizer = vocabulary(tmp_path / f"secret-place-of-{name}" / "counter")
        suites.append(tmp_path / name)
        api.build(
            "leader_needle_short,leader_passkey_5_short", suites[-1], lengths=[1024], items=2, corpus=[str(corpus)],
            tokenizer=str(tokenizer),
        )  # fmt: skip
    run = tmp_path / "run"
    api.run(suites[0], "fathom/lexical", out=run)
    bundle = tmp_path / "bundle.zip"
    api.board_bundle([run], bundle)
    assert b"secret-place" not in bundle.read_bytes()
    assert b'"tokenizer":"counter"' in bundle.read_bytes().replace(b'": "', b'":"')
    # The same vocabulary in another folder is the same suite.
    checked = api.board_check(bundle, suites=[suites[1]])
    assert checked.accepted, checked.findings
    site = tmp_path / "site"
    api.board_build([run], site, published=False)
    files = [path for path in site.rglob("*") if path.is_file()]
    assert [path for path in files if b"fathom/lexical" in path.read_bytes()]
    assert not [path for path in files if b"secret-place" in path.read_bytes()]
