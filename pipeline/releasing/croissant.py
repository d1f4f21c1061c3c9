"""croissant.json: a machine-readable description of the tables (Croissant 1.0), made and checked by mlcroissant."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.core.files import sha256_file

# Types of columns, by those of Parquet; a column of another type (lists, pictures) is not described.
TYPES = {"string": "Text", "int32": "Integer", "int64": "Integer", "double": "Float", "bool": "Bool"}


def croissant(
    folder: Path, *, name: str, version: str, description: str, licence_url: str, published: str
) -> dict[str, Any]:
    """The description of every Parquet table in `folder/data`, one record set each."""
    import mlcroissant as mlc
    from pyarrow.parquet import read_schema

    tables = sorted((folder / "data").glob("*.parquet"))
    metadata = mlc.Metadata(
        name=name,
        version=version,
        description=description,
        license=[licence_url],
        date_published=datetime.fromisoformat(published),
        url=f"https://example.org/{name}",
        cite_as=f"{name} {version}",
        distribution=[
            mlc.FileObject(
                id=table.name,
                name=table.name,
                content_url=f"data/{table.name}",
                encoding_formats=["application/x-parquet"],
                sha256=sha256_file(table),
            )
            for table in tables
        ],
        record_sets=[
            mlc.RecordSet(
                id=table.stem,
                name=table.stem,
                fields=[
                    mlc.Field(
                        id=f"{table.stem}/{column.name}",
                        name=column.name,
                        data_types=[getattr(mlc.DataType, TYPES[str(column.type)].upper())],
                        source=mlc.Source(file_object=table.name, extract=mlc.Extract(column=column.name)),
                    )
                    for column in read_schema(table)
                    if str(column.type) in TYPES
                ],
            )
            for table in tables
        ],
    )
    return json.loads(json.dumps(metadata.to_json(), default=str))
