"""The documentation is true: commands parse and run, names and links exist, examples work, no page is long.

The words after a fence say how a block is tested. ``sh`` is parsed; ``sh run`` is also run; ``sh fails`` must end with
exit code 2. A ``text`` block that follows must be in their output, with ``...`` for anything. ``json file=NAME`` and
``toml file=NAME`` are written to a file first. Python blocks that begin with ``# NAME.py`` are modules of a package.

    python tests/test_docs.py    # writes the tables of options into docs/reference/commands
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fathom.cli import main
from fathom.cli.app import commands
from fathom.options import declare
from fathom.options.line import Command
from fathom.registry import suites, tasks
from fathom.run.baselines import baselines
from fathom.score.registry import metrics
from made import make_document

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
COMMANDS = sorted((DOCS / "reference" / "commands").glob("*.md"))
GROUPS = ("analyze", "board", "compress", "data", "lab", "studio")
# Pages whose commands are run. Those of one list are run in this order and share a folder.
COMMAND_PAGES = ("index", "build", "run", "results", "analyze", "length")
RUNNABLE = [
    [DOCS / "reference" / "commands" / f"{name}.md" for name in COMMAND_PAGES],
    [DOCS / "explanation" / "longscore.md"],
    [DOCS / "how-to" / "compression.md"],
    [DOCS / "how-to" / "share-results.md"],
    [
        DOCS / "tutorials" / "getting-started.md",
        DOCS / "how-to" / "documents.md",
        DOCS / "how-to" / "troubleshooting.md",
    ],
]
MOST_LINES = 400

FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
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
    return [Block(tuple(info.split()), text) for info, text in FENCE.findall(page.read_text("utf-8"))]


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
    return MARKED.sub(lambda part: f"{part[1]}\n{table(known[part[2]])}\n{part[3]}", text)


def test_every_command_and_option_is_documented() -> None:
    pages = [page.read_text("utf-8") for page in COMMANDS]
    documented = [name for text in pages for _, name, _ in MARKED.findall(text)]
    expected = [name for name, command in commands().items() if name not in GROUPS or command.params]
    assert sorted(documented) == sorted(expected)
    headings = [name for text in pages for name in re.findall(r"^#{2,3} `fathom ?(.*?)`$", text, re.MULTILINE)]
    assert sorted(headings) == sorted(commands())
    assert pages == [with_tables(text) for text in pages], "run `python tests/test_docs.py` to update the tables"


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
    return shown + [words for words in lines if words[0] == "pytest" or words[:1] == ["python"]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_scripts_and_their_options_exist_and_tests_have_the_names(page: Path) -> None:
    for words in scripts_of(page):
        files = [ROOT / word for word in words[1:] if word.startswith(("performance/", "tests/"))]
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


# Inspect's model layer still uses what the library that it retries with has deprecated.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")
@pytest.mark.parametrize("pages", RUNNABLE, ids=lambda pages: pages[0].stem)
def test_commands_do_what_the_pages_say(pages: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if "OPENAI" in name or name == "FATHOM_PRICES"]:
        monkeypatch.delenv(variable)
    for page in pages:
        prepare(page)
    printed, ran = "", 0
    for block in [block for page in pages for block in blocks_of(page)]:
        mode = block.info[1] if len(block.info) > 1 else ""
        if block.info[0] == "sh" and mode in ("run", "fails"):
            printed = ""
            for words in command_lines(block):
                assert words[0] == "fathom", f"only fathom is run here: {shlex.join(words)}"
                code, output = run_line(words, monkeypatch)
                assert code == (2 if mode == "fails" else 0), f"{shlex.join(words)}\n{output}"
                printed, ran = printed + output, ran + 1
        elif block.info[0] == "text" and printed:
            assert says(block.text, printed), f"{block.text}\nis not in\n{printed}"
        else:
            printed = ""
    assert ran > (2 if pages[0].stem == "longscore" else 10)


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
from pathlib import Path
from fathom import api
from fathom.registry import get_task
from fathom.suitefile import open_suite

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


@pytest.mark.slow
def test_the_library_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = [block.text for page in PAGES for block in blocks_of(page) if block.info == ("python", "run")]
    assert found
    for text in found:
        Path("example.py").write_text(text, "utf-8")
        runpy.run_path("example.py")
        assert capsys.readouterr().out.count("passkey") == 2


# -------------------------------------------------------------------------------------------- names and links


def linked(page: Path) -> list[Path]:
    """Pages that a page links to."""
    targets = [target.partition("#")[0] for target in LINK.findall(FENCE.sub("", page.read_text("utf-8")))]
    return [(page.parent / target).resolve() for target in targets if target.endswith(".md") and "://" not in target]


def test_the_index_lists_every_page_once_and_the_readme_names_the_index() -> None:
    listed = linked(DOCS / "index.md")
    assert sorted(listed) == [page.resolve() for page in PAGES[1:] if page != DOCS / "index.md"]
    assert (DOCS / "index.md").resolve() in linked(ROOT / "README.md")


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
    text = (DOCS / "reference" / "tasks.md").read_text("utf-8")
    for name in [*tasks(), *suites(), *metrics(), *baselines()]:
        assert f"| `{name}` |" in text, f"{name} has no line in docs/reference/tasks.md"
    listed = set(re.findall(r"^\| `([\w/-]+)` \|", text, re.MULTILINE))
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
    for page in COMMANDS:
        page.write_text(with_tables(page.read_text("utf-8")), "utf-8")
