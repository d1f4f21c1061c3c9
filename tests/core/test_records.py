"""Records and their texts."""

import msgspec
import pytest

from pipeline.core import records
from pipeline.core.no_answer_texts import is_no_answer
from pipeline.core.records import SUBSETS, Candidate, Edit, Record, Step, Vocabulary, make_candidate_id

# Records
# Records of stages: ids keep leading zeros, and records are immutable without unknown fields.


KINDS = [
    kind
    for kind in vars(records).values()
    if isinstance(kind, type) and issubclass(kind, Record) and kind is not Record
]
CANDIDATE = Candidate(
    candidate_id="ptEasy_n01+002",
    subset="pt-easy",
    image_id="n01",
    question_id="002",
    text="What color is the bus?",
    program=(
        Step(operation="select", argument="bus (17)", dependencies=()),
        Step(operation="query", argument="color", dependencies=(0,)),
    ),
    edits=(Edit(start=18, end=21, kind="object", old="cup", new="bus", step_index=0),),
)


def test_the_id_of_a_candidate_has_the_format_of_rgqa():
    # An example from the files of RGQA: a question about image 460556.
    assert make_candidate_id("clip-easy", "n460556", "202082119") == "clipeasy_n460556+202082119"
    ids = {make_candidate_id(subset, "n1", "01") for subset in SUBSETS}
    assert ids == {"clipeasy_n1+01", "cliphard_n1+01", "pteasy_n1+01", "pthard_n1+01"}


def test_records_survive_a_json_round_trip():
    data = msgspec.json.encode(CANDIDATE)
    assert msgspec.json.decode(data, type=Candidate) == CANDIDATE
    assert b'"question_id":"002"' in data
    # Missing values are null.
    assert b'"score":null' in data


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_records_are_immutable_and_refuse_unknown_fields(kind):
    assert kind.__struct_config__.frozen and kind.__struct_config__.forbid_unknown_fields
    with pytest.raises(msgspec.ValidationError, match="unknown field `colour`"):
        msgspec.json.decode(b'{"colour": 1}', type=kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_id_is_a_string(kind):
    for field in msgspec.structs.fields(kind):
        if field.name.endswith("_id"):
            assert field.type in (str, str | None), field.name


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"subset": "clip-medium"}, "Invalid enum value 'clip-medium'"),
        ({"question_id": 2}, "Expected `str`, got `int`"),
        (
            {"edits": [{"start": 0, "end": 1, "kind": "colour", "old": "a", "new": "b"}]},
            "Invalid enum value 'colour'",
        ),
    ],
)
def test_an_invalid_value_is_reported_with_its_path(change, complaint):
    with pytest.raises(msgspec.ValidationError, match=complaint):
        msgspec.convert(msgspec.to_builtins(CANDIDATE) | change, Candidate)


def test_two_vocabularies_share_no_mutable_default():
    empty = [
        Vocabulary(
            objects={},
            attributes={},
            attribute_types={},
            relations={},
            categories={},
            locations={},
            weathers={},
        )
        for _ in range(2)
    ]
    assert empty[0].presupposed_objects is not empty[1].presupposed_objects


def test_a_dropped_candidate_keeps_its_ids_and_text():
    dropped = CANDIDATE.as_dropped("screen", "repeated", "of another one")
    for name in ("candidate_id", "subset", "image_id", "question_id", "text"):
        assert getattr(dropped, name) == getattr(CANDIDATE, name)
    assert (dropped.stage, dropped.reason, dropped.detail) == ("screen", "repeated", "of another one")


# Values that files of data/ may hold.
WORDS = {
    "Split": "testdev, train, val, test",
    "Subset": "clip-easy, clip-hard, pt-easy, pt-hard, counterfactual, drafted-aq",
    "EditKind": "object, attribute, relation",
    "Category": "missing object, wrong attribute, wrong relation, no valid answer, underspecified",
    "Answerability": "answerable, unanswerable, unknown",
    "Choice": "valid, invalid, unsure",
    "WordClass": "object, attribute, relation, frame, other",
    "Difficulty": "random, popular, adversarial",
    "EvidenceSource": "truth, scene graph, drafted scene graph, other questions, none",
}


@pytest.mark.parametrize("name", WORDS)
def test_files_may_have_only_these_values(name):
    kind = getattr(records, name)
    for word in WORDS[name].split(", "):
        assert msgspec.convert(word, kind) == word
    assert len(kind.__args__) == len(WORDS[name].split(", "))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_missing_texts_are_empty(kind):
    defaults = {
        field.name: field.default
        for field in msgspec.structs.fields(kind)
        if field.type is str and field.default is not msgspec.NODEFAULT
    }
    assert defaults == dict.fromkeys(defaults, "")


# No answer texts


@pytest.mark.parametrize(
    "text",
    [
        *("unanswerable", "UNANSWERABLE", "Unanswerable.", "unanswerable!", "'unanswerable'", "[unanswerable]"),
        *("unanswerable。", "\u201cunanswerable\u201d", "ｕｎａｎｓｗｅｒａｂｌｅ", "un\u200banswerable", "\ufeffunanswerable"),
        *("unsuitable", "Unsuitable Image", "  unsuitable \n", "un-answerable", "no_answer"),
        *("n/a", "N/A", "N.A.", "n / a", "N\uff0fA", "uq", "Uq", "UQ", "u.q.", "uq?", "*UQ*", "can't tell", "can’t tell"),
    ],
)  # fmt: skip
def test_all_spellings_of_no_answer_are_recognized(text):
    assert is_no_answer(text)


@pytest.mark.parametrize(
    "text", ["no", "none", "None", "nothing", "nobody", "NA", "nan", "0", "", " ", "?", "suitable", "answer", "uqs", "quiz"]
)  # fmt: skip
def test_answers_stay_answers(text):
    assert not is_no_answer(text)
