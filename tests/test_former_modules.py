"""Modules that were moved are found by their former names too: plugins and other packages import them."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module, util
from pathlib import Path

import pytest

import fathom
from fathom.plugins.former import FORMER, name_now

# What imports a library that may be missing.
LIBRARIES = {"fathom.run.hugging_face", "fathom.run.ray_vllm", "fathom.cluster"}


@pytest.mark.parametrize("former", sorted({*FORMER} - LIBRARIES))
def test_a_former_name_is_the_module_itself(former: str) -> None:
    sys.modules.pop(former, None)
    with pytest.warns(DeprecationWarning, match=f"{former} is now {FORMER[former]}"):
        module = import_module(former)
    assert module is import_module(FORMER[former])
    assert module.__spec__ is not None
    assert module.__name__ == module.__spec__.name == FORMER[former]


def test_what_is_below_a_former_package_is_loaded_once() -> None:
    for name in ("fathom.corpus", "fathom.corpus.books"):
        sys.modules.pop(name, None)
    with pytest.warns(DeprecationWarning, match=r"fathom\.corpus is now"):
        import_module("fathom.corpus")
    with pytest.warns(DeprecationWarning, match=r"fathom\.corpus\.books is now"):
        former = import_module("fathom.corpus.books")
    assert former is import_module("fathom.documents.corpus.books")
    assert name_now("fathom.corpus.world.grammar") == "fathom.world.plans"


@pytest.mark.parametrize("package", ["fathom.documents.world", "fathom.corpus.world"])
def test_what_is_gone_from_a_package_that_was_moved_is_missing_without_a_warning(package: str) -> None:
    for name in ("facts", "cluster"):
        with warnings.catch_warnings():
            warnings.filterwarnings("error", f"{package}.{name}")
            with pytest.raises(ModuleNotFoundError, match=f"No module named '{package}.{name}'"):
                import_module(f"{package}.{name}")
    sys.modules.pop(f"{package}.generator", None)
    with pytest.warns(DeprecationWarning, match=f"{package}.generator is now"):
        assert import_module(f"{package}.generator").generate is not None


def test_names_that_are_no_former_ones_are_left_alone() -> None:
    assert name_now("fathom.run.session") is name_now("fathom.types") is name_now("fathomable.corpus") is None
    with pytest.raises(ModuleNotFoundError):
        import_module("fathom.nowhere")


def test_every_former_name_leads_to_a_file_and_hides_none() -> None:
    source = Path(fathom.__file__).parent.parent
    for former, now in FORMER.items():
        assert util.find_spec(now) is not None
        place = source.joinpath(*former.split("."))
        assert not place.with_suffix(".py").exists()
        assert not (place / "__init__.py").exists()


@pytest.mark.parametrize(
    ("package", "name", "now"),
    [
        ("fathom.tokens", "get_tokenizer", "fathom.tokens.tokenizers"),
        ("fathom.plugins", "use", "fathom.plugins.loading"),
    ],
)
def test_what_was_a_module_and_is_a_package_has_its_names(package: str, name: str, now: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{package}.{name} is now {now}.{name}"):
        assert getattr(import_module(package), name) is getattr(import_module(now), name)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = import_module(package).nothing
