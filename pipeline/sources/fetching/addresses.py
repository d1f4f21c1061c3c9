"""What there is to fetch and where: GQA's archives, their members, and the copy on the hub.

Sizes are those that the download pages state; what counts is what the server says when asked.
Archives: https://cs.stanford.edu/people/dorarad/gqa/download.html and evaluate.html
Hub: https://huggingface.co/datasets/lmms-lab/GQA (questions and pictures, no scene graphs)
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from pipeline.core.errors import UserError

OFFICIAL = "https://downloads.cs.stanford.edu/nlp/data/gqa"
HUB_DATASET = "lmms-lab/GQA"

QUESTIONS, GRAPHS, PICTURES, CHOICES = "questions1.2.zip", "sceneGraphs.zip", "images.zip", "eval.zip"
STATED = {QUESTIONS: "1.4 GB", GRAPHS: "42.7 MB", PICTURES: "20.3 GB", CHOICES: "784 MB"}
SPLITS = ("testdev", "val", "train")
WITH_GRAPHS = ("val", "train")  # nobody has published scene graphs of testdev
TESTDEV_PICTURES = 398

MB = 1_000_000
# A member that claims to be larger, or to unpack to more times its size, is not what GQA has: it is not unpacked.
LARGEST = {QUESTIONS: 16_000 * MB, GRAPHS: 2_000 * MB, PICTURES: 50 * MB, CHOICES: 16_000 * MB}
LARGEST_RATIO = 200

Door = Literal["official", "hub"]


def is_web(address: str) -> bool:
    return re.match(r"https?://", address) is not None


def checked(address: str) -> str:
    """An address of archives: a web address, or a folder that is there.

    Raises:
        UserError: it is neither.
    """
    if is_web(address):
        return address.rstrip("/")
    if Path(address).is_dir():
        return address
    raise UserError(
        f"{address!r}: neither `official`, `hub`, a web address (https://...) nor a folder that is there; "
        f"a folder or server holds the archives {', '.join(STATED)}, or folders of Parquet files as on the hub"
    )
