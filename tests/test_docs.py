"""The documentation is true: commands parse and run, names and links exist, examples work, no page is long.

The words after a fence say how a block is tested. Every command is parsed. ``sh run`` and ``python run`` are also
run, ``sh fails`` must end with exit code 2; all others say with ``needs=WORD,...`` what they need that is not here (the
words are in ``docs/theme/site_blocks.py``). A ``text`` block that follows must be in their output, with ``...`` for
anything. ``json file=NAME`` and ``toml file=NAME`` are written to a file first; documents and runs that a page takes
for granted are made (``files_of_docs.py``). Python blocks that begin with ``# NAME.py`` are modules of a package.

    PYTHONPATH=docs/theme python tests/test_docs.py    # writes the tables of options and columns into docs/reference
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

import files_of_docs
from fathom.cli import app, main
from fathom.models.baselines import baselines
from fathom.options import declare
from fathom.options.line import Command
from fathom.rows import SCHEMA
from fathom.score.registry import metrics
from fathom.suites.registry import suites, tasks
from fathom.types import Row
from made import make_document
from made_once import made_once
from site_blocks import NEEDS

commands = cache(app.commands)  # to make all of them takes a tenth of a second

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
COMMANDS = sorted((DOCS / "reference" / "commands").glob("*.md"))
ROWS_PAGE = DOCS / "reference" / "rows.md"
GROUPS = ("analyze", "board", "compress", "data", "lab", "studio")
# Pages that share a folder, in which their commands are run in this order. Every other page has a folder of its own.
COMMAND_PAGES = ("index", "build", "run", "results", "analyze", "length")
TOGETHER = [
    [DOCS / "reference" / "commands" / f"{name}.md" for name in COMMAND_PAGES],
    [
        DOCS / "tutorials" / "getting-started.md",
        DOCS / "how-to" / "documents.md",
        DOCS / "how-to" / "troubleshooting.md",
    ],
]
FIRST = ("README", "docs/tutorials/getting-started")
"""What newcomers read: `make test` runs the commands of these pages, `make test-long` those of the others."""
MOST_LINES = 400

FENCE = re.compile(r"^ *```([^\n]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"^(\$ )?(fathom|pip|python|make|docker|curl|vllm) +\w[^:\n]* --?\w", re.MULTILINE)
COLUMNS = re.compile(r"(<!-- columns of rows -->\n).*?(<!-- end -->)", re.DOTALL)
UPDATE = "run `PYTHONPATH=docs/theme python tests/test_docs.py` to update the tables"
MARKED = re.compile(r"(<!-- options: ?(.*?) ?-->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: the words after the fence, and its text."""

    info: tuple[str, ...]
    text: str

    @property
    def file(self) -> str:
        """The name after ``file=``, or ""."""
        return next((word.removeprefix("file=") for word in self.info if word.startswith("file=")), "")


def blocks_of(page: Path) -> list[Block]:
    found = FENCE.findall(page.read_text("utf-8"))
    return [Block(tuple(info.split()), textwrap.dedent(text)) for info, text in found]


def is_run(block: Block) -> bool:
    """Whether the tests run it."""
    return block.info[0] in ("sh", "python") and block.info[1:2] in (("run",), ("fails",))


def runnable() -> Iterator[ParameterSet]:
    """Pages with commands that are run; those of one list share a folder."""
    others = [page for page in PAGES if not any(page in pages for pages in TOGETHER)]
    for pages in (*TOGETHER, *([page] for page in others if any(map(is_run, blocks_of(page))))):
        name = pages[0].relative_to(ROOT).with_suffix("").as_posix()
        yield pytest.param(pages, id=name, marks=[pytest.mark.long] if name not in FIRST else [])


def command_lines(block: Block) -> list[list[str]]:
    """The words of each command of a shell block, without comments and variables set before it."""
    lines = [shlex.split(line, comments=True) for line in block.text.replace("\\\n", " ").splitlines()]
    return [words for words in lines if words]


# ------------------------------------------------------------------------------------ commands and options


def table(command: Any) -> str:
    """Arguments and options of a command as a table in Markdown."""
    if isinstance(command, Command):
        return declare.table(command.line)
    rows = ["| argument or option | what it is | default |", "| --- | --- | --- |"]
    for parameter in command.params:
        is_argument = parameter.param_type_name == "argument"
        names = [f"{parameter.name}..." if parameter.nargs == -1 else parameter.name] if is_argument else parameter.opts
        listed = ", ".join(f"`{name.upper() if is_argument else name}`" for name in names)
        default = parameter.default
        shown = isinstance(default, str | int | float) and default is not False and default != ""
        plain = f"`{default}`" if shown else ""
        plain = "required" if parameter.required else plain
        help_text = " ".join((parameter.help or "").split()).replace("|", r"\|")
        rows.append(f"| {listed} | {help_text} | {plain} |")
    return "\n".join(rows) + "\n"


def with_tables(text: str) -> str:
    """The page with the tables that the program gives."""
    known = commands()
    text = MARKED.sub(lambda part: f"{part[1]}\n{table(known[part[2]])}\n{part[3]}", text)
    return COLUMNS.sub(lambda part: f"{part[1]}\n{table_of_columns()}\n{part[2]}", text)


def table_of_columns() -> str:
    """The columns of rows as a table in Markdown, from the docstring of ``Row``."""
    entries = re.findall(r"^    (\w+): ((?:.|\n     )*)", inspect.getdoc(Row) or "", re.MULTILINE)
    assert [name for name, _ in entries] == list(SCHEMA), "the docstring of Row explains each of its fields, in order"
    rows = ["| column | type | content |", "| --- | --- | --- |"]
    for name, content in entries:
        words = " ".join(content.split()).replace("``", "`").replace("None", "empty")
        rows.append(f"| `{name}` | {SCHEMA[name].__name__} | {words[0].lower()}{words[1:].rstrip('.')} |")
    return "\n".join(rows) + "\n"


def test_every_column_of_rows_is_explained() -> None:
    text = ROWS_PAGE.read_text("utf-8")
    assert len(COLUMNS.findall(text)) == 1
    assert text == with_tables(text), UPDATE


@pytest.mark.slow
def test_every_command_and_option_is_documented() -> None:
    pages = [page.read_text("utf-8") for page in COMMANDS]
    documented = [name for text in pages for _, name, _ in MARKED.findall(text)]
    expected = [name for name, command in commands().items() if name not in GROUPS or command.params]
    assert sorted(documented) == sorted(expected)
    headings = [name for text in pages for name in re.findall(r"^#{2,3} `fathom ?(.*?)`$", text, re.MULTILINE)]
    assert sorted(headings) == sorted(commands())
    assert pages == [with_tables(text) for text in pages], UPDATE


def test_every_command_has_a_function_and_an_example() -> None:
    from fathom import api

    shown = {" ".join(words[1:3]) for page in COMMANDS for block in blocks_of(page) for words in _fathom_lines(block)}
    for name in commands():
        first = name.split(" ")[0]
        assert any(f"{words} ".startswith(f"{name} ") for words in shown) or name in ("", *GROUPS), name
        assert hasattr(api, first) or hasattr(api, re.sub("[ -]", "_", name)) or name in ("", "list", *GROUPS), name


def parse(words: Sequence[str]) -> None:
    """Parse a command line as the application does, without running it."""
    if list(words) == ["--version"]:
        return
    known = commands()
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in known), None)
    assert name is not None, f"no command {words[0]!r}"
    known[name].make_context(name, list(words[len(name.split()) :]))


def _fathom_lines(block: Block) -> Iterator[list[str]]:
    if block.info[:1] == ("sh",):
        yield from (words for words in command_lines(block) if words[0] == "fathom")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_line_parses(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks_of(page):
        if block.file.endswith(".toml"):
            Path(block.file).write_text(block.text, "utf-8")
        assert block.info, f"{page.name}: a fenced block does not say what it is:\n{block.text}"
        for words in _fathom_lines(block):
            try:
                parse(words[1:])
            except Exception as error:
                pytest.fail(f"{page.name}: {shlex.join(words)}: {error}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_targets_of_make_and_tasks_of_inspect_exist(page: Path) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for block in blocks_of(page):
        for words in command_lines(block) if block.info[0] == "sh" else ():
            if words[0] == "make":
                assert set(words[1:]) <= set(targets)
            if words[:2] == ["inspect", "eval"]:
                assert words[2].removeprefix("fathom/") in tasks()


CODE = re.compile(r"`((?:python performance/|pytest )[^`]+)`")


def scripts_of(page: Path) -> list[list[str]]:
    """Words of the scripts and tests that a page names, in its text and in its shell blocks."""
    shown = [shlex.split(line) for line in CODE.findall(FENCE.sub("", page.read_text("utf-8")))]
    lines = [words for block in blocks_of(page) if block.info[0] == "sh" for words in command_lines(block)]
    ours = ("pytest", "venv")
    return shown + [
        words
        for words in lines
        if words[0] == "pytest" or (words[0] == "python" and (words[1] != "-m" or words[2] in ours))
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_scripts_and_their_options_exist_and_tests_have_the_names(page: Path) -> None:
    for words in scripts_of(page):
        files = [ROOT / word for word in words[1:] if word.startswith(("examples/", "performance/", "tests/"))]
        assert all(file.exists() for file in files), shlex.join(words)
        source = "".join(file.read_text("utf-8") for file in files if file.is_file())
        if words[0] == "python":
            assert all(f'"{word}"' in source for word in words if word.startswith("--")), shlex.join(words)
        elif "-k" in words:
            names = re.split(r" or | and ", words[words.index("-k") + 1])
            assert all(name in source for name in names), shlex.join(words)


def test_the_parts_of_the_matrix_of_faults_are_those_that_the_page_names() -> None:
    sys.path.insert(0, str(ROOT / "performance"))
    from reliability import PARTS, chosen_parts

    page = DOCS / "explanation" / "reliability.md"
    named = [words[words.index("--parts") + 1] for words in scripts_of(page) if "--parts" in words]
    shown = {name for parts in named for name in chosen_parts(parts, quick=False)}
    of_other_scripts = {"faults of servers", "flipped bits", "hostile command lines", "hostile bundles"}
    assert shown | of_other_scripts == set(PARTS)


def test_a_wrong_option_would_be_found() -> None:
    with pytest.raises(Exception, match="modle"):
        parse(["run", "starter", "--modle", "x"])


# ------------------------------------------------------------------------------------------- what they print


def run_line(words: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Exit code and all output of one ``fathom`` command in this process."""
    printed = io.StringIO()
    monkeypatch.setattr(sys, "argv", list(words))
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return code, printed.getvalue()


def says(expected: str, printed: str) -> bool:
    """Whether the output holds the expected text, white space aside."""
    pieces = [re.escape(" ".join(piece.split())) for piece in expected.split("...")]
    return re.search(" ?.*? ?".join(pieces), " ".join(printed.split())) is not None


def prepare(page: Path) -> None:
    """Write the files that a page takes for granted into the working folder."""
    for block in blocks_of(page):
        if block.file:
            Path(block.file).write_text(block.text, "utf-8")
    rows = [json.loads(block.text) for block in blocks_of(page) if block.info == ("json",)]
    if rows:
        assert list(rows[0]) == ["input", "instructions", "outputs"]
        with Path("documents.jsonl").open("w", encoding="utf-8") as stream:
            for made in (make_document(seed) for seed in range(150)):
                questions = [question.text for question in made.questions]
                answers = [question.answers[0] for question in made.questions]
                row = {"input": made.text, "instructions": questions, "outputs": answers}
                stream.write(json.dumps(row) + "\n")


def run_python(text: str, names: dict[str, Any]) -> str:
    """What a Python block prints; it sees the names of those before it on its page."""
    Path("example.py").write_text(text, "utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        names.update(runpy.run_path("example.py", init_globals=names))
    return printed.getvalue()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    return made_once(tmp_path_factory, worker_id, "files-of-docs", files_of_docs.make)


# Inspect's model layer still uses what the library that it retries with has deprecated.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")
@pytest.mark.parametrize("pages", [*runnable()])
def test_commands_do_what_the_pages_say(
    pages: list[Path], made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if "OPENAI" in name or name == "FATHOM_PRICES"]:
        monkeypatch.delenv(variable)
    for page in pages:
        prepare(page)
    printed, names = "", dict[str, Any]()
    for block in [block for page in pages for block in blocks_of(page)]:
        if not is_run(block):
            if block.info[0] == "text" and printed:
                assert says(block.text, printed), f"{block.text}\nis not in\n{printed}"
            printed = printed if block.info[0] == "text" else ""
            continue
        if block.info[0] == "python":
            printed = run_python(block.text, names)
            continue
        printed = ""
        for words in command_lines(block):
            assert words[0] == "fathom", f"only fathom is run here: {shlex.join(words)}"
            files_of_docs.give(made, words)
            code, output = run_line(words, monkeypatch)
            assert code == (2 if block.info[1] == "fails" else 0), f"{shlex.join(words)}\n{output}"
            printed += output


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_commands_is_run_or_says_what_it_needs(page: Path) -> None:
    for block in blocks_of(page):
        kind, *marks = block.info
        needs = [word.removeprefix("needs=").split(",") for word in marks if word.startswith("needs=")]
        if kind in ("sh", "python"):
            module = kind == "python" and re.match(r"# \w+\.py\n", block.text)
            assert is_run(block) + len(needs) == 1 or (module and not marks), f"{page.name}: not marked:\n{block.text}"
            assert set(*needs) <= set(NEEDS), f"{page.name}: {needs}"
        else:
            assert kind not in ("bash", "console", "shell"), f"{page.name}: commands are in `sh`:\n{block.text}"
            assert not COMMAND.search(block.text), f"{page.name}: commands are in `sh`:\n{block.text}"


def test_most_commands_that_need_nothing_are_run() -> None:
    found = [block for page in PAGES for block in blocks_of(page) if block.info[0] in ("sh", "python")]
    assert sum(map(is_run, found)) >= 80, "blocks lost their `run`"


# ------------------------------------------------------------------------------------------------- examples


def modules_of(page: Path) -> dict[str, str]:
    """Python blocks that begin with the name of their file."""
    named = ((re.match(r"# (\w+\.py)\n", block.text), block) for block in blocks_of(page) if block.info[0] == "python")
    return {match[1]: block.text for match, block in named if match}


def install(folder: Path, entry_points: dict[str, dict[str, str]]) -> dict[str, str]:
    """Make a folder look like an installed distribution; returns the environment that sees it."""
    info = folder / "examples-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: examples\nVersion: 1.0\n", "utf-8")
    lines = [
        f"[{group}]\n" + "\n".join(f"{k} = {v}" for k, v in points.items()) for group, points in entry_points.items()
    ]
    (info / "entry_points.txt").write_text("\n\n".join(lines) + "\n", "utf-8")
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT / 'src'}", "PYTHONWARNINGS": ""}


CHECK = """
import sys
import pytest
from _pytest.mark import ParameterSet
from pathlib import Path
from fathom import api
from fathom.suites.registry import get_task
from fathom.suites.suitefile import open_suite

for name in sys.argv[1:]:
    api.build(name, name, lengths=[1024, 2048], items=3)
    task, suite = get_task(name), open_suite(Path(name))
    for sample in suite.samples():
        assert 0.99 * sample.length <= sample.tokens <= sample.length
        assert task.score(sample.targets[0], sample).value == 1, sample.targets
        assert not task.score("", sample).valid
    api.run(name, "fathom/lexical", f"{name}-run")
    print(name, len(api.rows([f"{name}-run"])))
sys.exit(pytest.main(["-qq", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "test_quote_source.py"]))
"""


@pytest.mark.slow
def test_tasks_of_the_examples_register_build_and_score(tmp_path: Path) -> None:
    guide = DOCS / "how-to" / "adding-a-task.md"
    modules = modules_of(guide)
    assert set(modules) == {"lost_umbrella.py", "quote_source.py", "test_quote_source.py"}
    for name, text in modules.items():
        (tmp_path / name).write_text(text, "utf-8")
    project = next(block.text for block in blocks_of(guide) if block.file == "pyproject.toml")
    points = tomllib.loads(project)["project"]["entry-points"]
    points["fathom.benchmarks"]["lost_umbrella"] = "lost_umbrella"
    environment = install(tmp_path, points)
    done = subprocess.run(
        [sys.executable, "-c", CHECK, "lost_umbrella", "quote_source"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("lost_umbrella 6\nquote_source 6\n")


# -------------------------------------------------------------------------------------------- names and links


def linked(page: Path, text: str = "") -> list[Path]:
    """Pages that a page, or some text of it, links to."""
    found = LINK.findall(text or FENCE.sub("", page.read_text("utf-8")))
    targets = [target.partition("#")[0] for target in found]
    return [(page.parent / target).resolve() for target in targets if target.endswith(".md") and "://" not in target]


def test_the_index_lists_every_page_once_and_the_readme_names_the_index() -> None:
    """The lists below the headings; what stands above them is the home page, which names the first pages too."""
    index = DOCS / "index.md"
    text = FENCE.sub("", index.read_text("utf-8"))
    listed = linked(index, text[text.index("\n## ") :])
    docs = [page for page in listed if page.is_relative_to(DOCS.resolve())]
    assert sorted(docs) == [page.resolve() for page in PAGES[1:] if page != index]
    assert all(page.is_file() for page in listed)
    assert len(listed) == len(set(listed))
    assert index.resolve() in linked(ROOT / "README.md")


def test_no_page_is_long() -> None:
    lines = {page.name: len(page.read_text("utf-8").splitlines()) for page in PAGES}
    assert max(lines.values()) <= MOST_LINES, lines


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_images_resolve(page: Path) -> None:
    text = FENCE.sub("", page.read_text("utf-8"))
    for target in LINK.findall(text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{page.name}: {target} does not exist"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text("utf-8"), re.MULTILINE)
            names = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in names, f"{page.name}: {target} has no such heading"


def test_every_task_suite_metric_and_baseline_is_documented() -> None:
    # One page of all of them would be too long.
    pages = [DOCS / "reference" / name for name in ("tasks.md", "suites/frontier.md", "suites/helmet.md")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    for name in [*tasks(), *suites(), *metrics(), *baselines()]:
        assert f"| `{name}` |" in text, f"{name} has no line in docs/reference/tasks.md"
    listed = set(re.findall(r"^\| `([\w/@-]+)` \|", text, re.MULTILINE))
    assert listed == {*tasks(), *suites(), *metrics(), *baselines()}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150


def test_the_layers_name_every_module_and_folder() -> None:
    package = ROOT / "src" / "fathom"
    there = {path.stem for path in package.iterdir() if path.suffix == ".py" or path.is_dir()} - {
        "__init__",
        "__pycache__",
    }
    text = (DOCS / "architecture.md").read_text("utf-8")
    assert set(re.findall(r"^fathom\.(\w+) ", text, re.MULTILINE)) == there


def test_the_layers_are_those_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [name for line in contracts[0]["layers"] for name in re.split(" [:|] ", line)]
    text = (DOCS / "architecture.md").read_text("utf-8")
    assert re.findall(r"^(fathom\.\w+) ", text, re.MULTILINE) == layers


@pytest.mark.slow
def test_no_file_names_a_machine_or_a_registry() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    folders = "|".join(["work", "home", "root", "Users", "mnt"])
    hosts = "|".join(["pypi", "pythonhosted", "artifactory", "jfrog", "devpi", "nexus"])
    local = re.compile(rf"(?<![\w.}}/])/(?:{folders})/\w|\b(?:[\w-]+\.)*(?:{hosts})\.[a-z]{{2,}}\b")
    assert local.search("see /wor" + "k/main")
    assert local.search("https://files.pythonhos" + "ted.org/x")
    for name in filter(None, names):
        path = ROOT / name
        if path.suffix in (".png", ".ico") or not path.is_file():
            continue
        found = local.search(path.read_text("utf-8", errors="replace"))
        assert found is None, f"{name}: {found[0] if found else ''}"


if __name__ == "__main__":
    for page in (*COMMANDS, ROWS_PAGE):
        page.write_text(with_tables(page.read_text("utf-8")), "utf-8")
