"""What `serve` says and looks for, with Label Studio's Python played by a few lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.server import accounts, serve
from annotation.server.accounts import invite
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders


def test_the_summary_names_links_and_where_the_administrators_password_lies(asked: list[dict]) -> None:
    secrets = accounts.ensure(Path("python"), 8080)
    invite(["ann"], link=True)
    text = "\n".join(serve.summary(Folders()))
    for part in (
        accounts.link("ann@rgqa.local"),
        "/desk/join/",
        secrets.email,
        "data/label-studio/secrets.json",
    ):
        assert part in text
    assert secrets.password not in text and secrets.token not in text


@pytest.mark.parametrize("who", ["named", "volunteers"])
def test_it_serves_whoever_was_invited(
    asked: list[dict], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], who: str
) -> None:
    done = []
    monkeypatch.setattr("annotation.server.process.start", lambda *_: done.append("start"))
    monkeypatch.setattr(serve, "push", lambda: done.append("push"))
    invite(["ann"] if who == "named" else [], link=who == "volunteers")
    serve.serve(0)
    assert done == ["start", "push"]
    assert f"/desk/{'in' if who == 'named' else 'join'}/" in capsys.readouterr().out


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
