import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from huggingface_hub import constants

from pipeline.benchmark.auditing.row_sources import open_rows
from pipeline.core.errors import UserError
from pipeline.core.hf_hub import use_cache_if_unreachable


class Refusing(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_error(404)

    def log_message(self, *_):
        pass


class NoHttp(Refusing):
    def do_HEAD(self):
        self.wfile.write(b"SSH-2.0\r\n")


@pytest.fixture
def hub(monkeypatch):
    """A function that replaces the Hub by a server, or by None with a port at which nothing listens."""
    servers = []

    def put(handler):
        server = HTTPServer(("127.0.0.1", 0), handler or Refusing)
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        if handler is None:
            server.server_close()
        else:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            servers.append(server)
        return constants.ENDPOINT

    yield put
    for server in servers:
        server.shutdown()
        server.server_close()


def test_an_unreachable_hub_is_reported_and_disabled_within_the_block(hub, capsys):
    address = hub(None)
    with pytest.raises(ZeroDivisionError), use_cache_if_unreachable("the weights"):
        assert constants.HF_HUB_OFFLINE
        raise ZeroDivisionError
    assert not constants.HF_HUB_OFFLINE
    assert (
        capsys.readouterr().err == f"{address} is unreachable; looking for the weights in the local cache\n"
    )


@pytest.mark.parametrize("handler", [Refusing, NoHttp])
def test_a_hub_that_answers_is_left_to_the_libraries(hub, handler, capsys):
    hub(handler)
    with use_cache_if_unreachable("the weights"):
        assert not constants.HF_HUB_OFFLINE
    assert capsys.readouterr().err == ""


def test_a_hub_that_the_user_disabled_is_not_requested(hub, monkeypatch, capsys):
    hub(None)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with use_cache_if_unreachable("the weights"):
        pass
    assert constants.HF_HUB_OFFLINE and capsys.readouterr().err == ""


def test_a_data_set_of_an_unreachable_hub_is_loaded_from_the_cache_only(hub, capsys):
    address = hub(None)
    with pytest.raises(UserError, match="^nobody/nothing: `datasets` cannot load it.* Couldn't reach"):
        open_rows("nobody/nothing")
    assert (
        capsys.readouterr().err
        == f"{address} is unreachable; looking for nobody/nothing in the local cache\n"
    )
