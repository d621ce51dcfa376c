"""Settings of builds, as users give them: groups of options, which ``configure`` takes whole."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from fathom.options.declare import Options, Read, at_least, given, hidden, opt, unset
from fathom.options.values import (
    MaybePath,
    Names,
    Several,
    Tokens,
    depths_of,
    dials_of,
    folders_of,
    lengths_of,
    where_of,
)

if TYPE_CHECKING:
    from fathom.documents.corpus import Fields

Where: TypeAlias = Annotated[
    Read[Mapping[str, Sequence[str] | str] | Sequence[str] | None, dict[str, tuple[str, ...]] | None],
    opt(
        "Only samples with one of these values of a facet: difficulty=Hard,Extreme; language, task and length count as "
        "facets. May be given more than once.",
        metavar="FACET=VALUE,...",
        many=True,
        read=where_of,
    ),
]
Lengths: TypeAlias = Annotated[
    Tokens, opt("Lengths in tokens, for instance 2k,4k,8k (8k is 8,192); default: those of the suite.")
]


def _share(value: float) -> str:
    return "" if 0 <= value <= 1 else "expected a share between 0 and 1"


class Contents(Options, kw_only=True):
    """Options."""

    lengths: Lengths = unset
    seed: Annotated[int, opt("Seed of all draws.")] = 0
    qa: Annotated[Several, opt("Your documents with questions and answers; as --corpus.", metavar="SPEC")] = unset
    summaries: Annotated[Several, opt("Your documents with summaries; as --corpus.", metavar="SPEC")] = unset
    noise: Annotated[Several, opt("Your documents to fill contexts with; as --corpus.", metavar="SPEC")] = unset
    questions: Annotated[
        Several,
        opt(
            "A table of questions about your documents, such as a .csv with the columns document, question, answer and "
            "optionally evidence.",
            metavar="FILE",
        ),
    ] = unset
    errata: Annotated[
        Several,
        opt(
            "A TOML file of faulty questions to leave out, besides fathom's own list (none: without that list). May be "
            "given more than once.",
            metavar="FILE",
        ),
    ] = unset
    books: Annotated[Several, opt("Novels in chapters, for TSort: a folder or file of plain text.", metavar="SPEC")] = (
        unset
    )
    threads: Annotated[
        Several,
        opt(
            "Stack Exchange threads, for BestAnswer: Posts.xml of a data dump, plain or in a .7z, or .jsonl; also "
            "FILE?tags=python,c&top=2500 for the most popular questions with these tags.",
            metavar="FILE",
        ),
    ] = unset
    cases: Annotated[
        Several, opt("Published cases of BestAnswer, used unchanged (.jsonl or another table).", metavar="FILE")
    ] = unset
    closed_book: Annotated[
        bool | None, opt("Also ask questions closed-book (without context); by default as in the suite.")
    ] = None
    alone: Annotated[bool, opt("Also ask questions with their evidence alone: gold passages or needles.")] = False
    padded: Annotated[
        float,
        opt(
            "Also ask this share of the items at each length with all text but the evidence replaced by neutral text, "
            "for instance 0.25: what is lost to length alone.",
            metavar="SHARE",
            check=_share,
        ),
    ] = 0.0
    unnamed: Annotated[
        bool,
        opt(
            "Also ask questions about a numbered passage without its number, over the same context: what it costs to "
            "search for it."
        ),
    ] = False
    common: Annotated[bool, opt("Only items that fit every length: the same questions at all lengths.")] = False
    truncate: Annotated[
        Read[Sequence[int | str] | str | int, tuple[int, ...]],
        opt(
            "Also truncate the longest prompts in the middle to these lengths, for instance 2k,4k,8k.",
            metavar="TOKENS,...",
            read=lengths_of,
        ),
    ] = given(())
    prompts: Annotated[
        Literal["own", "official"],
        opt(
            "Prompts of published benchmarks: fathom's own, or the authors', read from --templates or --data; what has "
            "none is named."
        ),
    ] = "own"
    templates: Annotated[
        Several,
        opt(
            "For --prompts official: a copy of the authors' repository, or a .toml file with the prompts; may be given "
            "more than once.",
            metavar="PATH",
            read=folders_of,
        ),
    ] = unset
    where: Where = unset
    skip_bad: Annotated[bool, opt("Skip rows of published records that cannot be used.")] = False
    fields: Annotated["Fields | None", hidden("Names of the fields in corpus files.")] = None


def _between(depths: Sequence[float]) -> str:
    return "" if all(0 <= depth <= 1 for depth in depths) else "depths lie between 0 (first) and 1 (last)"


class Build(Options, kw_only=True):
    """Build."""

    items: Annotated[
        int | None,
        opt(
            "Items per task and language, the same ones at every length; default: as in the suite, else 50.",
            check=at_least(1),
        ),
    ] = None
    corpus: Annotated[
        Several,
        opt(
            "Documents: world, world?seed=7, a folder, or a file: .txt, .md, source code, .pdf, .docx, .pptx, .html, "
            ".epub, .jsonl, .json, .csv, .tsv, .xlsx, .ods, .parquet or .arrow, also with .gz or .zst, or in a .zip; "
            "may be given more than once. Field names follow a question mark: FILE.jsonl?text=body&answers=gold.",
            metavar="SPEC",
        ),
    ] = unset
    data: Annotated[
        Several,
        opt(
            "Folder with the suite's data sources; may be given more than once.",
            metavar="FOLDER",
            read=folders_of,
        ),
    ] = unset
    tokenizer: Annotated[
        str | None,
        opt("Tokenizer that counts lengths: tekken, tiktoken:NAME, hf:NAME, words, chars, or a path.", metavar="NAME"),
    ] = None
    languages: Annotated[
        Names, opt("en, zh or en,zh; by default the languages of the corpus.", former=("--language",))
    ] = unset
    depths: Annotated[
        Read[Sequence[float | str] | str | float, tuple[float, ...]],
        opt(
            "Position of the gold text: random (or as in the suite), or a list of depths: front, middle, end, or 0 to "
            "1, such as 0,0.25,1.",
            metavar="DEPTH,...",
            read=depths_of,
            check=_between,
            former=("--depth",),
        ),
    ] = given("random")
    exact: Annotated[bool, opt("Fill each length to the last token (slower).")] = False
    dials: Annotated[
        Read[Mapping[str, Sequence[str] | str] | Sequence[str] | None, dict[str, tuple[str, ...]] | None],
        opt(
            "What makes items of generated tasks harder: hops=2,3,4. Items take the values of all dials in turn, and "
            "rows name them. May be given more than once.",
            metavar="DIAL=VALUE,...",
            many=True,
            read=dials_of,
        ),
    ] = unset
    family: Annotated[
        MaybePath,
        opt(
            "A folder with names and sentence forms of your own for the suite world (`fathom data family` writes one).",
            metavar="FOLDER",
        ),
    ] = unset


class BuildSettings(Contents, Build, kw_only=True):
    """All settings of a build."""
