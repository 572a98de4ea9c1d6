"""What counts as one client where callers are known by their address only."""

import ipaddress
from functools import lru_cache


@lru_cache(maxsize=8192)
def is_in_networks(address: str, networks: tuple[object, ...]) -> bool:
    """Whether an address is in one of these networks: in CIDR notation, or parsed. An unknown address is in none.

    IPv4-mapped IPv6 counts as IPv4.
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    parsed = getattr(parsed, "ipv4_mapped", None) or parsed
    return any(parsed in ipaddress.ip_network(str(network)) for network in networks)


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
