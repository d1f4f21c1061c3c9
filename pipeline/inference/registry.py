"""What inspect_ai finds by this package's entry point: the tasks `rgqa/...` and the models `hf-vqa/...` and `hf-vlm/...`.

What inspect_ai's own decorators register bears the name of its package, `rgqa_scorers`, and none in a tree that is
worked on. So the tasks are registered by what the decorators call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature

from inspect_ai import Task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai._util.registry import RegistryInfo, registry_add, registry_tag
from inspect_ai.model import modelapi
from rich.markup import escape

from ..core.errors import UserError
from .release_tasks import release_task

TASKS: dict[str, Callable[..., Task]] = {
    "clip_easy": partial(release_task, subsets=["clip-easy"]),
    "clip_hard": partial(release_task, subsets=["clip-hard"]),
    "pt_easy": partial(release_task, subsets=["pt-easy"]),
    "pt_hard": partial(release_task, subsets=["pt-hard"]),
    "all": release_task,
}


def translate_user_errors(make_task: Callable[..., Task]) -> Callable[..., Task]:
    """Let inspect_ai show a user's mistake as a message without a traceback."""

    @wraps(make_task)
    def made(*args: object, **named: object) -> Task:
        try:
            return make_task(*args, **named)
        except UserError as error:
            raise PrerequisiteError(escape("\n".join(error.problems))) from None

    return made


def register_task(name: str, make_task: Callable[..., Task]) -> None:
    """Let inspect_ai know a task as `rgqa/<name>`."""
    params = [*signature(make_task).parameters]
    info = RegistryInfo(type="task", name=f"rgqa/{name}", metadata={"params": params})

    @wraps(make_task)
    def tagged(*args: object, **named: object) -> Task:
        task = translate_user_errors(make_task)(*args, **named)
        registry_tag(make_task, task, info, *args, **named)
        return task

    registry_add(tagged, info)


for _name, _make in TASKS.items():
    register_task(_name, _make)


@modelapi(name="hf-vqa")
def load_hf_vqa() -> type:
    """Models of transformers that are no chats."""
    from .hf_vqa import HfVqa

    return HfVqa


@modelapi(name="hf-vlm")
def load_hf_vlm() -> type:
    """Models of transformers that see and chat."""
    from .hf_vlm import HfVlm

    return HfVlm
