"""Write eval.yaml and the table that it names, with which the Hugging Face hub and inspect_ai evaluate a model on a release.

Sources:
    huggingface/hub-docs, "Evaluation Results" (docs/hub/eval-results.md): the fields of eval.yaml and of `.eval_results/*.yaml`.
    huggingface/huggingface.js 0589d13, packages/tasks/src/eval.ts: the names of evaluation frameworks.
    inspect_ai 0.3.285, inspect_ai/_eval/task/hf.py: the solvers and scorers that eval.yaml may name; an image is a data URI.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.benchmark.release.parquet_table import make_row_groups
from pipeline.core.atomic_files import atomic_write, write_text
from pipeline.core.images import detect_file_media_type
from pipeline.core.records import ImageRecord, Item
from pipeline.inference.prompts import PROMPTS, UNANSWERABLE

if TYPE_CHECKING:
    import pyarrow

EVAL_FILE = "eval.yaml"
# The only task, which asks all distinct questions of split test; the configuration and the table with them.
HUB_TASK = "all"
HUB_CONFIG = "inspect_ai"
HUB_TABLE = "harness/hub/test.parquet"
HUB_COLUMNS = {
    "item_id": "id of the first item with the question",
    "question": "the question",
    "target": f'the answer, or "{UNANSWERABLE}" if the question has none',
    "image": "the image as a data URI",
}


def write_hub_evaluation(
    release_folder: Path, items: Collection[Item], images: Mapping[str, ImageRecord], title: str
) -> bool:
    """Write eval.yaml and the table with the distinct questions of split `test`.

    Args:
        release_folder: The folder of the release.
        items: The items, in release order.
        images: Image id -> image.
        title: Title of the release.

    Returns:
        Whether the files were written. A release without questions of split `test` gets none.
    """
    import yaml

    asked: dict[tuple[str, str], Item] = {}
    for item in items:
        if item.split == "test":
            asked.setdefault((item.image_id, item.text), item)
    if not asked:
        return False
    _write_table(release_folder / HUB_TABLE, list(asked.values()), images)
    prompt = PROMPTS["abstain"].template.replace("{question}", "{prompt}")
    document = {
        "name": title,
        "description": "Answerable and unanswerable questions about images. A model must answer the first and reply "
        f'"{UNANSWERABLE}" to the others. The score is the proportion of questions with the right reply.',
        "evaluation_framework": "inspect-ai",
        "tasks": [
            {
                "id": HUB_TASK,
                "config": HUB_CONFIG,
                "split": "test",
                "field_spec": {
                    "input": "question",
                    "input_image": "image",
                    "target": "target",
                    "metadata": ["item_id"],
                },
                "solvers": [{"name": "prompt_template", "args": {"template": prompt}}, {"name": "generate"}],
                "scorers": [{"name": "exact"}],
            }
        ],
    }
    write_text(release_folder / EVAL_FILE, yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
    return True


def make_data_uri(path: Path) -> str:
    """Return an image file as a data URI. The content states the media type, because a suffix may be wrong."""
    media_type = detect_file_media_type(path) or "image/jpeg"
    return f"data:{media_type};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _write_table(path: Path, items: Sequence[Item], images: Mapping[str, ImageRecord]) -> None:
    """Write the questions. The same items give the same bytes, and each image is stored once."""
    import pyarrow as pa
    import pyarrow.parquet

    from pipeline.benchmark.release.parquet_table import MAX_DICTIONARY_BYTES, MAX_ROW_GROUP_BYTES

    paths = {item.image_id: Path(images[item.image_id].path) for item in items}
    # A data URI has four characters for three bytes.
    sizes = {key: file.stat().st_size * 4 // 3 for key, file in paths.items()}
    schema = pa.schema(
        [(name, pa.string()) for name in HUB_COLUMNS if name != "image"]
        + [("image", pa.dictionary(pa.int32(), pa.string()))]
    )
    with (
        atomic_write(path) as file,
        pyarrow.parquet.ParquetWriter(
            file,
            schema,
            compression="zstd",
            dictionary_pagesize_limit=MAX_DICTIONARY_BYTES,
            store_schema=False,
        ) as writer,
    ):
        for rows in make_row_groups(items, sizes, MAX_ROW_GROUP_BYTES):
            writer.write_table(_make_table(rows, paths, schema), len(rows))


def _make_table(items: Sequence[Item], paths: Mapping[str, Path], schema: pyarrow.Schema) -> pyarrow.Table:
    """Return the table of a row group."""
    import pyarrow as pa

    shown = {key: number for number, key in enumerate(dict.fromkeys(item.image_id for item in items))}
    columns: dict[str, Any] = {
        "item_id": [item.item_id for item in items],
        "question": [item.text for item in items],
        "target": [UNANSWERABLE if item.unanswerable else item.answer for item in items],
        "image": pa.DictionaryArray.from_arrays(
            pa.array([shown[item.image_id] for item in items], pa.int32()),
            pa.array([make_data_uri(paths[key]) for key in shown], pa.string()),
        ),
    }
    return pa.table(columns, schema=schema)
