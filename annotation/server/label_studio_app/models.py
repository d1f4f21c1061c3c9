"""Define the two tables that we add to Label Studio's database (SQLite or PostgreSQL).

They are created on first use.
"""

from __future__ import annotations

from django.db import connection, models


class Participant(models.Model):
    """A participant in the annotation of one data set.

    Attributes:
        user: Number of the account.
        dataset: Name of the data set.
        name: The name that a volunteer gave at sign-up; "" for invited people.
        consent_hash: Hash of the consent text that the participant accepted last; "" if none was accepted.
        consented_at: Time at which this consent text was accepted.
        num_retakes: Number of failed attempts at the qualification test that were followed by another
            attempt.
        is_qualified: Whether the participant passed the qualification test.
    """

    user = models.BigIntegerField()
    dataset = models.CharField(max_length=200)
    name = models.CharField(max_length=200, default="")
    consent_hash = models.CharField(max_length=128, default="")
    consented_at = models.DateTimeField(null=True)
    num_retakes = models.IntegerField(default=0)
    is_qualified = models.BooleanField(default=False)

    class Meta:
        app_label, db_table = "rgqa", "rgqa_participant"
        constraints = (models.UniqueConstraint(fields=["user", "dataset"], name="rgqa_participant_once"),)


class TaskAssignment(models.Model):
    """A task that was shown to an annotator.

    Attributes:
        user: Number of the account.
        dataset: Name of the data set.
        number: Running number of the annotator's assignments, from 1. It is the only id that the browser of
            the annotator receives.
        kind: training, test or task.
        key: Our task id.
        state: open, answered or skipped.
        opened_at: Time when the task was first shown.
        answered_at: Time of the first answer.
        answer: The entries first, second, first_reason and second_reason; None if the task is not answered.
        seconds: Time measured by the page, at most the time between `opened_at` and `answered_at`.
    """

    user = models.BigIntegerField()
    dataset = models.CharField(max_length=200)
    number = models.IntegerField()
    kind = models.CharField(max_length=8)
    key = models.CharField(max_length=200)
    state = models.CharField(max_length=8, default="open")
    opened_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True)
    answer = models.JSONField(null=True)
    seconds = models.FloatField(null=True)

    class Meta:
        app_label, db_table = "rgqa", "rgqa_task_assignment"
        constraints = (
            models.UniqueConstraint(fields=["user", "dataset", "number"], name="rgqa_assignment_number"),
            models.UniqueConstraint(fields=["user", "dataset", "kind", "key"], name="rgqa_assignment_once"),
        )


def ensure_tables() -> None:
    """Create those of the two tables that do not exist yet."""
    existing = connection.introspection.table_names()
    with connection.schema_editor() as editor:
        for model in (Participant, TaskAssignment):
            if model._meta.db_table not in existing:
                editor.create_model(model)
