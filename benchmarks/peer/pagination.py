# mypy: disable-error-code="import-not-found, misc"
"""Pages of 50 unless asked otherwise, and never more than 1000."""

from rest_framework.pagination import LimitOffsetPagination


class Pagination(LimitOffsetPagination):
    default_limit = 50
    max_limit = 1000
