"""Accounts, organisations and tokens in Label Studio's database. Every function can be run again: it makes what is missing.

administrator   a superuser in an organisation of their own, with a token
annotator       an account that may label, in an organisation of its own that a service account owns; the token is
                the service account's, nobody can log in as it
"""

from __future__ import annotations

from typing import Any

from django.core.management import call_command
from django.db import connection, transaction
from jwt_auth.models import LSAPIToken
from organizations.models import Organization, OrganizationMember
from rest_framework_simplejwt.exceptions import TokenError
from rest_framework_simplejwt.tokens import RefreshToken
from users.models import User


def accounts(wanted: dict[str, Any]) -> dict[str, Any]:
    """Bring the database up to date and make what is missing of the administrator and the annotators."""
    if connection.vendor == "sqlite":
        # Some hundred migrations, each written through to the disk, take minutes; all of them can be made again.
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous=NORMAL")
    call_command("migrate", interactive=False, verbosity=0)
    call_command("clearsessions")
    with transaction.atomic():
        return {
            "admin": administrator(wanted["admin"]),
            "annotators": {name: annotator(name, login) for name, login in wanted["annotators"].items()},
        }


def administrator(login: dict[str, Any]) -> dict[str, Any]:
    user = account(login["email"], login["password"], staff=True, superuser=True)
    organisation(user, "RGQA study")
    return {**login, "token": token(user, login["token"])}


def annotator(name: str, login: dict[str, Any]) -> dict[str, Any]:
    """`login["active"]` says whether they may log in, `login["hotkeys"]` which keys do what on the screen; an annotator who
    left keeps account and answers."""
    service = account(f"service.{login['email']}", None, staff=True)
    home = organisation(service, f"RGQA {name}")
    user = account(login["email"], login["password"], active=login["active"])
    # An annotator belongs to one organisation alone: their login leads into the first that there is.
    OrganizationMember.objects.filter(user=user).exclude(organization=home).delete()
    home.add_user(user)
    User.objects.filter(pk=user.pk).update(active_organization=home, custom_hotkeys=login["hotkeys"])
    return {"email": login["email"], "password": login["password"], "token": token(service, login["token"])}


def account(
    email: str, password: str | None, *, staff: bool = False, superuser: bool = False, active: bool = True
) -> User:
    """The account with this address. `password` None: nobody can log in with one."""
    user = User.objects.filter(email=email).first() or User(email=email, username=email)
    user.is_staff, user.is_superuser, user.is_active = staff, superuser, active
    user.allow_newsletters = False
    if password is None:
        user.set_unusable_password()
    elif not user.check_password(password):
        user.set_password(password)
    user.save()
    return user


def organisation(owner: User, title: str) -> Organization:
    """The organisation that `owner` owns; personal tokens are good in it, legacy tokens are not."""
    home = Organization.objects.filter(created_by=owner).first()
    if home is None:
        home = Organization.create_organization(created_by=owner, title=title)
    home.add_user(owner)
    home.jwt.api_tokens_enabled, home.jwt.legacy_api_tokens_enabled = True, False
    home.jwt.save()
    User.objects.filter(pk=owner.pk).update(active_organization=home)
    return home


def token(user: User, known: str) -> str:
    """The personal token `known` if it still opens this account, else a new one."""
    try:
        if str(RefreshToken(known)["user_id"]) == str(user.pk):
            return known
    except TokenError:
        pass  # none, of another secret key, or called back
    return LSAPIToken.for_user(user).get_full_jwt()
