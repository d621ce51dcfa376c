"""NoLiMa: a sentence about a character, and a question that shares no word with it but follows from common knowledge.

Modarressi et al. (2025), arXiv:2502.05167. The pairs, names and words here are our own, as the licence of the released
data does not allow their use; the texts that hide the sentence are any documents. ``nolima_onehop`` needs one fact
beside the text (what stands in which country), ``nolima_twohop`` two (which country is on which continent, too).
``nolima_direct`` asks in the words of the sentence, and tells what the missing words cost.
"""

import json
from functools import partial
from random import Random

from fathom.benchmarks.nolima.scoring import NAMES
from fathom.score.registry import strict_score
from fathom.types import Draw, Ending, Haystack, Needle, Plan, Task

METRIC = "nolima/contains"
LINKS = {
    "en": (
        ("Neuschwanstein Castle", "Germany", "Europe"),
        ("the pyramid of Cheops", "Egypt", "Africa"),
        ("the Taj Mahal", "India", "Asia"),
        ("Machu Picchu", "Peru", "South America"),
        ("the Leaning Tower of Pisa", "Italy", "Europe"),
        ("the Forbidden City", "China", "Asia"),
        ("Table Mountain", "South Africa", "Africa"),
        ("the Sugarloaf Mountain", "Brazil", "South America"),
        ("the Sagrada Família", "Spain", "Europe"),
        ("Himeji Castle", "Japan", "Asia"),
    ),
    "zh": (
        ("新天鹅堡", "德国", "欧洲"),
        ("胡夫金字塔", "埃及", "非洲"),
        ("泰姬陵", "印度", "亚洲"),
        ("马丘比丘", "秘鲁", "南美洲"),
        ("比萨斜塔", "意大利", "欧洲"),
        ("故宫", "中国", "亚洲"),
        ("桌山", "南非", "非洲"),
        ("面包山", "巴西", "南美洲"),
        ("圣家堂", "西班牙", "欧洲"),
        ("姬路城", "日本", "亚洲"),
    ),
}
"""Sights with the country and the continent in which they stand."""
CHARACTERS = {
    "en": (
        "Odalys",
        "Brannoc",
        "Ysmena",
        "Corvash",
        "Tamsarel",
        "Dovrick",
        "Ilvane",
        "Petronel",
        "Quillon",
        "Serafane",
    ),
    "zh": ("沐岚", "闻笙", "祁野", "叶知", "阮青", "卓霁", "聂汀", "楚暮", "温砚", "白蔺"),
}
PROMPTS = {
    "en": {
        "intro": "Read the text below. Afterwards you will be asked about a character in it.",
        "needles": (
            "Early every morning {name} sweeps the steps in front of {sight}.",
            "From the balcony of {name} one looks down on {sight}.",
        ),
        "question": "Which character of the text {asked}? Reply with the name only.\nName:",
        "onehop": "must have been to {country}",
        "twohop": "must have been to {continent}",
        "direct": "has to do with {sight}",
    },
    "zh": {
        "intro": "请阅读下面的文字，之后会问到其中的一个人物。",
        "needles": ("每天清早，{name}都要清扫{sight}前的台阶。", "从{name}家的阳台往下看就是{sight}。"),
        "question": "文中哪个人物{asked}？请只回答名字。\n名字：",
        "onehop": "一定去过{country}",
        "twohop": "一定去过{continent}",
        "direct": "同{sight}有关",
    },
}


def plan(draw: Draw, kind: str) -> Plan:
    """One sentence at the wanted depth."""
    language, prompts = draw.resources.language, PROMPTS[draw.resources.language]
    name, sentence, asked = drawn(draw.rng, language, kind)
    names = CHARACTERS[language]
    ending = Ending(
        str(prompts["question"]).format(asked=asked),
        (name,),
        chance=1 / len(names),
        inputs={NAMES: json.dumps(names, ensure_ascii=False)},
    )
    return Haystack(str(prompts["intro"]), (Needle(sentence, draw.depth),), ending)


def drawn(rng: Random, language: str, kind: str) -> tuple[str, str, str]:
    """A name, the sentence about it, and what is asked."""
    sight, country, continent = rng.choice(LINKS[language])
    name = rng.choice(CHARACTERS[language])
    sentence = rng.choice(PROMPTS[language]["needles"]).format(name=name, sight=sight)
    return name, sentence, str(PROMPTS[language][kind]).format(sight=sight, country=country, continent=continent)


_KINDS = {
    "onehop": "a name that follows from the country of a sight",
    "twohop": "a name that follows from the continent of a sight",
    "direct": "a name asked for in the words of its sentence",
}
TASKS = tuple(
    Task(
        name=f"nolima_{kind}",
        title=f"NoLiMa, {kind}",
        plan=partial(plan, kind=kind),
        score=partial(strict_score, metric=METRIC),
        metric="accuracy",
        max_output_tokens=192,
        description=description,
        source="NoLiMa, section 3",
        positioned=True,
        gold=(),
        noise=("qa", "news", "noise"),
        official=METRIC,
        shortcut="100% (8k): all names of the text, which has no other of the set",
    )
    for kind, description in _KINDS.items()
)
