"""The stages of dvc.yaml.

Each stage reads the files of earlier stages, calls one package, and writes its own files.
"""

from pipeline.core.errors import require_docstrings

require_docstrings()
