"""Render the dataset card of a release, README.md.

The card has metadata that the Hugging Face hub and `datasets.load_dataset` read.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pipeline.benchmark.release.citation import RGQA_BIBTEX, make_bibtex
from pipeline.benchmark.release.hub_evaluation import HUB_CONFIG, HUB_TABLE
from pipeline.benchmark.release.licences import (
    IMAGE_LICENCE_NOT_STATED,
    get_licences,
    make_hub_licence_fields,
)
from pipeline.benchmark.release.parquet_table import format_type, table_columns
from pipeline.benchmark.release.release_summary import ReleaseSummary
from pipeline.benchmark.release.responsible_ai import list_limitations, list_simulated_parts
from pipeline.core.rendering import render_template

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

# Characters that a URL may contain in addition to letters and digits (RFC 3986).
URL_SAFE_CHARACTERS = ":/?#[]@!$&'()*+,;=%~"
# The configuration with the items of all subsets.
ALL_SUBSETS = "all"
# The size categories of the hub, each with the number of rows at which it ends.
SIZE_CATEGORIES = (
    ("n<1K", 10**3),
    ("1K<n<10K", 10**4),
    ("10K<n<100K", 10**5),
    ("100K<n<1M", 10**6),
)


def render_card(summary: ReleaseSummary, folder: Path) -> str:
    """Return the text of the card.

    Args:
        summary: The facts about the release.
        folder: The folder of the release, whose tables are in `data/`.
    """
    return render_template(
        Path(__file__).parent / "card.md.jinja",
        {
            "column_type": format_type,
            "address": lambda address: quote(address, safe=URL_SAFE_CHARACTERS),
        },
        front_matter=render_card_metadata(summary, folder),
        release=summary,
        params=summary.params,
        votes=summary.vote_counts,
        columns=table_columns(summary.params.include_images),
        simulated_parts=list_simulated_parts(summary),
        limitations=list_limitations(summary),
        licences=get_licences(summary.params),
        licence_not_stated=IMAGE_LICENCE_NOT_STATED,
        rgqa_bibtex=RGQA_BIBTEX,
        bibtex=make_bibtex(summary),
    )


def render_card_metadata(summary: ReleaseSummary, folder: Path) -> str:
    """Return the YAML front matter of the card: licence, sizes, tables and their columns.

    Args:
        summary: The facts about the release.
        folder: The folder of the release, whose tables are in `data/`.
    """
    from datasets import DatasetInfo, Features, SplitDict, SplitInfo
    from datasets.info import DatasetInfosDict
    from huggingface_hub import DatasetCardData
    from pyarrow.parquet import ParquetFile

    tags = {
        "unanswerable questions": True,
        "simulated annotation": summary.simulated,
        "rehearsal": summary.rehearsal,
        "questions drafted by a model": summary.has_drafted_questions,
    }
    # `load_dataset(NAME)` loads all subsets.
    splits = dict.fromkeys(split for _, split in summary.tables)
    configs: list[dict[str, Any]] = [
        {
            "config_name": ALL_SUBSETS,
            "default": True,
            "data_files": [
                {
                    "split": split,
                    "path": [
                        f"data/{subset}-{split}.parquet" for subset, other in summary.tables if other == split
                    ],
                }
                for split in splits
            ],
        }
    ]
    infos = DatasetInfosDict()
    for subset, rows in groupby(summary.tables, key=itemgetter(0)):
        paths = {split: f"data/{subset}-{split}.parquet" for _, split in rows}
        configs.append(
            {
                "config_name": subset,
                "data_files": [{"split": split, "path": path} for split, path in paths.items()],
            }
        )
        tables = {split: ParquetFile(folder / path) for split, path in paths.items()}
        sizes = {
            split: sum(_row_group_bytes(table, i) for i in range(table.num_row_groups))
            for split, table in tables.items()
        }
        infos[subset] = DatasetInfo(
            features=Features.from_arrow_schema(next(iter(tables.values())).schema_arrow),
            splits=SplitDict(
                {
                    split: SplitInfo(split, sizes[split], table.metadata.num_rows)
                    for split, table in tables.items()
                }
            ),
            download_size=sum((folder / path).stat().st_size for path in paths.values()),
            dataset_size=sum(sizes.values()),
        )
    if (folder / HUB_TABLE).exists():
        configs.append({"config_name": HUB_CONFIG, "data_files": [{"split": "test", "path": HUB_TABLE}]})
    data = DatasetCardData(
        pretty_name=summary.title,
        task_categories=["visual-question-answering"],
        language=list(summary.params.languages) or None,
        tags=[tag for tag, applies in tags.items() if applies],
        size_categories=[next((name for name, end in SIZE_CATEGORIES if summary.num_rows < end), "1M<n<10M")],
        language_creators=["machine-generated"] if summary.has_drafted_questions else None,
        annotations_creators=_list_annotation_creators(summary),
        source_datasets=None
        if summary.params.derived_from is None
        else [f"extended|{name.lower()}" for name in summary.params.derived_from] or ["original"],
        configs=configs,
        **make_hub_licence_fields(summary.params),
    )
    infos.to_dataset_card_data(data)
    return data.to_yaml()


def _list_annotation_creators(summary: ReleaseSummary) -> list[str] | None:
    """Return who judged the candidates, in the terms of the hub; None if nothing is stated."""
    if summary.simulated:
        return ["machine-generated"]
    by_models = ["machine-generated"] if summary.vote_counts.by_panel else []
    return [
        *dict.fromkeys([*by_models, *([summary.params.annotated_by] * bool(summary.params.annotated_by))])
    ] or None


def _row_group_bytes(table: ParquetFile, index: int) -> int:
    """Return the uncompressed size of a row group."""
    return table.metadata.row_group(index).total_byte_size
