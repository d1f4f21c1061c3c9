"""Make croissant.json, a machine-readable description of the tables of a release and how they were made."""

from __future__ import annotations

import json
from datetime import datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.benchmark.release.citation import make_bibtex
from pipeline.benchmark.release.licences import IMAGE_LICENCE_NOT_STATED, get_licences
from pipeline.benchmark.release.parquet_table import table_columns
from pipeline.benchmark.release.provenance import REHEARSAL_WARNING, SIMULATED_WARNING
from pipeline.benchmark.release.release_summary import ReleaseSummary
from pipeline.benchmark.release.responsible_ai import make_responsible_ai_fields
from pipeline.core.atomic_files import sha256_file

if TYPE_CHECKING:
    import mlcroissant
    import pyarrow

# Parquet type of a column -> Croissant type.
DATA_TYPES = {"string": "TEXT", "int32": "INTEGER", "int64": "INTEGER", "double": "FLOAT", "bool": "BOOL"}
SPLITS = {
    "validation": "http://mlcommons.org/croissant/ValidationSplit",
    "test": "http://mlcommons.org/croissant/TestSplit",
}
KEYWORDS = ("visual question answering", "unanswerable questions", "selective prediction", "evaluation")
CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
CONTEXT = {"rai": "http://mlcommons.org/croissant/RAI/", "prov": "http://www.w3.org/ns/prov#"}


def make_croissant(folder: Path, summary: ReleaseSummary) -> dict[str, Any]:
    """Return the Croissant 1.1 description of a release, with one record set per Parquet table.

    mlcroissant makes and validates the description. The properties of RAI 1.0 are added afterwards, because
    the library misspells two of them.

    Args:
        folder: The folder of the release, whose tables are in `data/`.
        summary: The facts about the release.
    """
    import mlcroissant as mlc
    from pyarrow.parquet import read_schema

    tables = {f"{subset}-{split}": split for subset, split in summary.tables}
    name = f"rgqa-{summary.dataset}"
    description = f"{summary.params.title}: answerable and unanswerable questions about images."
    warning = (
        f"{REHEARSAL_WARNING} " if summary.rehearsal else f"{SIMULATED_WARNING} " if summary.simulated else ""
    )
    metadata = mlc.Metadata(
        ctx=mlc.Context(conforms_to=CONFORMS_TO[0]),  # pyright: ignore[reportArgumentType]
        name=name,
        version=summary.version,
        description=warning + description,
        license=_licence_urls(summary),
        date_published=datetime.combine(summary.params.release_date, time()),
        url=summary.params.url or None,
        creators=[mlc.Organization(name=creator) for creator in summary.params.creators],
        keywords=[*KEYWORDS, *summary.params.keywords],
        in_language=list(summary.params.languages) or None,
        cite_as=make_bibtex(summary),
        distribution=[
            mlc.FileObject(
                id=f"{table}.parquet",
                name=f"{table}.parquet",
                content_url=f"data/{table}.parquet",
                encoding_formats=["application/x-parquet"],
                sha256=sha256_file(folder / "data" / f"{table}.parquet"),
            )
            for table in tables
        ],
        record_sets=[
            _split_record_set([split for split in SPLITS if split in tables.values()]),
            *(
                _record_set(table, split, read_schema(folder / "data" / f"{table}.parquet"))
                for table, split in tables.items()
            ),
        ],
    )
    document = json.loads(json.dumps(metadata.to_json(), default=str))
    document |= make_responsible_ai_fields(summary) | {"conformsTo": CONFORMS_TO}
    document["@context"] |= CONTEXT
    return document


def _licence_urls(f: ReleaseSummary) -> list[Any]:
    """Return the addresses of all licences, and a sentence if the licence of the images is not stated."""
    known = get_licences(f.params)
    unstated = [IMAGE_LICENCE_NOT_STATED] if f.params.include_images and "images" not in known else []
    return [*dict.fromkeys(licence.url for licence in known.values()), *unstated]


def _record_set(table: str, split: str, columns: pyarrow.Schema) -> mlcroissant.RecordSet:
    """Return the record set of a table."""
    import mlcroissant as mlc

    split_field = mlc.Field(
        id=f"{table}/split",
        name="split",
        data_types=[mlc.DataType.TEXT],
        value=split,
        references=mlc.Source(field="splits/name"),
    )
    fields = [split_field, *(_field(table, column) for column in columns)]
    return mlc.RecordSet(id=table, name=table, key=[f"{table}/item_id"], fields=fields)


def _split_record_set(splits: list[str]) -> mlcroissant.RecordSet:
    """Return the record set of the splits and their types."""
    import mlcroissant as mlc

    names = {"name": mlc.DataType.TEXT, "url": mlc.DataType.URL}
    return mlc.RecordSet(
        id="splits",
        name="splits",
        key=["splits/name"],
        data_types=[mlc.DataType.SPLIT],
        fields=[mlc.Field(id=f"splits/{name}", name=name, data_types=[kind]) for name, kind in names.items()],
        data=[{"splits/name": split, "splits/url": SPLITS[split]} for split in splits],
    )


def _field(table: str, column: pyarrow.Field) -> mlcroissant.Field:
    """Return the field of a column. A column has plain values, bytes of images, or lists of records."""
    import mlcroissant as mlc
    from pyarrow import types

    description = next(
        known.description for known in table_columns(has_images=True) if known.name == column.name
    )

    def source(path: str = "") -> mlc.Source:
        steps = [mlc.Transform(json_path=path)] if path else []
        return mlc.Source(
            file_object=f"{table}.parquet", extract=mlc.Extract(column=column.name), transforms=steps
        )

    def field(name: str, kind: Any, path: str = "", **more: Any) -> mlc.Field:
        return mlc.Field(id=f"{table}/{name}", name=name, data_types=[kind], source=source(path), **more)

    if str(column.type) in DATA_TYPES:
        return field(
            column.name, getattr(mlc.DataType, DATA_TYPES[str(column.type)]), description=description
        )
    if types.is_struct(column.type):
        return field(column.name, mlc.DataType.IMAGE_OBJECT, "bytes", description=description)
    sub_fields = [
        field(f"{column.name}/{part.name}", getattr(mlc.DataType, DATA_TYPES[str(part.type)]), part.name)
        for part in column.type.value_type
    ]
    return mlc.Field(
        id=f"{table}/{column.name}",
        name=column.name,
        description=description,
        is_array=True,
        array_shape="-1",
        sub_fields=sub_fields,
    )
