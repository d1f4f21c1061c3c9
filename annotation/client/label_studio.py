"""Call Label Studio's API. This is the only module that imports its SDK.

The client is stricter than the SDK:

- The SDK accepts any response. If an empty list were accepted by mistake, all tasks would be uploaded again. So this client checks lists.
- The SDK repeats failed requests, but a repeated import duplicates its tasks. This client repeats only requests that read.
- The SDK's pages shift when tasks are added or deleted. This client selects pages by task id (filter `greater`).
- All errors in the SDK, in httpx and on the server become one message that says what to do.

The client relies on these properties of Label Studio 1.23:

- `include` selects the fields of tasks and of their annotations. Fewer fields are much faster.
- Lists contain only the user's own drafts, but the filter `draft_exists` finds the drafts of all users.
- Exporting a project writes files on the server, and a snapshot blocks writes to SQLite. Listing tasks has neither effect.
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
# Number of tasks per request for imports and deletions.
BATCH_SIZE = 5_000
# Number of tasks per request for lists.
PAGE_SIZE = 1_000
# A batch takes one or two seconds, or a minute on a busy machine.
RESPONSE_TIMEOUT_SECONDS = 300.0
COUNT_FIELDS = "id,data,total_annotations,cancelled_annotations"
ANNOTATION_FIELDS = (
    f"{COUNT_FIELDS},annotations,completed_by,result,was_cancelled,lead_time,created_at,updated_at"
)
# A dictionary as in Label Studio's API documentation. The SDK accepts dictionaries in place of its models.
JsonDict = Any
READ_OPTIONS: JsonDict = {"max_retries": 1}


class ProjectTask(msgspec.Struct):
    """A task in a project, with the imported data and the numbers of verdicts and skips."""

    id: int
    data: dict[str, Any]
    total_annotations: int
    cancelled_annotations: int
    annotations: list[ExportedAnnotation] | None = None

    @property
    def num_annotations(self) -> int:
        """Return the number of verdicts and skips."""
        return self.total_annotations + self.cancelled_annotations

    @property
    def rgqa_task_id(self) -> str:
        """Return our task id; "" if the task was not created by `rgqa annotate push`."""
        key = self.data.get("task")
        return key if isinstance(key, str) else ""


class LabelStudioClient:
    """A client for a Label Studio server. The client connects on first use.

    Projects and tasks are identified by their numbers.

    Args:
        url: URL of the server.
        token: A personal token of Label Studio.
        is_managed: True for the server that `rgqa annotate serve` runs.

    Raises:
        UserError: A request failed. Every method can raise this error; the message says what to do.
    """

    def __init__(self, url: str, token: str, is_managed: bool = False) -> None:
        self.url, self.token, self.is_managed = url, token, is_managed

    @cached_property
    def sdk(self) -> Sdk:
        """Return the SDK's client, after checking the URL, the token and the version."""
        from label_studio_sdk import LabelStudio as Sdk

        with self._translate_errors():
            # Our own server is contacted without a proxy, because the proxy would see the administrator's
            # token.
            client = httpx.Client(
                timeout=httpx.Timeout(RESPONSE_TIMEOUT_SECONDS, connect=10), trust_env=not self.is_managed
            )
            sdk = Sdk(base_url=f"{self.url}/", api_key=self.token, httpx_client=client, max_retries=0)
            release = msgspec.convert(sdk.versions.get(request_options=READ_OPTIONS).release, str)
            sdk.users.whoami(request_options=READ_OPTIONS)
        if release.split(".")[:2] != TESTED_VERSION.split("."):
            warning = f"this is Label Studio {release}, but only {TESTED_VERSION} is tested. Other versions may behave differently"
            warn(warning)
        return sdk

    def get_user_emails(self) -> dict[int, str]:
        """Return account number -> e-mail address of the accounts that are visible with the token."""
        with self._translate_errors():
            users = self.sdk.users.list(request_options=READ_OPTIONS)
            return {user.id: (user.email or "").lower() for user in users if user.id is not None}

    def find_project(self, title: str) -> int | None:
        """Return the number of the project with a title; None if there is no such project.

        Raises:
            UserError: There are several projects with this title.
        """
        with self._translate_errors():
            pages = self.sdk.projects.list(title=title, request_options=READ_OPTIONS)
            if pages.items is None:
                raise ValueError("no list of projects")
            numbers = [project.id for project in pages if project.title == title]
        if len(numbers) > 1:
            raise UserError(
                f"{self.url} has {len(numbers)} projects `{title}` (numbers {', '.join(map(str, numbers))}), but should have "
                "one. Open them, keep the one with the verdicts, and rename the others"
            )
        return numbers[0] if numbers else None

    def ensure_project(self, settings: Mapping[str, Any]) -> int:
        """Return the number of the project with the title in the settings.

        The project is created if needed.
        """
        with self._translate_errors():
            existing = self.find_project(settings["title"])
            return existing or msgspec.convert(self.sdk.projects.create(**settings).id, int)

    def repair_settings(self, project: int, settings: Mapping[str, Any]) -> list[str]:
        """Restore settings that were changed by hand or come from an earlier version.

        Return the names of the restored settings.

        Raises:
            UserError: The labelling interface was changed, and existing verdicts prevent its restoration.
        """
        with self._translate_errors():
            now = self.sdk.projects.get(project, request_options=READ_OPTIONS)
        changed = [
            name for name in settings if not is_same_setting(name, getattr(now, name, None), settings[name])
        ]
        if not changed:
            return []
        hint = (
            f"the labelling interface of project `{settings['title']}` was changed, and it cannot be restored because of verdicts "
            "given with it:",
            "Pull these verdicts, rename this project by hand, and push again. The open tasks get a new project",
        )
        with self._translate_errors(*hint if "label_config" in changed else ()):
            then = self.sdk.projects.update(project, **{name: settings[name] for name in changed})
        # The server sanitizes HTML, so some settings stay different after they are restored. These settings
        # are not reported.
        return [name for name in changed if getattr(then, name, None) != getattr(now, name, None)]

    def count_tasks(self, project: int) -> int:
        """Return the number of tasks in a project."""
        with self._translate_errors():
            return msgspec.convert(
                self.sdk.projects.get(project, request_options=READ_OPTIONS).task_number, int
            )

    def iter_tasks(
        self, project: int | None, *conditions: JsonDict, include: str = COUNT_FIELDS
    ) -> Iterator[ProjectTask]:
        """Yield the tasks that meet all conditions, sorted by number. Only one page at a time is in memory.

        Args:
            project: The project; None yields no tasks.
            conditions: Filters, see `_filter_condition`.
            include: COUNT_FIELDS, or ANNOTATION_FIELDS to include annotations.
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
        """Return the progress of every data set on our own server
        (annotation/server/label_studio_app/admin_api.py).
        """
        return self._call_admin_api("GET", "report")

    def erase_annotator(self, email: str) -> dict[str, int]:
        """Delete all data of one annotator on our own server.

        Return the numbers of deleted annotations, assignments and accounts.
        """
        return self._call_admin_api("POST", "erase", json={"email": email})

    def delete_annotations(self, project: int | None, email: str) -> int:
        """Delete all annotations of one annotator in a project. Return the number of deleted annotations."""
        accounts = {number for number, address in self.get_user_emails().items() if address == email.lower()}
        annotations = [row for task in self.iter_annotated_tasks(project) for row in task.annotations or ()]
        num_deleted = 0
        for row in annotations:
            number = row.completed_by.id if isinstance(row.completed_by, ExportedUser) else row.completed_by
            if number in accounts:
                with self._translate_errors():
                    self.sdk.annotations.delete(int(row.id))
                num_deleted += 1
        return num_deleted

    def _call_admin_api(self, method: str, name: str, **more: Any) -> Any:
        with self._translate_errors():
            # This HTTP client adds the token of the SDK to every request.
            http = self.sdk._client_wrapper.httpx_client
            response = http.request(f"annotate/{name}", method=method, **more)
            response.raise_for_status()
            return response.json()

    def iter_annotated_tasks(self, project: int | None) -> Iterator[ProjectTask]:
        """Yield the tasks with annotations, including tasks that have only cancelled annotations."""
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
            UserError: The request fails, or the server imports fewer tasks than it was sent.
        """
        with self._translate_errors():
            num_imported = self.sdk.projects.import_tasks(project, request=tasks).task_count
        if num_imported is None:
            raise UserError(
                f"{self.url} imports tasks in the background (a paid edition). This is not supported"
            )
        if num_imported != len(tasks):
            raise UserError(
                f"{self.url} imported {num_imported} of {format_count(len(tasks), 'task')}. Run the same command again to import the rest"
            )

    def delete_untouched_tasks(self, project: int, task_numbers: Sequence[int]) -> int:
        """Delete those of the given tasks that have no annotation and no draft now.

        Return the number of deleted tasks.
        """
        untouched = (
            _filter_condition("total_annotations", 0),
            _filter_condition("cancelled_annotations", 0),
            _filter_condition("draft_exists", False),
        )
        num_deleted = 0
        for start in range(0, len(task_numbers), BATCH_SIZE):
            selected: JsonDict = {"all": False, "included": task_numbers[start : start + BATCH_SIZE]}
            with self._translate_errors():
                response = self.sdk.actions.with_raw_response.create(
                    id="delete_tasks",
                    project=project,
                    filters=_and_filter(*untouched),
                    selected_items=selected,
                )
                # The SDK does not return this number, so it is read from the response.
                num_deleted += response.response.json()["processed_items"]
        return num_deleted

    def serve_images(self, project: int, folder: Path) -> None:
        """Give the project's members access to the images of a folder on the server's machine, and to nothing
        else.

        Label Studio sends a local file to every user of a project if the project has a storage record for a
        folder that contains the file.
        """
        hint = (
            "Set LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true and LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT to the folder data/ of this "
            "project. Or put data/ on a web server, and set annotate.image_base_url in params.yaml to its URL"
        )
        storages, path = self.sdk.import_storage.local, str(folder)
        with self._translate_errors(f"{self.url} cannot serve the images of {path}:", hint):
            existing = storages.list(project=project, request_options=READ_OPTIONS)
            if path not in [storage.path for storage in existing]:
                storages.create(project=project, title="RGQA images", path=path, regex_filter="^$")

    @contextmanager
    def _translate_errors(self, before: str = "", after: str = "") -> Iterator[None]:
        """Turn errors of requests into one message, with an optional line before and after it."""
        # The last four types of errors occur when the response has an unexpected structure.
        errors = (
            ApiError,
            httpx.HTTPError,
            httpx.InvalidURL,
            AttributeError,
            KeyError,
            TypeError,
            ValueError,
        )
        try:
            yield
        except errors as error:
            raise UserError(
                [line for line in (before, self._describe_error(error), after) if line]
            ) from error

    def _describe_error(self, error: Exception) -> str:
        """Return a message for an error.

        The body of a response is a text if the response does not come from Label Studio.
        """
        url, check = self.url, "Check LABEL_STUDIO_URL"
        kept = "Completed steps are kept"
        again = f"{kept}. Run the same command again"
        match error:
            case ApiError(status_code=401 | None, body=body):
                create = "Create a new one in Label Studio (Account & Settings, Personal Access Token) and set LABEL_STUDIO_TOKEN"
                fix = "Run: rgqa annotate serve" if self.is_managed else create
                return f"{url} does not accept the token ({_get_error_detail(body)}): it is wrong, expired or revoked. {fix}"
            case ApiError(status_code=403, body=body):
                return f"{url} does not allow this with this token ({_get_error_detail(body)}). Use the token of a user who may create projects"
            case ApiError(status_code=int(status), headers=headers) if 300 <= status < 400:
                target = (headers or {}).get("location", "")
                return f"{url} redirects to {target}. Set LABEL_STUDIO_URL to the final URL"
            case ApiError(status_code=status, body=str()):
                problem = (
                    f"has an error (status {status})" if (status or 0) >= 500 else "is not a Label Studio"
                )
                return f"{url} answers, but {problem}. {check} and the server's log"
            case ApiError(status_code=status, body=body):
                return f"{url} reports: {_get_error_detail(body)} (status {status}). {kept}"
            case httpx.ConnectError():
                fix = "Start it with: rgqa annotate serve" if self.is_managed else check
                return f"no server answers at {url} ({error}). {fix}"
            case httpx.TimeoutException():
                return f"{url} did not answer within {RESPONSE_TIMEOUT_SECONDS:.0f} seconds. {again}"
            case httpx.InvalidURL() | httpx.UnsupportedProtocol():
                return f"{url} is not a valid server URL ({error}). Set LABEL_STUDIO_URL"
            case httpx.HTTPError():
                return f"the connection to {url} was interrupted ({type(error).__name__}: {error}). {again}"
        return f"{url} answers, but is not a Label Studio {TESTED_VERSION} ({error}). {check}"


def _get_error_detail(body: Any) -> Any:
    """Return the reason in Label Studio's error response."""
    if isinstance(body, str):
        return "no reason given"
    parts = [body.get("detail"), body.get("validation_errors")] if isinstance(body, dict) else []
    return "; ".join(str(part) for part in parts if part) or body


def is_same_setting(name: str, now: Any, wanted: Any) -> bool:
    """Return whether a setting has the wanted value.

    Differences of white space in the labelling interface are ignored.
    """
    if name == "label_config":
        with suppress(ElementTree.ParseError, TypeError, ValueError):
            now, wanted = (ElementTree.canonicalize(xml, strip_text=True).split() for xml in (now, wanted))
    return now == wanted


def _and_filter(*conditions: JsonDict) -> JsonDict:
    return {"conjunction": "and", "items": conditions}


def _filter_condition(column: str, value: bool | int, operator: str = "equal") -> JsonDict:
    kind = "Boolean" if isinstance(value, bool) else "Number"
    return {"filter": f"filter:tasks:{column}", "operator": operator, "type": kind, "value": value}
