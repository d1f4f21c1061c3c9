"""Our two tables in Label Studio's database. They are made if missing, on SQLite and PostgreSQL alike; a user is the number of
an account."""

from __future__ import annotations

from django.db import connection, models


class Participant(models.Model):
    """Somebody who annotates a data set.

    Attributes:
        name: what a volunteer who came by the open link called themselves; "" for those who were invited by name.
        consent_hash, consent_time: of the text that they accepted last; "" if none.
        tries: tests that they began anew. passed: whether they passed one.
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
        constraints = (models.UniqueConstraint(fields=["user", "data_set"], name="rgqa_participant_once"),)


class TaskAssignment(models.Model):
    """One task that was shown to somebody.

    Attributes:
        number: their own running number, from 1; the only one that their browser sees.
        kind: training, test or task. key: the task's id with us.
        state: open, answered or skipped. opened, answered: by the server's clock, the first time each.
        answer: first, second, first_reason, second_reason; None while open or skipped.
        seconds: what their page measured, at most what lies between `opened` and `answered`.
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
        app_label, db_table = "rgqa", "rgqa_place"
        constraints = (
            models.UniqueConstraint(fields=["user", "data_set", "number"], name="rgqa_place_number"),
            models.UniqueConstraint(fields=["user", "data_set", "kind", "key"], name="rgqa_place_once"),
        )


def ensure_tables() -> None:
    """Make the tables that are missing."""
    there = connection.introspection.table_names()
    with connection.schema_editor() as editor:
        for model in (Participant, TaskAssignment):
            if model._meta.db_table not in there:
                editor.create_model(model)
