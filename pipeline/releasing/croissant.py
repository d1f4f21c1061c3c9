"""croissant.json: a machine-readable description of the tables (Croissant 1.0), made and checked by mlcroissant."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.core.errors import UserError
from pipeline.core.files import sha256_file

COLUMNS = {
    "item_id": "Text",
    "picture_id": "Text",
    "question_id": "Text",
    "question": "Text",
    "label": "Integer",
    "answer": "Text",
    "pair_id": "Text",
    "structural": "Text",
    "semantic": "Text",
    "detailed": "Text",
    "category": "Text",
    "clip_score": "Float",
    "clip_rank": "Integer",
    "simulated": "Bool",
    "canary": "Text",
}


def croissant(
    folder: Path, *, name: str, version: str, description: str, licence_url: str, published: str
) -> dict[str, object]:
    """The description of every Parquet table in `folder/data`, one record set each.

    Raises:
        UserError: mlcroissant finds a fault in the description (a licence that is no address, say).
    """
    import mlcroissant as mlc

    tables = sorted((folder / "data").glob("*.parquet"))
    metadata = mlc.Metadata(
        name=name,
        version=version,
        description=description,
        license=licence_url,
        date_published=published,
        url=f"https://example.org/{name}",
        cite_as=f"{name} {version}",
        distribution=[
            mlc.FileObject(
                id=path.name,
                name=path.name,
                content_url=f"data/{path.name}",
                encoding_formats=["application/x-parquet"],
                sha256=sha256_file(path),
            )
            for path in tables
        ],
        record_sets=[
            mlc.RecordSet(
                id=path.stem,
                name=path.stem,
                fields=[
                    mlc.Field(
                        id=f"{path.stem}/{column}",
                        name=column,
                        data_types=[getattr(mlc.DataType, kind.upper())],
                        source=mlc.Source(file_object=path.name, extract=mlc.Extract(column=column)),
                    )
                    for column, kind in COLUMNS.items()
                ],
            )
            for path in tables
        ],
    )
    if metadata.ctx.issues.errors:
        raise UserError(["croissant.json would be invalid", *sorted(metadata.ctx.issues.errors)])
    return json.loads(json.dumps(metadata.to_json(), default=str))
