"""Models that are asked through inspect_ai."""

import asyncio

import pytest

pytest.importorskip("inspect_ai")
from inspect_ai.model import GenerateConfig, ModelAPI, ModelOutput, get_model, modelapi

from pipeline.inference.chat_model import Message, RequestSettings
from pipeline.inference.inspect_model import InspectModel

FAILURES: list[Exception] = []
CONFIGS: list[GenerateConfig] = []


class BusyError(Exception):
    """A failure that passes, for the provider."""


@modelapi(name="fails_as_told")
class Flaky(ModelAPI):
    """Fails with the errors in `FAILURES`, one after the other, and then replies. `CONFIGS` are those of the requests.

    A `TimeoutError` stands for half a minute without a reply.
    """

    def __init__(self, model_name, base_url=None, api_key=None, config=None, **_):
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())

    async def generate(self, input, tools, tool_choice, config):
        CONFIGS.append(config)
        if FAILURES:
            error = FAILURES.pop(0)
            if isinstance(error, TimeoutError):
                await asyncio.sleep(30)
            raise error
        return ModelOutput.from_content(self.model_name, "red")

    def should_retry(self, ex):
        return isinstance(ex, BusyError)


def ask(error, settings=None, task_settings=None):
    """Return what a request yields: its reply, or its error and whether that is transient."""
    FAILURES[:], CONFIGS[:] = [error] if error else [], []
    model = InspectModel(lambda: get_model("fails_as_told/x", memoize=False), task_settings)

    async def send():
        async with model:
            try:
                return await model.send([Message("user", "What is it?")], settings or RequestSettings())
            except Exception as raised:
                return model.is_transient(raised)

    return asyncio.run(send())


@pytest.mark.parametrize(("error", "is_transient"), [(BusyError("busy"), True), (ValueError("no"), False)])
def test_the_rules_of_the_provider_tell_what_may_pass(error, is_transient):
    """inspect_ai wraps an error that may pass."""
    assert ask(error) is is_transient


def test_a_timeout_may_pass(monkeypatch):
    monkeypatch.setattr("pipeline.inference.inspect_model.REQUEST_TIMEOUT_SECONDS", 1)
    assert ask(TimeoutError()) is True


def test_all_settings_are_stated_outside_of_a_task():
    assert ask(None, RequestSettings(0.7, 9, 3, needs_logprobs=True)).choices[0].text == "red"
    (config,) = CONFIGS
    assert (config.temperature, config.max_tokens, config.seed, config.logprobs) == (0.7, 9, 3, True)
    assert config.num_choices is None


def test_within_a_task_only_the_differences_are_stated():
    """The user of inspect_ai may have changed the others."""
    task = RequestSettings(0.0, 64, 5)
    ask(None, task._replace(temperature=0.7, seed=6), task)
    (config,) = CONFIGS
    assert (config.temperature, config.seed) == (0.7, 6)
    ask(None, task, task)
    assert (CONFIGS[0].temperature, CONFIGS[0].seed) == (None, None)
