"""Studies of questions without programs: how derived programs agree with given ones, and the default vocabulary."""

import json

import pytest

from pipeline.core.errors import UserError
from pipeline.verifier import vocabulary
from research.studies import derive_vocabulary
from research.studies.derived_programs import measure_derived_programs


def write_source(folder, rows):
    """Write (text, answer, steps) as GQA's questions of val and testdev."""
    questions = {
        str(number): {
            "imageId": f"n{number}",
            "question": text,
            "answer": answer,
            "fullAnswer": "",
            "isBalanced": True,
            "groups": {"global": None, "local": ""},
            "types": {"structural": "query", "semantic": "attr", "detailed": ""},
            "annotations": {"answer": {}, "question": {}, "fullAnswer": {}},
            "semantic": [
                {"operation": operation, "argument": argument, "dependencies": list(inputs)}
                for operation, argument, *inputs in steps
            ],
            "semanticStr": "",
            "entailed": [],
            "equivalent": [],
        }
        for number, (text, answer, steps) in enumerate(rows, start=1)
    }
    (folder / "questions1.2").mkdir(parents=True)
    for split in ("val", "testdev"):
        path = folder / f"questions1.2/{split}_balanced_questions.json"
        path.write_text(json.dumps(questions if split == "val" else {}))
    return folder


RED_CUP = (
    "What color is the small cup on the table?",
    "red",
    [
        ("select", "table (1)"),
        ("relate", "cup,on,s (2)", 0),
        ("filter size", "small", 1),
        ("query", "color", 2),
    ],
)


def test_precision_and_recall_are_those_of_the_presuppositions_in_the_text(tmp_path):
    # The program of the second question leaves out the table and its relation, which its text presupposes.
    without_table = (
        RED_CUP[0],
        "red",
        [("select", "cup (2)"), ("filter size", "small", 0), ("query", "color", 1)],
    )
    source = write_source(tmp_path / "gqa", [RED_CUP, without_table])
    lines = [line for line in measure_derived_programs(source, "val").splitlines() if line.startswith("| ")]
    rows = {cells[1]: cells[2:6] for cells in ([cell.strip() for cell in line.split("|")] for line in lines)}
    # Programs: objects 2 + 1, attributes 1 + 1, relations 1 + 0; texts: 2 + 2, 1 + 1, 1 + 1.
    assert rows["object"] == ["3", "4", "0.750", "1.000"]
    assert rows["attribute"] == ["2", "2", "1.000", "1.000"]
    assert rows["relation"] == ["1", "2", "0.500", "1.000"]


def test_a_source_without_programs_cannot_be_measured(tmp_path):
    source = write_source(tmp_path / "gqa", [("Is it red?", "no", [])])
    with pytest.raises(UserError, match="no question of val has a program"):
        measure_derived_programs(source, "val")


def test_the_default_vocabulary_adds_counts_and_questions(tmp_path, monkeypatch):
    counts = tmp_path / "counts"
    counts.mkdir()
    tables = {
        "objects.tsv": "name\tcount\ncup\t900\npant\t50\n",
        "attributes.tsv": "name\tcount\nred\t70\nhere\t9\n",
        "object_color.tsv": "object\tred\tblue\ncup\t200\t100\nplate\t30\t30\ngizmox\t500\t0\nmug\t1\t2\n",
        "object_material.tsv": "object\twood\ncup\t4\n",
        "object_shape.tsv": "object\tcircle\ncup\t6\n",
    }
    for name, text in tables.items():
        (counts / name).write_text(text)
    monkeypatch.setattr(derive_vocabulary, "DEFAULT_VOCABULARY_PATH", tmp_path / "default.json")
    derive_vocabulary.derive_vocabulary(counts, write_source(tmp_path / "gqa", [RED_CUP]))
    monkeypatch.setattr(vocabulary, "DEFAULT_VOCABULARY_PATH", tmp_path / "default.json")
    made = vocabulary.load_default_vocabulary.__wrapped__()
    # Each color is stated of 300 of 900 cups, so 60 colored plates stand for 180. One cup is from the question.
    assert {name: entry.count for name, entry in made.objects.items()} == {
        "cup": 901,
        "pants": 50,
        "plate": 180,
        "table": 1,
    }
    assert made.objects["cup"].attributes == {"blue": 100, "red": 201, "round": 6, "small": 1, "wood": 4}
    assert made.attribute_types["red"] == "color" and made.attribute_types["small"] == "size"
    # "Here" is no attribute; "red" is counted by the table and of the cup in the question.
    assert made.attributes["red"] == 71 and "here" not in made.attributes
