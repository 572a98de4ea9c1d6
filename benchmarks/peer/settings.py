# mypy: disable-error-code="import-not-found"
"""Production settings of the peer: debug off, and only what an API of this kind needs.

Where a setting has a faster and a slower reasonable value, the faster one is chosen:
a comparison is only worth reading if the other side was given every fair chance.
"""

import os

from django.core.management.utils import get_random_secret_key
from django.utils.translation import gettext_lazy as _

DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]
SECRET_KEY = get_random_secret_key()  # Nothing signed outlives the one process, so no key is kept.

ROOT_URLCONF = "benchmarks.peer.urls"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "rest_framework",
    "rest_framework.authtoken",
    "benchmarks.peer",
]

# No sessions, no CSRF, no messages: tokens are the only way in.
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
]

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ["PEER_DATABASE"],
        "CONN_MAX_AGE": None,  # Reopening the file for every request would slow the token look-up.
        # What is acknowledged is synced, as with us, and one who writes says so at once instead of failing half-way.
        "OPTIONS": {
            "init_command": "PRAGMA journal_mode=wal; PRAGMA synchronous=full;",
            "transaction_mode": "IMMEDIATE",
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

USE_I18N = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("fr", _("French")), ("ar", _("Arabic")), ("es", _("Spanish"))]
TIME_ZONE = "UTC"
USE_TZ = True

# Pages for browsers are measured on their own: without them the peer is a little faster.
IS_BROWSABLE = bool(os.environ.get("PEER_BROWSABLE"))
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}] if IS_BROWSABLE else []
STATIC_URL = "/static/"

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": [
        "rest_framework.renderers.JSONRenderer",
        *(["rest_framework.renderers.BrowsableAPIRenderer"] if IS_BROWSABLE else []),
    ],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.AllowAny"],
    "DEFAULT_PAGINATION_CLASS": "benchmarks.peer.pagination.Pagination",
}
