# mypy: disable-error-code="import-not-found"
"""Make the peer's database, fill it from files, and print the token of its one user."""

import sys
from pathlib import Path

import django
from django.core.management import call_command
from django.db import connection


def main(name: str, events: Path, imports: Path, assignments: Path | None) -> None:
    django.setup()
    # The models can be imported only once the framework is set up.
    from django.contrib.auth.models import User
    from rest_framework.authtoken.models import Token

    from benchmarks.peer.filling import fill, fill_assignments, fill_imports

    call_command("migrate", run_syncdb=True, verbosity=0)
    user = User.objects.create_user(name)
    fill(events)
    fill_imports(imports, user)
    if assignments is not None:
        fill_assignments(assignments, user)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # the planner then knows which index is worth using
    print(Token.objects.create(user=user).key)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]) if sys.argv[4:] else None)
