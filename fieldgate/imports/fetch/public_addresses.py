"""Addresses: which there are of a name, which are on the open internet, and how one is refused to who sent it."""

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
# Public by the tables of some Python we run on, but not the open internet: special ranges with the metadata of one
# cloud among them, relays, what another cloud answers its own machines on, and documentation.
_NON_PUBLIC_NETWORKS = tuple(map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "3fff::/20")))


def is_public(address: IPAddress) -> bool:
    """Whether an address is on the open internet; an IPv4 address inside an IPv6 one counts as what it is."""
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
    """The addresses of a name, in the order to try them."""
    found = await asyncio.get_running_loop().getaddrinfo(hostname, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(place[0]) for *_, place in found))


def url_error(message: Message) -> ValidationError:
    """What is wrong with an address, or with what it leads to."""
    return ValidationError({"url": [message]})
