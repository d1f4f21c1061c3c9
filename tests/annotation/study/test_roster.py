import msgspec
import pytest

from annotation.study.exports import pseudonym
from annotation.study.roster import Annotator, enrol, read_roster, write_roster
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_json
from pipeline.core.paths import Folders
from tests.annotation.conftest import people


def test_before_anybody_was_invited_there_is_nobody(tiny):
    assert read_roster(Folders()) == []


def test_what_was_written_is_read_in_the_order_of_joining(tiny):
    roster = people("zoe", "ann")
    write_roster(Folders(), roster)
    assert read_roster(Folders()) == roster


@pytest.mark.parametrize("field", ["name", "pseudonym", "email"])
def test_nobody_is_there_twice(tiny, field):
    ann, ben = people("ann", "ben")
    twin = msgspec.structs.replace(ben, **{field: getattr(ann, field)})
    with pytest.raises(UserError, match=f"the roster has {field} {getattr(ann, field)} more than once"):
        write_roster(Folders(), [ann, twin])
    assert read_roster(Folders()) == []
    write_json(Folders().study / "roster.json", [ann, twin])  # by hand
    with pytest.raises(UserError, match=f"the roster has {field} {getattr(ann, field)} more than once"):
        read_roster(Folders())


@pytest.mark.parametrize("row", [{"name": "../ann"}, {"name": "ann b"}])
def test_a_name_that_is_no_file_name_is_refused(row):
    good = {"name": "ann", "pseudonym": "annotator-01", "email": "ann@example.org"}
    assert msgspec.convert(good, Annotator).active
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(good | row, Annotator)


def test_nobody_gets_a_pseudonym_that_somebody_has_or_had(tiny):
    folders = Folders()
    assert enrol(folders, {"ann@x": "ann"})[-1].pseudonym == "annotator-01"
    write_json(folders.study / "forgotten.json", {"annotator-02": "2026-01-01T00:00:00+00:00"})
    assert enrol(folders, {"ben@x": "ben"})[-1].pseudonym == "annotator-03"


def test_nobody_gets_a_pseudonym_under_which_others_answers_were_pulled_or_imported(tiny):
    folders = Folders()
    rows = [
        {"id": number, "completed_by": name}
        for number, name in enumerate(["annotator-04", "annotator-12345678"], 1)
    ]
    write_json(folders.annotations / "pulled.json", [{"data": {"task": "t1"}, "annotations": rows}])
    assert [row.pseudonym for row in enrol(folders, {"ann@x": "ann", "ben@x": "ben"})] == [
        "annotator-05",
        "annotator-06",
    ]
    assert enrol(folders, {"eve@x": "eve"}, expert=True)[-1].pseudonym == "expert-01"


def test_volunteers_get_a_name_that_nobody_has(tiny):
    folders = Folders()
    enrol(folders, {"ann@rgqa.local": "ann"})
    roster = enrol(folders, {"ann@volunteer.rgqa.local": "ann", "zoe@volunteer.rgqa.local": "zoe"})
    assert [(row.name, row.pseudonym, row.volunteer) for row in roster] == [
        ("ann", "annotator-01", False),
        ("ann-2", "annotator-02", True),
        ("zoe", "annotator-03", True),
    ]
    assert enrol(folders, {"zoe@volunteer.rgqa.local": "zoe"}) == read_roster(folders) == roster


def test_an_expert_is_known_by_the_pseudonym_and_is_nobody_who_votes(tiny):
    folders = Folders()
    enrol(folders, {"ann@rgqa.local": "ann"})
    roster = enrol(folders, {"eve@rgqa.local": "eve"}, expert=True)
    assert [(row.pseudonym, row.expert) for row in roster] == [("annotator-01", False), ("expert-01", True)]
    assert enrol(folders, {"eve@rgqa.local": "eve"}, expert=True) == roster
    with pytest.raises(UserError, match="ann: there as annotators already"):
        enrol(folders, {"ann@rgqa.local": "ann"}, expert=True)
    with pytest.raises(UserError, match="eve: there as experts already"):
        enrol(folders, {"eve@rgqa.local": "eve"})
    assert pseudonym("expert-01", "salt") == "expert-01"
