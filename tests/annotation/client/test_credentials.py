import pytest

from annotation.client.credentials import LABEL_STUDIO_DIR, SECRETS_FILE, Secrets, connect, read_secrets
from annotation.study.private_files import write_private
from pipeline.core.errors import UserError

OURS = Secrets(url="http://127.0.0.1:8080", email="admin@rgqa.local", password="a", token="admin's")


def opened():
    server = connect()
    return server.url, server.token, server.is_managed


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("LABEL_STUDIO_URL", "LABEL_STUDIO_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def test_secrets_round_trip_and_are_private():
    write_private(SECRETS_FILE, OURS)
    assert read_secrets() == OURS
    assert SECRETS_FILE.stat().st_mode & 0o777 == 0o600
    assert LABEL_STUDIO_DIR.stat().st_mode & 0o777 == 0o700


def test_readable_secrets_are_refused():
    write_private(SECRETS_FILE, OURS)
    SECRETS_FILE.chmod(0o640)
    with pytest.raises(UserError, match="other users .* chmod 600 data/label-studio/secrets.json"):
        read_secrets()


def test_own_server_uses_the_administrator_token():
    write_private(SECRETS_FILE, OURS)
    assert opened() == (OURS.url, "admin's", True)


def test_environment_variables_override_own_server(monkeypatch):
    write_private(SECRETS_FILE, OURS)
    monkeypatch.setenv("LABEL_STUDIO_URL", "https://label.example.org/")
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", "t")
    assert opened() == ("https://label.example.org", "t", False)


@pytest.mark.parametrize("name", ["LABEL_STUDIO_URL", "LABEL_STUDIO_TOKEN"])
def test_one_of_two_environment_variables_is_refused(monkeypatch, name):
    monkeypatch.setenv(name, "x")
    with pytest.raises(UserError, match="only one of LABEL_STUDIO_URL and LABEL_STUDIO_TOKEN is set"):
        connect()


def test_missing_server_is_explained():
    with pytest.raises(
        UserError, match="no Label Studio is configured. Start one with `rgqa annotate serve`"
    ):
        connect()
