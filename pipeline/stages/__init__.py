"""The nodes of dvc.yaml and research/dvc.yaml: each reads what earlier stages wrote, calls its room, and writes."""
