"""Public sets: their files are read, asked through a server on 127.0.0.1, and scored; faulty files give one message."""

import base64
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from pipeline.benchmark.auditing.labelled_set import load_labelled_set, open_labelled_set
from pipeline.cli import run, score
from pipeline.cli.audit import AuditOptions, read_sets
from pipeline.core.errors import UserError, run_command
from pipeline.public_sets.author_prompts import parse_replies
from pipeline.public_sets.cells import decode_image
from pipeline.public_sets.items import SetItem
from pipeline.public_sets.open_set import find_public_rows, read_public_set
from pipeline.public_sets.registry import KNOWN_SETS, detect_set
from pipeline.public_sets.row_sources import open_rows
from pipeline.public_sets.set_images import find_files
from pipeline.public_sets.set_scores import (
    find_abstentions,
    find_clusters,
    iterate_half_samples,
    make_benchmark,
)
from tests.http_server import ChatHandler, QuietServer, serving
from tests.inference.small_server import make_release, small_server
from tests.public_sets import made_public_sets as made
from tests.public_sets.made_public_sets import PUBLIC_SETS

pytest.importorskip("inspect_ai")


class RecordingServer(QuietServer):
    """Replies with `reply(text)`, and records the text and the image of each request beside those of the probe."""

    def __init__(self, reply):
        super().__init__(RecordingHandler)
        self.reply, self.requests = reply, []


class RecordingHandler(ChatHandler):
    def do_POST(self):
        _, text, image = self.read_chat()
        if not text.startswith("What color is this picture?"):
            self.server.requests.append((text, image))
        self.send_chat(self.server.reply(text), 1)


@pytest.fixture(params=PUBLIC_SETS)
def public(request, tmp_path):
    """A set's name, its path, the options that name its images, and the number of its questions."""
    set_name, make, images, count = PUBLIC_SETS[request.param]
    path = make(tmp_path / "set")
    options = ["--images", str(tmp_path / "set" / images)] if images else []
    return set_name, path, options, count


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pipeline.inference.request_pool.MAX_RETRIES", 0)


def scores_of(folder):
    return json.loads(Path(folder, "scores.json").read_text())


# Reading


def test_every_set_is_read_with_all_its_questions(public):
    set_name, path, _, count = public
    found = read_public_set(path)
    assert (found.name, len(found.items)) == (set_name, count)
    assert len({item.id for item in found.items}) == count
    assert all(item.question and isinstance(item, SetItem) for item in found.items)


def test_every_row_of_the_table_of_sets_has_a_set_with_files_of_its_layout():
    read = {read_name for _, make, _, _ in PUBLIC_SETS.values() for read_name in [make.__name__]}
    without_files = {"RGQA (table)", "RGQA (table, before 2.0)", "NaturalBench (questions)"}
    names = {known.name for known in KNOWN_SETS} - without_files
    assert (
        len(read) == len(PUBLIC_SETS) and len(names) == len(PUBLIC_SETS) - 1
    )  # MM-UPD has two kinds of files.


def test_questions_of_mm_upd_share_a_pair_with_their_rotations_and_their_unsolvable_version(tmp_path):
    items = read_public_set(made.make_mm_upd(tmp_path)).items
    first = [item for item in items if item.pair_id == "240"]
    assert [item.id for item in first] == ["standard 240", "standard 1000240", "upd 240", "upd 1000240"]
    assert [item.options for item in first[:2]] == [
        {"A": "a fern", "B": "a cactus", "C": "an onion"},
        {"A": "a cactus", "B": "an onion", "C": "a fern"},
    ]
    assert [item.answers for item in first] == [("A",), ("C",), ("F",), ("F",)]
    assert [item.is_answerable for item in first] == [True, True, False, False]
    assert first[0].hint == "The photograph shows a kitchen." and items[-1].hint == ""
    assert first[2].details["masked_answer"] == "a fern" and first[0].details["masked_answer"] == ""


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("mmaad_20240303_base.tsv", ("aad", "base")),
        ("mmiasd_iasd_20240303_option.tsv", ("iasd", "option")),
        ("mmivqd_instruction.tsv", ("ivqd", "inst")),
        ("mmaad.tsv", ("aad", "base")),
        ("mmaad_base/mmivqd_option.tsv", ("ivqd", "option")),
        ("mmaad_option/mmaad.tsv", ("aad", "option")),
    ],
)
def test_the_name_of_a_file_of_mm_upd_states_kind_and_setting(tmp_path, file, expected):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    path = made.make_mm_upd(tmp_path).rename(tmp_path / file)
    details = read_public_set(path).items[0].details
    assert (details["upd_type"], details["question_type"]) == expected


@pytest.mark.parametrize(
    ("file", "name", "group"),
    [
        ("popular_sets/coco_pope_random.json", "POPE", "random"),
        ("repope/coco_pope_random.json", "POPE", "random"),
        ("repope/random.json", "RePOPE", "random"),
        ("pope/coco_repope_adversarial.json", "RePOPE", "adversarial"),
    ],
)
def test_the_name_of_a_file_of_pope_counts_more_than_its_folders(tmp_path, file, name, group):
    found = read_public_set(write_rows(tmp_path / file, made.pope_rows()))
    assert (found.name, {item.group for item in found.items}) == (name, {group})


def test_naturalbench_has_four_questions_per_row(tmp_path):
    items = read_public_set(made.make_naturalbench(tmp_path)).items
    assert [(item.details["combination"], item.answers) for item in items[:4]] == [
        ("q0_i0", ("yes",)),
        ("q0_i1", ("no",)),
        ("q1_i0", ("no",)),
        ("q1_i1", ("yes",)),
    ]
    assert [item.answers for item in items[4:]] == [("A",), ("B",), ("B",), ("A",)]
    assert items[0].image == items[2].image != items[1].image


def test_pope_of_one_file_keeps_its_ids_and_those_of_several_files_get_their_group(tmp_path):
    folder = made.make_pope(tmp_path / "set")
    one = read_public_set(folder / "coco_pope_random.json").items
    assert [item.id for item in one[:2]] == ["1", "2"] and {item.group for item in one} == {"random"}
    assert [item.id for item in read_public_set(folder).items][:1] == ["adversarial 1"]


def test_an_audit_reads_a_set_as_the_runner_does(tmp_path):
    path = made.make_mm_upd(tmp_path)
    labelled, items = load_labelled_set(open_rows(str(path)), str(path)), read_public_set(path).items
    assert labelled.ids == [item.id for item in items]
    assert labelled.labels.tolist() == [int(not item.is_answerable) for item in items]


# Images


def test_a_table_of_ones_own_with_labels_is_audited_as_such(tmp_path):
    rows = [
        {"question_id": i, "question": f"Is it {i}?", "image_id": i, "answerable": bool(i % 2)}
        for i in range(9)
    ]
    path = write_rows(tmp_path / "mine.jsonl", rows)
    assert find_public_rows(path) is None
    assert len(open_labelled_set(str(path))) == 9


def test_images_are_found_by_path_by_name_by_stem_and_by_number(tmp_path):
    made.write_images(tmp_path / "a" / "VD", ["0.png"])
    made.write_images(tmp_path, ["n7.jpg", "COCO_val2014_000000000042.jpg", "000000000043.jpg"])
    names = {
        "./x/a/VD/0.png": "0.png",
        "n7": "n7.jpg",
        "42": "COCO_val2014_000000000042.jpg",
        "43": "000000000043.jpg",
        "n7.jpg": "n7.jpg",
    }
    found = find_files(tmp_path, [*names, "n8", "../set/n7"])
    assert {name: path.name for name, path in found.items()} == names | {"../set/n7": "n7.jpg"}


def test_one_file_is_not_the_image_of_two_folders(tmp_path):
    made.write_images(tmp_path, ["1.png"])
    with pytest.raises(UserError, match="1 file would be the image of several names: VD/1.png, VS/1.png"):
        find_files(tmp_path, ["VS/1.png", "VD/1.png"])
    made.write_images(tmp_path / "VS", ["1.png"])
    found = find_files(tmp_path, ["VS/1.png", "1.png"])
    assert found == {"VS/1.png": tmp_path / "VS/1.png", "1.png": tmp_path / "1.png"}


def test_a_name_that_no_file_system_has_is_that_of_no_image(tmp_path):
    assert find_files(tmp_path, ["a" * 300, "a/" * 3000, "\0", "/", ""]) == {}


@pytest.mark.parametrize(
    ("cell", "is_image"),
    [
        (made.png(1), True),
        (base64.b64encode(made.png(1)).decode(), True),
        ("n123", False),
        ("a.jpg", False),
        (None, False),
    ],
)
def test_a_cell_is_an_image_or_the_name_of_a_file(cell, is_image):
    assert (decode_image(cell) == made.png(1)) is is_image


def test_missing_images_are_reported_before_the_first_question(tmp_path):
    path = made.make_vizwiz(tmp_path / "set")
    shutil.rmtree(tmp_path / "set" / "val")
    with small_server() as server:
        with pytest.raises(UserError, match="8 images of 8 not found.*--images.*--no-image"):
            run.main([str(path), "--server", server.url, "--model", "net", "--out", "run"])
        assert not server.requests and not Path("run").exists()
        run.main([str(path), "--server", server.url, "--model", "net", "--out", "run", "--no-image"])
    assert len(Path("run/predictions.jsonl").read_text().splitlines()) == 8


# Whole runs


def test_a_run_asks_every_question_and_prints_the_authors_scores(public, capsys):
    set_name, path, images, count = public
    with small_server() as server:
        run.main([str(path), "--server", server.url, "--model", "net", "--out", "run", *images])
    shown = capsys.readouterr()
    assert f"run: {count} of {count} items have a prediction" in shown.err
    rows = [json.loads(line) for line in Path("run/predictions.jsonl").read_text().splitlines()]
    assert {row["questionId"] for row in rows} == {item.id for item in read_public_set(path).items}
    assert json.loads(Path("run/run.json").read_text())["public_set"] == set_name
    if set_name != "RGQA":
        assert f"{set_name}: {count} items; scores as its authors define them" in shown.out
        (scored,) = scores_of("run")["author_scores"]
        assert scored["items"] == count and scored["scores"]
    if set_name in ("MM-UPD", "VizWiz", "TDIUC", "TUBench", "CP-Bench", "RGQA"):
        assert "AUAF" in shown.out


def test_scores_of_the_predictions_equal_those_of_the_run(public, capsys):
    set_name, path, images, _ = public
    with small_server() as server:
        run.main([str(path), "--server", server.url, "--model", "net", "--out", "run", *images])
    score.main([str(path), "run/predictions.jsonl", "--json", "again.json"])
    ours, again = scores_of("run"), json.loads(Path("again.json").read_text())
    if set_name not in ("RGQA", "GQA"):
        assert ours["author_scores"][0]["scores"] == again["author_scores"][0]["scores"]
    if "models" in ours and set_name != "GQA":
        assert ours["models"][0]["subsets"] == again["models"][0]["subsets"]


def test_a_finished_run_asks_nothing_again_and_a_killed_one_only_the_rest(tmp_path):
    path = made.make_mm_upd(tmp_path / "set")
    with small_server() as server:
        line = [str(path), "--server", server.url, "--model", "net", "--out", "run"]
        run.main(line)
        first, asked = Path("run/predictions.jsonl").read_bytes(), server.requests
        run.main(line)
        assert server.requests == asked
        journal = Path("run/answers.jsonl").read_text().splitlines(keepends=True)
        Path("run/answers.jsonl").write_text("".join(journal[:7]))
        run.main(line)
        # The probe asks a question of its own.
        assert server.asked.total() == 12 + 5
    assert Path("run/predictions.jsonl").read_bytes() == first


def test_a_model_that_is_always_right_gets_perfect_scores(tmp_path, capsys):
    """A server that knows the key: the standard question has three options, of which it names the right one by its letter."""
    path = made.make_mm_upd(tmp_path / "set")
    right = {"a fern", "a saw", "on a stove"}

    def reply(text):
        letters = [
            line[0] for line in text.splitlines() if line[:3] in ("A. ", "B. ", "C. ") and line[3:] in right
        ]
        return letters[0] if letters else "I cannot answer this question."

    with serving(RecordingServer(reply)) as server:
        run.main([str(path), "--server", server.url, "--model", "net", "--out", "run"])
    scored = scores_of("run")
    assert scored["author_scores"][0]["scores"] == {
        "dual_accuracy": 1,
        "standard_accuracy": 1,
        "upd_accuracy": 1,
    }
    assert scored["models"][0]["subsets"]["aad base"]["realistic"]["auaf"] == 1
    texts = {text for text, _ in server.requests}
    first = "The photograph shows a kitchen.\nWhat grows in the pot?\nA. a fern\nB. a cactus\nC. an onion\n"
    assert first in texts and len(texts) == 12
    # Three different images, one for each question.
    assert len({Image.open(io.BytesIO(image)).tobytes() for _, image in server.requests}) == 3


def test_pope_is_scored_as_its_script_does(tmp_path):
    """A model that always says yes: 8 of 16 answers are right. F1 is 2 * 0.5 * 1 / (0.5 + 1) = 2/3, and the yes rate is 1."""
    path = made.make_pope(tmp_path / "set")
    with serving(RecordingServer(lambda text: "Yes, there is.")) as server:
        run.main(
            [
                str(path),
                "--server",
                server.url,
                "--model",
                "net",
                "--out",
                "run",
                "--images",
                str(path / "images"),
            ]
        )
    scores = scores_of("run")["author_scores"][0]["scores"]
    assert scores["f1"] == pytest.approx(2 / 3, abs=1e-12)
    assert (scores["accuracy"], scores["yes_rate"], scores["random/accuracy"]) == (0.5, 1, 0.5)
    # The two files have the same questions about the same images, so that each is asked once.
    assert sorted(text for text, _ in server.requests) == sorted(row["text"] for row in made.pope_rows())


def test_subsets_limits_and_prompts_of_ours(tmp_path, capsys):
    path = made.make_pope(tmp_path / "set")
    images = ["--images", str(path / "images"), "--subset", "random", "--limit", "3", "--prompt", "abstain"]
    with serving(RecordingServer(lambda text: "yes")) as server:
        run.main([str(path), "--server", server.url, "--model", "net", "--out", "run", *images])
    assert len(server.requests) == 3 and all("answer: unanswerable" in text for text, _ in server.requests)
    assert "run: scores of 3 of 16 items" in capsys.readouterr().err
    assert scores_of("run")["author_scores"][0]["items"] == 3


def test_a_question_without_a_figure_is_asked_without_an_image(tmp_path):
    path = made.make_hallusion_bench(tmp_path / "set")
    with serving(RecordingServer(lambda text: "yes")) as server:
        run.main([str(path), "--server", server.url, "--model", "net", "--out", "run"])
    assert sum(image == b"" for _, image in server.requests) == 2 and len(server.requests) == 8


def test_runs_of_several_sets_have_folders_of_their_own(tmp_path):
    with small_server() as server:
        for make in (made.make_naturalbench, made.make_hallusion_bench):
            path = make(tmp_path / make.__name__)
            run.main([str(path), "--server", server.url, "--model", "net"])
    assert sorted(path.name for path in Path("runs").iterdir()) == [
        "net-authors-abstention-hallusionbench",
        "net-authors-abstention-naturalbench",
    ]


# Scores


def test_the_scores_of_several_models_stand_in_one_table(tmp_path, capsys):
    path = made.make_pope(tmp_path / "set")
    items = read_public_set(path).items
    for name, said in (("always", "Yes"), ("never", "No")):
        Path(f"{name}.json").write_text(
            json.dumps([{"questionId": item.id, "prediction": said} for item in items])
        )
    score.main([str(path), "always.json", "never.json", "--full"])
    lines = capsys.readouterr().out.splitlines()
    (head,) = [line.split() for line in lines if line.split()[:1] == ["always"]]
    assert head == ["always", "never"]
    assert [line.split() for line in lines if line.startswith("accuracy ")] == [
        ["accuracy", "0.5000", "0.5000"]
    ]
    assert any(line.startswith("adversarial/f1") for line in lines)


def test_replies_that_refuse_in_the_authors_words_are_abstentions():
    details = {"upd_type": "aad", "question_type": "option", "type": "upd", "masked_answer": "a fern"}
    options = {"A": "a cactus", "B": "an onion", "C": "None of the above"}
    item = SetItem("1", "", "What?", options, details=details)
    # D is the removed answer, and E the refusal that the authors' script adds.
    found = find_abstentions("MM-UPD", [item] * 4, ["A", "C", "D", "E"])
    assert found.tolist() == [False, True, False, True]
    assert find_abstentions("TUBench", [item] * 2, ["unanswerable", "A"]).tolist() == [True, False]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        # Options A and B; C is the answer that was removed, and D the refusal that the authors' script adds.
        ("None of the above.", "D"),
        ("F. None of the above", "D"),
        ("All provided options are incorrect", "D"),
        ("a fern", "C"),
        ("It is an onion.", "B"),
        ("B.", "B"),
        ("a lamp", "H"),
    ],
)
def test_replies_to_mm_upd_that_name_no_letter_are_read_by_their_words(reply, expected):
    details = {"upd_type": "aad", "question_type": "base", "type": "upd", "masked_answer": "a fern"}
    item = SetItem("1", "", "What grows?", {"A": "a cactus", "B": "an onion"}, details=details)
    assert parse_replies("MM-UPD", [item], [reply]) == [expected]


def test_items_that_share_an_image_or_a_pair_are_one_cluster():
    rows = [("a", "p"), ("a", ""), ("b", "p"), ("c", ""), ("", "q"), ("d", "q")]
    items = [SetItem(str(i), image, "", pair_id=pair) for i, (image, pair) in enumerate(rows)]
    clusters = find_clusters(items).tolist()
    assert clusters[0] == clusters[1] == clusters[2] and clusters[4] == clusters[5]
    assert len({clusters[0], clusters[3], clusters[4]}) == 3


def test_half_samples_vary_as_much_as_a_mean():
    """The variance of the mean of n values is s^2 / n with s^2 = sum((x - mean)^2) / (n - 1); of halves it is the same."""
    values = np.random.default_rng(0).normal(size=200)
    halves = iterate_half_samples(np.arange(200), 4000, seed=1)
    spread = np.std([values[places].mean() for places in halves])
    assert spread == pytest.approx(values.std(ddof=1) / np.sqrt(200), rel=0.05)


def test_vizwiz_answers_are_worth_what_annotators_agree_on(tmp_path):
    items = make_benchmark(read_public_set(made.make_vizwiz(tmp_path))).subsets["VizWiz"]
    assert [*items][1].answers == {"oregano": 1.0} and next(iter(items)).answers == {}


# Faulty files


def write_rows(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def change_json(path, change):
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def break_amber(folder):
    path = made.make_amber(folder)
    change_json(path / "data" / "annotations.json", lambda rows: rows.pop())
    return path


def break_vqa(folder):
    path = made.make_vqa_v2(folder)
    shutil.copy(path / "v2_mscoco_val2014_annotations.json", path / "v2_mscoco_train2014_annotations.json")
    return path


def break_tubench(folder):
    path = made.make_tubench(folder)
    (path / "UVQA" / "0" / "vqa.txt").write_text("Is it? Yes\n")
    change_json(path / "UGeoQA" / "5" / "5.json", lambda row: row.pop("label"))
    return path


def break_tubench_options(folder):
    path = made.make_tubench(folder)
    change_json(path / "UGeoQA" / "5" / "5.json", lambda row: row.update(label=9))
    return path


def break_tubench_types(folder):
    path = made.make_tubench(folder)
    for file in (path / "UTabMWP").glob("*/*.json"):
        change_json(file, lambda row: row.update(choices={"a": 1}))
    return path


def break_naturalbench_types(folder):
    path = made.make_naturalbench(folder)
    rows = pq.read_table(path).to_pylist()
    return write_rows(path, [row | {"Question Type": "open"} for row in rows])


def break_gqa(folder):
    path = made.make_gqa(folder)
    change_json(path, lambda rows: rows["03"].update(answer=None))
    return path


def break_mm_upd(folder):
    path = made.make_mm_upd(folder)
    path.write_text(path.read_text().replace("\tC\tobject", "\tE\tobject", 1))
    return path


def break_hallusion_bench(folder):
    path = made.make_hallusion_bench(folder)
    change_json(path, lambda rows: rows[2].update(gt_answer="2", question=""))
    return path


def break_naturalbench(folder):
    path = made.make_naturalbench(folder)
    rows = pq.read_table(path).to_pylist()
    return write_rows(path, [row | {"Image_1_Question_0": None} for row in rows])


def break_tdiuc(folder):
    path = made.make_tdiuc(folder)
    change_json(
        path / "Annotations" / "mscoco_val2014_annotations.json",
        lambda value: value["annotations"][2].pop("answers"),
    )
    return path


def make_ok_vqa(folder):
    """A set with the columns of TDIUC and types of its own."""
    path = made.make_tdiuc(folder)
    change_json(
        path / "Annotations" / "mscoco_val2014_annotations.json",
        lambda value: [row.update(question_type="one") for row in value["annotations"]],
    )
    return path


def make_two_splits(folder):
    path = made.make_vizwiz(folder)
    file = path if path.is_file() else next(path.glob("*.json"))
    for name in ("train.json", "val.json"):
        if not (file.parent / name).exists():
            shutil.copy(file, file.parent / name)
    return file.parent


FAULTS = {
    "two splits": (make_two_splits, ["files of several splits: train (1), val (1). Name the file"]),
    "OK-VQA": (make_ok_vqa, ["rows 1, 2, 3, 4, 5 and 3 more: it is missing or unknown whether"]),
    "TUBench, options": (break_tubench_options, ["the answer is not the letter of an option"]),
    "TUBench, types": (break_tubench_types, ["not as TUBench stores a question (AttributeError"]),
    # Found before the first question is asked: neither the prompt nor the scores know this type.
    "NaturalBench, types": (break_naturalbench_types, ["Expected one of yes_no, multiple_choice"]),
    "POPE": (
        lambda folder: write_rows(
            folder / "coco_pope_random.json", [row | {"label": "maybe"} for row in made.pope_rows()]
        ),
        ['rows 1, 2, 3, 4, 5 and 3 more: the answer is missing or neither "yes" nor "no"'],
    ),
    "POPE, ids": (
        lambda folder: write_rows(
            folder / "coco_pope_random.json", [row | {"question_id": 1} for row in made.pope_rows()]
        ),
        ["the id occurs more than once"],
    ),
    "POPE and RePOPE": (
        lambda folder: (made.make_pope(folder), made.make_repope(folder))[0],
        ["files of several sets: POPE (2), RePOPE (2)"],
    ),
    "MM-UPD": (break_mm_upd, ["row 2: the answer is not the letter of an option"]),
    "MM-UPD, name": (
        lambda folder: made.make_mm_upd(folder).rename(folder / "mine.tsv"),
        ["upd_type: the name of the file must say which part"],
    ),
    "HallusionBench": (
        break_hallusion_bench,
        ["row 3: the question is missing", "row 3: the answer is missing or neither"],
    ),
    "NaturalBench": (break_naturalbench, ["rows 2, 6: the answer is missing"]),
    "AMBER": (break_amber, ["1 question without an annotation"]),
    "VizWiz": (
        lambda folder: write_rows(
            folder / "val.json",
            [{"image": f"{name}.jpg", "question": "What?", "answerable": 3, "answers": []} for name in "ab"],
        ),
        [
            "rows 1, 2: the answer is missing",
            "rows 1, 2: it is missing or unknown whether the question has an answer",
        ],
    ),
    "VQA v2": (break_vqa, ["1 files of questions and 2 of annotations"]),
    "TDIUC": (break_tdiuc, ["row 3: the answer is missing"]),
    "GQA": (break_gqa, ["row 4: the answer is missing"]),
    "RGQA": (
        lambda folder: write_rows(
            folder / "x.json", [{"img_id": "n1", "question_id": "1", "sent": "Is it?", "label": 3}]
        ),
        ["row 1: the answer is missing", "row 1: it is missing or unknown"],
    ),
    "TUBench": (
        break_tubench,
        ["UVQA/0: not as TUBench stores a question", "UGeoQA/5: not as TUBench stores a question"],
    ),
    "CP-Bench": (
        lambda folder: write_rows(
            folder / "cp_bench_list.jsonl", [{"image": "0.png", "query": "What?", "tag": "x"}]
        ),
        ["row 1: it is missing or unknown whether the question has an answer"],
    ),
    "unknown": (
        lambda folder: write_rows(folder / "mine.jsonl", [{"prompt": "Is it?", "picture_file": "a.jpg"}]),
        [
            "neither a release nor a known public set; its columns are prompt, picture_file. Known sets are RGQA, HallusionBench"
        ],
    ),
    "unknown folder": (
        lambda folder: write_rows(folder / "mine.jsonl", [{"prompt": "Is it?"}]).parent,
        ["neither a release nor a known public set. Known sets are RGQA"],
    ),
    "truncated file": (
        lambda folder: (
            made.make_pope(folder),
            (folder / "coco_pope_x.json").write_text('{"image": "a.jpg", "te'),
        )[0],
        ["files that cannot be read", "coco_pope_x.json"],
    ),
    "a folder with a truncated file alone": (
        lambda folder: write_rows(folder / "a.json", [{"image": 3}]).write_text('[{"image": "a') and folder,
        ["neither a release nor a known public set", "a.json: expected a list of JSON objects"],
    ),
    "VQA questions alone": (
        lambda folder: write_rows(
            folder / "q.json", [{"question": "Is it?", "question_id": 1, "image_id": 2}]
        ),
        ["questions without answers, and its folder has no file *annotations*.json"],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_file_gives_one_message_with_all_faults(name, tmp_path, capsys):
    break_set, messages = FAULTS[name]
    path = break_set(tmp_path / "set")
    with pytest.raises(SystemExit) as caught:
        run_command(
            lambda: run.main([str(path), "--server", "http://127.0.0.1:9", "--model", "net", "--out", "run"])
        )
    shown = capsys.readouterr().err
    assert caught.value.code == 1 and not Path("run").exists()
    assert shown.count("error: ") == 1 and all(message in shown for message in messages), shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--split", "validation"], "--split has no effect: a public set has no splits"),
        (["--shots", "2"], "--shots has no effect"),
        (["--prompt", "nosuch"], "--prompt nosuch: no such prompt; choose from authors, short-answer"),
        (["--subset", "nosuch"], "--subset nosuch: no such subset of POPE; there are adversarial, random"),
        (["--no-image", "--images", "x"], "--images has no effect: --no-image sends no images"),
        (["--images", "nosuch"], "--images nosuch: no such folder"),
    ],
)
def test_options_of_a_run_that_do_not_fit_are_refused(tmp_path, options, message):
    path = made.make_pope(tmp_path / "set")
    with pytest.raises(UserError, match=message.replace("(", r"\(")):
        run.main([str(path), "--server", "http://127.0.0.1:9", "--model", "net", "--out", "run", *options])


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([{"questionId": "adversarial 1", "prediction": "yes"}], [], "15 of 16 items have no prediction"),
        ([{"questionId": "nosuch", "prediction": "yes"}], ["--missing", "wrong"], "1 id is not in POPE: nosuch"),
        ([{"questionId": "adversarial 1", "prediction": "yes"}], ["--threshold", "0.3", "--missing", "wrong"], "--threshold has no effect: POPE does not say"),
        ([{"questionId": "adversarial 1", "prediction": "yes"}], ["--plots", "x"], "--plots is not available for a public set"),
    ],
)  # fmt: skip
def test_predictions_that_do_not_fit_are_refused(tmp_path, rows, options, message):
    path = made.make_pope(tmp_path / "set")
    Path("p.json").write_text(json.dumps(rows))
    with pytest.raises(UserError, match=message):
        score.main([str(path), "p.json", *options])


def test_releases_and_other_folders_are_no_public_sets(tmp_path):
    assert find_public_rows(make_release(tmp_path, 2)) is None
    (tmp_path / "empty").mkdir()
    assert find_public_rows(tmp_path / "empty") is None and find_public_rows(tmp_path / "nosuch") is None


def test_an_audit_takes_every_set(public, monkeypatch):
    """Sets whose questions all have an answer, of one label, are refused with the reason; the others are read with all questions."""
    set_name, path, _, count = public
    (rows,) = read_sets(AuditOptions(str(path))).values()
    left_out = sum(rows.excluded_rows.values())
    assert len(rows) + left_out == count
    # Two of four questions of VQA v2 are answered with a number or a word, and half of NaturalBench's with a letter.
    assert left_out == {"VQA v2": 4, "NaturalBench": 4}.get(set_name, 0)
    assert rows.format.partition(" (")[0] == set_name


def test_an_own_table_with_types_of_questions_is_not_tdiuc():
    columns = ["question", "image_id", "question_type", "answers"]
    found = detect_set(columns, "a.csv")
    assert found is not None and found.name == "TDIUC"
    other = detect_set([*columns, "answer"], "a.csv")
    assert other is None or other.name != "TDIUC"
