"""Extracts answers from replies: a number, an option, a passage, a passkey, a UUID or a few words.

Every function takes a model's whole reply: text in thinking tags is ignored, full-width digits count as digits, and
Markdown is ignored. It returns the normalised answer, or None.

All kinds follow one procedure. The answer is taken out of JSON, boxes, tags and fences, and looked for at the beginning
and the end of a long reply (``readable``). Numbers in words become digits, and what is no answer is removed: rejected
ones ("not passage 4", "I don't think it's 4", "option 1 is wrong"), corrected ones ("3. Wait, it's 4") and those that
are given together ("3 or 4"). A reply that merely names different answers ("B, C", two lines) has none (``decided``).
Then the first answer after the last cue is used ("the answer is"); else the one that is called right ("B is correct")
or concluded ("so B"); else one that leads the reply, alone on its line or as its label ("2) ..."), because prompts end
where the answer begins; else the first that is named ("passage 3"), else the only one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from fathom.score.reading import (
    CUE,
    NAME,
    PASSAGE_NOUN,
    after_cues,
    before_next_question,
    contains_answer,
    decided,
    in_digits,
    ordinal,
    read_numeral,
    without_enclosed,
    without_rejected,
)
from fathom.score.text import token_f1
from fathom.score.unwrapping import readable, unwrapped
from fathom.types import CONTAINED, Score

UUID = r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])"
_UUID = re.compile(UUID)
# A key and its value, named in one sentence.
_KEY_AND_VALUE = 2
_ENDS_SENTENCE = re.compile(r"[.;!?\n]")
# Two lines of one word each, which is an answer if it has a digit or is a letter of an option.
_WORD_LINE = (
    r"[ \t*_\"'“”‘’`>().。,:;#-]*+(?:(?i:option|choice|passage|paragraph)[ \t]+)?"
    r"([A-D]|(?=[a-z-]*[0-9])[a-zA-Z0-9.,-]*[0-9a-f])[ \t*_\"'“”’`).。,:;]*(?:\n|\Z)"
)
_ANSWER_LINES = re.compile(rf"\s*{_WORD_LINE}{_WORD_LINE}")
_NUMBERED = (
    rf"(?i:{NAME})?(?<![0-9.])(?:[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]+(?:\.[0-9]+)?)(?:st|nd|rd|th)?(?![0-9])"
    "[个项段篇条号]?"
)
# "B is correct", "passage 3 is the right one", "A7 is the best", "B: right", "B ✓".
_CALLED_RIGHT = (
    r"[\"'”’)\]]{0,3}(?i:[ \t]{1,3}(?:is|was|must be|seems(?: to be)?|appears to be|looks like)[ \t]{1,3}"
    r"(?:clearly[ \t])?(?:(?:the|my)[ \t])?"
    r"(?:final[ \t])?(?:correct|right|best|answer|choice|one)\b"
    r"|[ \t]{0,2}[:(=?–—-][ \t]{0,2}(?:fully[ \t])?(?:correct|right|true|yes)\b|[ \t:(]{0,3}[✓✔✅]"
    r"|[ \t]{1,3}(?:\(?matches|fits|wins|stands out|is (?:supported|exact|better(?![ \t]than)))\b"
    r"|:?[项个]?(?:比[^\n，。]{1,20})?(?:是?正确|是对的|最|更|符合))"
)
_EMPHASIS = re.compile(r"\*\*|__|`+|^[ \t]*#+[ \t]", re.MULTILINE)
# Text before a short answer on its line; the sentence may begin with another clause.
_LABEL = re.compile(
    r"^[ \t]*+(?:(?:sure|certainly|of course|okay|ok)[!,.][ \t]+)?(?:(?:here(?: is|['’]s)[ \t])?(?:the |my )?"
    r"(?:final |short |correct )?(?:answer|reply|response)[ \t]*(?:[:：]|[ \t][-–—](?=[ \t]))|\[answer\][ \t]*[:：]?"
    r"|(?:[^\n,.]{0,60},[ \t]*)?(?:so |thus |therefore |but |hence )?"
    r"(?:the|my) (?:\w{1,9} )?answer[ \t]+(?:is|would be)\b"
    r"[ \t]*[:：]?"
    r"|(?:[^\n，。,]{0,60}[，,][ \t]*)?(?:所以|因此)?(?:最终|正确)?的?答案[ \t]*(?:应该?)?[是为:：][ \t]*[:：]?"
    r"|\[答案\][ \t]*[:：]?)",
    re.IGNORECASE | re.MULTILINE,
)
_HEADING = re.compile(r"\W*(?:(?:final |short )?answer|答案)\W*", re.IGNORECASE)
_LONGEST_HEADING, _LONGEST_REST = 60, 200  # characters
# A sentence and more; "Sure! Here it is:" is none.
_SENTENCE = re.compile(r".{15,400}?(?:[。！？]|[.!?]\s)")
_BULLET = re.compile(r"[ \t>]*(?:[-*•]|\(?[0-9]{1,3}[.):])[ \t]+")
_BETWEEN_NAMES = re.compile(r"[ \t]*(?:[,;/|·→、，；\n\t&]|\b(?:or|and)\b|(?<=\s)\(?[0-9]{1,2}[.)])[ \t]*")
_OFFERS = re.compile("/| or ")
_NAME = re.compile(r"\W*+[A-Z][\w.'’-]*+(?:[ \t]++[A-Z][\w.'’-]*+){0,2}\W*+")
# What follows a name that was given: "Paris. In this script, ...", "Paris, who ...", "Paris (the others are ...)"
_ASIDE = re.compile(
    r"(?<!\b[A-Z])(?<!\b(?:Mr|Dr|Ms|St))(?<!\b(?:Mrs|Col|Gen|Rev))[.!?][\"'”’*]{0,3}[ \t]+(?=[A-Z])"
    r"|[ \t][(（]|,?[ \t](?:who|whom|whose|where|which|because|since|while)\b"
)
_IN_SENTENCES = re.compile(
    r"\b(?:is|was|are|were|the|an?|of|in|to|he|she|they|it|i|my|because|that|this|as|by|for|on|with|must|be)\b",
    re.IGNORECASE,
)
_LONGEST_LINE = 80  # characters of a line that is a name
_FEW = 3  # words of a name
_LONGEST_NAME = 6  # words
# "Paris, not Rome", "Paris, as stated in passage 3"
_REST = re.compile(
    r"(?<=\w)[\"'”’)]{0,2},[ \t](?:(?:and )?(?:not|rather than|instead of)[ \t][^,.;\n]{1,80}"
    r"|(?:as (?:is )?(?:stated|mentioned|described|noted|said|given)|according to)\b[^,;\n]{1,80})\Z"
)
# "Paris【3】", "Paris [^1]"
_CITATIONS = re.compile(r"(?<=\w)[ \t]?(?:【[^【】\n]{1,60}】|\[\^?[0-9]{1,3}\])+[.。]?\Z")
# "According to passage 3, Paris", "Sure! Paris"
_START = re.compile(
    r"(?:(?:sure|certainly|of course|okay)[!,.][ \t]+|(?:according to|based on)[ \t][^\n,]{1,60},[ \t]*)(?=\S)",
    re.IGNORECASE,
)
# What follows an answer and is no part of it: reasons with a heading, an offer of help.
_ADDED = re.compile(
    r"\n[ \t>*#]*(?:(?:explanation|reason(?:ing|s)?|note|justification|evidence|解释|说明|理由|注)[*_ \t]{0,3}[:：]"
    r"|let me know\b|(?:i )?hope (?:this|that) helps|feel free\b|is there anything else|if you (?:need|have)\b)",
    re.IGNORECASE,
)
_IN_ADDED = (
    *("explanation", "reason", "note", "justification", "evidence", "解释", "说明", "理由", "注"),
    *("let me know", "helps", "feel free", "is there anything", "if you"),
)
_NUMBERS = re.compile(r"(?:(?<![\w.,)\]-])-)?[0-9]+(?:,[0-9]+)*(?:\.[0-9]+)?")
_THOUSANDS = re.compile(r"-?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_NUMBER = r"(?<![0-9])([0-9]++(?:,[0-9]{3})*)"
_ALONE = r"(?!\s*,\s*[0-9]|[0-9.]*[0-9])"  # neither the start of a list nor part of a longer number
# A number directly after a cue: "the answer is [in] [the] [passage] 12".
_ANNOUNCED = re.compile(rf"[^\w\[]*(?:(?:in|the)\s+){{0,2}}{NAME}?[^\w\[]{{0,3}}([0-9]+){_ALONE}", re.IGNORECASE)
# A number that labels a line: "2", "2.", "(2) 5, 12, 33", "2: [5, 12]"; not "2, 5", "2.5", "2 men".
_MARK = re.compile(
    rf"^[ \t]*[\[(]?([0-9]+)(?:[ \t]*$|[.)\]:、。](?![0-9])|,(?![ \t]*[0-9])|[ \t]*[:=(\[]|[ \t]+-[ \t])"
    # "1. Passage 3" is the first item of a list; "3. Passage 1 is about ..." gives a reason for passage 3.
    rf"(?!\W*{NAME}[0-9]+\W*$)",
    re.MULTILINE | re.IGNORECASE,
)
_OPTION = re.compile(
    rf"\b(?:option|choice)[\W_]{{0,3}}([0-9]+){_ALONE}|(?:选项|选择|选)\W{{0,3}}([0-9]+){_ALONE}"
    rf"|第\s*([0-9]+)\s*(?:[个项条种组]|选项)|\b([0-9]+)(?:st|nd|rd|th)\s+(?:option|choice|list|one)\b",
    re.IGNORECASE,
)
_BRACKETED = re.compile(rf"\(([0-9]+)\){_ALONE}")
_PASSAGE = re.compile(
    rf"\b{PASSAGE_NOUN}(?:[\W_]{{0,3}}|s[ \t:#]{{1,3}})(?:(?:number|no\.?)\W{{0,2}})?([0-9]+)"
    rf"|\b([0-9]+)(?:st|nd|rd|th)\s+(?:{PASSAGE_NOUN}|one)\b"
    r"|(?:段落|文章|文档|篇章)\W{0,3}([0-9]+)|第\s*([0-9]+)\s*(?:个|篇)?\s*(?:段|篇|文)|\b([0-9]+)\s*号(?:段|文|篇)",
    re.IGNORECASE,
)
# The total before repetitions are removed.
_TOTAL = re.compile(
    r"\b(?:out of|among|of (?:the|these|those|all))(?:[ \t]+(?:the|these|those|all)){0,2}[ \t]+[0-9]+(?:,[0-9]{3})*",
    re.IGNORECASE,
)
# "There are 30 passages."
_QUANTITY = re.compile(
    r"\b(?:there (?:are|were)|of|all|among|from|the|these|those)[ \t]+[0-9]+(?:,[0-9]{3})*[ \t]+"
    r"(?:passages|paragraphs|documents|articles|texts|segments|abstracts)\b",
    re.IGNORECASE,
)
# "so it is option 2."
_CONCLUDED_NUMBER = re.compile(
    rf"(?:\b(?:so|thus|hence|therefore)\b[ \t:,]{{1,3}}(?:it is |it['’]s )?"
    r"|\b(?:summary|description)\b[^\n.]{0,40}?"
    r"\b(?:describes|belongs to|(?:is|comes) (?:of|from)|matches|corresponds to"
    rf"|refers to)[ \t]{{1,3}}(?:the )?|(?:属于|出自|来自|对应)(?:的是)?){NAME}?([0-9]+)(?=段?[.!。]?[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_DIFFERENT = "(?:different|distinct|unique|non-repeated)"
_COUNTED = (
    re.compile(
        rf"\b{_NUMBER}(?:[ \t]+[^\W\d_]+){{0,4}}?[ \t]+(?:{_DIFFERENT}\b|remain|without rep|after rep)"
        rf"|\b{_DIFFERENT}(?:[ \t]+[^\W\d_]+){{0,4}}?\s*[:=]?\s*{_NUMBER}"
        rf"|{_NUMBER}[ \t]*[个段种篇]?[^\W\d_]{{0,4}}?(?:不同|不重复|不相同)"
        rf"|(?:不同|不重复|不相同|去重)[^0-9。，,;；\n]{{0,12}}{_NUMBER}",
        re.IGNORECASE,
    ),
    _CONCLUDED_NUMBER,
    re.compile(
        r"\b(?:there (?:are|were|remain)|i (?:have )?(?:count|counted|see|found|find|get|got)|leav(?:es|ing)"
        r"|total(?: of| is)?)"
        rf"[ \t]*:?[ \t]*(?:only[ \t]+|just[ \t]+)?{_NUMBER}"
        rf"|\b(?:minus|less)\b[^\n.]{{0,40}}?\b(?:is|are|leaves|equals|makes|gives)[ \t]+{_NUMBER}"
        rf"|(?:剩下?|剩余|余下)[ \t]*{_NUMBER}"
        rf"|(?:共计?有?|总计|=|等于|所以有?|因此有?)[ \t]*{_NUMBER}",
        re.IGNORECASE,
    ),
)
_SIGNED = r"(?<![A-Za-z0-9_.])-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]++)(?:\.[0-9]++)?(?![A-Za-z0-9_])"
# The list of the prompt, repeated and perhaps cut off.
_NUMBER_LIST = re.compile(r"\[[^\[\]]*(?:,[^\[\]]*\]|\Z)")
_ORDINAL = re.compile(r"(?<![\w.])[0-9]+(?:st|nd|rd|th)\b", re.IGNORECASE)
# Values of an option, which are no options: "(2) 5, 12, 33, 8", "2: [5, 12]".
_OPTION_VALUES = re.compile(r"[0-9]+(?:,[ \t]*[0-9]+){2,}|\[[0-9, ]*\]|(?<=[.):\]][ \t])[0-9]+(?:,[ \t]*[0-9]+)+")
_EQUALS = re.compile(r"(?:=|等于|得到?)[ \t]*(-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?)")
_QUANTITIES = {
    **dict.fromkeys(("larg", "big", "high", "max", "great", "最大", "最高", "大"), "largest"),
    **dict.fromkeys(("small", "low", "min", "least", "最小", "最低", "小"), "smallest"),
    **dict.fromkeys(("median", "middle", "中位"), "median"),
    **dict.fromkeys(("mean", "average", "平均"), "mean"),
    **dict.fromkeys(("mode", "众数"), "mode"),
    **dict.fromkeys(("sum", "total", "总和", "之和", "和"), "sum"),
}
"""Quantities of a list by the beginnings of their names."""
_QUANTITY_WORD = "(" + "|".join(stem for stem in _QUANTITIES if stem.isascii()) + "|number|value)"
_QUANTITY_ZH = "(" + "|".join(stem for stem in _QUANTITIES if not stem.isascii()) + ")"
_NOUN = rf"{_QUANTITY_WORD}\w{{0,9}}"
_RANK = (
    r"(?:\b(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|[0-9]{1,4}(?:st|nd|rd|th))[ \t-]{1,3})?"
)
_RANK_ZH = "(?:第([一二三四五六七八九十]|[0-9]{1,4}))?"
_VALUE = r"(-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?)(?!\w)"
_ASKED = re.compile(rf"{_RANK}\b{_NOUN}|{_RANK_ZH}{_QUANTITY_ZH}", re.IGNORECASE)
# "so the 2nd largest number is 42", "Largest: 42", "the median is the 3rd: 42".
_STATED = re.compile(
    rf"(?:\b(so|thus|therefore|hence)\b[ \t,]{{1,3}})?(?:\bthe[ \t]{{1,3}})?{_RANK}\b{_NOUN}"
    r"(?:(?:[ \t](?:number|value|one))?[\"”]?(?:[ \t]?[:=→][ \t]?|,[ \t](?=[0-9]+[.]?$)|(?<=max|min)[ \t])"
    r"|[^\n.;]{0,60}?(?:\b(?:is|equals)|=)[ \t:]*(?:the[ \t]\w{3,9}(?:[ \t]\w{3,9})?[ \t]?[:,][ \t])?)"
    rf"{_VALUE}(?!,[ \t]?[0-9])",
    re.IGNORECASE | re.MULTILINE,
)
# "42 is the second largest".
_STATED_AFTER = re.compile(
    rf"(?<![\w.,-]){_VALUE}[ \t]{{1,3}}(?:is[ \t](?:the[ \t])?|the[ \t]){_RANK}\b{_NOUN}", re.IGNORECASE
)
_STATED_ZH = re.compile(
    rf"{_RANK_ZH}{_QUANTITY_ZH}[^\n，。；;0-9]{{0,10}}?(?:[是为:]|等于|[数值和])[ \t]*(?:第[0-9]+个?[:,，])?{_VALUE}"
)
# A line that is nothing but a number, or a numbered noun.
_SIGNED_LINE = re.compile(r"^[^\w\n-]*(-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?)[^\w\n]*$", re.MULTILINE)
_NUMBER_LINE = re.compile(rf"^[^\w\n]*(?:the[ \t]+)?{NAME}?(?<![-.])([0-9]+)[^\w\n]*$", re.MULTILINE | re.IGNORECASE)
# A number that the reply begins with: "42 (the largest is 50)", "42, because".
_LEADING_NUMBER = re.compile(r"\W*?(-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?)(?:[ \t]*\(|,?[ \t](?:because|since|as)\b)")
_RIGHT_NUMBER = re.compile(rf"(?<![0-9.])([0-9]+){_CALLED_RIGHT}", re.IGNORECASE)
# "KEY -> VALUE", '"KEY": "VALUE"', "KEY maps to VALUE".
_PAIR = re.compile(
    rf"(?:key[ \t])?({UUID})[\"'”’)\]`]{{0,3}}[ \t]{{0,3}}"
    r"(?:(?:->|→|=>|:|=|\||is|maps to|is mapped to|has (?:the )?value|corresponds to)(?:[ \t]the value)?)"
    rf"[ \t]{{0,3}}\n?[\"'“‘(\[`]{{0,3}}({UUID})"
)
# "KEY,VALUE", "(KEY, VALUE)".
_TUPLE = re.compile(
    rf"(?<![0-9a-f,][\s]){UUID}[\"'”’]?(?:,(?=\S)|\t)[\"'“‘]?({UUID})(?!,)"
    rf"|[(\[<][\"'“‘]?{UUID}[\"'”’]?,[ \t]?[\"'“‘]?({UUID})[\"'”’]?[)\]>]"
)
# "(key: KEY)", "for the key KEY", "belongs to KEY".
_KEY = re.compile(
    rf"(?:←|<-|键[为是]?)\W{{0,4}}{UUID}"
    r"|\b(?:key|for|of|under|look(?:ing|ed)? up|(?:belong|correspond|link|relat)\w* to|(?<!go )(?<!going )with)\b"
    rf"[ \t:=]{{0,3}}(?:the[ \t])?(?:key[ \t:=]{{0,3}})?[\"'“‘(\[`]{{0,3}}{UUID}"
)
_LEADING_UUID = re.compile(rf"\W*({UUID})(?:\W*$|\W*\n|[\"'”’]?[.;,](?=\s))")
_VALUE_OF = re.compile(
    rf"\bvalue\b[^.\n]{{0,20}}?(?:is\b|[:=])\W{{0,4}}({UUID})"
    rf"|({UUID})[\"'”’)\]]{{0,3}}(?:[ \t]{{1,3}}is|,|[ \t]{{0,3}}\()[ \t]?"
    r"(?:(?:the|its)[ \t])?(?:correct[ \t]|right[ \t])?(?:value|answer)\b"
)
_DIGIT_RUN = re.compile(r"[0-9]+(?:[ \t\r\n,-]{1,4}[0-9]+)*")
_LEADING_RUN = re.compile(rf"\W*({_DIGIT_RUN.pattern})[\"'”’)\]]*(?:[.;:]?\s*$|[.;:]\s|[ \t]*\n|[ \t]+\()")
_DIGITS = r"(?<![0-9])[0-9]++"
_WRAPPED_DIGITS = 20
_LISTED_NUMBERS = 3  # other numbers around one, and it is part of a list
_EDGE = 200  # characters at both ends of a reply where an answer is looked for, if it is eight times as long or longer
_QUOTED = 8  # UUIDs of a reply that quotes the neighbours of a key
_BESIDE = 30  # characters beside an answer on its line, for instance "So the pass key is 12345."
_CALLED = re.compile(r"\b(?:answer|conclusion|therefore|found it)\b|答案|因此", re.IGNORECASE)
_SENTENCES = re.compile(r"\n|(?<=[.!?])[ \t]|(?<=[。！？])")
_BETWEEN_DIGITS = str.maketrans("", "", " \t\r\n,-")
_LAYERS = 4  # of quotes and brackets around an answer
_OPENING, _CLOSING = "\"'“‘「『《([{", "\"'”’」』》)]}"
_OPEN, _CLOSED = r"[(\[{\"'“‘]", r"[)\]}\"'”’]"
# Not the article in "A good one"; "A because" is a choice.
_ARTICLE = r"[ \t]+(?!(?:and|or|as|because|since|for|is|was|based|due|given|which|with|not|to|through)\b)[a-z]"
_LETTER_ALONE = rf"(?<![A-Za-z0-9])([B-D]|A(?!{_ARTICLE}))(?![A-Za-z0-9]|['’-][A-Za-z])"
_LETTER = re.compile(_LETTER_ALONE)
# A lower-case letter may be an article: it must be in brackets or the last of its sentence.
_SMALL = re.compile(rf"{_OPEN}([a-d]){_CLOSED}|(?<![A-Za-z0-9])([b-d]|a(?=\W*$))(?=[ \t]*(?:[.。!;\n]|$))")
_LETTER_BRACKETED = re.compile(r"[(\[{]([A-D])[)\]}]")
_LAST = re.compile(rf"{_LETTER_ALONE}\W*\Z")
_NOTHING_ELSE = re.compile(r"\W*([A-Da-d])\W*")
_LEADING = re.compile(rf"\W*{_LETTER_ALONE}(?=[\"'”’]?[ \t]*(?:[.:()\],;\n]|$)|[ \t][-–—][ \t])")
_NAMED = re.compile(
    r"\b(?:[Oo]ption|[Cc]hoice|choose|pick|select|(?:go|going|went) with|settled on|makes)[ \t]+"
    rf"{_OPEN}?{_LETTER_ALONE}"
    # "it is B", "the function with the error is:\nB. parse"; not "it is A4", "it is a".
    rf"|\b(?:[Ii]t|[Tt]hat|[Tt]his)(?:[ \t]+(?:is|must be|should be|would be)|['’]s)[ \t]+{_OPEN}?"
    r"(?<![A-Za-z0-9])([A-D])"
    rf"(?={_CLOSED}|[.,;:]|[ \t]*$)"
    rf"|[是选项择][ \t]?{_OPEN}?{_LETTER_ALONE}"
    rf"|{_LETTER_ALONE}[ \t]+"
    r"(?:is|was|it is|seems|looks|appears|remains|fits|matches|must|would|says|mentions|has|gives|explains)\b",
    re.MULTILINE,
)
_LETTER_LINE = re.compile(r"^[^\w\n]*(?:[Oo]ption[ \t]+|[Cc]hoice[ \t]+)?([A-D])[^\w\n]*$", re.MULTILINE)
_ANY_LETTER = rf"(?:[Oo]ption[ \t]|[Cc]hoice[ \t])?{_OPEN}?{_LETTER_ALONE.replace('([', '(?:[')}{_CLOSED}?"
_RIGHT_LETTER = re.compile(rf"{_LETTER_ALONE}{_CALLED_RIGHT}")
# "A. noon: wrong", "B. 9 May: correct"
_VERDICT_LINE = re.compile(
    r"^[^\w\n]*([A-D])[.):](?![^\n]*\b[A-D][.):])[^\n]*"
    r"(?:[:(=–—-][ \t]{0,2}(?:(wrong|incorrect|false|no)|correct|right|true|yes)|[ \t](?:([✗✘❌])|[✓✔✅]))\W*$",
    re.MULTILINE | re.IGNORECASE,
)
# Letters of names, and ranges: "Vitamin C", "Arthur C. Clarke", "A-D".
_LETTER_OF_NAME = re.compile(
    r"\b((?i:vitamins?|hepatitis|influenza|plan|group|team|type|class|grade|level|section|part|chapter|appendix|annex"
    r"|exhibit|figure|table|schedule|article|block|wing|hall|building|room|zone|region|site|gate|platform|point|person"
    r"|player|patient|party|company|model|version|phase|stage|series|sample|case|study|category|strain|protein"
    r"|programming language|language|blood type))[ \t-][A-D](?![\w'’])"
    r"|\b(?!(?:Option|Choice|Answer|Letter|Select|Choose|Pick|Correct|Final|So|Thus|Hence|Therefore)\b)([A-Z][a-z]+)"
    r"[ \t][A-D]\.[ \t](?=[A-Z][a-z]+)"
    r"|(?<![A-Za-z0-9])[A-D]-[A-D](?![A-Za-z0-9])|\[ \][ \t]*[A-D](?!\w)"
)
# The line of an option, which says nothing of it, and lines with several.
_OPTION_LINE = re.compile(r"^[^\w\n]*[(\[]?([A-D])[.):\]](?=[ \t]).*$", re.MULTILINE)
_OPTIONS_IN_LINE = re.compile(r"^[^\w\n]*A[.):\]](?=[ \t])[^\n]*\bB[.):\]][^\n]*\bC[.):\]].*$", re.MULTILINE)
_EMPHASISED_OPTION = re.compile(r"^[^\w\n]*(?:\*\*|__)[(\[]?([A-D])[.):\]][^\n]*(?:\*\*|__)[^\w\n]*$", re.MULTILINE)
_LISTED_OPTIONS = 3  # of a list, at least
# "A. Incorrect - dates differ. B. Correct", "(A) no (B) yes": of one option it may be its text.
_VERDICT_FIRST = re.compile(
    r"(?<![A-Za-z0-9])([A-D])[.):][ \t]*(?:(wrong|incorrect|false|no|[✗✘❌])|correct|right|true|yes|[✓✔✅])"
    r"(?=[ \t]*(?:[-–—:;,.(\n]|$))",
    re.IGNORECASE,
)
_ONLY_LETTERS = re.compile(r"\W*(?:[A-D]\W+)+[A-D]\W*")
_CONCLUDED = re.compile(
    r"\b(?:[Ss]o|[Tt]hus|[Hh]ence|[Tt]herefore|[Cc]onclusion)\b[ \t:,]{0,3}"
    r"(?:it is |it['’]s |[Oo]ption |[Cc]hoice )?"
    rf"{_OPEN}?(?<![A-Za-z0-9])([A-D])(?={_CLOSED}|[.,;:]|[ \t]*$)",
    re.MULTILINE,
)
# Also a lower-case letter, where it is rejected.
_REJECTED_LETTER = rf"{_OPEN}?(?<![A-Za-z0-9])[A-Da-d](?![A-Za-z0-9]|['’-][A-Za-z])"
_LETTER_MARK = re.compile(r"(?<![^\s,(\[])([A-D])[.:)\]](?=\s|$)")
_SEVERAL = re.compile(rf"(?<![A-Za-z0-9])([A-D]{{2,4}}|[B-D]|A(?!{_ARTICLE}))(?![A-Za-z0-9]|['’-][A-Za-z])")
_REASONS = re.compile(r"\b(?:because|since|as)\b")
# Between two letters given together.
_TOGETHER = re.compile(
    rf"{_CLOSED}?[ \t]*(?:,?[ \t]*(?:and|or|&|和|或|及)|[,/、+])[ \t]*(?:both[ \t]+)?{_OPEN}?{_LETTER_ALONE}"
)


def first_number(reply: str) -> str | None:
    """The first number of the answer, without leading zeros and thousands separators.

    After the last "answer is" or the like, else anywhere. Ordinals ("the 2nd largest") are no answers. A reply that is
    just a number in words (``twelve``, ``十二``) counts too. Lines of different numbers and nothing else are no answer.
    """
    text = readable(reply)
    for part in after_cues(text):
        if number := next(_numbers(_ORDINAL.sub(" ", part)), None):
            return number
    if _two_lines(text):
        return None
    return next(_numbers(_ORDINAL.sub(" ", text)), None) or _spelled(text)


def stated_number(reply: str, asked: str = "") -> str | None:
    """A number that follows from others: the first after the last cue, alone on its line, or after "=" or "is".

    Of several after "is" that of the quantity in question is used ("the median is 42"); else the concluded one ("so the
    median is 42"), else that of the highest ordinal ("the 2nd largest is 42"), else the first. Rejected numbers, and
    those given together, are ignored; if none is stated, the first number is used.

    Args:
        asked: The question; "" if unknown.
    """
    text = readable(reply)
    without_lists = _NUMBER_LIST.sub(" ", text)
    text = decided(without_lists if _NUMBERS.search(without_lists) else text, _SIGNED)
    of_asked, stated = _stated(text, asked)
    equal = _EQUALS.findall(text)[-1:] or [stated]
    text = _ORDINAL.sub(" ", text)
    leads = _LEADING_NUMBER.match(text)
    first = leads[1] if leads else _alone(text, _SIGNED_LINE)
    parts = (*after_cues(text), of_asked, *([] if _two_lines(text) else [first, *equal, CUE.sub(" ", text)]))
    return next((number for part in parts for number in _numbers(part or "")), None) or _spelled(text)


def _stated(text: str, asked: str) -> tuple[str, str]:
    """The number that is stated of the quantity in question, and of any: the concluded one, that of the highest
    ordinal, or the first; "" if there is none.
    """
    ranked = [
        (match.start() + 1 if match[1] else 0, _quantity(match[2], match[3]), match[4])
        for match in _STATED.finditer(text)
    ]
    ranked += [(0, _quantity(match[2], match[3]), match[1]) for match in _STATED_AFTER.finditer(text)]
    ranked += [(0, _quantity(match[1], match[2]), match[3]) for match in _STATED_ZH.finditer(text)]
    wanted = _ASKED.findall(asked)
    quantities = {_quantity(rank or rank_zh, word or word_zh) for rank, word, rank_zh, word_zh in wanted}
    of_asked = [number for _, quantity, number in ranked if quantity in quantities and quantity[1]]
    if any(name for _, name in quantities):
        ranked = [entry for entry in ranked if not entry[1][1]]
    best = max(ranked, key=lambda stated: (stated[0], stated[1][0]), default=(0, (0, ""), ""))
    return of_asked[-1] if of_asked else "", best[2]


def _quantity(rank: str | None, word: str) -> tuple[int, str]:
    """A quantity of a list, as ``(2, "largest")``; without a name if it has none."""
    return _rank(rank or ""), _QUANTITIES.get(word.lower(), "")


def _rank(word: str) -> int:
    number = read_numeral(word) if word and not word.isascii() else None
    return max(1, number or ordinal(word) or int(word if word.isdecimal() else 0))


def given_uuid(reply: str, key: str = "") -> str | None:
    """The UUID that a reply gives, in lower case: of a key and its value, the value.

    After the last "answer is" or the like; else the one that is called the value, or follows its key; else one that
    leads the reply, alone on its line or as a sentence; else the only one that is not called the key, or the second of
    two in a sentence. Rejected UUIDs, those given together, and one amid a long text (``_buried``) are ignored.

    Args:
        key: The key in question, or a text that names it; "" if unknown.
    """
    whole = readable(reply).lower()
    keys = _UUID.findall(key.lower())
    refuses = any(word in whole for word in (" not ", "n't", "n’t"))
    text = _PAIR.sub(r" \2", whole)
    text = text if key else _TUPLE.sub(r" \1\2", text)
    for asked in keys:
        text = text.replace(asked, "key")
    without_keys = _KEY.sub(" ", text)
    text = decided(without_keys if refuses or _UUID.search(without_keys) else text, UUID)
    uuid = _given_uuid(text)
    if (
        uuid is None and not refuses and len(set(_UUID.findall(whole))) <= _QUOTED
    ):  # the asked key has a value, whatever stands beside it
        uuid = _only(value for name, value in _PAIR.findall(whole) if name in keys)
    return None if uuid is None or _buried(uuid, whole) else uuid


def _given_uuid(text: str) -> str | None:
    for part in after_cues(text):
        if match := _UUID.search(part):
            return match[0]
    if uuid := _first(_VALUE_OF.search(text)):
        return uuid
    if _two_lines(text):
        return None
    if match := _LEADING_UUID.match(text):
        return match[1]
    uuids = list(_UUID.finditer(text))
    if len(uuids) == _KEY_AND_VALUE and not _ENDS_SENTENCE.search(text, uuids[0].end(), uuids[1].start()):
        return uuids[1][0]
    return _only(match[0] for match in uuids)


def choice_number(reply: str, n_options: int) -> str | None:
    """The option from 1 to ``n_options`` that a reply chooses; None if it chooses none or several.

    The option after the last "answer is" is used; else the one that is called right, or leads the reply; else the first
    "option 3" that is not negated; else the only label of a line ("2) 5, 12, 33, 8"), or the only number in brackets;
    else the only number of the reply. A list of numbers is not a choice.
    """
    text = decided(_OPTION_VALUES.sub(" ", in_digits(without_enclosed(readable(reply)))), _NUMBERED)
    for part in after_cues(text):
        if number := _first(_ANNOUNCED.match(part) or _OPTION.search(part)):
            return _within(number, n_options)
    if _two_lines(text) or _disagree(text, _RIGHT_NUMBER):
        return None
    marks = {*_MARK.findall(text), *_BRACKETED.findall(text)}
    number = _concluded(text) or _alone(text, _NUMBER_LINE) or _first_named(text, _OPTION) or _only(marks)
    number = number or _only(_numbers(text)) or _spelled(text)
    return _within(number, n_options) if number else None


def passage_number(reply: str) -> str | None:
    """The passage number that a reply gives: ``Passage 12``, ``段落12``, ``第12段`` or a number alone.

    The number after the last "answer is" is used; else the one that is called right, or is alone on the first line;
    else the label at the start ("12. Because"); else the first named passage that is not negated ("passage 3, not
    passage 4"); else the first number.
    """
    text = _settled(reply)
    for part in after_cues(text):
        if number := _first(_ANNOUNCED.match(part) or _PASSAGE.search(part)) or next(_numbers(part), None):
            return _canonical(number)
    if _two_lines(text) or _disagree(text, _RIGHT_NUMBER):
        return None
    number = _concluded(text) or _alone(text, _NUMBER_LINE)
    if number := number or _leading(text) or _first_named(text, _PASSAGE):
        return _canonical(number)
    return None if _disagree(text, _MARK) else _bare(reply, text, _QUANTITY)


def count_number(reply: str) -> str | None:
    """The number of different things that a reply counts.

    The number after the last "answer is" is used; else the last number of different things ("12 are different"), or of
    counted things ("there are 12", "I count twelve"); else the label at the start; else the first number that is not a
    total ("out of 15").
    """
    text = _TOTAL.sub(" ", _settled(reply))
    for part in after_cues(text):
        if number := _counted(part) or next(_numbers(part), None):
            return _canonical(number)
    if not (number := _counted(text)) and _two_lines(text):
        return None
    if number := number or _alone(text, _NUMBER_LINE) or _leading(text):
        return _canonical(number)
    return _bare(reply, text, _TOTAL)


def digits(reply: str, size: int = 0) -> str | None:
    """The number of ``size`` digits in a reply, with leading zeros; else its longest number.

    Of several of that size the first after the last cue is used, else the one that leads the reply, else the last.
    Digits in equal groups separated by spaces, commas, hyphens or line ends are joined; rejected numbers, and those
    given together, are ignored; so is one in a list of others, or amid a long text (``_buried``).

    Args:
        size: Number of digits; 0 if unknown.
    """
    text = readable(reply, longest=size)
    # Numbers of another size may be groups of its digits.
    text = decided(text, rf"(?<![0-9])[0-9]{{{size}}}(?![0-9])") if size else without_rejected(text, _DIGITS)
    number = _given_digits(text, size)
    return None if number is None or _buried(number, text) else number


def _given_digits(text: str, size: int) -> str | None:
    for part in after_cues(text):
        exact = (number for run in _DIGIT_RUN.finditer(part) for number in _joined(run[0], size) if len(number) == size)
        if number := next(exact, None):
            return number
    leads = _LEADING_RUN.match(text)
    if numbers := {number for number in (_joined(leads[1], size) if leads else ()) if len(number) == size}:
        return _only(numbers)
    best = ""
    for run in _DIGIT_RUN.finditer(text):
        for candidate in _joined(run.group(), size):
            best = max(candidate, best, key=lambda number: (size > 0 and len(number) == size, len(number)))
    return best or None


def _buried(answer: str, text: str) -> bool:
    """Whether an answer is only in the middle of a long text, as in a copy of the context.

    It is not if its line calls it the answer, or has hardly more than it.
    """
    edge = _EDGE + 3 * len(answer) // 2
    if len(text) <= 8 * edge:
        return False
    bare = answer.translate(_BETWEEN_DIGITS)
    short = len(answer) + _BESIDE
    lines = (line for line in text.splitlines() if len(line) <= short)
    sentences = (sentence for sentence in _SENTENCES.split(text) if _CALLED.search(sentence))
    called = (part.translate(_BETWEEN_DIGITS) for part in (*lines, *sentences))
    ends = (end.translate(_BETWEEN_DIGITS) for end in (text[:edge], text[-edge:]))
    return not any(bare in part for part in (*ends, *called))


def short_answer(reply: str) -> str | None:
    """The answer in words: the first line that is not an announcement, without lead-in, quotes and Markdown.

    ``Answer:`` and "the answer is" are lead-ins. A reply without any other letter or digit has no answer.
    """
    return _short(_after_label(_without_emphasis(before_next_question(unwrapped(reply, ", ")))))


def offered_names(reply: str) -> list[str]:
    """The names or texts that a short answer offers without a choice; of a sentence the sentence.

    "Paris or Helen" and "Paris/Helen" offer two, and so do lists of names, separated by commas, line ends or spaces.
    "Paris, the son of Priam" offers one.
    """
    answer = short_answer(reply) or short_answer(reply.rstrip(" :：\n")) or ""
    lines = [
        line[match.end() :] if (match := _BULLET.match(line)) else line
        for line in _without_emphasis(unwrapped(reply, "\n")).split("\n")
        if line.strip()
    ]
    many = len(lines) > 1 and all(len(line) <= _LONGEST_LINE and _NAME.fullmatch(line) for line in lines)
    text = re.sub(r"[ \t]{2,}", " ", "\n".join(lines) if many else answer)
    if (aside := _ASIDE.search(text)) and text[:1].isupper():
        text = answer = text[: aside.start()]
    pieces, sentence = [piece for piece in _BETWEEN_NAMES.split(text) if piece], _IN_SENTENCES.search(text) is not None
    names = [bool(_NAME.fullmatch(piece)) or (not sentence and len(piece.split()) <= _FEW) for piece in pieces]
    if sum(names[1:]) > (not names or not names[0]):
        return pieces
    if not sentence and len(words := re.findall(r"\w+", text)) > _LONGEST_NAME:
        return words
    return [piece for piece in _OFFERS.split(" ".join(answer.split())) if piece]


def reply_text(reply: str) -> str | None:
    """The text of a reply, such as a summary, without what is no part of it.

    These are a line that announces it, an explanation under a heading of its own, an offer of further help, and a
    further question. None if no letter or digit is left.
    """
    text = _without_frame(before_next_question(unwrapped(reply, ", ")))
    return text if any(map(str.isalnum, text)) else None


def free_answer(reply: str) -> str | None:
    """The answer in words, of any length: as in ``short_answer``, with all its lines, and as in ``reply_text``."""
    text = before_next_question(unwrapped(reply, ", "))
    plain = _without_emphasis(text)
    if _may_have_label(plain) and _LABEL.search(plain):
        text = _after_last(_LABEL, plain)
    text = _without_frame(text)
    answer = text if "\n" in text else _short(text) or ""
    return answer if any(map(str.isalnum, answer)) else None


def first_line(text: str) -> str:
    """The first line that is not an announcement ("Here it is:"), stripped; "" if there is none."""
    lines = [line for line in map(str.strip, text.split("\n")) if line]
    return next((line for line in lines if not _announces(line)), "")


def _announces(line: str) -> bool:
    """Whether a line only announces the answer: "Here it is:", "Answer"."""
    return line.endswith((":", "：")) or (len(line) <= _LONGEST_HEADING and _HEADING.fullmatch(line) is not None)


def _without_frame(text: str) -> str:
    lowered = text.lower()
    added = _ADDED.search(text) if any(word in lowered for word in _IN_ADDED) else None
    kept = text[: added.start()] if added else text
    lines = [line.strip() for line in (kept if kept.strip() else text).strip().split("\n")]
    first = next((number for number, line in enumerate(lines) if line and not _announces(line)), None)
    if first is None:  # a text that breaks off after a heading is one; a mere announcement is none
        first = 0 if _SENTENCE.match(lines[0]) else len(lines)
    return "\n".join(lines[first:])


def _short(text: str) -> str | None:
    answer = first_line(text).rstrip(".。")
    start = _START.match(answer)
    answer = answer[start.end() :] if start else answer
    answer = answer[:-_LONGEST_REST] + _REST.sub("", _CITATIONS.sub("", answer[-_LONGEST_REST:]))
    for _ in range(_LAYERS):
        if not _is_enclosed(answer):
            break
        answer = answer[1:-1].strip()
    return answer.rstrip(".。") if any(map(str.isalnum, answer)) else None


def _is_enclosed(answer: str) -> bool:
    """Whether an answer is in quotes or brackets as a whole, unlike "(a) and (b)" and JSON."""
    if len(answer) < 2 or answer[0] not in _OPENING:
        return False
    opening, closing, inner = answer[0], _CLOSING[_OPENING.index(answer[0])], answer[1:-1]
    if answer[-1] != closing or (opening == "{" and ('"' in inner or ":" in inner)):
        return False
    depth = 0
    for letter in inner if closing in inner else "":
        depth += (letter == opening != closing) - (letter == closing)
        if depth < 0:
            return False
    return True


def _settled(reply: str, words: bool = True) -> str:
    """A reply with numbers in words as digits (unless not ``words``), without those that it does not give."""
    text = without_enclosed(readable(reply))
    return decided(in_digits(text) if words else text, _NUMBERED)


def _disagree(text: str, form: re.Pattern[str]) -> bool:
    """Whether a text gives different answers in the same form: two labels, or two that are called right."""
    return len(set(form.findall(text))) > 1


def _two_lines(text: str) -> bool:
    """Whether a text begins with two lines, one after the other, that are different answers and nothing else."""
    match = _ANSWER_LINES.match(text)
    return match is not None and match[1].casefold() != match[2].casefold()


def _concluded(text: str) -> str | None:
    """The number that is called right, else the last that is concluded ("so it is 2")."""
    return _first(_RIGHT_NUMBER.search(text)) or next(reversed(_CONCLUDED_NUMBER.findall(text)), None)


def _first_named(text: str, form: re.Pattern[str]) -> str | None:
    """The first answer that is named; of a numbered list the only one."""
    if len(set(_MARK.findall(text))) > 1:
        return _only(filter(None, map(_first, form.finditer(text))))
    return _first(form.search(text))


def _alone(text: str, line: re.Pattern[str]) -> str | None:
    """The answer on the first line if nothing else is there; else the only one that has a line of its own."""
    first = line.match(text, len(text) - len(text.lstrip()))
    return first[1] if first else _only(line.findall(text))


def _first(match: re.Match[str] | None) -> str | None:
    return next(filter(None, match.groups()), None) if match else None


def _only(numbers: Iterable[str]) -> str | None:
    """The value, if all are the same."""
    distinct = set(numbers)
    return distinct.pop() if len(distinct) == 1 else None


def _leading(text: str) -> str | None:
    """The label of the first line, unless other lines have labels, as in a list."""
    text = text.strip()
    return _only(_MARK.findall(text)) if _MARK.match(text) else None


def _counted(text: str) -> str | None:
    for form in _COUNTED:
        if matches := list(form.finditer(text)):
            return _first(matches[-1])
    return None


def _bare(reply: str, text: str, besides: re.Pattern[str] | None = None) -> str | None:
    """The first number in digits, else the first in words, with digits in ``text``; ``besides`` is removed."""
    in_figures = _settled(reply, words=False)
    for part in (in_figures, text):
        if number := next(_numbers(part if besides is None else besides.sub(" ", part)), None):
            return number
    return _spelled(readable(reply))


def _after_label(text: str) -> str:
    """The text after the last non-empty lead-in, else everything without lead-ins."""
    return _LABEL.sub("", _after_last(_LABEL, text)) if _may_have_label(text) else text


def _may_have_label(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in ("answer", "reply", "response", "答案"))


def _without_emphasis(text: str) -> str:
    return _EMPHASIS.sub("", text) if any(mark in text for mark in ("*", "_", "`", "#")) else text


def _after_last(pattern: re.Pattern[str], text: str) -> str:
    """The text after the last match that is followed by any; else the text itself."""
    for match in reversed(list(pattern.finditer(text))):
        if rest := text[match.end() :].strip():
            return rest
    return text


def _numbers(text: str) -> Iterator[str]:
    for run in _NUMBERS.findall(text):
        yield from map(_canonical, [run] if _THOUSANDS.fullmatch(run) else run.split(","))


def _canonical(number: str) -> str:
    whole, _, fraction = number.replace(",", "").partition(".")
    sign, whole = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    fraction = fraction.rstrip("0")
    return sign + (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")


def _within(number: str, n_options: int) -> str | None:
    number = _canonical(number)
    # Check the length first: a reply may contain a number of any size.
    fits = number.isdecimal() and len(number) <= len(str(n_options)) and 1 <= int(number) <= n_options
    return number if fits else None


def _spelled(text: str) -> str | None:
    number = read_numeral(text)
    return None if number is None else str(number)


def _joined(run: str, size: int) -> list[str]:
    """The numbers that a run of digits and separators may represent."""
    groups = re.findall("[0-9]+", run)
    width = len(groups[0])
    exact = [group for group in groups if len(group) == size]
    if exact and len(set(groups).difference(exact)) >= _LISTED_NUMBERS:
        return []
    if len(groups) == 1 or exact or (width > 1 and len(set(groups)) == 1):
        return exact or groups
    equal = all(len(group) == width for group in groups[:-1]) and len(groups[-1]) <= width
    thousands = width <= 3 and all(len(group) == 3 for group in groups[1:])
    # Short numbers on separate lines are a list; only long ones are wrapped.
    wrapped = "\n" not in run or width == 1 or width >= _WRAPPED_DIGITS
    listed = re.search(r",[ \t]", run) is not None and width > 1
    return ["".join(groups)] if (equal or thousands) and wrapped and not listed else groups


def choice_letter(reply: str) -> str | None:
    """The letter from A to D that a reply chooses; None if it chooses none or several.

    A single letter after the last "answer is" or ``Answer:`` is used; else the one that is called right or concluded
    ("So B."); else the letter at the start ("B. Because") or alone on a line; else the only one in brackets or named
    ("option B", "it is B"), else the only one if it is the last word. Rejected letters ("not (A)", "A is wrong") and
    those given together ("A or B") do not count.

    Args:
        reply: The whole reply; text in thinking tags is ignored.
    """
    text = text_of_letters(reply)
    for part in after_cues(text):
        if match := _LETTER.search(part):
            other = _TOGETHER.match(part, match.end())
            return None if other and other[1] != match[1] else match[1]
        if match := _SMALL.search(part):
            return (match[1] or match[2]).upper()
    if right := _only(_RIGHT_LETTER.findall(text)) or next(reversed(concluded_letters(text)), None):
        return right
    if _two_lines(text) or _disagree(text, _RIGHT_LETTER):
        return None
    if (match := _LEADING.match(text)) and not _TOGETHER.match(text, match.end()):
        return match[1]
    if alone := _NOTHING_ELSE.fullmatch(text):
        return alone[1].upper()
    if single := _alone(text, _LETTER_LINE):
        return single
    named = {*_LETTER_BRACKETED.findall(text), *_named_letters(text)}
    if not named and _LAST.search(text):
        named = set(_LETTER.findall(text))
    return named.pop() if len(named) == 1 else None


def text_of_letters(reply: str) -> str:
    """The text of a reply in which letters are looked for, without those that it rejects or gives together."""
    text = _VERDICT_LINE.sub(_verdict, readable(reply))
    if len(_VERDICT_FIRST.findall(text)) > 1:
        text = _VERDICT_FIRST.sub(_verdict, text)
    emphasised = _EMPHASISED_OPTION.findall(reply) if "**" in reply or "__" in reply else ()
    text = _without_listed_options(_LETTER_OF_NAME.sub(r"\1\2 ", text), emphasised)
    return decided(without_rejected(text, _REJECTED_LETTER), _ANY_LETTER)


def _without_listed_options(text: str, emphasised: Sequence[str]) -> str:
    """A text without its list of at least three options; if one of these is emphasised, that is the choice."""
    text = _OPTIONS_IN_LINE.sub("", text)
    listed: list[re.Match[str]] = []
    for line in _OPTION_LINE.finditer(text):
        if line[1] == "ABCD"[len(listed) : len(listed) + 1]:
            listed.append(line)
    if len(listed) < _LISTED_OPTIONS:
        return text
    ends = [0, *(line.end() for line in listed)]
    starts = [*(line.start() for line in listed), len(text)]
    rest = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    return f"{rest}\nAnswer: {emphasised[0]}" if len(emphasised) == 1 else rest


def concluded_letters(text: str) -> list[str]:
    """The letters that a plain text concludes: "So B." and "Therefore, it is B"."""
    return _CONCLUDED.findall(text)


def choice_letters(reply: str) -> str:
    """All letters from A to D that a reply chooses, in alphabetical order ("AC"); "" if there are none.

    The text after the last cue is used, else the whole reply: its labels if it begins with one ("A. first"), else the
    first line with letters, alone or as a word ("AC"), up to its reasons.

    Args:
        reply: The whole reply; text in thinking tags is ignored.
    """
    text = without_rejected(readable(reply), _REJECTED_LETTER)
    if _ONLY_LETTERS.fullmatch(text):
        return "".join(sorted(set(_LETTER.findall(text))))
    for part in (*after_cues(text), text):
        lines = [_REASONS.split(line)[0] for line in part.splitlines()]
        named = next(filter(None, map(_SEVERAL.findall, lines)), ())
        leads = _LETTER_MARK.match(part, len(part) - len(part.lstrip(" \t\n([-•")))
        if letters := "".join(_LETTER_MARK.findall(part) if leads else named):
            return "".join(sorted(set(letters)))
    alone = _NOTHING_ELSE.fullmatch(text)
    return alone[1].upper() if alone else ""


def _named_letters(text: str) -> Iterator[str]:
    return (letter for groups in _NAMED.findall(text) for letter in groups if letter)


def _verdict(line: re.Match[str]) -> str:
    return "" if any(line.groups()[1:]) else f"{line[1]} is correct"


def words_score(
    reply: str, gold: Sequence[str], language: str = "en", *, grader: str = "strict", first_line: bool = False
) -> Score:
    """Token F1 of the answer in words with the nearest gold answer; ``detail`` says if the reply contains one.

    Args:
        gold: Gold answers, at least one.
        language: ``zh`` splits words with jieba.
        grader: Name of the rule.
        first_line: Whether only the first line of the answer counts.

    Returns:
        The score; valid if there is an answer.
    """
    whole = free_answer(reply)
    answer = short_answer(reply) if first_line else whole
    if answer is None:
        return Score(0.0, False, None, grader)
    value = token_f1(answer, gold, language)
    contained = value < 1 and contains_answer(whole or answer, gold, language)
    return Score(value, True, answer, grader, CONTAINED if contained else "")
