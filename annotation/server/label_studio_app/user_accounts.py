"""Create accounts, the organization and the administrator's token in Label Studio's database.

All accounts are members of one organization, which the administrator owns. Annotators have no access to the
pages of the organization (see `access_control`), and no password, because they log in with a personal link.
Every function can be called repeatedly.
"""

from __future__ import annotations

import logging
from pathlib import Path
from time import time_ns
from typing import Any

from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from jwt_auth.models import LSAPIToken
from organizations.models import Organization
from rest_framework_simplejwt.exceptions import TokenError
from rest_framework_simplejwt.tokens import RefreshToken
from users.models import User

from annotation.server.label_studio_app import models

log = logging.getLogger(__name__)
# Tables with the answers of people, and with what is stored about them before their first answer.
ANSWER_TABLES = ("task_completion", "rgqa_task_assignment", "rgqa_participant")


def ensure_administrator(credentials: dict[str, Any]) -> str:
    """Migrate the database, create the administrator if needed, and return their personal token."""
    try:
        _migrate()
    except DatabaseError as error:
        # A killed start can leave a half-made database: some of Label Studio's migrations take several steps.
        if connection.vendor != "sqlite" or has_answers():
            raise
        log.error("the database is half-made and has no answers, so it is made again: %r", error)
        move_database_away()
        _migrate()
    call_command("clearsessions")
    models.ensure_tables()
    with transaction.atomic():
        owner = User.objects.filter(email=credentials["email"]).first() or User(email=credentials["email"])
        owner.username, owner.is_staff, owner.is_superuser = owner.email, True, True
        if not owner.check_password(credentials["password"]):
            owner.set_password(credentials["password"])
        owner.save()
        home = Organization.objects.filter(created_by=owner).first()
        home = home or Organization.create_organization(created_by=owner, title="RGQA study")
        home.jwt.api_tokens_enabled, home.jwt.legacy_api_tokens_enabled = True, False
        home.jwt.save()
        _join_organization(home, owner)
        return _get_or_create_token(owner, credentials["token"])


def _migrate() -> None:
    if connection.vendor == "sqlite":
        # Hundreds of migrations would take minutes if each one were flushed to disk. Flushing is not needed,
        # because migrations can be repeated.
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous=NORMAL")
    call_command("migrate", interactive=False, verbosity=0)


def has_answers() -> bool:
    """Return whether the database contains answers, or anything else that people did."""
    existing = connection.introspection.table_names()
    with connection.cursor() as cursor:
        for table in ANSWER_TABLES:
            if table in existing:
                cursor.execute(f"SELECT 1 FROM {table} LIMIT 1")
                if cursor.fetchone():
                    return True
    return False


def move_database_away() -> None:
    """Rename the files of an SQLite database, so that the next connection makes a new one."""
    path = Path(connection.settings_dict["NAME"])
    connection.close()
    stamp = time_ns()
    for suffix in ("", "-wal", "-shm"):
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.rename(path.with_name(f"half-made-{stamp}.sqlite3{suffix}"))


def get_or_create_annotator(email: str) -> User:
    """Return the account of an annotator. The account is created if needed."""
    user = User.objects.filter(email=email).first()
    if user is None:
        user = User(email=email, username=email, allow_newsletters=False)
        user.set_unusable_password()
        user.save()
        _join_organization(Organization.objects.order_by("pk").first(), user)
    return user


def _join_organization(home: Organization, user: User) -> None:
    home.add_user(user)
    User.objects.filter(pk=user.pk).update(active_organization=home)


def _get_or_create_token(user: User, known: str) -> str:
    """Return the personal token `known` if it is still valid for the account, else a new token."""
    try:
        if str(RefreshToken(known)["user_id"]) == str(user.pk):
            return known
    except TokenError:
        # There is no token, the token was signed with another secret key, or the token was revoked.
        pass
    return LSAPIToken.for_user(user).get_full_jwt()
