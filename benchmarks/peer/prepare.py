# mypy: disable-error-code="import-not-found"
"""Make the peer's database and print the token its one user signs in with."""

import django
from django.core.management import call_command


def main() -> None:
    django.setup()
    # The models can be imported only once the framework is set up.
    from django.contrib.auth.models import User
    from rest_framework.authtoken.models import Token

    call_command("migrate", verbosity=0)
    print(Token.objects.create(user=User.objects.create_user("bench")).key)


if __name__ == "__main__":
    main()
