"""Files as people save them: byte order marks, UTF-16, older encodings; one reader and one message for TOML."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fathom.analysis.difficulty import read_tiers
from fathom.board.model_facts import read_model_facts
from fathom.options.declare import read_config
from fathom.plugins.usertable import users_table
from fathom.runfile.settings import RunSettings
from fathom.storage.encodings import decode, encoding_of, older_encoding
from fathom.storage.toml import parse_toml, read_toml
from fathom.types import FathomError

TEXT = 'word = "Größe"\r\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_every_form_of_unicode_is_read_with_its_mark(encoding: str) -> None:
    marked = ("\ufeff" + TEXT).encode(encoding)
    assert encoding_of(marked)[0] == encoding
    assert decode(marked) == TEXT
    if "32" not in encoding:
        assert decode(TEXT.encode(encoding)) == TEXT


def test_text_with_some_nuls_is_not_utf16() -> None:
    for text in ("", "a", "a\0", "word\0" * 40, "\0" * 40, "书中自有" * 20):
        assert decode(text.encode()) == text


def test_an_older_encoding_is_named_with_what_to_do() -> None:
    assert "iconv -f CP1252" in older_encoding("Größe – 5 €".encode("cp1252"))
    assert "iconv -f GB18030" in older_encoding("河边的市场 opens at 9".encode("gb18030"))


@pytest.mark.parametrize(
    "read",
    [read_toml, read_tiers, read_model_facts, lambda path: read_config(path, RunSettings)],
    ids=["any", "tiers", "facts", "settings"],
)
def test_every_reader_of_toml_takes_windows_files_and_says_the_same(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    contents: dict[Callable[[Path], object], str] = {
        read_tiers: 'high = ["a"]\nmid = ["b"]\nlow = ["c"]\n',
        read_model_facts: '["a"]\nweights = "open"\n',
    }
    content = contents.get(read, "epochs = 3\n")
    path = tmp_path / "given.toml"
    path.write_text(content, "utf-8")
    usual = read(path)
    for data in (("\ufeff" + content).encode(), content.encode("utf-16"), content.encode("utf-16-le")):
        path.write_bytes(data)
        assert str(read(path)).split("sha256")[0] == str(usual).split("sha256")[0]
    for data, says in (
        (b"a = ]", r"not valid TOML: .*line 1"),
        (b"\n# caf\xe9", r"not valid TOML: line 2 is not UTF-8"),
    ):
        path.write_bytes(data)
        with pytest.raises(FathomError, match=rf"given\.toml: {says}"):
            read(path)
    with pytest.raises(FathomError, match="No such file"):
        read(tmp_path / "absent.toml")


def test_tables_of_the_user_may_have_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", str(tmp_path / "mine.toml"))
    (tmp_path / "mine.toml").write_bytes("\ufeff[a]\nx = 1\n".encode("utf-16-le"))
    assert users_table("MINE", "mine.toml", lambda value, where: (value, where)) == {
        "a": ({"x": 1}, f"{tmp_path}/mine.toml: ['a']")
    }


def test_deep_nesting_is_an_error_of_the_file() -> None:
    with pytest.raises(FathomError, match="x: not valid TOML"):
        parse_toml("a = " + "[" * 100_000, "x")


def test_toml_is_parsed_in_one_place() -> None:
    source = Path(__file__).parents[1] / "src" / "fathom"
    parsing = [
        path.relative_to(source).as_posix() for path in source.rglob("*.py") if "tomllib" in path.read_text("utf-8")
    ]
    assert parsing == ["storage/toml.py"]


@pytest.mark.parametrize("text", ["Müller größer", "El niño mañana", "résumé déjà"])
def test_letters_with_accents_are_not_called_chinese(text: str) -> None:
    assert "CP1252" in older_encoding(text.encode("cp1252"))
    assert "GB18030" in older_encoding("海洋气候的变化".encode("gb18030"))
