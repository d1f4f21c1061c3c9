"""A project is for the members of its organisation; Label Studio's open edition lets in every account of the server."""

from __future__ import annotations

from typing import Any

from projects.mixins import ProjectMixin as LabelStudioProjectMixin


class ProjectMixin(LabelStudioProjectMixin):
    """Named by the setting PROJECT_MIXIN. Tasks, annotations, drafts, exports and storages ask their project."""

    def has_permission(self, user: Any) -> bool:
        return super().has_permission(user) and self.organization_id == user.active_organization_id
