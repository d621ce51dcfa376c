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

from fathom.score.answers.identifiers import UUID as UUID
from fathom.score.answers.identifiers import digits as digits
from fathom.score.answers.identifiers import given_uuid as given_uuid
from fathom.score.answers.letters import choice_letter as choice_letter
from fathom.score.answers.letters import choice_letters as choice_letters
from fathom.score.answers.letters import concluded_letters as concluded_letters
from fathom.score.answers.letters import text_of_letters as text_of_letters
from fathom.score.answers.numbers import choice_number as choice_number
from fathom.score.answers.numbers import count_number as count_number
from fathom.score.answers.numbers import first_number as first_number
from fathom.score.answers.numbers import passage_number as passage_number
from fathom.score.answers.numbers import stated_number as stated_number
from fathom.score.answers.words import first_line as first_line
from fathom.score.answers.words import free_answer as free_answer
from fathom.score.answers.words import offered_names as offered_names
from fathom.score.answers.words import reply_text as reply_text
from fathom.score.answers.words import short_answer as short_answer
from fathom.score.answers.words import words_score as words_score
