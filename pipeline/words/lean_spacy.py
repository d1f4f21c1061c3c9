"""Loading spaCy, or what loads it, without torch: half a GB that a tagger has no use for, and seconds."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType


def without_torch(name: str) -> ModuleType:
    """Import a module that loads torch where there is one and can do without."""
    if "torch" in sys.modules:
        return import_module(name)
    sys.modules["torch"] = None  # type: ignore[assignment]  # an import of it fails, and is passed over
    try:
        return import_module(name)
    finally:
        del sys.modules["torch"]
