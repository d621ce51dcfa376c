"""Made-up copies of the repositories that have the authors' prompts: their layout, and wording of our own.

Running any of their Python files would leave a file ``executed`` behind, and fail.
"""

from __future__ import annotations

import json
from pathlib import Path

TRAP = """
import a_module_that_does_not_exist
__import__("pathlib").Path({mark!r}).write_text("")
raise SystemExit("executed")
"""

HUNDRED_TEMPLATES = {
    "single_doc_qa": "Study {these}.\n\n{context}\n\n{instruction}\nAsked: {input}\nSay:",
    "multi_doc_qa": "Study {these}.\n\n{context}\n\n{instruction}\nAsked: {input}\nSay:",
    "single_doc_sum": "Sum up.\n\n{context}\n\nDo this:\n1.{input}\n2.Nothing else.\nSum:",
    "multi_doc_sum": "Sum up.\n\n{context}\n\nDo this:\n1.{input}\n2.Nothing else.\n\nSum:",
    "passage_retrieval": "Match.\n\n{context}\n\nA digest:\n\n{input}\n\nWhose? Say it like Text 1.\n\nIt is Text ",
    "passage_count": "Tally.\n\n{context}\n\nHow many unlike ones? Only the figure.\n\nThe figure: ",
    "kv_retrieval": "Pairs.\n\n{context}\n\nNow this: {input} ",
    "counting_stars": "Stars.\n\n{context}\n\nNow this: {input}\nPick: ",
    "qa_old": "From memory, or unanswerable: {input}\nSay:",
}
HUNDRED_CODE = r"""
def generate_dataset_single_doc_qa(length=8):
    for i, c in enumerate(choices):
        context = context + f'Text {i+1}:\n' + rows[c[1]]['context'] + '\n\n'
    results.append({'instruction': f'It is about Text {c_i+1}. ', "input": d['input']})

def generate_dataset_multi_doc_qa(length=8):
    for i, text in enumerate(texts):
        context = context + f'Text {i+1}:\n' + text + '\n'
        if flag: num.append(i+1)
    results.append({'instruction': f'They are Text ' + ','.join(map(str, num)) + '. ', "input": d['input']})

def generate_dataset_single_doc_sum(length=8):
    for i, c in enumerate(choices):
        context = context + f'Text {i+1}:\n' + rows[c[1]]['context'] + '\n\n'
    instruction = f'Sum up Text {c_i+1}'
    results.append({'instruction': '', "input": [f'{instruction}: {inp}' if inp else f'{instruction}.' for inp in a]})

def generate_dataset_multi_doc_sum(length=8):
    for i, text in enumerate(texts):
        context = context + f'Text {i+1}:\n' + text + '\n'
        if flag: num.append(f'Text {i+1}')
    instruction = 'Sum up at once: ' + ','.join(map(str, num))
    results.append({'instruction': '', "input": [f'{instruction}: {inp}' if inp else f'{instruction}.' for inp in a]})

def generate_dataset_passage_retrieval(length=8):
    for i, c in enumerate(choices):
        context = context + f'Text {i+1}: ' + rows[c[1]]['context'].strip() + '\n\n'

def generate_dataset_passage_count(length=8):
    for i, c in enumerate(choices):
        context = context + f'Piece {i+1}: ' + rows[c[1]]['context'].strip() + '\n\n'

def generate_dataset_kv_retrieval(length=8):
    key_value[p] = f'\n\nKey {keys[i]} opens {keys[i + 1]}.\n\n'
    for i, c in enumerate(choices):
        context = context + f'Text {i+1}: ' + rows[c[1]]['context'].strip() + '\n'
    results.append({'instruction': '', "input": [f'What does key {keys[0]} open?']})

def generate_dataset_counting_stars(length=8, test_type='Acquisition'):
    for i, c in enumerate(choices):
        if test_type == 'Acquisition':
            single_star = f"\n\nAn owl saw {a_stars} ★\n\n"
        if test_type == 'Reasoning':
            single_star = f"\n\nAn owl saw {r_stars} ★, no, {a_stars} ★\n\n"
        context = context + f'Text {i+1}:\n' + rows[c[1]]['context'] + '\n'
    if test_type == 'Acquisition':
        question = "Which list has what the owl saw, as [x, x, x]? "
    if test_type == 'Reasoning':
        question = "Which list has what the owl saw in truth, as [x, x, x]? "
    question = question + 'Lists:\n'
    for q_i, q in enumerate(lists):
        question = question + f'{q_i+1}. {q}\n'
    question = question + 'One figure (1, 2, 3, 4 ...) is enough.'
"""

ADA_CODE = r'''
class StackSelect:

    def __init__(self, setting='1k'):
        data = load(f'data/stackselect_{setting}.json')
        self.meta_prompt = """
You judge answers, each with a label(e.g. A2).
Sample:
Asked here.
A1:
XXX
Say: (e.g. A2 for the second) \n
"""

    def build_prompt(self, line):
        prompt = self.meta_prompt
        prompt += 'Asked here.\n'
        prompt += line['question'] + '\n\n'
        prompt += 'Said here.\n'
        all_answers = line['all_answers']
        for j in range(1, len(all_answers) + 1):
            prompt += 'A' + str(j) + ':\n\n' + all_answers[j - 1] + '\n\n'
        prompt += """
That is all; which is best?
Only its label.
"""
        return prompt


class TextSort:

    def build_prompt(self, line):
        return line['prompt']
'''

INFINITE_TEMPLATES = r"""
gpt4_templates = {
    "passkey": "Find it.\n\n{context}\n\n{input}",  # noqa
    # "longbook_sum_eng": "Left out:\n\n{context}",
    "longbook_qa_eng": "A novel.\n\n{context}\n\nAsked: {question}\n\nIn brief.",
    "longbook_choice_eng": "A novel.\n\n{context}\n\nAsked: {question}\n\nOne letter.\nA. {OPTION_A}\nB. {OPTION_B}"
    "\nC. {OPTION_C}\nD. {OPTION_D}",
    "longbook_sum_eng": "Sum up this novel.\n\n{context}",
    "math_find": "{prefix}\n\n{context}\n\n{input}",
    "code_debug": "One is broken.\n\n{context}\n\nWhich?\nA. {OPTION_A}\nB. {OPTION_B}\nC. {OPTION_C}\nD. {OPTION_D}"
    "\n\nA, B, C, or D.",
}

other_templates = {
    "longbook_qa_eng": "For another model.\n\n{context}\n\n{question}",
}
"""
INFINITE_CODE = r"""
def create_prompt(eg, data_name, model_name, data_dir):
    if data_name == "math_find":
        prefix = f"Which is {target_number} here?"
        return template.format(prefix=prefix, context=eg["context"], input=eg["input"])
"""

TSORT = """
[tsort]
intro = "Sort {count} scraps. As in: Answer: [4, 1, 3, 2]"
before = "Up to here:\\n"
part = "[Scrap {number}]\\n"
after = "From here:\\n"
question = "Their order?"
example = "[4, 1, 3, 2]"
"""


def _write(root: Path, files: dict[str, str]) -> Path:
    trap = TRAP.format(mark=str(root / "executed"))
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(trap + content if path.suffix == ".py" else content, encoding="utf-8")
    return root


def write_hundred(root: Path, code: str = HUNDRED_CODE) -> Path:
    """A copy in the form of 100-LongBench's repository."""
    return _write(root, {"config/dataset2prompt.json": json.dumps(HUNDRED_TEMPLATES), "utils/data_utils.py": code})


def write_ada(root: Path, code: str = ADA_CODE) -> Path:
    """A copy in the form of Ada-LEval's repository."""
    return _write(root, {"ada_leval/dataset.py": code})


def write_infinite_code(root: Path, templates: str = INFINITE_TEMPLATES, code: str = INFINITE_CODE) -> Path:
    """A copy in the form of InfiniteBench's repository."""
    return _write(root, {"src/prompt.py": templates, "src/eval_utils.py": code})


def write_tsort(path: Path, content: str = TSORT) -> Path:
    """A file with a prompt of TSort."""
    path.write_text(content, encoding="utf-8")
    return path
