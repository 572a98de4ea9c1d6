"""The order of names in a language, by the collation of CLDR: in Spanish ñ is a letter of its own, after n.

sorted(names, key=lambda name: collation_key(name, Language.SPANISH))
"""

from collections.abc import Callable
from functools import cache

from fieldgate.i18n.languages import Language

# Of the ICU library, which is not loaded to ask it. With a new version, stored orders of names are not used any more.
ICU_VERSION = "77.1"


def collation_key(text: str, language: Language) -> bytes:
    """Return the key to order texts by in a language. Equal keys mean that the language does not tell them apart."""
    return _key_function(language)(text)


@cache
def _key_function(language: Language) -> Callable[[str], bytes]:
    import icu  # only when something is ordered: it adds 11 MB

    key: Callable[[str], bytes] = icu.Collator.createInstance(icu.Locale(language.value)).getSortKey
    return key
