"""Small files in the layouts of public sets, with questions of our own. registry.py names the source of each layout."""

import base64
import json

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.inference.probe import make_square_png


def png(number):
    return make_square_png((number % 256, 80, 40), 4)


def write_images(folder, names):
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(dict.fromkeys(names)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(number))


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_parquet(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


COCO = [f"COCO_val2014_{number:012d}.jpg" for number in (310196, 42, 7)]


def pope_rows():
    things = ("kite", "snowboard", "lamp", "sheep")
    return [
        {
            "question_id": number,
            "image": COCO[number % 3],
            "text": f"Is there a {things[number % 4]} in the image?",
            "label": ("yes", "no")[number % 2],
        }
        for number in range(1, 9)
    ]


def make_pope(folder, name="pope"):
    """Two of the three files. Ids start at 1 in each."""
    folder.mkdir(parents=True, exist_ok=True)
    write_images(folder / "images", COCO)
    for kind in ("adversarial", "random"):
        write_lines(folder / f"coco_{name}_{kind}.json", pope_rows())
    return folder


def make_repope(folder):
    return make_pope(folder, "repope")


def make_pope_hub(folder):
    rows = [
        {
            "id": str(number),
            "question_id": str(row["question_id"]),
            "question": row["text"],
            "answer": row["label"],
            "image_source": row["image"].removesuffix(".jpg"),
            "image": {"bytes": png(number % 3), "path": None},
            "category": kind,
        }
        for kind in ("adversarial", "popular")
        for number, row in enumerate(pope_rows())
    ]
    return write_parquet(folder / "data" / "test-00000-of-00001.parquet", rows)


def mm_upd_rows():
    """Three questions, each as standard and as unsolvable question (AAD), and each with two orders of its options."""
    rows = []
    for number, (question, options) in enumerate(
        {
            "What grows in the pot?": ("a fern", "a cactus", "an onion"),
            "Which tool lies on the bench?": ("a saw", "a file", "a plane"),
            "Where does the cat sleep?": ("on a stove", "in a drawer", "under a sink"),
        }.items()
    ):
        for kind, texts in (("standard", options), ("upd", options[1:])):
            for turn in range(2):
                turned = [*texts[turn:], *texts[:turn]]
                right = "ABC"[turned.index(options[0])] if kind == "standard" else "F"
                rows.append(
                    {
                        "index": 240 + number + 1_000_000 * turn,
                        "hint": "nan" if number else "The photograph shows a kitchen.",
                        "question": question,
                        **{
                            letter: turned[i] if i < len(turned) else "nan" for i, letter in enumerate("ABCD")
                        },
                        "answer": right,
                        "category": "object_localization",
                        "image": base64.b64encode(png(number)).decode(),
                        "source": "made",
                        "l2-category": "finegrained_perception",
                        "split": "test",
                        "masked_answer": "nan" if kind == "standard" else options[0],
                        "type": kind,
                    }
                )
    return rows


def make_mm_upd(folder):
    folder.mkdir(parents=True, exist_ok=True)
    rows = mm_upd_rows()
    lines = ["\t".join(map(str, row.values())) for row in rows]
    path = folder / "mmaad_20240303_base.tsv"
    path.write_text("\n".join(["\t".join(rows[0]), *lines]) + "\n")
    return path


def make_mm_upd_parquet(folder):
    return write_parquet(folder / "mmivqd_option" / "test-00000-of-00001.parquet", mm_upd_rows()).parent


def make_hallusion_bench(folder):
    rows = []
    for category, figure, filename in (
        ("VD", "0", "0_0"),
        ("VD", "1", "0_1"),
        ("VS", "0", None),
        ("VS", "1", "3_1"),
    ):
        part = "illusion" if category == "VD" else "chart"
        path = f"./hallusion_bench/{category}/{part}/{filename}.png" if filename else None
        rows += [
            {
                "category": category,
                "subcategory": part,
                "visual_input": "1" if category == "VD" else "2" if filename else "0",
                "set_id": "0",
                "figure_id": figure,
                "sample_note": "bar",
                "question_id": str(number),
                "question": f"Is the {what} bar the longest?",
                "gt_answer_details": "The grey bar is the longest.",
                "gt_answer": str(int((what == "grey") == (figure == "0"))),
                "filename": path,
            }
            for number, what in enumerate(("grey", "brown"))
        ]
    names = [row["filename"].removeprefix("./") for row in rows if row["filename"]]
    write_images(folder, names)
    return write_json(folder / "HallusionBench.json", rows)


def make_naturalbench(folder):
    rows = [
        {
            "Index": group,
            "Image_0": {"bytes": png(2 * group), "path": None},
            "Image_1": {"bytes": png(2 * group + 1), "path": None},
            "Question_0": f"Is the gate {group} open?"
            if kind == "yes_no"
            else "What leans on it? Option: A: a rake; B: a spade;",
            "Question_1": f"Is the gate {group} shut?"
            if kind == "yes_no"
            else "What lies there? Option: A: a hose; B: a rope;",
            "Image_0_Question_0": right,
            "Image_1_Question_0": wrong,
            "Image_0_Question_1": wrong,
            "Image_1_Question_1": right,
            "Question Type": kind,
            "Source": "made",
        }
        for group, (kind, right, wrong) in enumerate((("yes_no", "Yes", "No"), ("multiple_choice", "A", "B")))
    ]
    return write_parquet(folder / "data" / "train-00000-of-00001.parquet", rows)


def make_amber(folder):
    kinds = ("discriminative-attribute-state", "discriminative-hallucination", "discriminative-relation")
    names = [f"AMBER_{number % 3 + 1}.jpg" for number in range(6)]
    queries = [
        {
            "id": 1005 + number,
            "image": names[number],
            "query": f"Is the kettle number {number} in this image?",
        }
        for number in range(6)
    ]
    annotations = [{"id": 1, "type": "generative", "truth": ["kettle"], "hallu": ["mug"]}] + [
        {"id": 1005 + number, "type": kinds[number % 3], "truth": ("yes", "no")[number % 2]}
        for number in range(6)
    ]
    write_json(folder / "data" / "query" / "query_discriminative.json", queries)
    write_json(folder / "data" / "annotations.json", annotations)
    write_images(folder / "image", names)
    return folder


def make_vizwiz(folder):
    rows = [
        {
            "image": f"VizWiz_val_{number:08d}.jpg",
            "question": f"What does label {number} say?",
            "answers": [
                {"answer": "oregano" if number % 2 else "unanswerable", "answer_confidence": "yes"}
                for _ in range(10)
            ],
            "answer_type": "other" if number % 2 else "unanswerable",
            "answerable": number % 2,
        }
        for number in range(8)
    ]
    write_images(folder / "val", [row["image"] for row in rows])
    return write_json(folder / "val.json", rows)


def make_vqa_v2(folder):
    kinds = (("yes/no", "yes"), ("other", "green"), ("number", "2"), ("yes/no", "no"))
    questions = [
        {
            "image_id": (310196, 42, 7)[number % 3],
            "question": f"Question {number}?",
            "question_id": 1000 + number,
        }
        for number in range(8)
    ]
    annotations = [
        {
            "question_id": row["question_id"],
            "image_id": row["image_id"],
            "question_type": "what",
            "answer_type": kinds[number % 4][0],
            "multiple_choice_answer": kinds[number % 4][1],
            "answers": [
                {"answer": kinds[number % 4][1], "answer_confidence": "yes", "answer_id": i + 1}
                for i in range(10)
            ],
        }
        for number, row in enumerate(questions)
    ]
    write_images(folder / "images", COCO)
    write_json(folder / "v2_mscoco_val2014_annotations.json", {"info": {}, "annotations": annotations})
    write_json(folder / "v2_OpenEnded_mscoco_val2014_questions.json", {"info": {}, "questions": questions})
    return folder


def make_tdiuc(folder):
    questions = [
        {
            "image_id": (310196, 42, 7)[number % 3],
            "question": f"What colour is thing {number}?",
            "question_id": number,
        }
        for number in range(8)
    ]
    annotations = [
        {
            "question_id": number,
            "image_id": row["image_id"],
            "question_type": "absurd" if number % 2 else "color",
            "answers": [
                {
                    "answer": "doesnotapply" if number % 2 else "red",
                    "answer_id": 1,
                    "answer_confidence": "yes",
                }
            ],
        }
        for number, row in enumerate(questions)
    ]
    write_images(folder / "images", COCO)
    write_json(folder / "Questions" / "OpenEnded_mscoco_val2014_questions.json", {"questions": questions})
    write_json(folder / "Annotations" / "mscoco_val2014_annotations.json", {"annotations": annotations})
    return folder


def make_gqa(folder):
    rows = {
        f"0{number}": {
            "semantic": [],
            "entailed": [],
            "equivalent": [],
            "question": f"Is shelf {number} red?",
            "imageId": f"n{number % 3}",
            "isBalanced": True,
            "groups": {"global": None, "local": "06-red"},
            "answer": ("yes", "no")[number % 2],
            "semanticStr": "",
            "annotations": {},
            "types": {"detailed": "existAttr", "semantic": "attr", "structural": "verify"},
            "fullAnswer": "Yes, it is.",
        }
        for number in range(6)
    }
    write_images(folder / "images", ["n0.jpg", "n1.jpg", "n2.jpg"])
    return write_json(folder / "val_balanced_questions.json", rows)


def make_rgqa(folder):
    rows = []
    for number in range(6):
        image = f"n{number}"
        rows += [
            {
                "img_id": image,
                "question_id": f"1{number}",
                "sent": f"Is cup {number} red?",
                "label": {"yes": 1.0},
            },
            {
                "img_id": image,
                "question_id": f"pthard_{image}+1{number}",
                "sent": f"Is the blue hat on cup {number}?",
                "label": {"UQ": 1.0},
            },
        ]
    write_images(folder / "images", [f"n{number}.jpg" for number in range(6)])
    return write_json(folder / "pt_hard.json", rows)


def make_tubench(folder):
    for number in (1, 2):
        place = folder / "UCR" / str(number)
        place.mkdir(parents=True)
        for name, label in (("1", "Yes"), ("1_u1", "Unanswerable"), ("1_u2", "Unanswerable"), ("1_u3", "No")):
            (place / f"{name}.txt").write_text(f"Does program {number} print 3?\t{label}\n")
            (place / f"{name}_negate_flip.txt").write_text(f"Does program {number} not print 3?\tNo\n")
            (place / f"{name}.png").write_bytes(png(number))
    place = folder / "UVQA" / "0"
    place.mkdir(parents=True)
    (place / "COCO_val2014_000000000042.jpg").write_bytes(png(9))
    (place / "vqa.txt").write_text(
        "1\tIs the jar full?\tYes\n2\tIs the lid below it?\tUnanswerable\t2\n3\tIs it a jar?\tNo\n"
    )
    write_json(
        folder / "UGeoQA" / "5" / "5.json",
        {
            "choices": ["30°", "60°", "45°", "90°"],
            "subject": "Angle A is 60°, and angle B is equal to it. Then angle B is ()",
            "label": 1,
            "unanswerable_subject": "Angle A is 60°. Then angle B is ()",
        },
    )
    (folder / "UGeoQA" / "5" / "5.png").write_bytes(png(10))
    write_json(
        folder / "UTabMWP" / "8" / "8.json",
        {
            "choices": ["Monday", "Friday"],
            "question": "On which day were most jars sold?",
            "answer": "Friday",
        },
    )
    for name in ("8", "8_u1"):
        (folder / "UTabMWP" / "8" / f"{name}.png").write_bytes(png(11))
    return folder


def make_cp_bench(folder):
    rows = [
        {
            "image": f"{number // 2}.png",
            "query": f"What is the goat {number} painting?"
            if number % 2
            else f"What is beside goat {number}?",
            "tag": "cpq" if number % 2 else "tpq",
        }
        for number in range(6)
    ]
    write_images(folder / "images", [row["image"] for row in rows])
    return write_lines(folder / "cp_bench_list.jsonl", rows)


# Name -> (name of the set, function that writes it into a folder and returns its path, folder of its images in that folder or None if the
# images are in the rows or beside them, number of its questions).
PUBLIC_SETS = {
    "POPE": ("POPE", make_pope, "images", 16),
    "POPE of the hub": ("POPE", make_pope_hub, None, 16),
    "RePOPE": ("RePOPE", make_repope, "images", 16),
    "MM-UPD": ("MM-UPD", make_mm_upd, None, 12),
    "MM-UPD in Parquet": ("MM-UPD", make_mm_upd_parquet, None, 12),
    "HallusionBench": ("HallusionBench", make_hallusion_bench, None, 8),
    "NaturalBench": ("NaturalBench", make_naturalbench, None, 8),
    "AMBER": ("AMBER", make_amber, "image", 6),
    "VizWiz": ("VizWiz", make_vizwiz, "val", 8),
    "VQA v2": ("VQA v2", make_vqa_v2, "images", 8),
    "TDIUC": ("TDIUC", make_tdiuc, "images", 8),
    "GQA": ("GQA", make_gqa, "images", 6),
    "RGQA": ("RGQA", make_rgqa, "images", 12),
    "TUBench": ("TUBench", make_tubench, None, 15),
    "CP-Bench": ("CP-Bench", make_cp_bench, "images", 6),
}


if __name__ == "__main__":
    # python -m tests.public_sets.made_public_sets FOLDER writes each set into a folder of its own.
    import sys
    from pathlib import Path

    for title, (_, make, _, _) in PUBLIC_SETS.items():
        print(make(Path(sys.argv[1]) / title.lower().replace(" ", "-")))
