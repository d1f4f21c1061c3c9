"""Handle the requests of one annotator: show tasks, and store answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from django.db.models import Max, QuerySet, Sum
from tasks.models import Annotation, Task
from users.models import User

from annotation.server.label_studio_app.models import Participant, TaskAssignment
from annotation.server.label_studio_app.study_clock import now
from annotation.server.label_studio_app.task_queue import RequestRefused, TaskQueue, is_stale
from annotation.study.qualification import (
    MAX_ATTEMPTS,
    QualificationScore,
    is_correct,
    score_answers,
    select_tasks,
)

CHOICES = ("valid", "invalid", "unsure")
REASONS = (
    "missing object", "wrong attribute", "wrong relation", "no valid answer", "underspecified", "unclear image",
)  # fmt: skip
# Names of the controls in interface.xml.
CONTROLS = ("first", "second", "first_reason", "second_reason")
# Number of tasks of a set. The progress bar of the page shows one set after the other. How many tasks an annotator
# can still get depends on gold questions and repeats, so no number that a browser gets may depend on that.
SET_SIZE = 50
# Texts for annotators.
MESSAGES = {
    "thanks": "There are no more tasks for you. Thank you very much!",
    "blocked": "Thank you for your work. There are no more tasks for you, because your answers to questions with known answers were often "
    "different. These questions are unusual, and people read them differently. This is not a judgement of you. If you think that we are "
    "wrong, please write to us.",
    "declined": "You do not take part, and you get no tasks. Your earlier answers are kept until you ask the study leader to delete them.",
    "wait": "There are no tasks for you at the moment. Please come back later. The answers of others decide which tasks come next.",
    "retake": "You did not pass the test this time. Please read the guidelines again. Then you have a second attempt, with other questions.",
    "test_failed": "Thank you for trying. These tasks do not suit everybody, so you get no more tasks. This has no other consequences.",
}
# Part of the work -> text that announces it.
ANNOUNCEMENTS = {
    "training": "First comes a training of {tasks}. After each task, you see which choices are right, and why. What you choose in the "
    "training is not used.",
    "test": "Now comes a test of {tasks}. You do not see which choices are right, and you cannot go back. At the end you see whether you "
    "have passed. Please look carefully, and use the guidelines as often as you like.",
    "task": "Now the work begins. You do not see which choices are right. You can go back and correct an answer, but where we know the "
    "correct choice, your first one counts. You can stop at any time and go on later: every answer is saved at once.",
}
# Whether the annotator is qualified -> how the announcement of the tasks begins, after a test.
TEST_RESULTS = {
    True: "You have passed the test. ",
    False: "You have finished the test. Whether you have passed is known when others have judged the same questions. ",
}


class AnnotatorSession:
    """The work of one annotator on one data set."""

    def __init__(self, queue: TaskQueue, user: User) -> None:
        self.queue, self.user, self.name = queue, user, str(user.pk)
        self.is_adjudicator = queue.mark_if_adjudicator(user)
        self.assignment_keys = {"user": user.pk, "dataset": queue.dataset}
        self.participant = Participant.objects.get_or_create(**self.assignment_keys)[0]
        self.assignments = TaskAssignment.objects.filter(**self.assignment_keys)

    def handle_step(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Process a message of the annotation page and return the next screen.

        Args:
            message: One of {}, {"consent": hash}, {"is_declined": true}, {"start": part}, {"retake_test":
                true}, {"answer": {...}}, {"skip": {...}} and {"reopen": number}.

        Returns:
            A JSON object. `screen` is consent, announcement, training, test, task, feedback, wait,
            test_failed or thanks.

        Raises:
            RequestRefused: The message is invalid, or names an assignment of another annotator.
        """
        consent = self.queue.content["consent"]
        match message:
            case {"consent": text_hash} if len(message) == 1:
                if text_hash != consent["hash"]:
                    raise RequestRefused(409, "The text has changed. Please read it again.")
                self.participant.consent_hash, self.participant.consented_at = text_hash, now()
                self.participant.save()
            case {"is_declined": True} if len(message) == 1:
                self.queue.assigner.release_open_task(self.name)
                self.participant.consent_hash = ""
                self.participant.save()
                return self._end_payload("thanks", "declined")
            case {"start": str() as part} if len(message) == 1:
                return self._show_next(start=part)
            case {"retake_test": True} if len(message) == 1:
                if self._has_failed_test() and self.participant.num_retakes + 1 < MAX_ATTEMPTS:
                    self.participant.num_retakes += 1
                    self.participant.save()
            case {"answer": {"assignment": number, **answer}} if len(message) == 1:
                assignment = self.get_assignment(number)
                self._save_answer(assignment, *_validate_answer(answer))
                if assignment.kind == "training":
                    return self._feedback_payload(assignment)
            case {"skip": {"assignment": number, **rest}} if len(message) == 1 and not rest:
                self._save_skip(self.get_assignment(number))
            case {"reopen": number} if len(message) == 1:
                assignment = self.get_assignment(number)
                if assignment.kind != "task":
                    raise RequestRefused(404, "Answers of the training and the test cannot be changed.")
                return self._show_assignment(assignment)
            case _ if message:
                raise RequestRefused(400, "This message is unknown.")
        if message:
            return self._show_next()
        texts = {"guidelines": self.queue.content["guidelines"], "contact": consent["contact"]}
        # A queue.json of an earlier version lacks the rule.
        is_yes_no = self.queue.rules.get("choices") == "yes-no"
        return self._show_next() | texts | ({"choices": "yes-no"} if is_yes_no else {})

    def get_assignment(self, number: Any) -> TaskAssignment:
        """Return the assignment of the annotator with a number.

        Raises:
            RequestRefused: There is no such assignment, or the annotator has not agreed to the consent text
                (status 404).
        """
        known = type(number) is int and 0 < number < 1 << 31 and self.participant.consent_hash
        assignment = self.assignments.filter(number=number).first() if known else None
        if assignment is None or not self._is_current(assignment):
            raise RequestRefused(404, "This task does not exist.")
        return assignment

    def _is_current(self, assignment: TaskAssignment) -> bool:
        """Return whether the task is still part of the study. A new batch may not contain the task."""
        return assignment.key in (
            self.queue.task_numbers if assignment.kind == "task" else self.queue.known_tasks
        )

    def get_content(self, assignment: TaskAssignment) -> dict[str, Any]:
        """Return the image URL and the two question texts of an assignment."""
        if assignment.kind != "task":
            row = self.queue.known_tasks[assignment.key]
            return {"image": row["image"], "first": row["first"]["text"], "second": row["second"]["text"]}
        return Task.objects.values_list("data", flat=True).get(pk=self.queue.task_numbers[assignment.key])

    def _show_next(self, start: str = "") -> dict[str, Any]:
        """Return the next screen.

        Before the first task of a part (training, test or task), the part is announced.

        Args:
            start: The part that the annotator wants to start, because it was announced; "" for none.
        """
        consent = self.queue.content["consent"]
        if self.participant.consent_hash != consent["hash"]:
            return {"screen": "consent", "guidelines": self.queue.content["guidelines"], **consent}
        if not self.participant.is_qualified:
            done = set(
                self.assignments.exclude(state="open").exclude(kind="task").values_list("key", flat=True)
            )
            for kind, keys in zip(("training", "test"), self._qualification_keys(), strict=True):
                if key := next((key for key in keys if key not in done), None):
                    shown = self.assignments.filter(kind=kind, key__in=keys)
                    if start != kind and not shown.exists():
                        return self._announce(kind, len(keys))
                    return self._show_assignment(self._get_or_create_assignment(kind, key))
            score = self._score_known_tasks(self._qualification_keys()[1])
            if self._has_failed_test():
                self.queue.assigner.release_open_task(self.name)
                can_retake = self.participant.num_retakes + 1 < MAX_ATTEMPTS
                message = "retake" if can_retake else "test_failed"
                return self._end_payload("test_failed", message, can_retake=can_retake)
            # The first annotators pass for the time being. When others have judged the same questions, the answers
            # are scored again.
            if not score.num_pending:
                self.participant.is_qualified = True
                self.participant.save()
        if self.queue.is_blocked(self.user):
            self.queue.assigner.release_open_task(self.name)
            return self._end_payload("thanks", "blocked")
        opened = self.assignments.filter(kind="task", state="open")
        if assignment := next((row for row in opened if row.key in self.queue.task_numbers), None):
            # The task may have been given to others in the meantime.
            self.queue.assigner.assign_task(self.name, assignment.key)
            return self._show_assignment(assignment)
        if self.is_adjudicator and (key := self._find_contested_test()):
            return self._show_assignment(self._get_or_create_assignment("test", key))
        if key := self._assign_next_task():
            if start != "task" and not self.assignments.filter(kind="task").exists():
                self.queue.assigner.release_open_task(self.name)
                test = self._qualification_keys()[1]
                return self._announce(
                    "task", result=TEST_RESULTS[self.participant.is_qualified] if test else ""
                )
            return self._show_assignment(self._get_or_create_assignment("task", key))
        num_judged, max_tasks = self.queue.assigner.get_progress(self.name)
        return self._end_payload("wait" if num_judged < max_tasks or self.is_adjudicator else "thanks")

    def _announce(self, part: str, num_tasks: int = 0, result: str = "") -> dict[str, Any]:
        text = ANNOUNCEMENTS[part].format(tasks=f"{num_tasks} task{'' if num_tasks == 1 else 's'}")
        return {"screen": "announcement", "part": part, "message": result + text}

    def _assign_next_task(self) -> str | None:
        """Assign the next task.

        If no task is free, tasks that others have kept open for too long are released first.
        """
        if key := self.queue.assigner.assign_next_task(self.name):
            return key
        stale = [assignment for assignment in self.queue.get_open_assignments() if is_stale(assignment)]
        for assignment in stale:
            self.queue.assigner.release_open_task(str(assignment.user))
        return self.queue.assigner.assign_next_task(self.name) if stale else None

    def _find_contested_test(self) -> str | None:
        """Return the key of a test task on which annotators disagree, if no task asks its gold question and the
        adjudicator has not seen it; None if there is none.
        """
        shown = self.assignments.filter(kind="test").exclude(state="open")
        done = set(shown.values_list("key", flat=True))
        return next(
            (
                key
                for key, row in self.queue.known_tasks.items()
                if key not in done
                and any(self.queue.assigner.is_contested_in_test(row[side]) for side in ("first", "second"))
            ),
            None,
        )

    def _qualification_keys(self) -> tuple[list[str], list[str]]:
        """Return the keys of the training tasks and of the current test."""
        rules = {} if self.is_adjudicator else self.queue.rules
        sizes = rules.get("training_tasks", 0), rules.get("qualification_tasks", 0)
        return select_tasks(
            self.queue.content["known_tasks"], *sizes, self.name, self.participant.num_retakes
        )

    def _score_known_tasks(self, keys: Sequence[str]) -> QualificationScore:
        """Score the answers to some known tasks."""
        answered = self.assignments.exclude(kind="task").filter(key__in=keys, state="answered")
        answers = {row.key: (row.answer["first"], row.answer["second"]) for row in answered}
        return score_answers(self.queue.content["known_tasks"], answers, self.queue.assigner.is_gold_counted)

    def _has_failed_test(self) -> bool:
        """Return whether the current test is complete and failed."""
        test = self._qualification_keys()[1]
        score = self._score_known_tasks(test)
        is_complete = score.num_answered + score.num_pending == 2 * len(test)
        return (
            not self.participant.is_qualified
            and is_complete
            and not score.has_passed(self.queue.rules["min_qualification_accuracy"])
        )

    def _get_or_create_assignment(self, kind: str, key: str) -> TaskAssignment:
        """Return the assignment of a task. The assignment is created if needed.

        The number of an assignment is unique for the annotator, across all data sets. So a page that was left
        open can never answer another task.
        """
        last = TaskAssignment.objects.filter(user=self.user.pk).aggregate(last=Max("number"))["last"] or 0
        new = {"number": last + 1, "opened_at": now()}
        own = {**self.assignment_keys, "kind": kind, "key": key}
        assignment, is_new = TaskAssignment.objects.get_or_create(**own, defaults=new)
        if is_new and kind != "task":
            self.queue.withhold_tasks(assignment)
        return assignment

    def _show_assignment(self, assignment: TaskAssignment) -> dict[str, Any]:
        payload = {
            # An adjudicator takes no test. A test task that needs a decision looks like any other task.
            "screen": "task" if self.is_adjudicator else assignment.kind,
            **self._task_payload(assignment),
            "answer": assignment.answer,
            "previous_assignment": None,
        }
        before = self.assignments.filter(number__lt=assignment.number)
        tasks_before = before.filter(kind="task")
        if assignment.kind != "task" and not self.is_adjudicator:
            keys = self._qualification_keys()[assignment.kind == "test"]
            number, size = keys.index(assignment.key), len(keys)
            return payload | {"task_number": number + 1, "set_size": size, "num_done_in_set": number}
        number = (before if self.is_adjudicator else tasks_before).count()
        return payload | {
            "task_number": number + 1,
            "set_size": SET_SIZE,
            "num_done_in_set": number % SET_SIZE,
            "previous_assignment": self._find_last_number(tasks_before),
        }

    def _find_last_number(self, assignments: QuerySet[TaskAssignment]) -> int | None:
        """Return the number of the last assignment that can be reopened; None if no assignment can be
        reopened.
        """
        rows = assignments.order_by("-number").iterator(chunk_size=20)
        return next((row.number for row in rows if self._is_current(row)), None)

    def _task_payload(self, assignment: TaskAssignment) -> dict[str, Any]:
        content = self.get_content(assignment)
        # Browsers cache images by URL. Another annotator in the same browser has the same assignment numbers,
        # so the URL also has a hash.
        mark = sha256(f"{self.assignment_keys}{assignment.key}".encode()).hexdigest()[:16]
        return {
            "assignment": assignment.number,
            "image_url": f"/annotate/image/{assignment.number}?{mark}",
            "first": content["first"],
            "second": content["second"],
        }

    def _feedback_payload(self, assignment: TaskAssignment) -> dict[str, Any]:
        row, answer = self.queue.known_tasks[assignment.key], assignment.answer
        sides = ("first", "second")
        return {
            "screen": "feedback",
            **self._task_payload(assignment),
            "answer": answer,
            "expected": {side: row[side]["expected"] for side in sides},
            "explanation": {side: row[side]["explanation"] for side in sides},
            "is_correct": {side: is_correct(row[side], answer[side]) for side in sides},
        }

    def _end_payload(self, screen: str, message: str = "", **more: Any) -> dict[str, Any]:
        """Return a screen without questions.

        It says nothing about the answers to known questions. A number of right answers would tell which answers
        are right to anybody who compares it with others, or with a second attempt.
        """
        own = self.assignments.filter(kind="task", state="answered")
        return {
            "screen": screen,
            "message": MESSAGES[message or screen],
            "num_judged": own.count(),
            "minutes_worked": (self.assignments.aggregate(all=Sum("seconds"))["all"] or 0) / 60,
            "previous_assignment": None
            if message or screen == "test_failed"
            else self._find_last_number(own),
            **more,
        }

    def _save_answer(self, assignment: TaskAssignment, answer: dict[str, str], seconds: float) -> None:
        """Store an answer. Storing the same answer again changes nothing.

        A different answer corrects the earlier answer to a task. Answers to training and test tasks cannot be
        corrected.
        """
        if assignment.state != "answered":
            assignment.answered_at = now()
            elapsed = (assignment.answered_at - assignment.opened_at).total_seconds()
            assignment.seconds = max(0.0, min(seconds, elapsed))
        elif assignment.kind != "task":
            return
        assignment.state, assignment.answer = "answered", answer
        assignment.save()
        if assignment.kind == "test":
            self.queue.record_test_answer(assignment)
        if assignment.kind == "task":
            self._save_annotation(assignment, _to_label_studio_result(answer), cancelled=False)
            self.queue.assigner.record_answer(self.name, assignment.key, answer["first"], answer["second"])

    def _save_skip(self, assignment: TaskAssignment) -> None:
        can_skip = assignment.kind == "task" or self.is_adjudicator
        if not can_skip or assignment.state == "answered":
            raise RequestRefused(409, "This task is already answered or cannot be skipped.")
        assignment.state = "skipped"
        assignment.save()
        if assignment.kind == "task":
            self._save_annotation(assignment, [], cancelled=True)
            self.queue.assigner.record_skip(self.name, assignment.key)

    def _save_annotation(
        self, assignment: TaskAssignment, result: list[dict[str, Any]], cancelled: bool
    ) -> None:
        """Store Label Studio's annotation of an assignment, and the counts of its task.

        A correction is a further annotation, so that all versions are kept. `pull` reads all of them. The method
        `save` of the models is not used, because its signals recompute the summary of the whole project (0.1
        s). If the annotation has not changed, nothing is written, because `pull` would count the write as a
        correction. If the study leader deleted the annotation, it is created again.
        """
        number, when = self.queue.task_numbers[assignment.key], now()
        annotations = Annotation.objects.filter(task=number).order_by("pk")
        last = annotations.filter(completed_by=self.user).last()
        if last and (cancelled, result) == (last.was_cancelled, last.result):
            return
        fields = {
            "result": result, "result_count": len(result), "was_cancelled": cancelled, "lead_time": assignment.seconds,
            "updated_by": self.user, "updated_at": when,
        }  # fmt: skip
        if last and last.was_cancelled:
            Annotation.objects.filter(pk=last.pk).update(**fields)
        else:
            new = {"task_id": number, "project_id": self.queue.project_number, "completed_by": self.user}
            (created,) = Annotation.objects.bulk_create([Annotation(**new, **fields)])
            # Django stores the time of the machine's clock in a new row.
            Annotation.objects.filter(pk=created.pk).update(created_at=when, updated_at=when)
        # Of several versions by one annotator, the last one is counted.
        skips = [*dict(annotations.values_list("completed_by", "was_cancelled")).values()]
        Task.objects.filter(pk=number).update(
            total_annotations=skips.count(False),
            cancelled_annotations=skips.count(True),
            is_labeled=skips.count(False) >= self.queue.rules["max_votes"],
            updated_at=when,
        )


def _validate_answer(answer: Mapping[str, Any]) -> tuple[dict[str, str], float]:
    """Return a valid answer and its seconds.

    Raises:
        RequestRefused: The answer is invalid (status 400).
    """
    choices, seconds = {name: answer.get(name) or "" for name in CONTROLS}, answer.get("seconds")
    is_valid = (
        type(seconds) in (int, float) and 0 <= seconds <= 86_400 and answer.keys() <= {*CONTROLS, "seconds"}
    )
    for side in ("first", "second"):
        reasons = ("", *REASONS) if choices[side] == "invalid" else ("",)
        is_valid = is_valid and choices[side] in CHOICES and choices[f"{side}_reason"] in reasons
    if not is_valid:
        raise RequestRefused(
            400,
            "An answer needs two choices and the seconds. Reasons are allowed for invalid questions only.",
        )
    return choices, float(seconds)


def _to_label_studio_result(answer: Mapping[str, str]) -> list[dict[str, Any]]:
    """Convert an answer to the result format of the controls in interface.xml."""
    kind = {"to_name": "image", "type": "choices", "origin": "manual"}
    return [
        {"id": f"rgqa-{name}", "from_name": name, **kind, "value": {"choices": [answer[name]]}}
        for name in CONTROLS
        if answer[name]
    ]
