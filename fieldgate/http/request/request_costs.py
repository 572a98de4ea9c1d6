"""How much of a rate limit a read uses beside its own cost: pages and large lists take long to make."""

from fieldgate.http.negotiation.formats import Format
from fieldgate.http.operations import Operation
from fieldgate.pagination import PageRequest

LARGE_LIMIT = 100  # a list of up to this many records takes a few milliseconds at most
RECORDS_PER_COST = 250
PAGE_COST = 10.0
PAGE_RECORDS_PER_COST = 10


def extra_cost(operation: Operation, format_: Format, page: PageRequest) -> float:
    """The cost beside the one of every request. 0 if it is not costly, and for files and health checks."""
    if operation.route.method != "GET" or operation.rate_cost < 1 or operation.is_simple_page:
        return 0.0
    if format_ is Format.HTML:
        return PAGE_COST + page.limit / PAGE_RECORDS_PER_COST
    return page.limit / RECORDS_PER_COST if page.limit > LARGE_LIMIT else 0.0
