import msgspec
import pytest

from annotation.study.exports import make_pseudonym
from annotation.study.roster import Annotator, enroll, read_roster, write_roster
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_json
from pipeline.core.paths import DatasetFolders
from tests.annotation.conftest import people


def test_roster_is_empty_before_the_first_invitation(tiny):
    assert read_roster(DatasetFolders()) == []


def test_roster_keeps_the_order_of_joining(tiny):
    roster = people("zoe", "ann")
    write_roster(DatasetFolders(), roster)
    assert read_roster(DatasetFolders()) == roster


@pytest.mark.parametrize("field", ["name", "pseudonym", "email"])
def test_duplicates_are_refused(tiny, field):
    ann, ben = people("ann", "ben")
    twin = msgspec.structs.replace(ben, **{field: getattr(ann, field)})
    with pytest.raises(UserError, match=f"{field} occurs more than once .*: {getattr(ann, field)}"):
        write_roster(DatasetFolders(), [ann, twin])
    assert read_roster(DatasetFolders()) == []
    write_json(DatasetFolders().study / "roster.json", [ann, twin])  # by hand
    with pytest.raises(UserError, match=f"{field} occurs more than once .*: {getattr(ann, field)}"):
        read_roster(DatasetFolders())


@pytest.mark.parametrize("row", [{"name": "../ann"}, {"name": "ann b"}])
def test_invalid_name_is_refused(row):
    good = {"name": "ann", "pseudonym": "annotator-01", "email": "ann@example.org"}
    assert msgspec.convert(good, Annotator).is_active
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(good | row, Annotator)


def test_used_pseudonyms_are_not_reused(tiny):
    folders = DatasetFolders()
    assert enroll(folders, {"ann@x": "ann"})[-1].pseudonym == "annotator-01"
    write_json(folders.study / "erased.json", {"annotator-02": "2026-01-01T00:00:00+00:00"})
    assert enroll(folders, {"ben@x": "ben"})[-1].pseudonym == "annotator-03"


def test_pseudonyms_in_pulled_answers_are_not_reused(tiny):
    folders = DatasetFolders()
    rows = [
        {"id": number, "completed_by": name}
        for number, name in enumerate(["annotator-04", "annotator-12345678"], 1)
    ]
    write_json(folders.annotations / "pulled.json", [{"data": {"task": "t1"}, "annotations": rows}])
    assert [row.pseudonym for row in enroll(folders, {"ann@x": "ann", "ben@x": "ben"})] == [
        "annotator-05",
        "annotator-06",
    ]
    assert enroll(folders, {"eve@x": "eve"}, adjudicator=True)[-1].pseudonym == "adjudicator-01"


def test_volunteers_get_unique_names(tiny):
    folders = DatasetFolders()
    enroll(folders, {"ann@rgqa.local": "ann"})
    roster = enroll(folders, {"ann@volunteer.rgqa.local": "ann", "zoe@volunteer.rgqa.local": "zoe"})
    assert [(row.name, row.pseudonym, row.is_volunteer) for row in roster] == [
        ("ann", "annotator-01", False),
        ("ann-2", "annotator-02", True),
        ("zoe", "annotator-03", True),
    ]
    assert enroll(folders, {"zoe@volunteer.rgqa.local": "zoe"}) == read_roster(folders) == roster


def test_adjudicators_have_a_prefix_and_cannot_be_annotators(tiny):
    folders = DatasetFolders()
    enroll(folders, {"ann@rgqa.local": "ann"})
    roster = enroll(folders, {"eve@rgqa.local": "eve"}, adjudicator=True)
    assert [(row.pseudonym, row.is_adjudicator) for row in roster] == [
        ("annotator-01", False),
        ("adjudicator-01", True),
    ]
    assert enroll(folders, {"eve@rgqa.local": "eve"}, adjudicator=True) == roster
    with pytest.raises(UserError, match="already in the roster as annotators: ann"):
        enroll(folders, {"ann@rgqa.local": "ann"}, adjudicator=True)
    with pytest.raises(UserError, match="already in the roster as adjudicators: eve"):
        enroll(folders, {"eve@rgqa.local": "eve"})
    assert make_pseudonym("adjudicator-01", "salt") == "adjudicator-01"
