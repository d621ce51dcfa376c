"""The text before and after the context in prompts of LongBench, in our own words.

``{input}`` is the question, the case to decide or the code to continue, as in the data. Answers are requested in the
format that the metrics expect: a few words, one summary, one label, one number, one line of code.
"""

from collections.abc import Mapping

_QUESTION = "Question: {input}\nReply with the answer alone, in as few words as it takes.\nAnswer:"
_OF_SEVERAL = (
    "The passages below come from different articles. The question after them can be answered by putting together what "
    "some of them say.\n\n",
    "\n\nUse what the passages say.\n\n" + _QUESTION,
)
_CODE = "Go on with the code below: write the one line that comes next in the last file, and nothing else.\n\n"

PROMPTS: Mapping[str, tuple[str, str]] = {
    "narrativeqa": (
        "Below is a whole story, a book or the script of a film. A question about it follows.\n\nStory:\n",
        "\n\nThe question is about the story above; a name or a short phrase is enough.\n\n" + _QUESTION,
    ),
    "qasper": (
        "Below is a scientific paper. A question about it follows.\n\nPaper:\n",
        "\n\nThe question is about the paper above. Where the paper does not tell, reply with unanswerable; a question "
        "that asks whether something is so is answered with yes or no.\n\n" + _QUESTION,
    ),
    "multifieldqa_en": (
        "Below is a document. A question about it follows.\n\nDocument:\n",
        "\n\nThe question is about the document above.\n\n" + _QUESTION,
    ),
    "multifieldqa_zh": (
        "下面是一篇文档，文档之后有一个关于它的问题。\n\n文档：\n",
        "\n\n请根据上面的文档作答，只写出答案，越简短越好。\n\n问题：{input}\n答案：",
    ),
    "hotpotqa": _OF_SEVERAL,
    "2wikimqa": _OF_SEVERAL,
    "musique": _OF_SEVERAL,
    "dureader": (
        "下面是若干篇文章，文章之后有一个问题。\n\n",
        "\n\n请综合上面的文章回答问题，直接写出答案。\n\n问题：{input}\n答案：",
    ),
    "gov_report": (
        "Below is a report by an agency of a government. Summarize it on about one page.\n\nReport:\n",
        "\n\nReply with a summary of the report above, about one page long, and nothing else.\nSummary:",
    ),
    "qmsum": (
        "Below is the transcript of a meeting. A request about it follows.\n\nTranscript:\n",
        "\n\nAnswer the request from the transcript above, in one sentence or a few.\n\nRequest: {input}\nAnswer:",
    ),
    "multi_news": (
        "Below are several news articles on one event. Write one summary of all of them.\n\nArticles:\n",
        "\n\nReply with a summary of all the articles above, about one page long, and nothing else.\nSummary:",
    ),
    "vcsum": (
        "下面是一次会议的记录，请为它写一段摘要。\n\n会议记录：\n",
        "\n\n请只回答一段概括上面这次会议内容的摘要。\n摘要：",
    ),
    "trec": (
        "Each question below is followed by its type. Give the type of the last question, in the same words as above, "
        "and nothing else.\n\n",
        "\n{input}",
    ),
    "triviaqa": (
        "Each passage below is followed by a question about it and the answer. Answer the last question in a few "
        "words, and write nothing else.\n\n",
        "\n\n{input}",
    ),
    "samsum": (
        "Each conversation below is followed by its summary. Give the summary of the last one, in a sentence or two on "
        "one line.\n\n",
        "\n\n{input}",
    ),
    "lsht": (
        "下面每条新闻之后都标有它的类别。请写出最后一条新闻的类别，用词与上面的类别一致，不要写别的。\n\n",
        "\n{input}",
    ),
    "passage_count": (
        "Some of the numbered paragraphs below may be the same text. How many different paragraphs are there?\n\n",
        "\n\nCount every text once, however often it stands above. Reply with one number and nothing else.\nNumber:",
    ),
    "passage_retrieval_en": (
        "Below are numbered paragraphs, and after them a summary of one of them.\n\n",
        "\n\nSummary:\n{input}\n\nWhich of the paragraphs above does the summary belong to? Reply with its heading "
        'alone, in the form "Paragraph 1".\nAnswer:',
    ),
    "passage_retrieval_zh": (
        "下面是若干个编号的段落，段落之后是其中一段的摘要。\n\n",
        "\n\n摘要：\n{input}\n\n这个摘要属于上面的哪一段？只回答段落的编号，形式如“段落1”。\n答案：",
    ),
    "lcc": (_CODE, "\n\nThe next line:\n"),
    "repobench-p": (_CODE, "{input}\n\nThe next line:\n"),
}
"""By data set."""
