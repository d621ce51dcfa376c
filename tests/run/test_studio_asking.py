"""The studio asks models through the clients of the run stage: a real server, with failures on the way."""

import json

import pytest
from scripted_server import Act, ScriptedServer, completion, refusal

from fathom.models.settings import AskSettings
from fathom.studio.asking import Asking
from fathom.studio.drafting import DraftSettings, draft
from fathom.studio.predicting import predict
from made_studio import made_collection, made_sample, made_text

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

TEXT = made_text(1) + " [sample 1]"
SAMPLE = made_sample("s1", (TEXT,), task="T5.2", answer=("[2]", "[3]"))
COLLECTION = made_collection(SAMPLE, texts=(TEXT,))
DRAFT = {
    "candidates": [
        {
            "question": "Which sources?",
            "answer": [{"text": "[2]", "quotes": [TEXT[100:150]]}],
            "rationale": "Because.",
            "solution": "Look.",
        }
    ]
}


@pytest.mark.slow
def test_a_draft_comes_after_a_busy_server() -> None:
    def script(number: int, attempt: int) -> Act:
        return refusal(503, "busy") if attempt == 0 else completion(json.dumps(DRAFT))

    with ScriptedServer(script) as server:
        asking = Asking("openai-api/local/scripted", AskSettings(base_url=server.base_url, backoff=0.01))
        found = draft([SAMPLE], COLLECTION, [asking], DraftSettings(count=1))
    (candidate,) = found.candidates
    assert candidate.content.question == "Which sources?"
    assert candidate.content.components[0].evidence[0].start == 100
    assert candidate.seconds > 0


def test_a_prediction_is_split_into_components_and_scored() -> None:
    with ScriptedServer(lambda number, attempt: completion("So be it.\n[Answer]\n- [2]\n- [7]")) as server:
        found = predict(
            [SAMPLE], COLLECTION, Asking("openai-api/local/scripted", AskSettings(base_url=server.base_url))
        )
    prediction = found.predictions["s1"]
    assert prediction.components == ("[2]", "[7]")
    assert prediction.score == 0.5


def test_what_fails_is_told() -> None:
    def script(number: int, attempt: int) -> Act:
        return completion("[Answer]\n", finish="length") if attempt == 0 else completion("")

    with ScriptedServer(script) as server:
        asking = Asking("openai-api/local/scripted", AskSettings(base_url=server.base_url))
        assert draft([SAMPLE], COLLECTION, [asking]).rejected[0].reason.startswith("the reply reached the output cap")
        assert predict([SAMPLE], COLLECTION, asking).failed == {"s1": "the reply is empty"}
