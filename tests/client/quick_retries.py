"""Retries without long pauses, for tests with faulty servers."""

from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.retries import RetryPolicy

QUICK_RETRIES = RetryPolicy(first_pause=0.001, longest_pause=0.01)
QUICK = ConnectionOptions(retries=QUICK_RETRIES, timeout=20)
