from pathlib import Path

import pytest

from pipeline.core.errors import UserError
from pipeline.inference.argument_parser import make_parser, parse_options
from pipeline.inference.confidence_methods import CONFIDENCE_METHODS
from pipeline.inference.prompts import PROMPTS
from pipeline.inference.run_options import RunOptions


def options(*words):
    return parse_options(make_parser().parse_args(["release", "--model", "net", *words]))


def test_missing_options_have_the_defaults_of_a_run():
    assert options() == RunOptions(Path("release"), "net")


@pytest.mark.parametrize("address", ["http://[::1", "http://h:99999", "http://h?key=sk", "http://h#a"])
def test_an_invalid_address_is_one_message(address):
    with pytest.raises(UserError, match="--server"):
        options("--server", address)


def test_a_base_url_beside_a_server_is_rejected():
    with pytest.raises(UserError) as error:
        options("--server", "http://h", "--model-arg", "base_url=http://other")
    (problem,) = error.value.problems
    assert problem.startswith("--model-arg base_url: ")


@pytest.mark.parametrize("name", ["token", "hf_token", "password"])
def test_a_secret_in_a_model_setting_is_rejected(name):
    with pytest.raises(UserError, match=f"--model-arg {name}: .*environment"):
        options("--model-arg", f"{name}=x")


def test_all_invalid_options_are_listed():
    with pytest.raises(UserError) as error:
        options(
            *[
                "--limit",
                "-1",
                "--max-tokens",
                "0",
                "--num-replies",
                "1",
                "--model-arg",
                "x",
                "--model-arg",
                "api_key=sk",
            ],
            *["--input-price", "nan", "--server", "ftp://x"],
        )
    assert error.value.problems == [
        "--limit is -1, wanted 0 to 1,000,000",
        "--num-replies is 1, wanted 2 to 1,000",
        "--max-tokens is 0, wanted 1 to 10,000,000",
        "--input-price is nan, wanted 0 to 1,000,000",
        "--model-arg x: wanted NAME=VALUE",
        "--model-arg api_key: secrets are read from the environment only; set an environment variable",
        "--server is 'ftp://x', wanted an address such as http://127.0.0.1:8000",
    ]


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://host:8000/", "http://host:8000/v1"),
        ("https://host/api/v3/", "https://host/api/v3"),
    ],
)
def test_addresses_may_be_short(given, address):
    assert options("--server", given).server == address


def test_a_key_in_an_address_is_rejected():
    with pytest.raises(UserError, match="--server: .*SERVER_API_KEY"):
        options("--server", "http://user:pass@host/v1")


def test_every_option_has_an_example():
    text = " ".join(make_parser().format_help().split())
    for action in make_parser()._actions:
        for name in action.option_strings:
            if name.startswith("--") and name not in ("--help", "--version"):
                assert f"(example: {name}" in text, name


def test_the_help_lists_prompts_and_confidence_methods():
    text = " ".join(make_parser().format_help().split())
    for option, known in (("--prompt", PROMPTS), ("--confidence", CONFIDENCE_METHODS)):
        assert f"{option} {{{','.join(known)}}} " in text
        for name, one in known.items():
            assert f"{option} {name} {one.help}" in text


def test_a_model_setting_may_contain_an_equals_sign():
    assert options("--model-arg", "answers_file=a=b.json", "--model-arg", "revision=1").model_args == (
        ("answers_file", "a=b.json"),
        ("revision", "1"),
    )
