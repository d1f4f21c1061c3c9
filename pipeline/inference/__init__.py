"""Run models on a release: prompts, confidence methods, replies, and the tasks for inspect_ai."""
