"""The head of the dataset card, which the hub and `datasets.load_dataset` read: licence, sizes, tables and their columns."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.benchmark.release.licences import make_hub_licence_fields
from pipeline.benchmark.release.release_summary import ReleaseSummary

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

SIZE_CATEGORIES = (
    ("n<1K", 10**3),
    ("1K<n<10K", 10**4),
    ("10K<n<100K", 10**5),
    ("100K<n<1M", 10**6),
)  # the hub's, and their ends


def render_card_metadata(summary: ReleaseSummary, folder: Path) -> str:
    """YAML, from the facts and from the tables in `home/data`."""
    from datasets import DatasetInfo, Features, SplitDict, SplitInfo
    from datasets.info import DatasetInfosDict
    from huggingface_hub import DatasetCardData
    from pyarrow.parquet import ParquetFile

    marks = {
        "unanswerable questions": True,
        "simulated annotation": summary.simulated,
        "rehearsal": summary.rehearsal,
    }
    configs, infos = [], DatasetInfosDict()
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
    data = DatasetCardData(
        pretty_name=summary.title,
        task_categories=["visual-question-answering"],
        language=list(summary.params.languages) or None,
        tags=[tag for tag, present in marks.items() if present],
        size_categories=[next((name for name, end in SIZE_CATEGORIES if summary.num_rows < end), "1M<n<10M")],
        annotations_creators=["machine-generated"]
        if summary.simulated
        else [summary.params.annotated_by]
        if summary.params.annotated_by
        else None,
        source_datasets=None
        if summary.params.derived_from is None
        else [f"extended|{name.lower()}" for name in summary.params.derived_from] or ["original"],
        configs=configs,
        **make_hub_licence_fields(summary.params),
    )
    infos.to_dataset_card_data(data)
    return data.to_yaml()


def _row_group_bytes(table: ParquetFile, number: int) -> int:
    """Bytes of a row group, unpacked."""
    return table.metadata.row_group(number).total_byte_size
