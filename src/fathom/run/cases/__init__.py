"""Asks models about cases, in conversations whose replies are kept: judges, checks of gold texts, drafts of questions.

A case has texts, and a conversation says what a model is asked about it, step by step (``fathom.score.judge``). Replies
are kept under the prompt, outcomes under the conversation and the case, so that nothing is asked twice.
"""
