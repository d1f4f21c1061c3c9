"""What `serve` and `invite` say and keep, with Label Studio's Python played by a few lines."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from annotation.client import invite as door
from annotation.client.secrets import HOME, read_secrets
from annotation.client.task_screen import HOTKEYS
from annotation.server import accounts, environment, process, serve
from annotation.study.roster import read_roster
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders


@pytest.fixture
def asked(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """What Label Studio's Python is asked for; it gives `token of <e-mail>` to whoever has none."""
    questions: list[dict] = []

    def ask(python: Path, command: str, question: bytes, home: Path) -> bytes:
        wanted = msgspec.json.decode(question)
        questions.append(msgspec.json.decode(question))
        for login in [wanted["admin"], *wanted["annotators"].values()]:
            login["token"] = login["token"] or f"token of {login['email']}"
            login.pop("active", None)
            login.pop("hotkeys", None)
        return msgspec.json.encode(wanted)

    monkeypatch.setattr(process, "ask", ask)
    monkeypatch.setattr(environment, "ensure", lambda: Path("python"))
    for name in ("LABEL_STUDIO_URL", "LABEL_STUDIO_TOKEN", "RGQA_ANNOTATE_DATABASE"):
        monkeypatch.delenv(name, raising=False)
    return questions


def test_annotators_join_with_pseudonyms_in_order_and_an_account_each(asked: list[dict]) -> None:
    door.invite(["zoe", "ann"], share=2)
    door.invite(["ben"])
    assert [(p.name, p.pseudonym, p.email, p.share) for p in read_roster(Folders())] == [
        ("zoe", "annotator-01", "zoe@rgqa.local", 2.0),
        ("ann", "annotator-02", "ann@rgqa.local", 2.0),
        ("ben", "annotator-03", "ben@rgqa.local", 1.0),
    ]
    secrets = read_secrets()
    assert {name: login.token for name, login in secrets.annotators.items()} == {
        name: f"token of {name}@rgqa.local" for name in ("zoe", "ann", "ben")
    }
    assert len({login.password for login in secrets.annotators.values()}) == 3
    assert (HOME / "secrets.json").stat().st_mode & 0o777 == 0o600 and HOME.stat().st_mode & 0o777 == 0o700


def test_the_same_invitation_twice_changes_nothing(asked: list[dict]) -> None:
    door.invite(["ann"])
    before = (read_roster(Folders()), read_secrets())
    door.invite(["ann"])
    assert (read_roster(Folders()), read_secrets()) == before


def test_a_kill_before_the_secrets_are_written_is_mended_by_the_next_run(
    asked: list[dict], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(accounts, "write_secrets", killed)
        door.invite(["ann"])
    assert not (HOME / "secrets.json").exists()
    door.invite(["ann"])
    assert [person.pseudonym for person in read_roster(Folders())] == ["annotator-01"]
    # The account is asked for again, with the password that is kept.
    assert asked[-1]["annotators"]["ann"]["password"] == read_secrets().annotators["ann"].password


def test_who_leaves_stays_in_the_roster_and_the_account_is_closed(asked: list[dict]) -> None:
    door.invite(["ann", "ben"])
    password = read_secrets().annotators["ann"].password
    door.invite(["ann"], leave=True)
    assert [(p.name, p.active) for p in read_roster(Folders())] == [("ann", False), ("ben", True)]
    assert asked[-1]["annotators"] == {
        "ann": {
            "email": "ann@rgqa.local",
            "password": password,
            "token": "token of ann@rgqa.local",
            "active": False,
            "hotkeys": HOTKEYS,
        }
    }
    door.invite(["ann"])
    assert read_roster(Folders())[0].active and read_secrets().annotators["ann"].password == password


def test_every_name_that_cannot_be_is_told_at_once(asked: list[dict]) -> None:
    with pytest.raises(UserError) as error:
        door.invite(["ann b", "ok", "../x"], share=0)
    assert error.value.problems[0] == "invite: 3 problems"
    assert read_roster(Folders()) == [] and asked == []


def test_who_is_not_there_cannot_leave(asked: list[dict]) -> None:
    door.invite(["ann"])
    with pytest.raises(UserError, match="not in the roster: zoe; there are ann"):
        door.invite(["zoe"], leave=True)


def test_on_a_foreign_server_only_the_roster_changes(
    asked: list[dict], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LABEL_STUDIO_URL", "https://label.example.org")
    door.invite(["ann"])
    assert asked == [] and not HOME.exists()
    assert "made there by hand" in capsys.readouterr().out
    with pytest.raises(UserError, match="unset them to run one here"):
        serve.serve(8080)


def test_secrets_of_another_data_sets_annotators_stay(asked: list[dict]) -> None:
    door.invite(["ann"])
    (Folders().study / "roster.json").unlink()
    door.invite(["ben"])
    assert sorted(read_secrets().annotators) == ["ann", "ben"]


def test_the_summary_names_address_logins_and_where_the_secrets_lie(asked: list[dict]) -> None:
    door.invite(["ann"])
    secrets = read_secrets()
    text = "\n".join(serve.summary(secrets, read_roster(Folders())))
    for part in (
        secrets.url,
        "ann@rgqa.local",
        secrets.annotators["ann"].password,
        "data/label-studio/secrets.json",
    ):
        assert part in text
    assert secrets.admin.password not in text and secrets.annotators["ann"].token not in text


def test_accounts_are_looked_for_again_only_when_somebody_or_the_port_is_new(asked: list[dict]) -> None:
    door.invite(["ann"])
    roster = read_roster(Folders())
    assert serve.missing_accounts(roster, 8080) == read_secrets()
    assert serve.missing_accounts(roster, 8081) is None
    door.join(Folders(), ["ben"])
    assert serve.missing_accounts(read_roster(Folders()), 8080) is None
