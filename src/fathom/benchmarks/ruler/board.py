"""The board of RULER."""

from fathom.benchmarks.ruler.tasks import TASKS
from fathom.types.boards import Board, Category, Part

_TASKS = tuple(task.name for task in TASKS)
_COUNTED = (4096, 8192, 16384, 32768, 65536, 131072)

BOARDS = (
    Board(
        id="ruler",
        title="RULER",
        suites=("ruler",),
        about="Thirteen tasks of retrieval, tracing, counting and answers. Published scores are of the authors' own "
        "questions and of ports, measured ones of tasks that are generated here.",
        rule="mean of thirteen tasks, each the mean over 4k, 8k, 16k, 32k, 64k and 128k; longer ones are shown and do "
        "not count",
        categories=(Category("tasks", "Thirteen tasks", (Part(_TASKS),)),),
        lengths=(*_COUNTED, 262144, 524288, 1048576),
        counted=dict.fromkeys(_TASKS, _COUNTED),
        extras={
            "wavg_inc": ("Rising weights", "mean over 4k to 128k with weights 1 to 6, as the README prints it", True),
            "wavg_dec": ("Falling weights", "mean over 4k to 128k with weights 6 to 1, as the README prints it", True),
            "effective": (
                "Effective, k",
                "longest length with more than 85.6%, in thousands of tokens, as the README prints it; 128 for more",
                False,
            ),
        },
        licence="Apache-2.0",
        citation="Hsieh et al. (2024), RULER: What's the Real Context Size of Your Long-Context Language Models?, "
        "arXiv:2404.06654",
        url="https://arxiv.org/abs/2404.06654",
        order=10,
    ),
)
