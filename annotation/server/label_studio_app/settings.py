"""Extend Label Studio's settings. The environment variable RGQA_DATA is the folder of the data sets."""

import os
from hashlib import sha256
from pathlib import Path

# Label Studio reads these variables while its settings load. They switch off telemetry, error reports,
# version checks and public sign-up.
os.environ.update(
    {
        "LABEL_STUDIO_COLLECT_ANALYTICS": "false",
        "LABEL_STUDIO_SENTRY_DSN": "",
        "LABEL_STUDIO_FRONTEND_SENTRY_DSN": "",
        "LABEL_STUDIO_LATEST_VERSION_CHECK": "false",
        "LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true",
        "LABEL_STUDIO_CORS_ALLOW_ALL_ORIGINS": "false",
        "LABEL_STUDIO_DEBUG": "false",
        "LABEL_STUDIO_ENABLE_LOCAL_FILES_STORAGE": "false",
        "LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED": "false",
        "LABEL_STUDIO_LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "false",
    }
)

# The order of these imports matters: the second module reads settings of the first module through Django
# while it loads.
from core.settings.base import *  # isort: skip
from core.settings import label_studio as theirs  # isort: skip
from core.settings.label_studio import *

RGQA_DATA = Path(os.environ["RGQA_DATA"])
ROOT_URLCONF = "annotation.server.label_studio_app.views"
MIDDLEWARE = [*theirs.MIDDLEWARE, "annotation.server.label_studio_app.access_control.AccessControlMiddleware"]
theirs.TEMPLATES[0]["DIRS"].append(str(Path(__file__).parent / "templates"))
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
# By default, Label Studio stores sessions in signed cookies. A pending request could then log a user in again
# after a logout.
SESSION_ENGINE = "django.contrib.sessions.backends.file"
SESSION_FILE_PATH = str(Path(theirs.BASE_DATA_DIR) / "sessions")
Path(SESSION_FILE_PATH).mkdir(mode=0o700, exist_ok=True)
# Browsers send a cookie to every port of a machine. The cookie name differs per study, so that a demo or
# another study does not log people out of this study.
SESSION_COOKIE_NAME = f"rgqa-{sha256(SESSION_FILE_PATH.encode()).hexdigest()[:12]}"

database = theirs.DATABASES["default"]
if theirs.DJANGO_DB == theirs.DJANGO_DB_SQLITE:
    # With WAL, readers do not wait for a writer. A writer waits for another writer for at most `timeout`
    # seconds. With FULL, answers that were confirmed to the annotator survive a power failure.
    database["OPTIONS"] = {
        "timeout": 30,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }
else:
    # Maximum age of a database connection in seconds.
    database["CONN_MAX_AGE"] = 600
