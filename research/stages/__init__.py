"""The stages of research/dvc.yaml: they evaluate what dvc.yaml built."""
