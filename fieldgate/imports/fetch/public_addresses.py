"""Addresses: which there are of a name, which are on the open internet, and how one is refused to who sent it."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from fieldgate.errors import ValidationError
from fieldgate.i18n.messages import Message

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[Address]]]

_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
# Public by the tables of some Python we run on, but not the open internet: special ranges with the metadata of one
# cloud among them, relays, what another cloud answers its own machines on, and documentation.
_NOT_PUBLIC = tuple(map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "3fff::/20")))


def is_public(address: Address) -> bool:
    """Whether an address is on the open internet; an IPv4 address inside an IPv6 one counts as what it is."""
    address = _inner(address) or address
    if address.version == 6 and address not in _UNICAST:
        return False
    return address.is_global and not address.is_multicast and not any(address in network for network in _NOT_PUBLIC)


def _inner(address: Address) -> IPv4Address | None:
    if isinstance(address, IPv4Address):
        return None
    translated = IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
    return address.ipv4_mapped or address.sixtofour or translated


async def resolved(name: str, port: int) -> Sequence[Address]:
    """The addresses of a name, in the order to try them."""
    found = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(place[0]) for *_, place in found))


def refused(message: Message) -> ValidationError:
    """What is wrong with an address, or with what it leads to."""
    return ValidationError({"url": [message]})
