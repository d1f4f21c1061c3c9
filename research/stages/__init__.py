"""The stages of research/dvc.yaml, which evaluate what dvc.yaml built."""
