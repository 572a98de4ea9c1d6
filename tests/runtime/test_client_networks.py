"""What counts as one client."""

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fieldgate.runtime.client_networks import network_of


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("unix socket", "unix socket"),
    ],
)
def test_network_of_an_address(address: str, network: str) -> None:
    assert network_of(address) == network


@given(st.ip_addresses(v=6), st.integers(0, 2**64 - 1))
def test_ipv6_address_stands_for_its_network(address: IPv6Address, host: int) -> None:
    neighbour = IPv6Address(int(address) >> 64 << 64 | host)
    assume(address.ipv4_mapped is None and neighbour.ipv4_mapped is None)
    assert network_of(str(neighbour)) == network_of(str(address))
    assert network_of(str(IPv6Address(int(address) ^ 1 << 64))) != network_of(str(address))


@given(st.ip_addresses(v=4))
def test_ipv4_address_stands_for_itself(address: IPv4Address) -> None:
    assert network_of(str(address)) == network_of(f"::ffff:{address}") == str(address)
