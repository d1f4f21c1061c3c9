"""How a release is read: items, provenance, errata and GQA's own files."""

import hashlib
import json
import os
from math import isclose

import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.benchmark_reader import (
    fingerprint_release,
    read_benchmark,
    read_release_name,
)
from pipeline.scoring.errata import exclude_errata
from pipeline.scoring.provenance import parse_provenance
from pipeline.scoring.resources import read_resources
from tests.scoring.conftest import predictions, refused, run, scored, write

# Benchmark reader


def test_the_fields_of_items_are_read_from_a_release(release):
    benchmark = read_benchmark(release)
    assert (benchmark.kind, benchmark.name, benchmark.version) == ("rgqa", "1.0.0", "1.0.0")
    assert list(benchmark.subsets) == ["clip-easy", "pt-hard"]
    _, item, *_ = benchmark.subsets["pt-hard"]
    assert (item.id, item.image, item.answers, item.category) == ("u1", "n1", {}, "missing object")
    assert (item.edits, item.structural, item.split, item.pair_id) == (
        ("object",),
        "query",
        "validation",
        "p1",
    )
    data = (release / "rgqa/clip-easy.json").read_bytes()
    assert benchmark.sha256["rgqa/clip-easy.json"] == hashlib.sha256(data).hexdigest()
    assert set(benchmark.sha256) == {"provenance.jsonl", "rgqa/clip-easy.json", "rgqa/pt-hard.json"}


def test_the_fingerprint_of_a_release_checks_its_questions_and_images(tmp_path):
    folder = tmp_path / "rgqa"
    folder.mkdir()
    (folder / "pt-hard.json").write_bytes(b"[]")
    checksum = hashlib.sha256(b"[]").hexdigest()
    # A file outside of rgqa/ and data/ is not checked, and its name need not be UTF-8.
    listed = f"{checksum}  rgqa/pt-hard.json\n{'0' * 64}  caf\u00e9.md\n".encode("latin-1")
    (tmp_path / "CHECKSUMS.sha256").write_bytes(listed)
    assert fingerprint_release(tmp_path) == hashlib.sha256(listed).hexdigest()
    (folder / "pt-hard.json").write_bytes(b"[ ]")
    with pytest.raises(UserError, match=r"rgqa/pt-hard\.json: its bytes have changed"):
        fingerprint_release(tmp_path)
    (folder / "pt-hard.json").unlink()
    with pytest.raises(UserError, match=r"rgqa/pt-hard\.json: missing"):
        fingerprint_release(tmp_path)


def test_only_named_subsets_are_read_but_all_ids_are_known(release):
    write(release / "rgqa/clip-hard.json", [{"img_id": "n", "question_id": "other", "label": {"UQ": 1.0}}])
    benchmark = read_benchmark(release, ["pt-hard"])
    assert list(benchmark.subsets) == ["pt-hard"] and "other" in benchmark.ids
    with pytest.raises(UserError, match="x, y.*clip-easy, clip-hard, pt-hard"):
        read_benchmark(release, ["x", "pt-hard", "y"])


def test_items_without_provenance_are_named(release):
    lines = (release / "provenance.jsonl").read_text().splitlines()
    (release / "provenance.jsonl").write_text("\n".join(lines[1:]))
    with pytest.raises(UserError, match="has nothing on clip-easy's item a1"):
        read_benchmark(release)
    (release / "provenance.jsonl").write_text('{"item": {"subset": "clip-easy"}}')
    with pytest.raises(UserError, match="line 1: not an item's provenance"):
        read_benchmark(release)


def test_a_folder_without_subsets_is_refused(tmp_path):
    with pytest.raises(UserError, match="no rgqa/"):
        read_benchmark(tmp_path)


def test_a_subsets_own_file_is_a_benchmark_too(release, tmp_path):
    model = write(tmp_path / "m.json", predictions())
    found = scored(tmp_path, release / "rgqa" / "clip-easy.json", model, "--bootstrap", 0)
    splits = found["models"][0]["subsets"]["clip-easy"]
    assert splits["realistic"]["auaf"] == pytest.approx(5 / 9)
    assert "unavailable" in splits["pairs"] and "unavailable" in splits["subgroups"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([{"uq": 1.0}, {"red": 1.0}], "says that no answer exists"),
        ([{"Unanswerable.": 1.0}, {"UQ": 1.0}], "says that no answer exists"),
        ([{"n/a": 1.0}, {"UQ": 1.0}], "says that no answer exists"),
        ([{"UQ": 1.0, "red": 1.0}, {"red": 1.0}], "both UQ and an answer"),
        ([{}, {"red": 1.0}], "label is {}"),
        ([{"red": "1"}], "expected {answer: 1.0}"),
        ([{"UQ": 0.0}], "one more than 0"),
        ([{"red": 0.0, "blue": 0.0}], "one more than 0"),
        ([{"red": float("nan")}], "one more than 0"),
        ([{"": 1.0}], "has an empty answer"),
        ([{" ": 1.0, "red": 1.0}], "has an empty answer"),
    ],
)
def test_faulty_labels_are_refused(tmp_path, labels, expected):
    rows = [
        {"img_id": "n", "question_id": str(i), "sent": "?", "label": label} for i, label in enumerate(labels)
    ]
    with pytest.raises(UserError) as caught:
        read_benchmark(write(tmp_path / "b.json", rows))
    assert caught.value.problems[0].endswith("b.json: 1 fault") and expected in caught.value.problems[1]


def test_an_answer_may_be_worth_from_nothing_to_one(tmp_path):
    label = {"maroon": 0.0, "dark red": 0.3, "red": 1}
    rows = [{"question_id": str(i), "label": one} for i, one in enumerate((label, {"UQ": 1.0}))]
    subset = read_benchmark(write(tmp_path / "b.json", rows)).subsets["b"]
    assert [item.answers for item in subset] == [label, {}]
    for worth in (-0.1, 1.1):
        rows[0]["label"] = {"red": worth}
        with pytest.raises(UserError, match="each worth 0 to 1"):
            read_benchmark(write(tmp_path / "b.json", rows))


def test_every_faulty_row_is_listed(tmp_path):
    rows = [
        {"question_id": "1", "label": {"red": 1}},
        {"question_id": "1", "label": {"red": 1}},
        3,
        {"label": {}},
    ]
    with pytest.raises(UserError) as caught:
        read_benchmark(write(tmp_path / "b.json", rows))
    assert caught.value.problems[1:] == [
        "b.json, question 2: duplicate id 1",
        "b.json, question 3: expected an object with question_id and label",
        "b.json, question 4: expected an object with question_id and label",
    ]


def test_gqas_own_file_keeps_ids_and_questions_as_they_are(tmp_path):
    question = {"imageId": "n5", "answer": "red", "types": {"structural": "query", "semantic": None}}
    benchmark = read_benchmark(write(tmp_path / "q.json", {"0071": question}))
    (item,) = benchmark.subsets["q"]
    assert (benchmark.kind, item.id, item.image, item.answers) == ("gqa", "0071", "n5", {"red": 1.0})
    assert (item.structural, item.semantic, item.gqa_question) == ("query", "", question)


def test_vqas_own_file_keeps_every_human_answer(tmp_path):
    answers = [{"answer": "red"}, {"answer": "blue"}, {"answer": "red"}]
    rows = [{"question_id": 7, "image_id": 3, "answer_type": "other", "answers": answers}]
    benchmark = read_benchmark(write(tmp_path / "v.json", {"annotations": rows}))
    (item,) = benchmark.subsets["v"]
    assert (benchmark.kind, item.id, item.image, item.structural) == ("vqa", "7", "3", "other")
    assert item.human_answers == ("red", "blue", "red") and item.answers == {"red": 1.0, "blue": 1.0}
    faulty = [*rows, *rows, {"question_id": 8, "answers": []}, {"answers": answers}]
    with pytest.raises(UserError) as caught:
        read_benchmark(write(tmp_path / "v.json", {"annotations": faulty}))
    assert [line.partition(": ")[2] for line in caught.value.problems[1:]] == [
        "duplicate id 7",
        "id 8 has no answers",
        "expected question_id and answers (KeyError('question_id'))",
    ]


@pytest.mark.parametrize("value", [3, {}, {"a": 1}, {"annotations": 3}])
def test_other_files_are_refused(tmp_path, value):
    with pytest.raises(UserError, match="expected RGQA's list of questions"):
        read_benchmark(write(tmp_path / "b.json", value))


def test_a_truncated_file_is_refused(tmp_path):
    (tmp_path / "b.json").write_text(json.dumps([{"question_id": "1"}])[:-3])
    with pytest.raises(UserError, match="The file may be truncated"):
        read_benchmark(tmp_path / "b.json")


def test_a_release_without_a_title_has_its_folders_name(release, monkeypatch):
    monkeypatch.chdir(release)
    assert read_benchmark(".").name == release.name


def named(folder, **params):
    write(folder / "params.json", params)
    return read_benchmark(folder).full_name


def test_a_release_is_named_by_its_title_wherever_it_lies(release):
    title = {"release": {"title": "Kitchens"}, "dataset": "kitchens-2", "version": "1.2.0"}
    assert named(release, **title) == "Kitchens 1.2.0"
    moved = release.rename(release.with_name("download(1)"))
    assert str(read_release_name(moved)) == "Kitchens 1.2.0"
    assert named(moved, dataset="kitchens-2", version="1.2.0") == "kitchens-2 1.2.0"
    assert named(moved, release={"title": "Kitchens 1.2.0"}, version="1.2.0") == "Kitchens 1.2.0"
    assert named(moved, version="1.2.0") == "download(1) 1.2.0" and named(moved) == "download(1)"


def test_a_title_is_one_printable_line(release):
    assert named(release, release={"title": "Küchen\n \ud800"}) == "Küchen ?"


@pytest.mark.parametrize(
    ("params", "key"),
    [
        ({"version": 1.0}, "version"),
        ({"release": {"title": ["a"]}}, "release.title"),
        ({"dataset": None}, "dataset"),
    ],
)
def test_a_name_that_is_no_text_is_refused(release, params, key):
    with pytest.raises(UserError, match=f"params.json: {key} is"):
        named(release, **params)


def test_reports_name_the_release(release, tmp_path, capsys):
    write(release / "params.json", {"release": {"title": "Kitchens"}, "version": "1.2.0"})
    found = scored(tmp_path, release, write(tmp_path / "m.json", predictions()), "--bootstrap", 0)
    assert found["benchmark"]["name"] == "Kitchens"
    assert capsys.readouterr().out.startswith("benchmark Kitchens 1.2.0, split test")


# Provenance
# What a release says of its items: of what is damaged, one message with every line and item.


ITEM = {"subset": "s", "item_id": "a", "split": "test", "pair_id": "p", "edits": [{"kind": "object"}]}


def lines(*rows):
    return "\n".join(map(json.dumps, rows)).encode()


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"edits": None}, "edits is None, expected a list of objects with kind"),
        ({"edits": "abc"}, "edits is 'abc', expected a list of objects with kind"),
        ({"edits": [{}]}, "edits is [{}], expected a list of objects with kind"),
        ({"edits": [{"kind": "a"}, {"kind": 1}]}, "expected a list of objects with kind"),
        ({"pair_id": [1]}, "pair_id is [1], expected a string"),
        ({"split": 5}, "split is 5, expected a string"),
        ({"split": "Test"}, "split is 'Test', expected validation or test"),
        ({"category": ["a"]}, "category is ['a'], expected a string"),
        ({"structural": {}}, "structural is {}, expected a string"),
    ],
)
def test_invalid_fields_are_reported_with_line_and_item(tmp_path, fields, fault):
    with pytest.raises(UserError) as caught:
        parse_provenance(
            lines({"item": ITEM | {"item_id": "b"}}, {"item": ITEM | fields}), tmp_path / "p.jsonl"
        )
    first, problem = caught.value.problems
    assert first == f"{tmp_path / 'p.jsonl'}: 1 fault"
    assert problem.startswith("line 2 (s's item a): ") and fault in problem


def test_all_lines_are_reported_at_once(tmp_path):
    rows = [3, {"item": ITEM}, {"item": None}, {"item": {"subset": "s", "item_id": 7}}]
    rows += [{"item": ITEM | {"split": "validation"}}, {"item": ITEM | {"subset": "t"}}]
    with pytest.raises(UserError) as caught:
        parse_provenance(lines(*rows), tmp_path / "p.jsonl")
    none = "not an item's provenance, expected item with subset and item_id"
    assert caught.value.problems[1:] == [
        *(f"line {number}: {none}" for number in (1, 3, 4)),
        "line 5 (s's item a): duplicate item",
    ]


def test_fields_of_provenance_may_be_missing_or_null(tmp_path):
    item = {"subset": "s", "item_id": "a", "category": None}
    assert parse_provenance(lines({"item": item}), tmp_path) == {"s": {"a": item}}


@pytest.mark.parametrize("name", ["params.json", "provenance.jsonl"])
@pytest.mark.parametrize("what", ["folder", "link", "pipe"])
def test_a_file_may_be_missing_but_be_nothing_else(release, name, what):
    path = release / name
    path.unlink()
    read_benchmark(release)
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("nothing")
    with pytest.raises(UserError, match=f"{name}: (cannot be read|no such file|a pipe)"):
        read_benchmark(release)


def test_a_pipe_for_a_subset_is_reported(release):
    (release / "rgqa/pt-hard.json").unlink()
    os.mkfifo(release / "rgqa/pt-hard.json")
    with pytest.raises(UserError, match=r"pt-hard.json: a pipe or a device. Write"):
        read_benchmark(release)


@pytest.mark.parametrize("params", [[1], "1.0.0", {"version": 1.0}, {"version": None}])
def test_params_and_all_else_that_is_damaged_are_one_message(release, tmp_path, capsys, params):
    write(release / "params.json", params)
    (release / "provenance.jsonl").write_text("3")
    write(release / "rgqa/pt-hard.json", [3])
    told = refused(capsys, release, write(tmp_path / "m.json", predictions()))
    for piece in ("params.json: ", "line 1: not an item's", "question 1: expected"):
        assert piece in told


# Errata


FAULTY = [{"item_id": "u2", "reason": "it has an answer", "version": "1.0.0"}]


@pytest.fixture
def model(tmp_path):
    return write(tmp_path / "m.json", predictions())


def test_faulty_items_and_their_pairs_are_excluded_and_reported(release, model, tmp_path, capsys):
    write(release / "errata.json", FAULTY)
    words = "--bootstrap", "0", "--split", "all"
    whole, less = (
        scored(tmp_path, release, model, *words, *more) for more in ((), ("--exclude-errata", "auto"))
    )
    # of three pairs one is left out: u2 itself, and a2, which is asked beside it, in both subsets
    assert [r["benchmark"]["subsets"]["pt-hard"] for r in (whole, less)] == [6, 4]
    assert (whole["benchmark"]["errata"], less["benchmark"]["errata"]) == (None, ["a2", "u2"])
    # FACC: "red" and "Dog" are right and "no" is wrong, 2 of 3; without a2 2 of 2
    found = [r["models"][0]["subsets"]["pt-hard"]["realistic"]["facc"] for r in (whole, less)]
    assert isclose(found[0], 2 / 3) and found[1] == 1
    capsys.readouterr()
    run(release, model, *words, "--exclude-errata", "auto")
    assert "WITHOUT 2 items (those in the errata" in " ".join(capsys.readouterr().out.split())
    run(release, model, *words)
    assert "errata" not in capsys.readouterr().out


def test_an_errata_list_without_items_of_this_benchmark_is_reported(release, model, tmp_path, capsys):
    path = write(tmp_path / "e.json", [{"item_id": "elsewhere"}])
    run(release, model, "--bootstrap", "0", "--exclude-errata", path)
    assert "WITHOUT 0 items (those in the errata" in " ".join(capsys.readouterr().out.split())


def test_items_without_a_pair_are_excluded_alone(release, tmp_path):
    single = release / "rgqa/pt-hard.json"
    left = exclude_errata(read_benchmark(single), single, str(write(tmp_path / "e.json", FAULTY)))
    assert left.errata == ("u2",) and len(left.subsets["pt-hard"]) == 5 and "u2" in left.ids


@pytest.mark.parametrize("content", [{"u2": "why"}, ["u2"], [{"id": "u2"}]])
def test_a_file_of_another_format_is_refused(release, tmp_path, content):
    path = write(tmp_path / "e.json", content)
    with pytest.raises(UserError, match="expected a list of"):
        exclude_errata(read_benchmark(release), release, str(path))


def test_a_release_without_a_list_says_what_to_do(release, model, capsys):
    assert "Name a file instead" in refused(capsys, release, model, "--exclude-errata", "auto")


# GQA schema
# GQA's own files, damaged: one message that names the questions.


GOOD = {
    "answer": "red",
    "types": {"structural": "query", "semantic": None},
    "groups": {"global": None},
    "entailed": ["2"],
    "semantic": [{"operation": "select", "argument": "dog (1)", "dependencies": []}],
    "isBalanced": True,
}


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("answer", ["red"], "a string"),
        ("answer", None, "a string"),
        ("types", "query", "an object of strings"),
        ("types", {"structural": 3}, "an object of strings"),
        ("groups", [1], "an object of strings"),
        ("groups", {"global": ["a"]}, "an object of strings"),
        ("entailed", 2, "a list of ids"),
        ("entailed", [["2"]], "a list of ids"),
        ("semantic", "select", "a list of objects with operation and argument"),
        ("semantic", [{"operation": "select"}], "a list of objects with operation and argument"),
        ("isBalanced", "false", "true or false"),
    ],
)
def test_all_invalid_questions_are_listed(tmp_path, field, value, wanted):
    path = write(tmp_path / "q.json", {"1": GOOD, "2": GOOD | {field: value}, "3": GOOD | {field: value}})
    with pytest.raises(UserError) as caught:
        read_benchmark(path)
    assert caught.value.problems == [
        f"{path}: 2 faults",
        *(f"question {name}: {field} is {value!r}, expected {wanted}" for name in "23"),
    ]


def test_fields_of_gqa_may_be_missing_or_null(tmp_path):
    nulls = dict.fromkeys(("types", "groups", "entailed", "semantic"))
    questions = {"1": GOOD, "2": {"answer": "red"}, "3": {"answer": "red", **nulls}}
    assert len(read_benchmark(write(tmp_path / "q.json", questions)).ids) == 3


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("all-questions", 3, "an object with `answer`, a string, for each question"),
        ("all-questions", {"answer": 3}, "an object with `answer`, a string, for each question"),
        ("choices", 3, "an object of lists of strings for each question"),
        ("choices", {"valid": "red"}, "an object of lists of strings for each question"),
        ("choices", {"plausible": [3]}, "an object of lists of strings for each question"),
    ],
)
def test_invalid_gqa_resources_are_refused(tmp_path, name, value, wanted):
    path = write(
        tmp_path / "x.json", {"1": {"answer": "red"} if name != "choices" else {"valid": []}, "7": value}
    )
    with pytest.raises(UserError, match=f"x.json: expected {wanted}. Invalid: 7$"):
        read_resources([f"{name}={path}"], None)
