"""Label Studio's addresses with ours before them."""

from __future__ import annotations

from core.urls import urlpatterns as label_studio
from django.urls import re_path

from annotation.server.studio.picture_view import picture

urlpatterns = [re_path(r"^data/local-files/?$", picture, name="rgqa-picture"), *label_studio]
