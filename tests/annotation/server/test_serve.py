"""What `serve` says and looks for, with Label Studio's Python played by a few lines."""

from __future__ import annotations

import pytest

from annotation.client.credentials import read_secrets
from annotation.server import serve
from annotation.server.accounts import invite, join
from annotation.study.roster import read_roster
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders


def test_the_summary_names_address_logins_and_where_the_secrets_lie(asked: list[dict]) -> None:
    invite(["ann"])
    secrets = read_secrets()
    text = "\n".join(serve.summary(secrets, read_roster(Folders())))
    for part in (
        secrets.url,
        "/desk/in/" + secrets.annotators["ann"].link,
        "ann@rgqa.local",
        secrets.annotators["ann"].password,
        "data/label-studio/secrets.json",
    ):
        assert part in text
    assert secrets.admin.password not in text and secrets.admin.token not in text


def test_accounts_are_looked_for_again_only_when_somebody_or_the_port_is_new(asked: list[dict]) -> None:
    invite(["ann"])
    roster = read_roster(Folders())
    assert serve.complete_secrets(roster, "http://127.0.0.1:8080") == read_secrets()
    assert serve.complete_secrets(roster, "http://127.0.0.1:8081") is None
    join(Folders(), ["ben"])
    assert serve.complete_secrets(read_roster(Folders()), "http://127.0.0.1:8080") is None


def test_beside_another_label_studio_none_is_started(
    asked: list[dict], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEL_STUDIO_URL", "https://label.example.org")
    with pytest.raises(UserError, match="unset them to run one here"):
        serve.serve(8080)
    assert asked == []


def test_without_annotators_it_says_how_to_invite_them(asked: list[dict]) -> None:
    with pytest.raises(UserError, match="nobody annotates yet; run: rgqa annotate invite NAME ... --contact"):
        serve.serve(8080)
    assert asked == []
