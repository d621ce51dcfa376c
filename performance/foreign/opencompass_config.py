"""The configuration that OpenCompass is given; ADDRESS is filled in."""

from opencompass.datasets import CustomDataset
from opencompass.models import OpenAISDK
from opencompass.openicl.icl_evaluator import AccEvaluator, EMEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

datasets = [
    dict(
        abbr=f"codes_{name}_{length}",
        type=CustomDataset,
        path=f"codes_{length}.jsonl",
        local_mode=True,
        reader_cfg=dict(input_columns=["prompt"], output_column=column),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template=dict(round=[dict(role="HUMAN", prompt="{prompt}")])),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer),
        ),
        eval_cfg=dict(evaluator=dict(type=evaluator)),
    )
    for name, column, evaluator in (("acc", "answer", AccEvaluator), ("em", "answers", EMEvaluator))
    for length in (64, 128)
]
models = [
    dict(
        abbr="seven-b",
        type=OpenAISDK,
        path="made/seven-b",
        key="none",
        openai_api_base="ADDRESS",
        tokenizer_path="made/seven-b",
        query_per_second=100,
        max_out_len=32,
        batch_size=1,
        retry=1,
    )
]
