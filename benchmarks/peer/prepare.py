# mypy: disable-error-code="import-not-found"
"""Make the peer's database, fill it from a file of events, and print the token its one user signs in with."""

import sys
from pathlib import Path

import django
from django.core.management import call_command
from django.db import connection


def main(events: Path) -> None:
    django.setup()
    # The models can be imported only once the framework is set up.
    from django.contrib.auth.models import User
    from rest_framework.authtoken.models import Token

    from benchmarks.peer.filling import fill

    call_command("migrate", run_syncdb=True, verbosity=0)
    fill(events)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # the planner then knows which index is worth using
    print(Token.objects.create(user=User.objects.create_user("bench")).key)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
