import csv
import gzip
import json

import pytest

from pipeline.core.errors import UserError
from pipeline.core.table_reader import DEFAULT_DELIMITERS
from pipeline.scoring.row_reader import read_rows

ROWS = [{"id": "a", "prediction": "red, or so"}, {"id": "b", "prediction": 'a "sign"'}]


def written(path):
    """The rows in the form of the file's name."""
    import io

    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if f".{kind}" in DEFAULT_DELIMITERS:
        text = io.StringIO()
        table = csv.DictWriter(text, ["id", "prediction"], delimiter=DEFAULT_DELIMITERS[f".{kind}"])
        table.writeheader()
        table.writerows(ROWS)
        data = text.getvalue().encode()
    elif kind == "jsonl":
        data = "\n".join(map(json.dumps, ROWS)).encode()
    elif kind == "parquet":
        parquet, pyarrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
        parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
        return path.read_bytes()
    else:
        data = json.dumps(ROWS).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return data


@pytest.mark.parametrize("name", ["m.json", "m.jsonl", "m.csv", "m.tsv", "m.parquet", "m.csv.gz", "m"])
def test_every_format_has_the_same_rows(tmp_path, name):
    data = written(tmp_path / name)
    assert [*read_rows(tmp_path / name, data)[0]] == ROWS


def test_the_version_may_be_beside_the_rows(tmp_path):
    data = json.dumps({"predictions": ROWS, "version": "1.0.0"}).encode()
    rows, version = read_rows(tmp_path / "m.json", data)
    assert ([*rows], version) == (ROWS, "1.0.0")


@pytest.mark.parametrize(
    ("name", "why"),
    [("m.pkl", "runs the code in it; expected .json"), ("m.npz", "is not supported; expected .json")],
)
def test_unsupported_formats(tmp_path, name, why):
    with pytest.raises(UserError, match=why):
        read_rows(tmp_path / name, b"")
