import msgspec
import pytest

from annotation.study.roster import Annotator, read_roster, write_roster
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders
from tests.annotation.conftest import people


def test_before_anybody_was_invited_there_is_nobody(tiny):
    assert read_roster(Folders()) == []


def test_what_was_written_is_read_in_the_order_of_joining(tiny):
    roster = people("zoe", "ann", ann=2.0)
    write_roster(Folders(), roster)
    assert read_roster(Folders()) == roster


@pytest.mark.parametrize("field", ["name", "pseudonym", "email"])
def test_nobody_is_there_twice(tiny, field):
    ann, ben = people("ann", "ben")
    twin = msgspec.structs.replace(ben, **{field: getattr(ann, field)})
    with pytest.raises(UserError, match=f"the roster has {field} {getattr(ann, field)} more than once"):
        write_roster(Folders(), [ann, twin])
    assert read_roster(Folders()) == []


@pytest.mark.parametrize("row", [{"name": "../ann"}, {"name": "ann b"}, {"share": 0}])
def test_a_name_that_is_no_file_name_or_a_share_of_nothing_is_refused(row):
    good = {"name": "ann", "pseudonym": "annotator-01", "email": "ann@example.org"}
    assert msgspec.convert(good, Annotator).active
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(good | row, Annotator)
