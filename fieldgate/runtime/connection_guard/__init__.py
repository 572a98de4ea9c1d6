"""Close connections that keep the service from others: silent, idle, too slow, or too many from one address.

The HTTP server has no limits of this kind. A thread looks at the sockets of the process about once a second, so that
requests cost nothing more. `rules` decides, `sockets` reads and closes (Linux), `guard` is the thread.
"""

from fieldgate.runtime.connection_guard.guard import ConnectionGuard
from fieldgate.runtime.connection_guard.rules import Activity, CloseReason, ConnectionLimits
from fieldgate.runtime.connection_guard.sockets import reset_connection

__all__ = ["Activity", "CloseReason", "ConnectionGuard", "ConnectionLimits", "reset_connection"]
