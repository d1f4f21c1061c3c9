"""Accounts, their organisation and the administrator's token in Label Studio's database. Every function can be run again: it
makes what is missing.

All are members of one organisation, which the administrator owns. Annotators reach none of it: see `gate`.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from django.core.management import call_command
from django.db import connection, transaction
from jwt_auth.models import LSAPIToken
from organizations.models import Organization, OrganizationMember
from rest_framework_simplejwt.exceptions import TokenError
from rest_framework_simplejwt.tokens import RefreshToken
from users.models import User

from annotation.server.studio import desk_tables as tables


def accounts(wanted: dict[str, Any]) -> str:
    """Bring the database up to date and make what is missing of the administrator and a data set's annotators; return the
    administrator's token."""
    if connection.vendor == "sqlite":
        # Some hundred migrations, each written through to the disk, take minutes; all of them can be made again.
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous=NORMAL")
    call_command("migrate", interactive=False, verbosity=0)
    call_command("clearsessions")
    tables.ensure()
    with transaction.atomic():
        admin = wanted["admin"]
        owner = account(admin["email"], admin["password"], staff=True, superuser=True)
        home = organisation(owner, "RGQA study")
        for login in wanted["annotators"]:
            annotator(home, login, wanted["data_set"])
        return token(owner, admin["token"])


def annotator(home: Organization, login: dict[str, Any], data_set: str) -> None:
    """`login["active"]` says whether they may log in; an annotator who left keeps account and answers."""
    user = account(login["email"], login["password"], active=login["active"])
    # Of one organisation alone: their login leads into the first that there is.
    OrganizationMember.objects.filter(user=user).exclude(organization=home).delete()
    home.add_user(user)
    User.objects.filter(pk=user.pk).update(active_organization=home)
    # A volunteer's link is known to them alone.
    link = {"link": sha256(login["link"].encode()).hexdigest()} if login["link"] else {}
    tables.Participant.objects.update_or_create(user=user.pk, data_set=data_set, defaults=link)


def account(
    email: str, password: str, *, staff: bool = False, superuser: bool = False, active: bool = True
) -> User:
    """The account with this address. `password` "": nobody can log in with one."""
    user = User.objects.filter(email=email).first() or User(email=email, username=email)
    user.is_staff, user.is_superuser, user.is_active = staff, superuser, active
    user.allow_newsletters = False
    if not password:
        if (
            user.has_usable_password()
        ):  # as a new account has; another one made unusable would end its sessions
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
