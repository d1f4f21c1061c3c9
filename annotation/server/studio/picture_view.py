"""The pictures of a data set, and nothing else of `data/`: the address `/data/local-files/?d=<data set>/source/images/...`.

Label Studio's own serving gives every file below a storage's folder to every account, and a project needs a storage record
for it. It is switched off; this view answers at the same address, and no record is needed. Label Studio's own addresses
come after it.
"""

from __future__ import annotations

import mimetypes
import re

from core.urls import urlpatterns as label_studio
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import re_path
from io_storages.localfiles.views import build_localfile_response

PICTURE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*/source/images/[^/\\\x00]+")


def picture(request: HttpRequest) -> HttpResponse:
    """Send a picture to whoever is logged in (the gate has seen to that); 404 for everything else."""
    path = request.GET.get("d", "")
    kind = mimetypes.guess_type(path)[0] or ""
    # SVG may carry scripts, so it is no picture here.
    if not PICTURE.fullmatch(path) or not kind.startswith("image/") or kind == "image/svg+xml":
        raise Http404("no such picture")
    response = build_localfile_response(
        request, str(settings.RGQA_DATA / path), request.headers.get("If-None-Match")
    )
    if response.status_code == 404:
        raise Http404("no such picture")  # without the path on the disk that Label Studio's answer names
    response["Cache-Control"] = "private, max-age=3600"
    return response


urlpatterns = [re_path(r"^data/local-files/?$", picture, name="rgqa-picture"), *label_studio]
