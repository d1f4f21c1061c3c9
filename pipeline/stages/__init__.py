"""The stages of dvc.yaml: each reads what earlier stages wrote, calls its package, and writes its files."""

from pipeline.core.errors import require_docstrings

require_docstrings()
