"""T9.1, impact over versions, and T9.2, changes of interfaces: Python packages that parse, with their revisions.

T9.1: parts of one shape, each with a function that a revision edits. Of its four callers one calls it since an earlier
revision, one until a later one: both count. One stopped before, one starts after: they do not. ``hops`` is the length
of the chains of callers, ``near`` the number of other parts, in which the edited function has the same name.

T9.2: in each of ``near + 1`` steps from release to release as many functions change their signature for good; others
change it and are restored (if ``hops`` is over 1), others change their body. Each function does each in some
step. With ``paraphrase`` T9.1 does not name the edited function; with ``unanswerable`` the revision or release does not
exist.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import TypeAlias

from fathom.world.dials import settled
from fathom.world.types import Dials, Language, Passage, Problem
from fathom.world.wording import (
    NOT_STATED,
    Candidates,
    Slots,
    Word,
    chance_of_all,
    day_name,
    draws,
    fill,
    filled,
    people,
    said_in,
    words,
    written,
)

Name: TypeAlias = tuple[str, str]
"""A function by its module and name."""
Parameter: TypeAlias = tuple[str, int | None]
"""A parameter with its default value."""

CHANGED = 2
FUNCTIONS_OF_A_FILE = 5
TOOLS = 4
_DAYS = range(226_100, 229_000)  # from 2020 on
_FIRST_PACKAGES = 300


@dataclass(frozen=True, slots=True)
class Function:
    """A version of a function.

    Attributes:
        name: Its module and name.
        words: Verb and noun that its name consists of, and its module.
        parameters: Its parameters.
        calls: The functions that it calls.
        body: The draw that the rest of its body follows from.
    """

    name: Name
    words: Mapping[str, Word]
    parameters: tuple[Parameter, ...]
    calls: tuple["Function", ...]
    body: int


@dataclass(frozen=True, slots=True)
class Package:
    """A package: its functions at first, the revisions that replace one each, and releases by revision."""

    name: str
    functions: tuple[Function, ...]
    revisions: tuple[Function, ...]
    releases: tuple[int, ...]
    day: int

    def at(self, revision: int) -> dict[Name, Function]:
        """The functions right after a revision; revision 1 is the first."""
        return {function.name: function for function in (*self.functions, *self.revisions[:revision])}


@dataclass(frozen=True, slots=True)
class Facts:
    """An item: a package, what is asked of it (a revision, or the first of two releases), and the names that answer."""

    name: str
    dials: Dials
    package: Package
    asked: int
    answers: tuple[Name, ...]
    candidates: tuple[Name, ...]
    paraphrased: bool


class Code:
    """The family of T9.1 and T9.2."""

    codes: tuple[str, ...] = ("T9.1", "T9.2")

    def facts(self, code: str, seed: int, number: int, dials: Dials) -> Facts:
        """See ``Family.facts``."""
        dials = settled(code, dials)
        name = f"code/{code}/{seed}/{number}"
        rng = draws(name)
        first = rng.randrange(_FIRST_PACKAGES)
        paraphrased = rng.random() < dials.paraphrase
        if code == "T9.1":
            package = _parts(rng, dials, _package_name(first))
            known = {function.name: function for function in package.functions}
            # A revision that changes no calls edits the function that a part is about.
            edits = [
                place for place, edited in enumerate(package.revisions, 1) if edited.calls == known[edited.name].calls
            ]
            roots = {package.revisions[place - 1].name for place in edits}
            asked = rng.choice(edits)
            answers = callers(package.at(asked).values(), package.revisions[asked - 1].name)
            candidates = {function.name for function in package.functions if function.calls} - roots
            asked = len(package.revisions) + rng.randint(2, 9) if dials.unanswerable else asked
        else:
            package = _released(rng, dials, _package_name(first))
            asked = rng.randrange(len(package.releases) - 1)
            before, after = (package.at(package.releases[place]) for place in (asked, asked + 1))
            answers = {name for name in before if before[name].parameters != after[name].parameters}
            candidates = {function.name for function in package.revisions}
            asked = len(package.releases) + 1 if dials.unanswerable else asked
        assert answers < candidates
        return Facts(name, dials, package, asked, tuple(sorted(answers)), tuple(sorted(candidates)), paraphrased)

    def passages(self, facts: Facts, language: Language) -> tuple[Passage, ...]:
        """See ``Family.passages``."""
        return tuple(_texts(f"{facts.name}/evidence", facts.package, language, evidence=True))

    def siblings(self, facts: Facts, language: Language) -> Iterator[Passage]:
        """See ``Family.siblings``."""
        rng = draws(facts.name, "siblings")
        first = draws(facts.name).randrange(_FIRST_PACKAGES)
        make = _parts if facts.name.startswith("code/T9.1") else _released
        size = replace(facts.dials, near=min(facts.dials.near, 2))
        for number in count(1):
            name = f"{facts.name}/{number}"
            package = make(draws(name), size, _package_name(first + number))
            for passage in _texts(name, package, language):
                while rng.random() < facts.dials.noise:
                    yield _constants(f"{passage.key}/{rng.random()}", package, language)
                yield passage

    def problem(self, facts: Facts, code: str, language: Language) -> Problem:
        """See ``Family.problem``."""
        table, package, asked = words("code"), facts.package, facts.asked
        if code == "T9.1":
            known = min(asked, len(package.revisions)) - 1
            name = f"`{_dotted(package.revisions[known].name)}`"
            changed = said_in(language, table["one_function"][0]) if facts.paraphrased else name
            question = fill(table["impact"][0], language, package=package.name, number=asked, name=changed)
        else:
            releases = {"first": f"1.{asked}", "second": f"1.{asked + 1}"}
            question = fill(table["interface"][0], language, package=package.name, **releases)
        answers = (said_in(language, NOT_STATED),) if facts.dials.unanswerable else tuple(map(_dotted, facts.answers))
        chance = 0.0 if facts.dials.unanswerable else chance_of_all(len(facts.answers), len(facts.candidates))
        return Problem(question.strip(), answers, chance=chance)

    def candidates(self, facts: Facts, code: str, language: Language) -> Candidates:
        """See ``Candidates``."""
        return [([(name[1], _dotted(name)) for name in facts.candidates], len(facts.answers))]

    def solve(self, text: str, question: str, code: str, language: Language) -> tuple[str, ...]:
        """See ``Family.solve``."""
        package = re.findall(r"`(\w+)`", question)[0]
        versions, releases = _read(text, package)
        names: set[Name] | None = None
        if code == "T9.1":
            asked = int(re.findall(r"(?:Revision |修订)([1-9]\d*)", question)[0])
            edited = [name for name, history in versions.items() if asked in history]
            names = _callers_of(versions, asked, edited[0]) if edited else None
        else:
            first, second = (releases.get(release) for release in re.findall(r"1\.\d+", question))
            if first is not None and second is not None:
                names = {
                    name
                    for name, history in versions.items()
                    if _signature(history, first) != _signature(history, second)
                }
        return (said_in(language, NOT_STATED),) if names is None else tuple(map(_dotted, sorted(names)))


CODE = Code()


def callers(functions: Iterable[Function], edited: Name) -> set[Name]:
    """The functions that call one, directly or through others."""
    direct = defaultdict(set)
    for function in functions:
        for callee in function.calls:
            direct[callee.name].add(function.name)
    reached: set[Name] = set()
    waiting = [edited]
    while waiting:
        new = direct[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached


def _dotted(name: Name) -> str:
    return ".".join(name)


def _package_name(number: int) -> str:
    """Different numbers below the square of the first words have different names, and then again with a number."""
    first, second = words("code")["packages"], words("code")["modules"]
    rest, low = divmod(number, len(first))
    turn, high = divmod(rest, len(second))
    return f"{first[low][0]}_{second[high][0]}" + (f"_{turn + 1}" if turn else "")


class _Namer:
    """Draws functions of a package with different names, over few modules."""

    def __init__(self, rng: Random, size: int, modules: int) -> None:
        table = words("code")
        self.rng = rng
        self.modules = rng.sample(
            table["modules"], min(len(table["modules"]), max(modules, size // FUNCTIONS_OF_A_FILE))
        )
        pairs = [(verb, noun) for verb in table["verbs"] for noun in table["nouns"]]
        self.names = iter(rng.sample(pairs, size))

    def function(
        self, calls: tuple[Function, ...], module: Word | None = None, like: Function | None = None
    ) -> Function:
        """A new function, of the name of another one in another module if that is given."""
        table = words("code")
        module = module or self.rng.choice(self.modules)
        verb, noun = (like.words["verb"], like.words["noun"]) if like else next(self.names)
        chosen = self.rng.sample([name for name, _ in table["parameters"]], self.rng.randint(1, 3))
        parameters: list[Parameter] = [(name, None) for name in chosen]
        if len(parameters) > 1 and self.rng.random() < 0.6:
            parameters[-1] = (chosen[-1], self.rng.randint(2, 40))
        slots = {
            "verb": verb,
            "noun": noun,
            "module": module,
            "other": self.rng.choice([word for word in table["nouns"] if word != noun]),
        }
        slots["about"] = filled(self.rng.choice(table["documentation"]), **slots)
        name = (module[0], f"{verb[0]}_{noun[0]}")
        return Function(name, slots, tuple(parameters), calls, self.rng.randrange(1 << 30))


def _parts(rng: Random, dials: Dials, name: str) -> Package:
    """A package of parts of one shape, in each of which one function is edited."""
    parts = min(dials.near + 1, len(words("code")["modules"]))
    namer = _Namer(rng, parts * (3 + 2 * dials.hops) + TOOLS, parts)
    tools = [namer.function(()) for _ in range(TOOLS)]
    functions, timelines = tools[:], []
    root: Function | None = None
    for module in namer.modules[:parts]:
        root = namer.function((rng.choice(tools),), module, like=root)
        before: list[Function] = []
        after: list[Function] = []
        # The first two callers call the root when it is edited. One of them has callers, and one of the others.
        with_callers = (rng.randrange(2), 2 + rng.randrange(2))
        kinds = ((False, before), (True, after), (True, before), (False, after))
        for place, (calls_at_first, changes) in enumerate(kinds):
            calling = namer.function((root, rng.choice(tools)))
            other = replace(calling, calls=tuple(rng.sample(tools, 2)), body=rng.randrange(1 << 30))
            functions.append(calling if calls_at_first else other)
            changes.append(other if calls_at_first else calling)
            for _ in range(dials.hops - 1 if place in with_callers else 0):
                calling = namer.function((calling, rng.choice(tools)))
                functions.append(calling)
        functions.append(root)
        rng.shuffle(before)
        rng.shuffle(after)
        timelines.append([*before, replace(root, body=rng.randrange(1 << 30)), *after])
    rng.shuffle(functions)
    return Package(name, tuple(functions), tuple(_interleaved(rng, timelines)), (), rng.choice(_DAYS))


def _interleaved(rng: Random, timelines: list[list[Function]]) -> Iterator[Function]:
    """The elements of lists in a random order that keeps that of each list."""
    turns = [place for place, timeline in enumerate(timelines) for _ in timeline]
    rng.shuffle(turns)
    steps = [iter(timeline) for timeline in timelines]
    return (next(steps[turn]) for turn in turns)


def _released(rng: Random, dials: Dials, name: str) -> Package:
    """A package with releases."""
    steps = dials.near + 1
    namer = _Namer(rng, steps * CHANGED + TOOLS, 3)
    tools = [namer.function(()) for _ in range(TOOLS)]
    functions = [namer.function((rng.choice(tools),)) for _ in range(steps * CHANGED)]
    rng.shuffle(functions)
    current = {function.name: function for function in functions}
    revisions: list[Function] = []
    releases = [0]
    for step in range(steps):
        timelines = []
        for kind in range(3 if dials.hops > 1 else 2):
            turn = (step + kind) % steps
            for first in functions[turn * CHANGED : (turn + 1) * CHANGED]:
                timelines.append(_edits(rng, current[first.name], kind, dials.hops))
        for edited in _interleaved(rng, timelines):
            current[edited.name] = edited
            revisions.append(edited)
        releases.append(len(revisions))
    mixed = [*functions, *tools]
    rng.shuffle(mixed)
    return Package(name, tuple(mixed), tuple(revisions), tuple(releases), rng.choice(_DAYS))


def _edits(rng: Random, function: Function, kind: int, length: int) -> list[Function]:
    """Versions of a function in one step: with a new signature in the end (0), a new body (1), restored (2)."""
    if kind == 1:
        return [replace(function, body=rng.randrange(1 << 30))]
    versions = [function]
    for _ in range(max(1, length - 1)):
        changed = _other_signature(rng, versions[-1].parameters, {version.parameters for version in versions})
        versions.append(replace(function, parameters=changed, body=rng.randrange(1 << 30)))
    if kind == 2:
        versions.append(replace(function, body=rng.randrange(1 << 30)))
    return versions[1:]


def _other_signature(
    rng: Random, parameters: tuple[Parameter, ...], known: set[tuple[Parameter, ...]]
) -> tuple[Parameter, ...]:
    """A signature that differs from another in one way, and is not among those known."""
    while True:
        changed = list(parameters)
        place = rng.randrange(len(changed))
        spare = rng.choice([name for name, _ in words("code")["parameters"] if name not in dict(parameters)])
        name, default = changed[place]
        match rng.randrange(5):
            case 0:
                changed[place] = (spare, default)
            case 1 if len(changed) < 4:
                changed.append((spare, rng.randint(2, 40)))
            case 2 if len(changed) > 1:
                del changed[place]
            case 3:
                changed[place] = (name, rng.randint(2, 40))
            case 4:
                rng.shuffle(changed)
        defaults = [value is not None for _, value in changed]
        if defaults == sorted(defaults) and tuple(changed) not in known:
            return tuple(changed)


# ------------------------------------------------------------------------------------------- texts


def _texts(name: str, package: Package, language: Language, evidence: bool = False) -> Iterator[Passage]:
    """The files of a package, its revisions and releases."""
    table, rng = words("code"), draws(name, "texts")
    files: dict[str, list[Function]] = defaultdict(list)
    for function in package.functions:
        files[function.name[0]].append(function)
    for turn, (module, functions) in enumerate(files.items()):
        about = filled(rng.choice(table["module_documentation"]), **functions[0].words)
        lines = [
            filled(table["headings"][0], package=package.name, module=module),
            (f'"""{about[0]}"""\n', f'"""{about[1]}"""\n'),
            *_imports(package.name, functions),
        ]
        lines += [_source(function) for function in functions]
        yield _code(f"{name}/{module}", lines, language, package.day + 0.001 * turn, evidence)
    if package.releases:
        yield _release(f"{name}/0", package, 0, package.day + 0.5, language, evidence)
    authors = people(rng, 4)
    day = package.day
    for number, function in enumerate(package.revisions, 1):
        day += rng.randint(1, 9)
        slots: Slots = {"package": package.name, "module": function.name[0], "number": number, "day": day_name(day)}
        author = rng.choice(authors)
        message = filled(rng.choice(table["messages"]), name=function.name[1], person=author, **function.words)
        lines = [filled(table["headings"][1], **slots), ("# " + message[0], "# " + message[1])]
        lines += [filled(table["headings"][2], **slots), *_imports(package.name, [function]), _source(function)]
        yield _code(f"{name}/{number}", lines, language, day, evidence)
        if number in package.releases:
            yield _release(f"{name}/{number}/release", package, number, day + 0.5, language, evidence)


def _release(
    name: str, package: Package, number: int, place: float, language: Language, evidence: bool
) -> Passage:  # fmt: skip
    heading = words("code")["headings"][3]
    release = f"1.{package.releases.index(number)}"
    line = filled(heading, package=package.name, release=release, number=number, day=day_name(int(place)))
    return _code(name, [line], language, place, evidence)


def _code(name: str, lines: Iterable[Word], language: Language, place: float, evidence: bool) -> Passage:
    return written(name, ((line, evidence) for line in lines), language, place, ("\n", "\n"))


def _imports(package: str, functions: Iterable[Function]) -> list[Word]:
    modules = sorted(
        {callee.name[0] for function in functions for callee in function.calls if callee.name[0] != function.name[0]}
    )
    line = f"from {package} import {', '.join(modules)}"
    return [(line, line)] if modules else []


def _source(function: Function) -> Word:
    """A function as source, its documentation in both languages."""
    rng, table = Random(function.body), words("code")
    names = [name for name, _ in function.parameters]
    signature = ", ".join(name if value is None else f"{name}={value}" for name, value in function.parameters)
    body = []
    results = rng.sample(["total", "result", "figure", "part", "rest", "sum_so_far"], 4)
    known = names[:]
    for callee, result in zip(function.calls, results, strict=False):
        required = [rng.choice(known) for _, value in callee.parameters if value is None]
        called = callee.name[1] if callee.name[0] == function.name[0] else _dotted(callee.name)
        body.append(f"{result} = {called}({', '.join(required)})")
        known.append(result)
    last, low, high = results[3], rng.randint(2, 30), rng.randint(31, 90)
    comment = filled(rng.choice(table["comments"]), **function.words)
    ends = (
        [f"return {' + '.join(known)} - {low}"],
        [f"{last} = max({', '.join((*known, str(low)))})", f"return {last} * {rng.randint(2, 9)}"],
        [
            f"if {known[-1]} > {high}:",
            "    # {comment}",
            f"    return {high} - {known[0]}",
            f"return {' + '.join(known)}",
        ],
        [
            f"{last} = {low}",
            f"for step in range({rng.randint(2, 9)}):",
            f"    {last} += {' + '.join(known)} - step",
            f"return {last}",
        ],
        ["# {comment}", f"return min({high}, {' * '.join(known)})"],
        [f"{last} = {' + '.join(known)}", f"while {last} > {high}:", f"    {last} -= {low}", f"return {last}"],
    )
    body += rng.choice(ends)
    about = function.words["about"]
    return tuple(  # type: ignore[return-value]
        "\n".join(
            [
                f"\ndef {function.name[1]}({signature}):",
                f'    """{about[side]}"""',
                *("    " + line.replace("{comment}", comment[side]) for line in body),
            ]
        )
        + "\n"
        for side in (0, 1)
    )


def _constants(name: str, package: Package, language: Language) -> Passage:
    """A module of constants, about something else."""
    rng, table = draws(name), words("code")
    nouns = rng.sample(table["nouns"], 6)
    module = f"{rng.choice(table['modules'])[0]}_{nouns[0][0]}_table"
    about = filled(table["module_documentation"][0], module=rng.choice(table["modules"]), noun=nouns[1], other=nouns[2])
    lines = [
        filled(table["headings"][0], package=package.name, module=module),
        (f'"""{about[0]}"""', f'"""{about[1]}"""'),
    ]
    for noun in nouns:
        rates = ", ".join(str(rng.randint(1, 99)) for _ in range(rng.randint(3, 9)))
        lines.append(
            (f"{noun[0].upper()}_RATES = ({rates})  # {noun[0]}", f"{noun[0].upper()}_RATES = ({rates})  # {noun[1]}")
        )
    return _code(name, lines, language, package.day + rng.random() * 300, evidence=False)


# --------------------------------------------------------------------------- from the text alone

_HEADINGS = (
    r"^(?=# (?:file: \S+, revision 0|文件：\S+，修订0|\w+, re(?:vision|lease) [\d.]+|\w+，(?:修订|发布版)[\d.]+))"
)
_Versions: TypeAlias = dict[Name, dict[int, ast.FunctionDef]]


def _at(history: Mapping[int, ast.FunctionDef], revision: int) -> ast.FunctionDef:
    return history[max(number for number in history if number <= revision)]


def _signature(history: Mapping[int, ast.FunctionDef], revision: int) -> str:
    return ast.unparse(_at(history, revision).args)


def _read(text: str, package: str) -> tuple[_Versions, dict[str, int]]:
    """The functions of a package by revision, and its releases."""
    versions: _Versions = defaultdict(dict)
    for piece in re.split(_HEADINGS, text, flags=re.MULTILINE):
        module = re.search(rf"^# (?:file: |文件：){package}/(\w+)\.py", piece, re.MULTILINE)
        if module is None:
            continue
        revision = re.match(rf"# {package}(?:, revision |，修订)(\d+)", piece)
        for node in ast.parse(piece).body:
            if isinstance(node, ast.FunctionDef):
                versions[module[1], node.name][int(revision[1]) if revision else 0] = node
    releases = re.findall(rf"# {package}(?:, release |，发布版)([\d.]+)(?: is revision |即修订)(\d+)", text)
    return versions, {release: int(revision) for release, revision in releases}


def _callers_of(versions: _Versions, revision: int, edited: Name) -> set[Name]:
    """The functions that call one at a revision: those that call it, those that call these, until there are no more."""
    calls: dict[Name, set[Name]] = defaultdict(set)
    for name, history in versions.items():
        for node in ast.walk(_at(history, revision)):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=attribute)):
                    calls[name].add((module, attribute))
                case ast.Call(func=ast.Name(id=attribute)):
                    calls[name].add((name[0], attribute))
    affected = {edited}
    while more := {name for name, called in calls.items() if called & affected} - affected:
        affected |= more
    return affected - {edited}
