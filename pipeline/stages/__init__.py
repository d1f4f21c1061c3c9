"""The nodes of dvc.yaml and research/dvc.yaml: each reads what earlier stages wrote, calls its package, and writes."""

from pipeline.core.errors import require_docstrings

require_docstrings()
