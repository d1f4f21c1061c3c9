"""On real servers: accounts and the organisation."""

from __future__ import annotations

import pytest
import requests

from annotation.client.credentials import read_secrets
from annotation.server.accounts import invite
from tests.annotation.server.conftest import Studio, run_inside

pytestmark = pytest.mark.server


def test_all_are_members_of_one_organisation_and_annotators_are_no_staff(studio: Studio) -> None:
    lines = [
        "from organizations.models import Organization, OrganizationMember",
        "from users.models import User",
        "staff = list(User.objects.filter(is_staff=True).values_list('email', flat=True))",
        "answer = [Organization.objects.count(), OrganizationMember.objects.count() - User.objects.count(), staff]",
    ]
    assert run_inside(studio, "\n".join(lines)) == [1, 0, ["admin@rgqa.local"]]


def test_who_left_is_out_at_once_and_comes_back_with_the_same_link(studio: Studio) -> None:
    bob = studio.desk("bob")
    link = read_secrets().annotators["bob"].link
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("annotation.server.environment.ensure", lambda: studio.python)
        invite(["bob"], leave=True)
        assert bob.post({}).status_code == 401
        assert requests.get(f"{studio.url}/desk/in/{link}", timeout=60).status_code == 404
        invite(["bob"])
    assert read_secrets().annotators["bob"].link == link
    assert studio.desk("bob").step({})["show"] == "task"
