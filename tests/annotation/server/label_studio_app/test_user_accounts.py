"""Test accounts and the organisation on real servers."""

from __future__ import annotations

import pytest
import requests

from annotation.server.accounts import update_roster
from tests.annotation.server.conftest import Studio, run_inside

pytestmark = pytest.mark.server


def test_all_accounts_share_one_organisation_and_annotators_are_not_staff(studio: Studio) -> None:
    lines = [
        "from organizations.models import Organization, OrganizationMember",
        "from users.models import User",
        "staff = list(User.objects.filter(is_staff=True).values_list('email', flat=True))",
        "answer = [Organization.objects.count(), OrganizationMember.objects.count() - User.objects.count(), staff]",
    ]
    assert run_inside(studio, "\n".join(lines)) == [1, 0, ["admin@rgqa.local"]]


def test_removed_annotator_is_out_at_once_and_returns_with_the_same_link(studio: Studio) -> None:
    bob, link = studio.open_page("bob"), studio.link("bob")
    image = bob.step({})["image_url"]
    update_roster(["bob"], remove=True)
    assert bob.step({})["message"] == "There are no tasks for you at the moment."
    assert bob.post({"reopen": 1}).json()["screen"] == "wait"
    assert bob.session.get(studio.url + image, timeout=60).status_code == 404
    assert requests.get(studio.url + link, timeout=60).status_code == 403
    update_roster(["bob"])
    assert studio.link("bob") == link and studio.open_page("bob").step({})["screen"] == "task"


def test_administrator_and_accounts_are_created_once(
    studio: Studio,
) -> None:
    lines = [
        "from annotation.server.label_studio_app.user_accounts import ensure_administrator, get_or_create_annotator",
        "from users.models import User",
        "wanted = {'email': 'admin@rgqa.local', 'password': 'p', 'token': ''}",
        "before = User.objects.get(email='admin@rgqa.local').password",
        "new = ensure_administrator(wanted)",
        "same = ensure_administrator(wanted | {'token': new}) == new",
        "admin = User.objects.get(email='admin@rgqa.local')",
        "right, admin.password = admin.check_password('p'), before",
        "admin.save()",
        "one, again = get_or_create_annotator('new@rgqa.local'), get_or_create_annotator('new@rgqa.local')",
        "answer = [same, right, one.pk == again.pk, one.has_usable_password(), one.is_staff, User.objects.count()]",
        "again.delete()",
    ]
    same, right, once, password, staff, _ = run_inside(studio, "\n".join(lines))
    assert (same, right, once, password, staff) == (True, True, True, False, False)
