"""Run models on a release: prompts, confidence methods, replies, and the tasks for inspect_ai.

Abbreviations in this package: an *AQ* is an answerable question, a *UQ* an unanswerable one. *VQA* is visual
question answering. `inspect_ai` is the evaluation framework that sends the requests to the models.
"""
