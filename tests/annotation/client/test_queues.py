import pytest

from annotation.client.credentials import Login, Secrets, write_secrets
from annotation.client.queues import noted, open_queues
from annotation.study.roster import write_roster
from pipeline.core.errors import Problems, UserError
from pipeline.core.paths import Folders
from tests.annotation.conftest import people


@pytest.fixture
def own(tiny, monkeypatch):
    """Our own server, on which ann and ben have accounts."""
    for name in ("LABEL_STUDIO_URL", "LABEL_STUDIO_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    logins = {name: Login(email=f"{name}@example.org", password="p", token=name) for name in ("ann", "ben")}
    write_secrets(
        Secrets(url="http://127.0.0.1:8080", admin=Login(email="a", password="p"), annotators=logins)
    )


def test_on_our_server_each_queue_has_the_same_title_and_a_token_of_its_own(own):
    write_roster(Folders(), people("ann", "ben"))
    problems = Problems("test")
    queues = open_queues(Folders(), problems)
    assert [(queue.name, queue.title, queue.server.connection.token) for queue in queues] == [
        ("annotator-01", "RGQA tiny", "ann"),
        ("annotator-02", "RGQA tiny", "ben"),
    ]
    assert problems.lines == []


def test_elsewhere_all_queues_are_projects_of_one_server(study):
    queues = open_queues(Folders(), Problems("test"))
    assert [queue.title for queue in queues] == [f"RGQA tiny: annotator-0{number}" for number in (1, 2, 3)]
    assert len({id(queue.server) for queue in queues}) == 1


def test_opening_asks_the_servers_nothing(study):
    open_queues(Folders(), Problems("test"))
    assert study.requests == []


def test_who_has_no_account_is_told_and_the_others_are_reached(own):
    write_roster(Folders(), people("ann", "zoe"))
    problems = Problems("test")
    assert [queue.name for queue in open_queues(Folders(), problems)] == ["annotator-01"]
    assert len(problems.lines) == 1 and problems.lines[0].startswith("zoe has no account")


def test_when_nobody_can_be_reached_all_of_it_is_told(own):
    write_roster(Folders(), people("yan", "zoe"))
    with pytest.raises(UserError) as caught:
        open_queues(Folders(), Problems("test"))
    assert [line.split()[0] for line in caught.value.problems] == ["test:", "yan", "zoe"]


def test_our_server_wants_annotators_of_a_name(own):
    with pytest.raises(UserError, match="nobody annotates yet; run: rgqa annotate invite NAME"):
        open_queues(Folders(), Problems("test"))


def test_what_several_queues_say_alike_is_noted_once():
    problems = Problems("test")
    for _ in range(2):
        with noted(problems):
            raise UserError("no server answers")
    with noted(problems, "annotator-01: "):
        raise UserError(["a", "b"])
    assert problems.lines == ["no server answers", "annotator-01: a", "annotator-01: b"]
