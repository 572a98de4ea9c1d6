# mypy: disable-error-code="import-not-found"
"""What the server imports; the rig names the settings module in the environment."""

from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()
