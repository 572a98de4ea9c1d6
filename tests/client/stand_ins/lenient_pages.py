# mypy: disable-error-code="misc"
"""Pages of the live systems, made and linked by what makes them there: Django REST framework.

It never refuses a limit or an offset. Its links are the request's own URL with two parameters set: others stay, also
other names of the offset.
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.test import RequestFactory

settings.configure(ALLOWED_HOSTS=["*"])  # read by the imports that follow

from rest_framework.pagination import LimitOffsetPagination  # noqa: E402
from rest_framework.request import Request  # noqa: E402


class GoPages(LimitOffsetPagination):
    default_limit = 50


class KoboDataPages(LimitOffsetPagination):
    """Submissions: only `start`."""

    default_limit = 100
    max_limit = 1000
    offset_query_param = "start"


class KoboPages(KoboDataPages):
    """Most lists: `offset` is another name of `start`, which wins."""

    def get_offset(self, request: Request) -> int:
        named = KoboDataPages() if "start" in request.query_params else LimitOffsetPagination()
        return int(named.get_offset(request))


def page_of(
    records: Sequence[Any],
    target: str,
    pages: type[LimitOffsetPagination],
    host: str,
    max_limit: int | None = None,
) -> dict[str, Any]:
    """The page that a request asks for. Links have the host that the server behind its proxy sees."""
    paginator = pages()
    paginator.max_limit = max_limit or paginator.max_limit
    results = paginator.paginate_queryset(
        records, Request(RequestFactory().get(target, headers={"host": host}))
    )
    page: dict[str, Any] = paginator.get_paginated_response(results).data
    return page
