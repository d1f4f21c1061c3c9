"""The part that runs inside Label Studio's own Python, where nothing of the pipeline is installed."""
