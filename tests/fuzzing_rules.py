"""What schemathesis holds to be an error and our reading of the interface does not. Each exception has its reason.

Loaded by schemathesis itself, see `tests/test_fuzzing.py`.
"""

from functools import lru_cache
from typing import Any

import schemathesis
import yaml
from schemathesis.core import NOT_SET
from schemathesis.core.failures import Failure
from schemathesis.specs.openapi.checks import ignored_auth

JSON_IN_FORMS = ("partial_permissions", "settings")
# Words in the place of an id that are paths of their own: a chain of requests takes them from the index.
PATHS_BESIDE_IDS = frozenset({"mini", "export", "deleted"})


@schemathesis.deserializer("application/yaml")
def parse_yaml(context: Any, response: Any) -> Any:
    """Our own document has a megabyte. To parse it for each example took most of the time of long runs."""
    return _parse_yaml(response.content)


@lru_cache(8)
def _parse_yaml(content: bytes) -> Any:
    return yaml.load(content, yaml.CSafeLoader)


@schemathesis.hook
def filter_case(context: Any, case: Any) -> bool:
    """Blank parameters are absent ones, and of repeated ones the last counts: no refusal is due for either. Fields
    nobody knows are ignored, so the description allows them; who asks to be strict has them refused all the same.
    In a form, lists and objects are JSON in a text; the generator knows only that it is a text."""
    if (case.path_parameters or {}).get("id") in PATHS_BESIDE_IDS:
        return False
    # Where there can be a body, a missing one is the same as an empty one: all optional fields are absent.
    if case.body is NOT_SET and "requestBody" in case.operation.definition.raw:
        return False
    is_strict = "strict" in (case.headers or {}).get("Prefer", "")
    if is_strict and case.body:
        return False
    is_form = case.media_type != "application/json" and isinstance(case.body, dict)
    if is_form and any(
        name in JSON_IN_FORMS or isinstance(value, list | dict) for name, value in case.body.items()
    ):
        return False
    return not any(_is_absent(name, value) for name, value in (case.query or {}).items())


def _is_absent(name: str, value: Any) -> bool:
    """Whether nothing is sent, or the same parameter several times; lists separated by commas are one.

    An object is sent as the same parameter several times, or as parameters with the names of its members.
    """
    if isinstance(value, list):
        is_list = name.endswith("__in") or name in ("appeal_type", "held")
        return not is_list or any(member in ("", None) or "," in str(member) for member in value)
    is_blank = isinstance(value, str) and not value.strip()
    return is_blank or value is None or isinstance(value, dict)


@schemathesis.check
def no_internal_details(context: Any, response: Any, case: Any) -> None:
    """Beyond the built-in checks: no answer shows a stack trace or an exception's name."""
    text = response.content.decode("utf-8", "replace")  # it may be a workbook
    for word in ("Traceback", "Exception", 'File "', "sqlalchemy", "asyncpg"):
        assert word not in text or "/api-docs/" in response.request.url


@schemathesis.check
def authentication_is_enforced(context: Any, response: Any, case: Any) -> bool | None:
    """The built-in check. It sends a wrong password to every operation, and after some of them 429 is due."""
    try:
        return ignored_auth(context, response, case)
    except Failure as failure:
        if "got `429 Too Many Requests`" in str(failure):
            return None
        raise
