"""Register the tasks `rgqa/...` and the models `hf-vqa/...` and `hf-vlm/...` with inspect_ai, which loads
this module.

inspect_ai's decorator `task` adds the name of the installed package (`rgqa_scorers`) before the name of a
task, but adds nothing in a source tree. So the decorator is not used: the tasks are registered with the
functions that the decorator calls, and their names are the same in both cases.
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
    """Wrap a function so that inspect_ai shows a `UserError` as a message without a traceback."""

    @wraps(make_task)
    def make_checked_task(*args: object, **kwargs: object) -> Task:
        try:
            return make_task(*args, **kwargs)
        except UserError as error:
            raise PrerequisiteError(escape("\n".join(error.problems))) from None

    return make_checked_task


def register_task(name: str, make_task: Callable[..., Task]) -> None:
    """Register a task as `rgqa/<name>`."""
    params = [*signature(make_task).parameters]
    info = RegistryInfo(type="task", name=f"rgqa/{name}", metadata={"params": params})

    @wraps(make_task)
    def make_tagged_task(*args: object, **kwargs: object) -> Task:
        task = translate_user_errors(make_task)(*args, **kwargs)
        registry_tag(make_task, task, info, *args, **kwargs)
        return task

    registry_add(make_tagged_task, info)


for _name, _make in TASKS.items():
    register_task(_name, _make)


@modelapi(name="hf-vqa")
def load_hf_vqa() -> type:
    """Load the class of the VQA models of transformers."""
    from .hf_vqa import HfVqa

    return HfVqa


@modelapi(name="hf-vlm")
def load_hf_vlm() -> type:
    """Load the class of the vision-language chat models of transformers."""
    from .hf_vlm import HfVlm

    return HfVlm
