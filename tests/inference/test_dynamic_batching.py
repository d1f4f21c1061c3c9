"""Questions of many tasks in batches."""

import threading

import anyio
import pytest

from pipeline.inference.dynamic_batching import DynamicBatcher


def asked_together(batches, questions):
    """The replies, errors among them, of questions that come at once."""
    replies = {}

    async def one(question):
        try:
            replies[question] = await batches(question)
        except ValueError as error:
            replies[question] = error

    async def all_of_them():
        async with anyio.create_task_group() as group:
            for question in questions:
                group.start_soon(one, question)

    anyio.run(all_of_them)
    return [replies[question] for question in questions]


def test_requests_are_batched_and_each_gets_its_own_reply():
    sizes, threads = [], set()

    def double(batch):
        sizes.append(len(batch))
        threads.add(threading.current_thread())
        return [2 * one for one in batch]

    assert asked_together(DynamicBatcher(double, 4), range(10)) == [2 * k for k in range(10)]
    assert sizes == [4, 4, 2] and threading.main_thread() not in threads


def test_a_failing_request_does_not_affect_others():
    def inverse(batch):
        if 0 in batch:
            raise ValueError("no inverse")
        return [1 / one for one in batch]

    replies = asked_together(DynamicBatcher(inverse, 8), [1, 0, 2, 4])
    assert [replies[0], *replies[2:]] == [1, 0.5, 0.25] and str(replies[1]) == "no inverse"


def test_batches_can_follow_each_other():
    batches = DynamicBatcher(list, 4)
    assert asked_together(batches, [1]) == [1] and asked_together(batches, [2, 3]) == [2, 3]


@pytest.mark.parametrize("backend", ["asyncio"])
def test_a_single_request_does_not_wait(backend):
    assert anyio.run(DynamicBatcher(list, 100), 7, backend=backend) == 7
