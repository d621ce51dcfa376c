"""KV retrieval: three pairs of UUIDs hidden in the text, each value the key of the next pair; one value is asked for.

100-LongBench, appendix A.2. Unlike in its code, the pairs are anywhere in the text and any of the three may be asked
for.
"""

from collections.abc import Mapping
from uuid import UUID

from fathom.score.answers import given_uuid
from fathom.storage.toml import packaged_toml
from fathom.types import Draw, Ending, Haystack, Needle, Plan, Sample, Score, Task, Wording

PAIRS = 3

PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")["kv_retrieval"]


def plan(draw: Draw) -> Plan:
    """Three chained pairs; the one in question is at the requested depth, the others anywhere."""
    prompts = draw.resources.texts_of(PROMPTS)
    ids = [str(UUID(int=draw.rng.getrandbits(128), version=4)) for _ in range(PAIRS + 1)]
    asked = draw.rng.randrange(PAIRS)
    places = [draw.depth if pair == asked else draw.rng.random() for pair in range(PAIRS)]
    return Haystack(
        intro=prompts["intro"],
        needles=tuple(
            Needle(prompts["needle"].format(key=ids[pair], value=ids[pair + 1]), places[pair]) for pair in range(PAIRS)
        ),
        ending=Ending(
            prompts["question"].format(key=ids[asked]),
            (ids[asked + 1],),
            chance=0.0,
            facets={"asked": asked + 1},
            inputs={"key": ids[asked]},
        ),
    )


def score(reply: str, sample: Sample) -> Score:
    """1 if the UUID that the reply gives is the value; valid if it gives one (official rule: the last one counts)."""
    uuid = given_uuid(reply, str(sample.inputs.get("key", "")))
    return Score(float(uuid in sample.targets), uuid is not None, uuid, "last UUID")


TASKS = (
    Task(
        name="kv_retrieval",
        title="KV retrieval",
        plan=plan,
        score=score,
        metric="accuracy",
        max_output_tokens=256,
        description="the value of one of three chained UUID pairs hidden in the text",
        answer="uuid",
        source="100-LongBench, A.2",
        positioned=True,
        gold=(),
        noise=("qa", "news", "noise"),
        official="hundred/last_uuid",
        wording=Wording(PROMPTS),
        shortcut="22% (8k, official): all UUIDs, of which the last counts",
    ),
)
