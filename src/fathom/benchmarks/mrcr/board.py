"""The boards of OpenAI's MRCR with 8 needles, and of Google's MRCR v2."""

from fathom.types.boards import Board, Category, Part

_EIGHT, _GOOGLE = "mrcr_published_8", "mrcr_google_published"
_COUNTED = (8192, 16384, 32768, 65536, 131072)
_UNSAID = "the source does not say whether this is one bin or all up to it"

BOARDS = (
    Board(
        id="mrcr",
        title="OpenAI MRCR",
        suites=("mrcr",),
        about="One of eight texts on the same topic in a long conversation, to be repeated word for word. Lengths are "
        "upper ends of bins: 128k is more than 64k and up to 128k.",
        rule="mean over the five bins up to 128k; longer ones are shown and do not count",
        categories=(Category("eight", "8 needles", (Part((_EIGHT,)),)),),
        lengths=(*_COUNTED, 262144, 524288, 1048576),
        counted={_EIGHT: _COUNTED},
        extras={
            "two_128k": ("2 needles, 128k", f"with two needles; {_UNSAID}", True),
            "two_256k": ("2 needles, 256k", f"with two needles; {_UNSAID}", True),
            "two_1m": ("2 needles, 1M", f"with two needles; {_UNSAID}", True),
            "any_128k": ("128k", "with needles that the source does not number", True),
            "any_1m": ("1M", "with needles that the source does not number", True),
        },
        licence="MIT",
        citation="OpenAI (2025), OpenAI MRCR, huggingface.co/datasets/openai/mrcr",
        url="https://huggingface.co/datasets/openai/mrcr",
        order=14,
    ),
    Board(
        id="mrcr-google",
        title="Google MRCR v2",
        suites=(),
        about="Google's own benchmark of the same name with eight needles. 128k is the average up to it, 1M a single "
        "length.",
        rule="average up to 128k; 1M is shown and does not count",
        categories=(Category("eight", "8 needles", (Part((_GOOGLE,)),)),),
        lengths=(131072, 1048576),
        counted={_GOOGLE: (131072,)},
        licence="Apache-2.0",
        citation="Vodrahalli et al. (2024), Michelangelo: Long Context Evaluations Beyond Haystacks via Latent "
        "Structure Queries, arXiv:2409.12640",
        url="https://arxiv.org/abs/2409.12640",
        order=15,
    ),
)
