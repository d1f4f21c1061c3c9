"""The public sets that `rgqa run`, `score`, `leaderboard` and `audit` know, in one table.

Each row says how the files of a set are recognized, which function reads them, and where the layout of the files was read. To add a
set, write a reader and add a row (CONTRIBUTING.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from pipeline.core.column_aliases import COLUMN_ALIASES
from pipeline.public_sets.items import SetItem
from pipeline.public_sets.multiple_choice_sets import read_mm_upd, read_tubench
from pipeline.public_sets.open_answer_sets import (
    read_cp_bench,
    read_gqa,
    read_release_table,
    read_rgqa,
    read_tdiuc,
    read_vizwiz,
    read_vqa_v2,
)
from pipeline.public_sets.row_sources import RowSource
from pipeline.public_sets.yes_no_sets import (
    expand_naturalbench,
    read_amber,
    read_hallusion_bench,
    read_naturalbench,
    read_pope,
    read_pope_hub,
)

YES_NO_VALUES = {"yes": True, "no": False}
NOT_YES_NO = "not answered yes or no"
ItemLabel = Callable[[SetItem], bool | str | None]


def label_yes_no(item: SetItem) -> bool | None:
    """Return whether the answer is "yes"; None if it is neither "yes" nor "no", or missing."""
    return YES_NO_VALUES.get(item.answers[0]) if item.answers else None


def label_unanswerable(item: SetItem) -> bool | None:
    """Return whether the question has no answer; None if the set does not say so."""
    return None if item.is_answerable is None else not item.is_answerable


def label_answers_yes_no(item: SetItem) -> bool | str | None:
    """Return whether the most common answer is "yes", or the reason why a question is left out of an audit."""
    answer = item.details.get("multiple_choice_answer") or (item.answers[0] if item.answers else "")
    if item.details.get("answer_type", "yes/no") != "yes/no":
        return NOT_YES_NO
    return YES_NO_VALUES.get(answer.lower(), NOT_YES_NO)


class KnownSet(NamedTuple):
    """A public set, in one layout of its files.

    Attributes:
        set_name: Name of the set. Layouts of the same set share it.
        layout: Which layout it is, if there are several; "" otherwise.
        columns: The columns that the files must have.
        read: Reads rows: (rows, name of each row's file) -> one item per row.
        source: Repository with the commit at which the layout was read, or the page that describes it.
        label: The label whose predictability from the text alone `rgqa audit` measures.
        label_names: Names of the labels False and True.
        label_columns: The columns that may contain the label. A file has one of these columns.
        other_columns: Columns that no file in this layout has, so that a file with one of them is in another layout.
        file_pattern: Regular expression that the path of the file must contain, in lower case; "" for none.
        files: How the files are named, for the documentation; "" for a layout that only this project writes.
        expand: Turns the rows of the files into one row per question; None if they are that already.
        image_columns: Columns that may contain embedded images.
        image_name_column: Column with the name that an item's image has; "" if it is the hash of the embedded image.
        source_detail: Field of `SetItem.details` with the id of the question that a row is or was made from; "" for none.
        figure_detail: Field of `SetItem.details` that names the image of an item, if some items have no file; "" to use the file.
        answer_kinds: What the right answers of a scored set may be: "yes/no", "letter", "text"; () if the set has none.
        required_details: Fields of `SetItem.details` without which the authors' scores cannot be computed -> what to do.
        max_tokens: Maximum length of a reply that its authors request, in tokens.
    """

    set_name: str
    layout: str
    columns: frozenset[str]
    read: Callable[[RowSource, Sequence[str]], list[SetItem]]
    source: str
    label: ItemLabel = label_unanswerable
    label_names: tuple[str, str] = ("answerable", "unanswerable")
    label_columns: Sequence[str] = (*COLUMN_ALIASES["answerable"], *COLUMN_ALIASES["answer"])
    other_columns: frozenset[str] = frozenset()
    file_pattern: str = ""
    files: str = ""
    expand: Callable[[RowSource], RowSource] | None = None
    image_columns: tuple[str, ...] = ()
    image_name_column: str = ""
    source_detail: str = ""
    figure_detail: str = ""
    answer_kinds: tuple[str, ...] = ("text",)
    required_details: Mapping[str, str] = MappingProxyType({})
    max_tokens: int = 64

    @property
    def name(self) -> str:
        """Name of the set and its layout, such as "POPE (hub)"."""
        return f"{self.set_name} ({self.layout})" if self.layout else self.set_name

    @property
    def is_documented(self) -> bool:
        """Whether the layout is that of files which somebody publishes."""
        return bool(self.files)

    def matches(self, columns: Sequence[str], file: str) -> bool:
        """Return whether a file with these columns and this path is in this layout."""
        return (
            self.columns <= set(columns)
            and self.other_columns.isdisjoint(columns)
            and bool(re.search(self.file_pattern, file.lower()))
        )


def _columns(names: str) -> frozenset[str]:
    return frozenset(names.split())


_YES_NO = {"label": label_yes_no, "label_names": ("no", "yes"), "answer_kinds": ("yes/no",)}
# The first layout that matches is used.
KNOWN_SETS: tuple[KnownSet, ...] = (
    KnownSet(
        "RGQA",
        "",
        _columns("img_id question_id sent label"),
        read_rgqa,
        "chihhuiho/RGQA 737af30, compute_accfpr/example.json",
        label_names=("AQ", "UQ"),
        files="`*.json`, and GQA's images",
        source_detail="source_question_id",
    ),
    KnownSet(
        "RGQA",
        "table",
        _columns("item_id image_id source_question_id question label"),
        read_release_table,
        "releases of this project",
        label_names=("AQ", "UQ"),
        image_columns=("image",),
        image_name_column="image_id",
        source_detail="source_question_id",
    ),
    KnownSet(
        "RGQA",
        "table, before 2.0",
        _columns("item_id image_id question_id question label"),
        read_release_table,
        "releases of this project",
        label_names=("AQ", "UQ"),
        image_columns=("image",),
        image_name_column="image_id",
        source_detail="source_question_id",
    ),
    KnownSet(
        "HallusionBench",
        "",
        _columns("category subcategory set_id figure_id question_id question gt_answer"),
        read_hallusion_bench,
        "tianyi-lab/HallusionBench 4e75e5d, HallusionBench.json; evaluation.py 0daf753",
        **_YES_NO,
        files="`HallusionBench.json`, and the folder `hallusion_bench` of images",
        figure_detail="figure",
    ),
    KnownSet(
        "RePOPE",
        "",
        _columns("image text label"),
        read_pope,
        "YanNeu/RePOPE 1080bdf, README.md (the format of POPE)",
        **_YES_NO,
        # The file name counts more than the folders: POPE's files may lie in a folder `repope`.
        file_pattern=r"repope(?!.*(?<!re)pope)",
        files="`coco_repope_{adversarial,popular,random}.json`, and COCO's val2014 images",
    ),
    KnownSet(
        "POPE",
        "",
        _columns("image text label"),
        read_pope,
        "AoiDragon/POPE 7ef3026, output/coco/coco_pope_popular.json",
        **_YES_NO,
        files="`coco_pope_{adversarial,popular,random}.json`, and COCO's val2014 images",
    ),
    KnownSet(
        "POPE",
        "hub",
        _columns("question_id question answer image_source category"),
        read_pope_hub,
        "lmms-lab/POPE, as EvolvingLMMs-Lab/lmms-eval 2c03baf, tasks/pope/utils.py, reads it",
        **_YES_NO,
        files="`*.parquet` with the images",
        image_columns=("image",),
        image_name_column="image_source",
    ),
    KnownSet(
        "MM-UPD",
        "",
        _columns("index question type masked_answer A"),
        read_mm_upd,
        "AtsuMiyai/UPD c8ad930, vlms/llava/eval/llava_vqa_updbench.py; 22a63ef, automatic_eval/calculate_scores.py",
        label_names=("standard", "unsolvable"),
        label_columns=("type",),
        files="`mm{aad,iasd,ivqd}_20240303_{base,option}.tsv` or Parquet with the images, such as `mmaad_base.parquet`",
        image_columns=("image",),
        source_detail="index",
        answer_kinds=("letter",),
        required_details=MappingProxyType(
            {
                "upd_type": "the name of the file must say which part of MM-UPD it is, such as mmaad_20240303_base.tsv or mmivqd_option.parquet"
            }
        ),
        max_tokens=1024,
    ),
    KnownSet(
        "VizWiz",
        "",
        _columns("image question answerable"),
        read_vizwiz,
        "vizwiz.org/tasks-and-datasets/vqa",
        files="`val.json`, and the folder of its images",
    ),
    KnownSet(
        "VQA v2",
        "",
        _columns("question image_id answer_type multiple_choice_answer"),
        read_vqa_v2,
        "visualqa.org/download.html",
        label=label_answers_yes_no,
        label_names=("no", "yes"),
        files="a folder with one file `*questions*.json` and one `*annotations*.json`, and COCO's images",
    ),
    KnownSet(
        "TDIUC",
        "",
        _columns("question image_id question_type answers"),
        read_tdiuc,
        "Cadene/block.bootstrap.pytorch 257c255, block/datasets/tdiuc.py (the files are at kushalkafle.com)",
        other_columns=frozenset({"answer"}),
        label_columns=("question_type",),
        files="a folder with one file `*questions*.json` and one `*annotations*.json`, and COCO's images",
    ),
    KnownSet(
        "GQA",
        "",
        _columns("imageId question answer fullAnswer types"),
        read_gqa,
        "cs.stanford.edu/people/dorarad/gqa/download.html",
        label=label_answers_yes_no,
        label_names=("no", "yes"),
        files="`*_questions.json`, and GQA's images",
    ),
    KnownSet(
        "NaturalBench",
        "groups",
        _columns("Question_0 Question_1 Image_0 Image_1 Image_0_Question_0 Image_1_Question_1"),
        read_naturalbench,
        "Baiqi-Li/NaturalBench 4da06f5, example.py",
        files="`*.parquet` with the images",
        expand=expand_naturalbench,
        image_columns=("Image_0", "Image_1"),
        label=label_answers_yes_no,
        label_names=("no", "yes"),
        answer_kinds=("yes/no", "letter"),
    ),
    KnownSet(
        "NaturalBench",
        "questions",
        _columns("group combination question image answer question_type"),
        read_naturalbench,
        "the rows into which the layout above is expanded",
        label=label_answers_yes_no,
        label_names=("no", "yes"),
        answer_kinds=("yes/no", "letter"),
    ),
    KnownSet(
        "AMBER",
        "",
        _columns("id image query type truth"),
        read_amber,
        "junyangwang0410/AMBER 5e1fd52, data/query/query_discriminative.json and data/annotations.json",
        **_YES_NO,
        label_columns=("truth",),
        files="the folder with `data/query/query_discriminative.json` and `data/annotations.json`, and its images",
    ),
    KnownSet(
        "TUBench",
        "",
        _columns("id image question label strategy options pair part"),
        read_tubench,
        "NLPCode/TUBench e0e8d8c, vlms/gpt4.py",
        label_columns=("label",),
        files="a folder with the folders `UCR`, `UVQA`, `UGeoQA` and `UTabMWP`, which contain the images",
        answer_kinds=("yes/no", "letter"),
        max_tokens=256,
    ),
    KnownSet(
        "CP-Bench",
        "",
        _columns("image query tag"),
        read_cp_bench,
        "Wu0409/Antidote d0ff5c4, benchmark/infer.py",
        label_columns=("tag",),
        files="`cp_bench_list.jsonl`, and the folder of its images",
        answer_kinds=(),
        max_tokens=512,
    ),
)


def detect_set(columns: Sequence[str], file: str) -> KnownSet | None:
    """Return the known set, in the layout that has these columns; None if there is none.

    Args:
        columns: Names of the columns of a file.
        file: Path of the file. RePOPE differs from POPE by its name only.

    >>> known = detect_set(["image", "text", "label", "question_id"], "annotations/coco_repope_random.json")
    >>> known.name if known else None
    'RePOPE'
    """
    return next((known for known in KNOWN_SETS if known.matches(columns, file)), None)


def file_names(source: RowSource, name: str) -> list[str]:
    """Return the name of each row's file, for rows of one file."""
    return [Path(name).as_posix()] * len(source)
