"""Each known format, in a small file with its exact layout (sources of the layouts: formats.py)."""

import json

import pytest

from pipeline.benchmark.auditing.formats import detect_format
from pipeline.benchmark.auditing.labelled_set import load_labelled_set
from pipeline.benchmark.auditing.row_sources import JoinedRows, open_rows
from pipeline.core.errors import UserError


def read(path, rows, lines=False):
    path.write_text("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows))
    return load_labelled_set(open_rows(str(path)), path.name)


def summarize(found):
    return found.format, found.label_names, found.texts, found.labels.tolist(), found.images


def test_pope(tmp_path):
    image = "COCO_val2014_000000296759.jpg"
    rows = [
        {
            "question_id": 2300,
            "image": image,
            "image_id": 296759,
            "text": "Is there a person in the image?",
            "label": "yes",
        },
        {
            "question_id": 2301,
            "image": image,
            "image_id": 296759,
            "text": "Is there a car in the image?",
            "label": "no",
        },
        {
            "question_id": 2304,
            "image": "COCO_val2014_000000223033.jpg",
            "text": "Is there a hot dog in the image?",
            "label": "yes",
        },
    ]
    found = read(tmp_path / "coco_pope_popular.json", rows, lines=True)
    assert summarize(found) == (
        "POPE",
        ("no", "yes"),
        [row["text"] for row in rows],
        [1, 0, 1],
        [row["image"] for row in rows],
    )


def test_pope_of_the_hub_has_three_sets_whose_ids_repeat(tmp_path):
    rows = [
        {
            "id": "0",
            "question_id": "1",
            "question": f"Is there a {thing}?",
            "answer": answer,
            "image_source": f"COCO_{i}",
            "category": kind,
        }
        for i, (thing, answer, kind) in enumerate([("dog", "yes", "popular"), ("cat", "no", "random")])
    ]
    found = read(tmp_path / "p.json", rows)
    assert (found.format, found.labels.tolist(), found.images) == ("POPE (hub)", [1, 0], ["COCO_0", "COCO_1"])


def test_hallusion_bench_may_have_figures_without_a_file(tmp_path):
    base = {
        "category": "VS",
        "subcategory": "chart",
        "set_id": "3",
        "sample_note": "",
        "gt_answer_details": "",
    }
    rows = [
        base
        | {
            "visual_input": "0",
            "figure_id": "0",
            "question_id": "0",
            "question": "Is A larger?",
            "gt_answer": "1",
            "filename": None,
        },
        base
        | {
            "visual_input": "2",
            "figure_id": "1",
            "question_id": "0",
            "question": "Is A larger?",
            "gt_answer": "0",
            "filename": "./3_1.png",
        },
        base
        | {
            "visual_input": "2",
            "figure_id": "1",
            "question_id": "1",
            "question": "Is A less?",
            "gt_answer": "1",
            "filename": "./3_1.png",
        },
    ]
    found = read(tmp_path / "HallusionBench.json", rows)
    assert (found.format, found.label_names, found.labels.tolist()) == (
        "HallusionBench",
        ("no", "yes"),
        [1, 0, 1],
    )
    assert found.images == ["VS_chart_3_0", "VS_chart_3_1", "VS_chart_3_1"]


def test_vizwiz_labels_unanswerable_questions(tmp_path):
    answers = [{"answer": "basil", "answer_confidence": "yes"}]
    rows = [
        {
            "image": f"VizWiz_val_0000000{i}.jpg",
            "question": "What is this?",
            "answers": answers,
            "answer_type": "other",
            "answerable": i % 2,
        }
        for i in range(3)
    ]
    found = read(tmp_path / "val.json", rows)
    assert (found.format, found.label_names[1], found.labels.tolist()) == (
        "VizWiz",
        "unanswerable",
        [1, 0, 1],
    )


def test_vqa_v2_uses_only_yes_no_questions(tmp_path):
    questions = {
        "questions": [{"image_id": 42, "question": f"Is it {i}?", "question_id": 42000 + i} for i in range(4)]
    }
    answers = [("yes/no", "yes"), ("yes/no", "no"), ("other", "net"), ("yes/no", "maybe")]
    annotations = {
        "annotations": [
            {
                "question_id": 42000 + i,
                "image_id": 42 + i,
                "answer_type": kind,
                "multiple_choice_answer": answer,
                "answers": [],
            }
            for i, (kind, answer) in enumerate(answers)
        ]
    }
    for name, content in (("q", questions), ("a", annotations)):
        (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(UserError, match="--annotations FILE"):
        load_labelled_set(open_rows(str(tmp_path / "q")), "q")
    joined = JoinedRows(tmp_path / "q", tmp_path / "a")
    with pytest.raises(UserError, match="all rows have the same image"):  # All questions have image 42.
        load_labelled_set(joined, "q")
    questions["questions"][1]["image_id"] = 43
    (tmp_path / "q").write_text(json.dumps(questions))
    found = load_labelled_set(JoinedRows(tmp_path / "q", tmp_path / "a"), "q")
    assert (found.format, found.labels.tolist()) == ("VQA v2, yes or no", [1, 0])
    assert found.excluded_rows == {"not answered yes or no": 2} and found.row_indices.tolist() == [0, 1]


def test_mm_upd_is_read_with_its_options_and_both_versions_share_an_index(tmp_path):
    head = "index\thint\tquestion\tA\tB\tC\tD\tanswer\tcategory\timage\tsource\tl2-category\tsplit\tmasked_answer\ttype\n"
    rows = [
        "7\tnan\tWhich is it?\tred\tblue\tnan\t\tA\tcolour\tBASE64A\ts\tl\tdev\tnan\tstandard\n",
        "7\tnan\tWhich is it?\tblue\tgreen\tnan\t\tF\tcolour\tBASE64A\ts\tl\tdev\tA\tupd\n",
        "8\tLook up.\tHow many?\t1\t2\t\t\tB\tcount\tBASE64B\ts\tl\tdev\tnan\tstandard\n",
    ]
    (tmp_path / "mmaad.tsv").write_text(head + "".join(rows))
    found = load_labelled_set(open_rows(str(tmp_path / "mmaad.tsv")), "mmaad")
    assert found.texts == [
        "Which is it?\nA. red\nB. blue",
        "Which is it?\nA. blue\nB. green",
        "Look up.\nHow many?\nA. 1\nB. 2",
    ]
    assert (found.format, found.label_names, found.labels.tolist()) == (
        "MM-UPD",
        ("standard", "unsolvable"),
        [0, 1, 0],
    )
    assert (found.source_ids, found.images) == (["7", "7", "8"], ["BASE64A", "BASE64A", "BASE64B"])


def test_rgqa_links_an_edited_question_with_its_original(tmp_path):
    rows = [
        {"img_id": "n1", "question_id": "101", "sent": "Where is the cup?", "label": {"table": 1.0}},
        {"img_id": "n2", "question_id": "pthard_n1+101", "sent": "Where is the hat?", "label": {"UQ": 1.0}},
    ]
    found = read(tmp_path / "pt-hard.json", rows)
    assert summarize(found)[:2] == ("RGQA", ("AQ", "UQ")) and found.labels.tolist() == [0, 1]
    assert found.source_ids == ["101", "101"]


@pytest.mark.parametrize(
    ("key", "name"), [("source_question_id", "RGQA (table)"), ("question_id", "RGQA (table, before 2.0)")]
)
def test_the_tables_of_our_releases_are_known_too(tmp_path, key, name):
    rows = [
        {"item_id": "101", "image_id": "n1", key: "101", "question": "Where is it?", "label": 0, "answer": "here"},
        {"item_id": "pthard_n1+101", "image_id": "n2", key: "101", "question": "Where?", "label": 1, "answer": ""},
    ]  # fmt: skip
    found = read(tmp_path / "pt-hard-test.json", rows)
    assert (found.format, found.labels.tolist(), found.source_ids) == (name, [0, 1], ["101", "101"])


@pytest.mark.parametrize(
    ("column", "values", "label_names", "labels", "excluded"),
    [
        ("answer", ["yes", "No", "net", "yes."], ("no", "yes"), [1, 0, 1], {"not answered yes or no": 1}),
        ("answer", ["unanswerable", "no", "net", "yes"], ("answerable", "unanswerable"), [1, 0, 0, 0], {}),
        ("is_answerable", [True, False, 1, 0], ("answerable", "unanswerable"), [0, 1, 0, 1], {}),
    ],
)
def test_other_files_of_questions_images_and_answers(tmp_path, column, values, label_names, labels, excluded):
    rows = {
        str(i): {"imageId": f"p{i % 2}", "question": f"Is it {i}?", column: value}
        for i, value in enumerate(values)
    }
    found = read(tmp_path / "val_questions.json", rows)  # GQA's: an object by id
    assert (found.format, found.label_names, found.labels.tolist(), found.excluded_rows) == (
        "VQA style",
        label_names,
        labels,
        excluded,
    )


def test_an_unknown_format_is_reported_with_the_missing_columns():
    with pytest.raises(
        UserError,
        match="its columns prompt, image lack a text .* and a label or answer .*--text-column NAME --label-column NAME",
    ):
        detect_format(["prompt", "image"], "x.json")
