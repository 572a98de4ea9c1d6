"""Encodes an index as bytes and decodes it again, in parts of a bounded size.

The first part describes the others: how many bytes each column and bitmap has. Columns are the bytes of their arrays,
bitmaps have the portable format of Roaring. Every part is compressed on its own.
"""

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec
import zstandard
from pyroaring import BitMap

from fieldgate.events.figures import EventFigures
from fieldgate.events.search import int_arrays
from fieldgate.events.search.figure_columns import FigureColumns
from fieldgate.events.search.index import IdLookup, Index

LAYOUT = 1  # raise it when the encoding, or what an index holds, changes
PART_BYTES = 1024 * 1024  # before compression
_COMPRESSION_LEVEL = 1


class UndecodableIndex(Exception):
    """The parts are not those of an index, or of one of another kind of processor."""


class _Column(msgspec.Struct, frozen=True, array_like=True):
    type_code: str
    bytes: int


class _FacetSet(msgspec.Struct, frozen=True, array_like=True):
    word: str
    bytes: int
    totals: EventFigures  # of all events with this word


class _Description(msgspec.Struct, frozen=True):
    byte_order: str
    columns: list[_Column]  # ids, start, created, updated, then the figures
    largest_figure: int
    live_bytes: int
    facet_sets: list[_FacetSet]


def encode_index(index: Index) -> Iterator[bytes]:
    """The parts of an index, one after the other."""
    columns = [index.ids, index.starts, index.created, index.updated, *index.figures.columns]
    live = index.live_positions.serialize()
    sets = {word: positions.serialize() for word, positions in index.facet_sets.items()}
    totals = index.figures.totals
    description = _Description(
        sys.byteorder,
        [_Column(column.typecode, len(column) * column.itemsize) for column in columns],
        index.figures.largest,
        len(live),
        [_FacetSet(word, len(positions), totals[word]) for word, positions in sets.items()],
    )
    compressor = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL)
    yield compressor.compress(msgspec.json.encode(description))
    contents: list[array[int] | bytes] = [*columns, b"".join((live, *sets.values()))]
    for content in contents:
        raw = memoryview(content).cast("B")
        for start in range(0, len(raw), PART_BYTES):
            yield compressor.compress(raw[start : start + PART_BYTES])


def decode_index(parts: Sequence[bytes]) -> Index:
    """The index of these parts. They must be known to be intact: a damaged bitmap can end the process."""
    decompressor = zstandard.ZstdDecompressor()
    raw = (decompressor.decompress(part, max_output_size=PART_BYTES) for part in parts[1:])
    try:
        description = msgspec.json.decode(zstandard.decompress(parts[0]), type=_Description)
        if description.byte_order != sys.byteorder:
            raise UndecodableIndex(f"it is {description.byte_order}-endian")
        columns = [_read_column(raw, each) for each in description.columns]
        bitmaps = b"".join(raw)
    except (zstandard.ZstdError, msgspec.MsgspecError, ValueError, IndexError) as error:
        raise UndecodableIndex(str(error)) from error
    sizes = [description.live_bytes, *(each.bytes for each in description.facet_sets)]
    if len(columns) != 8 or len(bitmaps) != sum(sizes):
        raise UndecodableIndex("it is not complete")
    live, *sets = _read_bitmaps(bitmaps, sizes)
    words = [each.word for each in description.facet_sets]
    totals = {each.word: each.totals for each in description.facet_sets}
    ids, starts, created, updated, *figures = columns
    int_arrays.preload_numpy(ids)
    return Index(
        ids, starts, created, updated,
        dict(zip(words, sets, strict=True)),
        live,
        IdLookup.from_ids(ids, live),
        FigureColumns(tuple(figures), description.largest_figure, totals),
    )  # fmt: skip


def _read_column(raw: Iterator[bytes], column: _Column) -> "array[int]":
    found = array(column.type_code)
    for part in islice(raw, -(-column.bytes // PART_BYTES)):
        found.frombytes(part)
    if len(found) * found.itemsize != column.bytes:
        raise UndecodableIndex("a column is not complete")
    return found


def _read_bitmaps(content: bytes, sizes: Iterable[int]) -> Iterator[BitMap]:
    start = 0
    for size in sizes:
        yield BitMap.deserialize(content[start : start + size])
        start += size
