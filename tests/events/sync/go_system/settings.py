"""Settings of the framework. GO_DATABASE is the SQLite file."""

import os

SECRET_KEY = "none"
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "tests.events.sync.go_system.views"
INSTALLED_APPS = ["rest_framework", "tests.events.sync.go_system"]
MIDDLEWARE = [
    "tests.events.sync.go_system.views.log_request",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ["GO_DATABASE"],
        "OPTIONS": {"init_command": "PRAGMA journal_mode=wal;", "timeout": 30},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
LANGUAGES = [(code, code) for code in ("en", "fr", "es", "ar")]  # also the order of fallbacks
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "tests.events.sync.go_system.authentication.FixedTokenAuthentication"
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.AllowAny"],
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.LimitOffsetPagination",
    "PAGE_SIZE": 50,
    "EXCEPTION_HANDLER": "tests.events.sync.go_system.views.error_response",
    "UNAUTHENTICATED_USER": None,
}
