"""Stored orders of names. Ordering names needs ICU, and processes that do not load it are 11 MB smaller.

An order is stored with a digest of the names it is for and of the version of ICU, and is not used for others: it cannot
be stale. Without an order that can be used, it is computed, until one is stored with the next change of the names. A
process that has just created the database has loaded ICU to store the orders.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from fieldgate.i18n.collation import ICU_VERSION, collation_key
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import in_language

Names = Mapping[int, str]  # by id


class NameOrder(msgspec.Struct, frozen=True):
    """Ids in the order of their names."""

    digest: str
    ids: Sequence[int]


NameOrders = Mapping[tuple[str, str], NameOrder]  # by name of the table and language code


def ordered_ids(names: Names, language: Language, stored: NameOrder | None) -> Sequence[int]:
    """Return the ids in the order of their names, the stored one if it is for these names."""
    if stored is not None and stored.digest == _digest(names):
        return stored.ids
    return _order(names, language)


def name_order_rows(table: str, records: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the rows to store for all records of a table, given as mappings."""
    held = list(records)
    rows = []
    for language in Language:
        names = {
            each["id"]: in_language(each["names"], language, each["original_language"])
            for each in held
        }
        row = {
            "table_name": table,
            "language": language.value,
            "digest": _digest(names),
            "ids": _order(names, language),
        }
        rows.append(row)
    return rows


def _order(names: Names, language: Language) -> list[int]:
    return sorted(names, key=lambda id_: (collation_key(names[id_], language), id_))


def _digest(names: Names) -> str:
    return hashlib.sha256(msgspec.json.encode((ICU_VERSION, sorted(names.items())))).hexdigest()
