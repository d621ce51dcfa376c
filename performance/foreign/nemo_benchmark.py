"""The benchmark that NeMo Evaluator is given."""

from nemo_evaluator.contrib.byob import ScorerInput, benchmark, scorer


@benchmark(name="codes", dataset="codes.jsonl", prompt="{prompt}", target_field="answer", endpoint_type="chat")
@scorer
def contains(given: ScorerInput) -> dict:
    """Two scores: the answer alone, or anywhere in the reply."""
    target = str(given.target)
    return {"correct": given.response.strip() == target, "contained": float(target in given.response)}
