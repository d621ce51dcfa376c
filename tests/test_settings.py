"""Settings are values: what the engine is given is what it uses."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import fathom
from fathom.models.settings import AskSettings, Limits, Reasoning, Sampling, Served
from fathom.options.declare import OptionError, Options, fields_of
from fathom.runfile.settings import Choice, JudgeSettings, LikelihoodSettings, RunSettings, SystemSettings
from fathom.suites.settings import Build, BuildSettings, Contents

SOURCE = Path(fathom.__file__).parent
ENGINE = ("run", "models", "runfile", "lab", "studio", "suites")
DECLARED = ("models/settings.py", "runfile/settings.py", "suites/settings.py")
GROUPS = (
    *(AskSettings, SystemSettings, Build, Choice, Contents, JudgeSettings, LikelihoodSettings, Limits, Reasoning),
    *(Sampling, Served),
)


@cache
def read_by_the_engine() -> set[str]:
    """The names of all attributes that are read below the commands, except where settings are declared."""
    found: set[str] = set()
    for room in ENGINE:
        for path in (SOURCE / room).rglob("*.py"):
            if path.relative_to(SOURCE).as_posix() not in DECLARED:
                tree = ast.parse(path.read_text("utf-8"))
                found |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return found


@pytest.mark.slow
def test_every_setting_is_used_by_the_engine() -> None:
    used = read_by_the_engine()
    assert {(group.__name__, one.name) for group in GROUPS for one in fields_of(group) if one.name not in used} == set()


@pytest.mark.slow
def test_a_setting_that_nobody_uses_is_found() -> None:
    class More(Limits, kw_only=True):
        """More."""

        nobody_uses_this: int = 0

    assert "nobody_uses_this" not in read_by_the_engine()


@pytest.mark.parametrize(
    ("whole", "groups"),
    [(RunSettings, (SystemSettings, Choice, Sampling, Served, Reasoning, Limits)), (BuildSettings, (Contents, Build))],
)
def test_there_are_the_settings_of_the_groups_and_no_others(
    whole: type[Options], groups: tuple[type[Options], ...]
) -> None:
    assert {one.name for one in fields_of(whole)} == {one.name for group in groups for one in fields_of(group)}


@pytest.mark.parametrize("group", GROUPS)
def test_the_settings_of_a_group_have_defaults_and_are_frozen(group: type[Options]) -> None:
    made = group()
    assert made.but() == made
    assert hash(made.but().part(group)) == hash(made)
    with pytest.raises(AttributeError):
        setattr(made, fields_of(group)[0].name, None)


def test_a_part_of_settings_and_settings_of_parts() -> None:
    settings = RunSettings(limit=3, max_cost=2, temperature=0.5, system="notes")
    assert settings.part(Limits) == Limits(max_cost=2)
    joined = RunSettings.joined(settings.part(Choice), settings.part(Sampling))
    assert (joined.limit, joined.temperature, joined.max_cost, joined.system) == (3, 0.5, None, "whole")
    assert settings.but(max_cost=None, system="whole") == joined


def test_a_setting_is_checked_where_it_is_given() -> None:
    with pytest.raises(OptionError, match=r"max_cost=-1: expected a number of at least 0"):
        Limits(max_cost=-1)
    with pytest.raises(OptionError, match=r"seed=-1: expected a whole number from 0"):
        Sampling(seed=-1)
    with pytest.raises(OptionError, match=r"temperature=nan: expected a number"):
        Sampling(temperature=float("nan"))


def test_a_negative_temperature_is_left_to_the_provider() -> None:
    assert Sampling(temperature=-1.0).temperature is AskSettings(temperature=-1.0).temperature is None
