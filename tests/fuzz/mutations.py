"""Change bytes at random: flip, insert, delete, repeat, splice with other input and with words that parsers know."""

import random
from collections.abc import Sequence

# Bytes at which parsers have gone wrong before, ours and others.
DICTIONARY = (
    b"\0", b"\r\n", b"\n", b"\r", b"%00", b"%", b"%u0041", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\t",
    b" " * 40, "٣".encode(), "＝".encode(), b'"', b"'", b"\\", b";", b",", b"=", b"&", b"..", b"//", b"@", b"#", b"?",
    b"[", b"]", b"{", b"}", b"(", b"*", b"-1", b"1e999", b"NaN", b"null", b"true", b"18446744073709551616", b"--x",
    b"--x--", b"q=0", b"filename*=UTF-16''%FE",
)  # fmt: skip


def mutate(seed: bytes, generator: random.Random, others: Sequence[bytes]) -> bytes:
    data = bytearray(seed)
    for _ in range(generator.choice((1, 1, 2, 3, 8))):
        position = generator.randint(0, len(data))
        length = generator.choice((1, 1, 2, 4, 16))
        kind = generator.randrange(6)
        if kind == 0 and data:
            data[position % len(data)] ^= 1 << generator.randrange(8)
        elif kind == 1:
            data[position:position] = generator.choice(DICTIONARY)
        elif kind == 2:
            del data[position : position + length]
        elif kind == 3:
            data[position:position] = data[position : position + length] * generator.choice((2, 50))
        elif kind == 4:
            other = generator.choice(others)
            start = generator.randint(0, len(other))
            data[position : position + length] = other[start : start + 32]
        else:
            data[position : position + length] = generator.randbytes(length)
    return bytes(data)
