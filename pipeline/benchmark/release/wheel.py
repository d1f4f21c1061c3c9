"""Build the wheel `rgqa_scorers`: the scorers and the model runner, without the rest of the project.

A wheel is a zip archive with a list of its files. Writing it directly needs no build tool and no network, and
the same sources give the same bytes: timestamps are fixed, files are sorted, and nothing is compressed.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

from pipeline.core.atomic_files import atomic_write

PIPELINE = Path(__file__).resolve().parents[2]
# The modules of `core` that the wheel needs. They import only the standard library and NumPy, except that
# `images` imports Pillow when it is needed.
CORE_MODULES = (
    "__init__",
    "atomic_files",
    "column_aliases",
    "duplicate_keys",
    "errors",
    "folder_lock",
    "images",
    "no_answer_texts",
    "output_paths",
    "renames",
    "server_errors",
    "table_reader",
)
# The names of objects from WordNet, which the reader of reasons needs, and their licence.
DATA_FILES = ("language/kinds.tsv", "language/LICENSE")
PACKAGE_NAME = "rgqa_scorers"
# The earliest date that a zip archive can store.
ZIP_TIMESTAMP = (1980, 1, 1, 0, 0, 0)

METADATA = """Metadata-Version: 2.1
Name: rgqa-scorers
Version: {version}
Summary: Scores of models on benchmarks with unanswerable questions about images
Requires-Python: >=3.11
License: MIT
Requires-Dist: numpy>=2
Provides-Extra: parquet
Requires-Dist: pyarrow>=15; extra == "parquet"
Provides-Extra: logs
Requires-Dist: openpyxl>=3.1; extra == "logs"
Requires-Dist: zstandard>=0.23; extra == "logs"
Provides-Extra: vectors
Requires-Dist: spacy>=3.7; extra == "vectors"
Provides-Extra: inspect
Requires-Dist: aiohttp>=3.10; extra == "inspect"
Requires-Dist: anyio>=4; extra == "inspect"
Requires-Dist: inspect_ai>=0.3.285; extra == "inspect"
Requires-Dist: openai>=3; extra == "inspect"
Requires-Dist: pillow>=11; extra == "inspect"
Requires-Dist: threadpoolctl>=3; extra == "inspect"
Requires-Dist: pyarrow>=15; extra == "inspect"
Provides-Extra: hf
Requires-Dist: rgqa-scorers[inspect]; extra == "hf"
Requires-Dist: accelerate>=1; extra == "hf"
Requires-Dist: torch>=2.6; extra == "hf"
Requires-Dist: torchvision>=0.21; extra == "hf"
Requires-Dist: transformers>=5; extra == "hf"
Description-Content-Type: text/markdown

# rgqa_scorers {version}

    rgqa-score RELEASE PREDICTIONS --json scores.json

scores predictions. RELEASE is the folder of a release, or one of its `rgqa/*.json`. PREDICTIONS is a list of
`{{"questionId": ..., "prediction": ..., "confidence": ...}}` as JSON, JSONL, CSV, TSV or Parquet (extra `parquet`), or a log of
lmms-eval, OpenAI's batch API, or (extra `logs`) inspect_ai or VLMEvalKit. In Python: `from rgqa_scorers import auaf, ff95, facc, auroc`.

    rgqa-run RELEASE --model MODEL
    inspect eval rgqa/clip_hard -T release=RELEASE --model MODEL

run a model on a release (extra `inspect`; for models of transformers on this machine, extra `hf`).
"""
WHEEL_FILE = "Wheel-Version: 1.0\nGenerator: rgqa-pipeline\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
ENTRY_POINTS = f"""[console_scripts]
rgqa-score = {PACKAGE_NAME}.scoring.cli:main
rgqa-run = {PACKAGE_NAME}.inference.cli:main

[inspect_ai]
rgqa = {PACKAGE_NAME}.inference.registry
"""


def build_wheel(folder: Path, version: str) -> Path:
    """Write `rgqa_scorers-<version>-py3-none-any.whl`.

    Args:
        folder: The folder into which the wheel is written.
        version: The version of the release. The scorers state this version in their reports.

    Returns:
        The path of the wheel.
    """
    # Versions of Python packages are written "1.0.0+beta.2" instead of "1.0.0-beta.2".
    package_version = version.replace("-", "+", 1)
    info = f"{PACKAGE_NAME}-{package_version}.dist-info"
    texts = {
        f"{PACKAGE_NAME}/__init__.py": '"""Scores of models on benchmarks with unanswerable questions."""\n\nfrom .scoring import *\n',
        f"{PACKAGE_NAME}/scoring/version.py": f'"""The version of these scorers, which every report states."""\n\nVERSION = "{version}"\n',
        f"{info}/METADATA": METADATA.format(version=package_version),
        f"{info}/WHEEL": WHEEL_FILE,
        f"{info}/entry_points.txt": ENTRY_POINTS,
    }
    sources = [path for package in ("scoring", "inference") for path in (PIPELINE / package).glob("*.*")]
    sources += [PIPELINE / "core" / f"{name}.py" for name in CORE_MODULES]
    files = {
        f"{PACKAGE_NAME}/{path.relative_to(PIPELINE).as_posix()}": path.read_bytes()
        for path in sorted(sources)
        if path.suffix in (".py", ".npz")
    }
    files |= {f"{PACKAGE_NAME}/{name}": (PIPELINE / name).read_bytes() for name in DATA_FILES}
    files |= {name: text.encode() for name, text in texts.items()}
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    path = folder / f"{PACKAGE_NAME}-{package_version}-py3-none-any.whl"
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, ZIP_TIMESTAMP)
            entry.external_attr = 0o100644 << 16
            entry.create_system = 3
            archive.writestr(entry, data)
    return path
