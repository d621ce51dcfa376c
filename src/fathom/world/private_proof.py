"""Proves a private family before anything is written: its shape and names, and that the text solver reads each form."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from fathom.printing import several
from fathom.storage.foreign import content_of
from fathom.types import FathomError
from fathom.world.dials import HEEDED, dials_of
from fathom.world.facts import Paper, Record, fillers
from fathom.world.families import FAMILIES
from fathom.world.names import DISTRICTS, FIRMS, PEOPLE, TOWNS, Names, grammar
from fathom.world.papers import passage
from fathom.world.private import Private, file_name, merged, packaged, private_of, read_private, using
from fathom.world.private_shape import Fault, faults
from fathom.world.prose import Writer
from fathom.world.reading import Report, act_in, in_other_words, is_name, papers_of, reported_in, work_in
from fathom.world.types import Dials, Family, Language, Naming
from fathom.world.wording import LETTERS

ITEMS, AROUND, RETRIED, DRAWS = 8, 4, 6, 8
"""Items that are solved at each setting, fillers among their passages, items that show which entry is at fault, and
papers that are written with each line of a rule."""
VARIED = {"hops", "paraphrase", "unanswerable"}
LISTED = 10
HELP = "the page on private families lists the words by which the text solver knows acts, names and values"
Probe = Callable[[], bool]


def prove_private(folder: Path, codes: Iterable[str] = (), languages: Iterable[Language] = ("en", "zh")) -> Private:
    """The private family of a folder, proven.

    Args:
        folder: Its folder.
        codes: The secondary tasks that must be solved; all by default.
        languages: The languages of their texts.

    Returns:
        The family, for ``fathom.world.private.using``.

    Raises:
        FathomError: A table lacks a key, entry or placeholder, a name is contained in another or has another form, or
            the text solver does not read a form. The message names file, line and key of each fault.
    """
    family = read_private(folder)
    wanted = set(codes)
    checks: tuple[Callable[[], Iterable[Fault]], ...] = (
        partial(_shape, family),
        lambda: [fault for language in languages for fault in _names(family, language)],
        lambda: [fault for language in languages for fault in _forms(family, language)],
        lambda: [fault for language in languages for fault in _lines(family, language)],
        lambda: islice(_unsolved(family, wanted, tuple(languages)), LISTED),
    )
    for check in checks:  # a later one needs what an earlier one proves
        with using(family):
            if wrong := list(check()):
                raise FathomError(_message(folder, wrong))
    return family


def _message(folder: Path, wrong: Sequence[Fault]) -> str:
    lines = []
    for fault in wrong[:LISTED]:
        path = folder / file_name(fault.file) if fault.file else folder
        line = _line(path, fault.text) if fault.file and fault.text else 0
        place = f"{path}{f', line {line}' if line else ''}: " if fault.file else f"{folder}: "
        shown = f" ({fault.text[:80]!r})" if fault.text else ""
        lines.append(f"{place}{f'{fault.key}: ' if fault.key else ''}{fault.message}{shown}")
    more = [f"and {several(len(wrong) - LISTED, 'more fault')}"] if len(wrong) > LISTED else []
    return "\n".join([f"`family` {folder}: {several(len(wrong), 'fault')}", *lines, *more])


def _line(path: Path, text: str) -> int:
    """The first line of a file that has a text; 0 if none has."""
    lines = content_of(path).decode("utf-8", "replace").split("\n") if path.is_file() else []
    return next((number for number, line in enumerate(lines, start=1) if text in line.replace("'", "’")), 0)


def _shape(family: Private) -> Iterator[Fault]:
    if all(merged(packaged(file), tables) == packaged(file) for file, tables in family.tables.items()):
        yield Fault("", "", "all names and forms are the packaged ones; write some of your own")
    for file, tables in family.tables.items():
        yield from faults(file, tables, packaged(file))
    for language in ("en", "zh"):
        if "works" in family.tables.get(language, {}) and language not in family.tables.get("other_words", {}).get(
            "works", {}
        ):
            yield Fault("other_words", f"works.{language}", f"lacks other words for the works of {language}.toml")


# --------------------------------------------------------------------------------------------------------------- names

KINDS = {"town": TOWNS, "district": DISTRICTS, "person": PEOPLE, "firm": FIRMS}
PARTS = {"town": "stems and endings", "district": "districts", "person": "titles, men, women and surnames",
         "firm": "firm, surnames and fortunes"}  # fmt: skip


def _names(family: Private, language: Language) -> Iterator[Fault]:
    """Names of another form than the text solver reads, and such as are equal to or a part of another."""
    kinds: Mapping[str, Naming] = {"names": "invented", "real_names": "real"}
    for file, naming in kinds.items():
        if language not in family.tables.get(file, {}):
            continue
        names = Names(0, language, naming)
        for kind, size in KINDS.items():
            known = [getattr(names, kind)(number) for number in range(size)]
            where = f"{language}, {PARTS[kind]}"
            if bad := [name for name in known if not is_name(name, kind, language)]:
                yield Fault(file, where, f"make a {kind} {bad[0]!r}, which is no {kind} to the text solver; {HELP}")
            all_names = "\n".join(known)
            if double := [name for name in known if all_names.count(name) > 1]:
                yield Fault(
                    file, where, f"make a {kind} {double[0]!r} that is equal to or a part of another; change one"
                )


# --------------------------------------------------------------------------------------------------------------- forms


def _forms(family: Private, language: Language) -> Iterator[Fault]:
    """Sentence forms and questions of acts that the text solver does not read by themselves."""
    writer, seen = Writer(0, language), set[tuple[str, str, str]]()
    acts, others = writer.grammar["acts"], grammar("other_words")
    reports = [(paper, record) for paper in fillers(0, 0) for record in paper.records]
    for paper, record in reports:
        forms, town = acts[record.act], writer.names.town(paper.town)
        texts = [(f"text, entry {number + 1}", text) for number, text in enumerate(forms["text"])]
        for key, form in (*texts, ("claim", forms["claim"])):
            if not _tell(reported_in(writer.fill(form, record, town), language), [record], writer):
                seen.add((language, f"acts.{record.act}.{key}", form))
        for key, form in (("noun", forms["noun"]), *((f"ask.{slot}", form) for slot, form in forms["ask"].items())):
            if not _names_both(writer.fill(form, record, town), record, writer):
                seen.add((language, f"acts.{record.act}.{key}", form))
        for slot in forms["ask"]:
            asked = in_other_words(writer.in_other_words(paper.town, record, slot), language)
            if asked != (bare(writer, record), record.act):
                seen.add(("other_words", f"{record.act}.{slot}.{language}", others[record.act][slot][language]))
    for file, key, form in sorted(seen):
        if file in family.tables:
            yield Fault(file, key, f"the text solver does not read it; {HELP}", form)


def _lines(family: Private, language: Language) -> Iterator[Fault]:
    """Lines of rules that stand alone for their rule in papers that the text solver does not read then."""
    file, papers = f"{language}.txt", fillers(0, 0)
    for rule, lines in family.tables.get(file, {}).items():
        telling = [paper for paper in papers if rule in _rules_of(paper)] or papers
        probes = [partial(_is_read, paper, language) for paper in telling[:DRAWS]]
        for number, line in enumerate(lines, start=1):
            if line not in packaged(file).get(rule, ()) and not _holds(family, file, (rule,), [line], probes):
                yield Fault(
                    file, f"{rule}, line {number}", f"the text solver does not read papers with it; {HELP}", line
                )


def _rules_of(paper: Paper) -> set[str]:
    parts = [f"{part}.{paper.genre}" for part in ("lead", "opening", "closing")]
    return {"link" * bool(paper.links), *parts, *(f"act.{record.act}" for record in paper.records)}


def _tell(reported: Sequence[Report], records: Sequence[Record], writer: Writer) -> bool:
    """Whether what was read are these records and no others."""
    return len(reported) == len(records) and all(
        (read.work, read.act) == (bare(writer, record), record.act)
        and all(
            slot in read.values and writer.value(slot, value).startswith(read.values[slot])
            for slot, value in record.values.items()
        )
        for read, record in zip(reported, records, strict=True)
    )


def _names_both(text: str, record: Record, writer: Writer) -> bool:
    """Whether a text names the work and the act of a record."""
    return (work_in(text, writer.language), act_in(text, writer.language)) == (bare(writer, record), record.act)


def bare(writer: Writer, record: Record) -> str:
    """The work of a record as solvers read it, without an article."""
    return writer.work(record.work).removeprefix("the ")


# --------------------------------------------------------------------------------------------------------- whole texts


def _unsolved(family: Private, codes: set[str], languages: Sequence[Language]) -> Iterator[Fault]:
    """What keeps the text solver from the answers of the facts, of the first task and language where something does."""
    for language in languages:
        for what, probes in _probes(family, codes, language):
            if failed := [probe for probe in probes if not _succeeds(probe)]:
                yield from _at_fault(family, what, failed[:RETRIED])
                return


def _probes(family: Private, codes: set[str], language: Language) -> Iterator[tuple[str, list[Probe]]]:
    yield f"papers in {language}", [partial(_is_read, paper, language) for paper in fillers(0, 0)]
    namings: Sequence[Naming] = ("invented", "real") if "real_names" in family.tables else ("invented",)
    for each in FAMILIES:
        for code in each.codes:
            if not codes or code in codes:
                yield (
                    f"{code} in {language}",
                    [
                        partial(_is_solved, each, code, language, replace(dials, names=naming), number)
                        for naming in namings
                        for dials in _settings(code)
                        for number in range(ITEMS)
                    ],
                )


def _settings(code: str) -> Iterator[Dials]:
    """The settings of a task that have words of their own, one dial at a time."""
    yield Dials()
    for name in VARIED & HEEDED[code].keys():
        dial = HEEDED[code][name]
        for value in dial.words or range(int(dial.least), int(dial.most) + 1):
            if value != dial.default:
                yield dials_of({name: value})


def _succeeds(probe: Probe) -> bool:
    """Whether a probe succeeds; a text that cannot be written is not read either."""
    try:
        return probe()
    except FathomError:
        return False


def _is_read(paper: Paper, language: Language) -> bool:
    """Whether the text of a paper has its records and links, and no others."""
    writer = Writer(0, language)
    written = passage(writer, paper)
    read = papers_of(f"{written.title}\n{written.text}", language)
    if len(read) != 1 or (read[0].mark, read[0].town, read[0].day.toordinal()) != (
        writer.names.mark(paper.mark), writer.names.town(paper.town), paper.day,
    ):  # fmt: skip
        return False
    links = {(writer.incident(cause).lower(), writer.incident(effect).lower()) for cause, effect in paper.links}
    return _tell(read[0].reported, paper.records, writer) and set(read[0].links) == links


def _is_solved(each: Family[Any], code: str, language: Language, dials: Dials, number: int) -> bool:
    """Whether the answer from the text alone is that of the facts."""
    facts = each.facts(code, 0, number, dials)
    problem, own = each.problem(facts, code, language), each.passages(facts, language)
    passages = sorted([*own, *islice(each.siblings(facts, language), AROUND)], key=lambda passage: passage.place)
    text = "\n\n".join(f"{passage.title}\n{passage.text}" if passage.title else passage.text for passage in passages)
    options = [f"{letter}. {option}" for letter, option in zip(LETTERS, problem.options, strict=False)]
    try:
        solved = each.solve(text, "\n".join([problem.question, *options]), code, language)
    except (StopIteration, RuntimeError, IndexError, ValueError, KeyError, AssertionError, AttributeError):
        return False
    return solved == problem.answers


def _at_fault(family: Private, what: str, probes: Sequence[Probe]) -> Iterator[Fault]:
    """The entries with which alone, all others packaged, a probe fails."""
    message = f"the text solver does not read {what} with it; {HELP}"
    broken = False
    for file, keys, value in _leaves(family.tables):
        if _holds(family, file, keys, value, probes):
            continue
        broken, base = True, _packaged_at(file, keys)
        entries = [(number, entry) for number, entry in enumerate(value) if entry not in base] if base else []
        single = [
            (number, entry)
            for number, entry in entries
            if not _holds(family, file, keys, [*base[:number], entry, *base[number + 1 :]], probes)
        ]
        for number, entry in single:
            yield Fault(file, f"{'.'.join(keys)}, entry {number + 1}", message, _text(entry))
        if not single:
            yield Fault(file, ".".join(keys), message, "" if base else value)
    if not broken:
        yield Fault("", "", f"the text solver does not read {what} with all of it; take tables out until it does")


def _holds(family: Private, file: str, keys: Sequence[str], value: Any, probes: Sequence[Probe]) -> bool:
    """Whether probes succeed with one value of a family and the packaged ones elsewhere; rules may use new ones."""
    table = value
    for key in reversed(keys):
        table = {key: table}
    new = {key: lines for key, lines in family.tables[file].items() if key not in packaged(file)}
    with using(private_of({file: merged(new, table)})):
        return all(map(_succeeds, probes))


def _leaves(tables: Mapping[str, Any], keys: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """The texts and lists of tables, each with its file and keys."""
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*keys, key))
        else:
            yield keys[0], (*keys[1:], key), value


def _packaged_at(file: str, keys: Sequence[str]) -> list[Any]:
    """The packaged list at some keys; nothing if it is a text."""
    table: Any = packaged(file)
    for key in keys:
        table = table.get(key, ())
    return table if isinstance(table, list) else []


def _text(entry: Any) -> str:
    return entry if isinstance(entry, str) else entry[0]
