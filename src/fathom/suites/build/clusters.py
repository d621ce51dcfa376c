"""Clusters: items, of one task or several, whose gold texts come from one document, book or thread.

Answers to such items are not independent: a model that misreads the document misses several of them.
"""

from collections import Counter
from collections.abc import Mapping

from fathom.documents.corpus.text import document_id
from fathom.types import Document


def cluster_of(document: Document) -> str:
    """The id of the text that the items about a document have in common.

    Args:
        document: The document with the gold text of an item.

    Returns:
        The hash of its text. Published records and cases have ids of their own, so that questions about one context
        stay separate: of these it is the hash of their context or, in a case of BestAnswer, of the thread's question,
        which is the first of their passages, without blanks around it.
    """
    start, end = 0, len(document.text)
    if document.passages and document.id != document_id(document.text):
        start, end = document.passages[0]
    return document_id(document.text[start:end].strip())


def shared_clusters(clusters: Mapping[str, str]) -> dict[str, str]:
    """The clusters with several items.

    Args:
        clusters: The cluster of each item of a suite.

    Returns:
        The cluster of each item that shares it with another one. An item on its own is its own cluster, and needs none.
    """
    sizes = Counter(clusters.values())
    return {item: cluster for item, cluster in clusters.items() if sizes[cluster] > 1}
