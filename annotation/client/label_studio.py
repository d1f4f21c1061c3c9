"""The one door to Label Studio: its SDK, and around it what has to be stricter.

- The SDK takes any answer for one of Label Studio's. A server that seems to hold nothing would get everything again,
  so lists are checked.
- It sends requests that failed again, and an import that is sent twice doubles its tasks. Only reading is tried again.
- Its pages go by number, which shift when tasks come or go. Here they go by task id (filter `greater`).
- What fails in it, in httpx or on the server becomes one message that says what to do.

What was found out about version 1.23 and is relied on here:
- `include` names the fields of tasks and, with the same list, those of their annotations; fewer are much faster.
- Drafts are listed for their owner alone, but the filter `draft_exists` finds everybody's.
- The export of a project writes files on the server, and a snapshot keeps SQLite from being written for as long as it
  takes; lists do neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import httpx
import msgspec
from label_studio_sdk.core.api_error import ApiError

from annotation.study.exports import ExportedAnnotation, ExportedUser
from pipeline.core.errors import UserError, format_count, warn

if TYPE_CHECKING:
    from label_studio_sdk import LabelStudio as Sdk

TESTED_VERSION = "1.23"
BATCH_SIZE = 5_000  # tasks a request when they are imported or deleted
PAGE_SIZE = 1_000  # tasks a request when they are listed
RESPONSE_TIMEOUT_SECONDS = (
    300.0  # for an answer to begin; a batch takes a second or two, on a busy machine a minute
)
COUNT_FIELDS = "id,data,total_annotations,cancelled_annotations"
ANNOTATION_FIELDS = (
    f"{COUNT_FIELDS},annotations,completed_by,result,was_cancelled,lead_time,created_at,updated_at"
)
JsonDict = Any  # dictionaries as Label Studio documents them; the SDK, which types them as its models, takes them too
READ_OPTIONS: JsonDict = {"max_retries": 1}


class ProjectTask(msgspec.Struct):
    """A task in a project. `data` is what was imported; the counts are of verdicts and of skips."""

    id: int
    data: dict[str, Any]
    total_annotations: int
    cancelled_annotations: int
    annotations: list[ExportedAnnotation] | None = None

    @property
    def num_annotations(self) -> int:
        """Verdicts and skips."""
        return self.total_annotations + self.cancelled_annotations

    @property
    def rgqa_task_id(self) -> str:
        """The task's id with us; "" if the task is none of ours."""
        key = self.data.get("task")
        return key if isinstance(key, str) else ""


class LabelStudioClient:
    """A Label Studio that one token opens, when something is first asked of it. `own` is true for the server that `serve`
    runs. Projects and tasks are numbers.

    Raises:
        UserError: from every method, when the server does not do what it is asked; says what to do.
    """

    def __init__(self, url: str, token: str, is_managed: bool = False) -> None:
        self.url, self.token, self.is_managed = url, token, is_managed

    @cached_property
    def sdk(self) -> Sdk:
        """The SDK's client, after a look at address, token and version."""
        from label_studio_sdk import LabelStudio as Sdk

        with self._translate_errors():
            # What runs here is not asked for by a proxy: that would get the administrator's token.
            client = httpx.Client(
                timeout=httpx.Timeout(RESPONSE_TIMEOUT_SECONDS, connect=10), trust_env=not self.is_managed
            )
            sdk = Sdk(base_url=f"{self.url}/", api_key=self.token, httpx_client=client, max_retries=0)
            release = msgspec.convert(sdk.versions.get(request_options=READ_OPTIONS).release, str)
            sdk.users.whoami(request_options=READ_OPTIONS)
        if release.split(".")[:2] != TESTED_VERSION.split("."):
            warning = (
                f"this is Label Studio {release}; tested with {TESTED_VERSION}, others may answer differently"
            )
            warn(warning)
        return sdk

    def get_user_emails(self) -> dict[int, str]:
        """Number -> e-mail address of the accounts that the token may see."""
        with self._translate_errors():
            users = self.sdk.users.list(request_options=READ_OPTIONS)
            return {user.id: (user.email or "").lower() for user in users if user.id is not None}

    def find_project(self, title: str) -> int | None:
        """The project of that title, None if there is none.

        Raises:
            UserError: there are several.
        """
        with self._translate_errors():
            pages = self.sdk.projects.list(title=title, request_options=READ_OPTIONS)
            if pages.items is None:
                raise ValueError("no list of projects")
            numbers = [project.id for project in pages if project.title == title]
        if len(numbers) > 1:
            raise UserError(
                f"{self.url} has {len(numbers)} projects `{title}` (numbers {', '.join(map(str, numbers))}), and one is "
                "expected; open them, keep the one with the verdicts, and rename the others"
            )
        return numbers[0] if numbers else None

    def ensure_project(self, settings: Mapping[str, Any]) -> int:
        """The project of that title, made if there is none."""
        with self._translate_errors():
            there = self.find_project(settings["title"])
            return there or msgspec.convert(self.sdk.projects.create(**settings).id, int)

    def repair_settings(self, project: int, settings: Mapping[str, Any]) -> list[str]:
        """Put settings right that are not as wanted (changed by hand, or of an earlier version); return the names of
        those that changed by it.

        Raises:
            UserError: the labelling interface differs and verdicts hold it fast.
        """
        with self._translate_errors():
            now = self.sdk.projects.get(project, request_options=READ_OPTIONS)
        wrong = [
            name for name in settings if not is_same_setting(name, getattr(now, name, None), settings[name])
        ]
        if not wrong:
            return []
        held_fast = (
            f"the labelling interface of project `{settings['title']}` was changed, and verdicts that were given with it "
            "keep Label Studio from putting ours back:",
            "pull those verdicts, then rename this project by hand and push again: the open tasks get a new one",
        )
        with self._translate_errors(*held_fast if "label_config" in wrong else ()):
            then = self.sdk.projects.update(project, **{name: settings[name] for name in wrong})
        # HTML that the server cleans stays different; what did not change was not put right.
        return [name for name in wrong if getattr(then, name, None) != getattr(now, name, None)]

    def count_tasks(self, project: int) -> int:
        """How many tasks the project has now."""
        with self._translate_errors():
            return msgspec.convert(
                self.sdk.projects.get(project, request_options=READ_OPTIONS).task_number, int
            )

    def iter_tasks(
        self, project: int | None, *conditions: JsonDict, include: str = COUNT_FIELDS
    ) -> Iterator[ProjectTask]:
        """The tasks that meet some conditions, in the order of their numbers; bounded memory: one page at a time.

        Args:
            project: None has no tasks.
            include: COUNTS, or VERDICTS for their annotations too.
        """
        last = None if project is None else 0
        while last is not None:
            query = {
                "filters": _and_filter(_filter_condition("id", last, "greater"), *conditions),
                "ordering": ["tasks:id"],
            }
            with self._translate_errors():
                page = self.sdk.tasks.list(
                    project=project,
                    query=msgspec.json.encode(query).decode(),
                    page=1,
                    page_size=PAGE_SIZE,
                    fields="all" if include == ANNOTATION_FIELDS else "task_only",
                    include=include,
                    resolve_uri=False,
                    request_options=READ_OPTIONS,
                )
                tasks = msgspec.convert(page.items, list[ProjectTask], from_attributes=True)
                total = msgspec.convert(page.response.total, int)
            yield from tasks
            last = tasks[-1].id if 0 < len(tasks) < total else None

    def get_report(self) -> dict[str, Any]:
        """What our own server tells of every data set: tasks, votes, people (annotation/server/label_studio_app/admin_api.py)."""
        return self._call_admin_api("GET", "report")

    def erase_annotator(self, email: str) -> dict[str, int]:
        """Delete all that our own server has of somebody; how many annotations, places and accounts it was."""
        return self._call_admin_api("POST", "forget", json={"email": email})

    def delete_annotations(self, project: int | None, email: str) -> int:
        """Delete all annotations of somebody in a project; how many there were."""
        theirs = {number for number, address in self.get_user_emails().items() if address == email.lower()}
        given = [one for task in self.iter_annotated_tasks(project) for one in task.annotations or ()]
        gone = 0
        for one in given:
            number = one.completed_by.id if isinstance(one.completed_by, ExportedUser) else one.completed_by
            if number in theirs:
                with self._translate_errors():
                    self.sdk.annotations.delete(int(one.id))
                gone += 1
        return gone

    def _call_admin_api(self, method: str, name: str, **more: Any) -> Any:
        with self._translate_errors():
            http = self.sdk._client_wrapper.httpx_client  # with the SDK's token
            answer = http.request(f"desk/{name}", method=method, **more)
            answer.raise_for_status()
            return answer.json()

    def iter_annotated_tasks(self, project: int | None) -> Iterator[ProjectTask]:
        """The tasks with annotations, cancelled ones too."""
        yield from self.iter_tasks(
            project, _filter_condition("total_annotations", 0, "greater"), include=ANNOTATION_FIELDS
        )
        skipped_only = (
            _filter_condition("total_annotations", 0),
            _filter_condition("cancelled_annotations", 0, "greater"),
        )
        yield from self.iter_tasks(project, *skipped_only, include=ANNOTATION_FIELDS)

    def import_tasks(self, project: int, tasks: Sequence[JsonDict]) -> None:
        """Import one batch of tasks.

        Raises:
            UserError: also when the server says that it took fewer.
        """
        with self._translate_errors():
            taken = self.sdk.projects.import_tasks(project, request=tasks).task_count
        if taken is None:
            raise UserError(
                f"{self.url} imports in the background (a paid edition), unverified: not supported"
            )
        if taken != len(tasks):
            again = "run the same command again: it puts what is missing"
            raise UserError(f"{self.url} took {taken} of {format_count(len(tasks), 'task')}; {again}")

    def delete_untouched_tasks(self, project: int, task_numbers: Sequence[int]) -> int:
        """Delete those of some tasks that have no annotation and no draft at that moment; return how many there were."""
        untouched = (
            _filter_condition("total_annotations", 0),
            _filter_condition("cancelled_annotations", 0),
            _filter_condition("draft_exists", False),
        )
        gone = 0
        for start in range(0, len(task_numbers), BATCH_SIZE):
            chosen: JsonDict = {"all": False, "included": task_numbers[start : start + BATCH_SIZE]}
            with self._translate_errors():
                answer = self.sdk.actions.with_raw_response.create(
                    id="delete_tasks", project=project, filters=_and_filter(*untouched), selected_items=chosen
                )
                gone += answer.response.json()["processed_items"]  # the SDK itself does not hand it over
        return gone

    def serve_images(self, project: int, folder: Path) -> None:
        """Let the project's members see the images of a folder (on the server's machine) and nothing else.

        Label Studio sends a local file to whoever may open a project with a storage record above it.
        """
        let_it = (
            "let it serve local files: LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true, and as "
            "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT the folder data/ of this project; or put data/ on a web server and its "
            "address into params.yaml, annotate.images"
        )
        storages, path = self.sdk.import_storage.local, str(folder)
        with self._translate_errors(f"{self.url} cannot show the images of {path}:", let_it):
            there = storages.list(project=project, request_options=READ_OPTIONS)
            if path not in [storage.path for storage in there]:
                storages.create(project=project, title="RGQA images", path=path, regex_filter="^$")

    @contextmanager
    def _translate_errors(self, before: str = "", after: str = "") -> Iterator[None]:
        """Turn what can go wrong on the way into one message, with a line before and a line after it."""
        # The last four: an answer of another shape, in which the SDK or we find nothing.
        wrong = (ApiError, httpx.HTTPError, httpx.InvalidURL, AttributeError, KeyError, TypeError, ValueError)
        try:
            yield
        except wrong as error:
            raise UserError(
                [line for line in (before, self._describe_error(error), after) if line]
            ) from error

    def _describe_error(self, error: Exception) -> str:
        """What an error comes to. The `body` of an error answer is a text if it is none of Label Studio's."""
        url, check = self.url, "check LABEL_STUDIO_URL"
        kept = "what was done is kept"
        again = f"{kept}, run the same command again"
        match error:
            case ApiError(status_code=401 | None, body=body):
                elsewhere = "make a new one in Label Studio (Account & Settings, Personal Access Token) and set LABEL_STUDIO_TOKEN"
                how = "run: rgqa annotate serve" if self.is_managed else elsewhere
                said = f"({_get_error_detail(body)}): wrong, expired or called back"
                return f"{url} does not accept the token {said}; {how}"
            case ApiError(status_code=403, body=body):
                return f"{url} does not allow this with this token ({_get_error_detail(body)}); it takes the token of somebody who may make projects"
            case ApiError(status_code=int(status), headers=headers) if 300 <= status < 400:
                where = (headers or {}).get("location", "")
                return f"{url} sends us on to {where}; set LABEL_STUDIO_URL to what answers itself"
            case ApiError(status_code=status, body=str()):
                known = f"is in trouble (status {status})" if (status or 0) >= 500 else "is no Label Studio"
                return f"{url} answers, but {known}; {check} and the server's log"
            case ApiError(status_code=status, body=body):
                return f"{url} says: {_get_error_detail(body)} (status {status}); {kept}"
            case httpx.ConnectError():
                return f"no server answers at {url} ({error}); {'start it with: rgqa annotate serve' if self.is_managed else check}"
            case httpx.TimeoutException():
                return f"{url} gave no answer within {RESPONSE_TIMEOUT_SECONDS:.0f} seconds; {again}"
            case httpx.InvalidURL() | httpx.UnsupportedProtocol():
                return f"{url} is no address of a server ({error}); set LABEL_STUDIO_URL"
            case httpx.HTTPError():
                return f"{url} broke off ({type(error).__name__}: {error}); {again}"
        return f"{url} answers, but is no Label Studio {TESTED_VERSION} ({error}); {check}"


def _get_error_detail(body: Any) -> Any:
    """Why Label Studio refuses: of its answer the parts that tell it."""
    if isinstance(body, str):
        return "no reason given"
    parts = [body.get("detail"), body.get("validation_errors")] if isinstance(body, dict) else []
    return "; ".join(str(part) for part in parts if part) or body


def is_same_setting(name: str, now: Any, wanted: Any) -> bool:
    """Whether a setting is as wanted; of the labelling interface, the meaning counts and not the spaces."""
    if name == "label_config":
        with suppress(ElementTree.ParseError, TypeError, ValueError):
            now, wanted = (ElementTree.canonicalize(xml, strip_text=True).split() for xml in (now, wanted))
    return now == wanted


def _and_filter(*conditions: JsonDict) -> JsonDict:
    return {"conjunction": "and", "items": conditions}


def _filter_condition(column: str, value: bool | int, operator: str = "equal") -> JsonDict:
    kind = "Boolean" if isinstance(value, bool) else "Number"
    return {"filter": f"filter:tasks:{column}", "operator": operator, "type": kind, "value": value}
