"""News: CNN/DailyMail, and Multi-News in its authors' form."""

import re
from collections.abc import Mapping

from fathom.documents.corpus.text import normalise
from fathom.documents.sources.forms import fields_form, from_parts, joined, text_in
from fathom.documents.sources.source import HubFile, Shape, Source
from fathom.types import Document

_LINE_END = re.compile(r"[ \t]*NEWLINE_CHAR[ \t]*")
_SEPARATOR = "|||||"


def with_line_ends(text: str) -> str:
    """A text of Multi-News with ``NEWLINE_CHAR`` replaced by line ends."""
    return normalise(_LINE_END.sub("\n", text))


def read_multi_news(record: Mapping[str, object], where: str) -> Document:
    """Articles on one event, separated by five vertical bars, and their summary.

    Raises:
        BadRowError: A field is not text, or the articles are empty.
    """
    articles = [with_line_ends(article) for article in text_in(record, "document").split(_SEPARATOR)]
    text, passages = joined(list(dict.fromkeys(articles)))
    summary = with_line_ends(text_in(record, "summary")).removeprefix("–").lstrip()
    return from_parts(where, text, summary=summary, passages=passages)


MULTI_NEWS = Shape("Multi-News", frozenset({"document", "summary"}), read_multi_news)

CNN = Shape(
    "CNN/DailyMail", frozenset({"article", "highlights"}), fields_form("article", summary="highlights", id="id")
)

SOURCES = (
    Source(
        name="cnn_dailymail",
        dataset="abisee/cnn_dailymail",
        revision="96df5e686bee6baa90b8bee7c28b81fa3fa6223d",
        files=(HubFile("1.0.0/test-00000-of-00001.parquet"),),
        shapes=(CNN,),
        licence="Apache-2.0",
        citation="See, Liu and Manning (2017), Get To The Point: Summarization with Pointer-Generator Networks, "
        "arXiv:1704.04368; Hermann et al. (2015), Teaching Machines to Read and Comprehend, arXiv:1506.03340",
        description="news articles with their highlights (test split of version 1.0.0)",
        names=("cnn_dm", "cnndm"),
    ),
)
