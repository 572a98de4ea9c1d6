"""Resolve host names, and tell public addresses from private and special ones."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from fieldgate.errors import ValidationError
from fieldgate.i18n.messages import Message

IPAddress = IPv4Address | IPv6Address
Resolver = Callable[[str, int], Awaitable[Sequence[IPAddress]]]

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
# Global according to some Python versions, but not public: special ranges including cloud metadata services, 6to4
# relays, a cloud's internal service address, addresses of protocols (identifiers of hosts are among them), and
# documentation.
_NON_PUBLIC_NETWORKS = tuple(
    map(
        ip_network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "2001::/23", "3fff::/20")
    )
)


def is_public(address: IPAddress) -> bool:
    """Whether an address is on the public internet. For IPv6 addresses that embed an IPv4 address, that one counts."""
    address = _embedded_ipv4(address) or address
    if address.version == 6 and address not in _GLOBAL_UNICAST:
        return False
    return (
        address.is_global
        and not address.is_multicast
        and not any(address in network for network in _NON_PUBLIC_NETWORKS)
    )


def _embedded_ipv4(address: IPAddress) -> IPv4Address | None:
    if isinstance(address, IPv4Address):
        return None
    translated = IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
    return address.ipv4_mapped or address.sixtofour or translated


async def resolve_host(hostname: str, port: int) -> Sequence[IPAddress]:
    """Return the addresses of a host, in the order to try them."""
    infos = await asyncio.get_running_loop().getaddrinfo(hostname, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(address[0]) for *_, address in infos))


def url_error(message: Message) -> ValidationError:
    """Return the error for an invalid `url`, or for what it leads to."""
    return ValidationError({"url": [message]})
