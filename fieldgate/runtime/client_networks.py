"""What counts as one client where callers are known by their address only."""

import ipaddress
from functools import lru_cache


@lru_cache(maxsize=8192)
def network_of(address: str) -> str:
    """An IPv4 address, or an IPv6 network of 64 bits, which is what one customer gets. IPv4-mapped IPv6 is IPv4."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((int(parsed) >> 64 << 64, 64)))
