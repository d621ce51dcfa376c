"""Law: the legal addition of 100-LongBench, appendix A.6."""

from fathom.documents.sources.forms import fields_form
from fathom.documents.sources.source import HubFile, Shape, Source

SOURCES = (
    Source(
        name="casesumm",
        dataset="ChicagoHAI/CaseSumm",
        revision="8c64ca6190e00d5840eceeff06064f15b9c69a5f",
        files=(
            HubFile("data-00000-of-00002.arrow", "86d7f1048189946467c3c81e573034d123be73c3ddb1616d6abc6b94a0093653"),
            HubFile("data-00001-of-00002.arrow", "664c3aafc1abd7c5f7e6a459e99303c9cb023bf0324f0c4fec13a0c97fcccf15"),
        ),
        shapes=(
            Shape(
                "CaseSumm",
                frozenset({"opinion", "syllabus"}),
                fields_form("opinion", summary="syllabus", title="citation"),
            ),
        ),
        licence="CC-BY-NC-3.0 (its card also names CC-BY-NC-4.0 and CC-BY-NC-SA-4.0)",
        citation="Heddaya et al. (2024), CaseSumm: A Large-Scale Dataset for Long-Context Summarization from U.S. "
        "Supreme Court Opinions, arXiv:2501.00097",
        description="opinions of the US Supreme Court with their official syllabuses",
    ),
)
