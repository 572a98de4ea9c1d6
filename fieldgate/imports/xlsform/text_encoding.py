"""Find the code page of a CSV file that is not Unicode, if it is certain.

Excel saves plain CSV in the code page of its computer and writes nowhere which one. The same bytes are `Père` in
western Europe and `Pčre` in central Europe, so a wrong guess changes the form. Each code page is tried with the
languages that are written in it. How well a text fits a language is the probability of its letters, from the
frequencies in charset-normalizer, and of a few words. The best text is taken if it is much more probable than all
others, whatever their code page; otherwise the encoding is unknown.

charset-normalizer's own choice is not used, because it takes the most likely one even if others are nearly as likely:
it reads a third of short French forms and most Portuguese ones with the code page of central Europe.
"""

import math
import re
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from charset_normalizer.constant import FREQUENCIES

SAMPLE_BYTES = 20_000  # of cells with other letters than those of ASCII, read to recognise the language
CERTAINTY = math.log(10_000)  # how much more probable the best text must be
LOWEST_PLAUSIBILITY = math.log(2.6e-3)  # of a letter beyond ASCII, on average

_CELL_ENDS = re.compile(rb'[\n\r\t,;"]+')
_DECLARED_LANGUAGE = re.compile(rb"::[^,;\t\n]*\((\w\w)\)")
_WORDS = re.compile(r"\w+")
_PUNCTUATION = frozenset("«»“”„‘’‚‹›–—…¿¡؟،؛°ºª№€·•\u00a0\u200c\u200d\u200e\u200f´")

# Probabilities: of punctuation, of a letter that a language has but rarely uses (of some thousands in East Asia), of
# other letters and signs, of a letter of another alphabet.
_SIGN, _RARE, _RARE_OF_THOUSANDS = math.log(4e-3), math.log(2e-3), math.log(5e-4)
_FOREIGN, _OTHER_ALPHABET = math.log(2e-5), math.log(1e-7)
_LATIN_WORDS = math.log(0.05)  # of a letter of ASCII in other alphabets: forms often have two languages
_RANK_DECAY = 9  # the ninth letter of a language is a third as frequent as the first
_COMMON_WORD = math.log(12)  # how much more probable a language is for each of its words
_DECLARED = math.log(100_000)  # how much more probable a language is that a column names, as in label::French (fr)
_CHANGE = math.log(1e-4)  # of case or alphabet in a word, as in wrongly decoded text


class _Language(NamedTuple):
    """Its code, letters that are missing in the table of frequencies, and words of every form."""

    code: bytes
    letters: str
    words: frozenset[str]


class _Reading(NamedTuple):
    """What a text can be, and how probable it is."""

    score: float
    page: str
    language: str
    text: str


def _language(code: str, letters: str, words: str) -> _Language:
    return _Language(code.encode(), letters, frozenset(words.split()))


# Letters by their frequency. charset-normalizer does not have these languages.
_FREQUENCIES = FREQUENCIES | {
    "Japanese": FREQUENCIES["Japanese——"],  # hiragana
    "Romanian": list("eiarntulocsdpmăfvîgbşţzhâj"),  # with the letters of cp1250
    "Catalan": list("easritnlocudmpvgbfqhàéxíòjèóçúïü"),
    "Icelandic": list("arnieðstulgmkfhvoáþíjdóbyöúéæpxý"),
    "Latvian": list("aisterunkomlpdvāzgīēbcšfjūžņķļčģh"),
    "Urdu": list("اکيہرنےوىتسمبلدںگھپشقعجچخحزطفصضذٹڈڑئغثظآ"),
    "Albanian": list("eëtairnshukodmpljgvbyqfzçxcw"),
    "Haitian": list("naeoikltpsumyrwdèvbgfjòzhéc"),
    "Kurdish": list("eainrîkdbsêlmhtvûwşgyjzopçqxfu"),
}

_LANGUAGES = {
    "English": _language("en", "é", "the of is are what how many in your you and a to do did for have which"),
    "French": _language(
        "fr", "êçôûîâùëïœæ", "de la le les des du est et vous votre quel quelle avez dans pour une un sur au à où"
    ),
    "Spanish": _language(
        "es", "ñéúüç", "de la el los las es y su cuál qué cuántos cuántas en un una del con por para usted"
    ),
    "Portuguese": _language(
        "pt", "óêâõúàôü", "de a o os as é e seu sua qual quantos quantas em um uma do da com por para não"
    ),
    "German": _language(
        "de", "ß", "der die das ist und sie ihr wie viele in im ein eine zu zur nicht welche für haben"
    ),
    "Italian": _language(
        "it", "ùìéó", "di la il lo gli è e suo qual quanti quante in un una del della con per non ha che"
    ),
    "Dutch": _language("nl", "éèïöü", "de het een is en uw hoe wat in van voor met niet heeft welke"),
    "Swedish": _language("sv", "é", "och är en ett hur vad i på av för med inte har vilken"),
    "Norwegian": _language("no", "éòô", "og er en et hvor hva i på av for med ikke har hvilken"),
    "Danish": _language("da", "é", "og er en et hvor hvad i på af for med ikke har hvilken"),
    "Finnish": _language("fi", "å", "ja on ei mikä kuinka onko te mitä"),
    "Polish": _language("pl", "ćńśźżfv", "w i z na jest czy ile jak się do proszę nie gdzie jaki jakie pan pani"),
    "Czech": _language("cs", "čšžýůúňťďóf", "a v je kolik jak se do na kde jaký jaká máte nebo prosím ne"),
    "Slovak": _language("sk", "ľšťžňôďĺŕúóäf", "a v je koľko ako sa do na kde aký aká máte alebo prosím nie"),
    "Hungarian": _language("hu", "őűúíüó", "a az és hány van mi hol ki nem egy kérjük milyen"),
    "Romanian": _language("ro", "", "de la este şi în un o câţi câte care cum vă din pentru nu să"),
    "Croatian": _language("hr", "đ", "je li u i na koliko kako koji gdje se ili ne molimo imate za"),
    "Slovene": _language("sl", "ćđ", "je v in na koliko kako kateri kje se ali ne prosimo imate za"),
    "Albanian": _language("sq", "", "dhe në të është sa si cili cila për me nuk ju"),
    "Haitian": _language("ht", "", "ki ou nan yo la an èske pou konbyen moun gen pa"),
    "Catalan": _language("ca", "", "de la el els les és i quin quina quants quantes en un una del amb per"),
    "Icelandic": _language("is", "", "og er í á hvað hvar hvernig hversu að þú ekki hver"),
    "Latvian": _language("lv", "", "un ir cik kur kā jūs vai kāds kāda nav no"),
    "Urdu": _language("ur", "", "کا کى کے کيا ہے ہيں آپ سے اور نہيں کتنے"),
    "Kurdish": _language("ku", "", "û di de çi çend we hûn ye li ji"),
    "Turkish": _language("tr", "öâîûçğ", "ve bir mi mı kaç nedir için ne bu var lütfen en"),
    "Lithuanian": _language("lt", "ęčūfh", "ir kiek ar kur jūsų yra koks kokia prašome ne"),
    "Estonian": _language("et", "šž", "ja on kui kas mis kus palju ei teie palun"),
    "Russian": _language("ru", "шюэщёфъ", "и в вы вас вам ли как на где сколько не есть ваш у за от"),
    "Ukrainian": _language("uk", "єґщюшжфї", "і в ви вас вам чи як на де скільки не є ваш у за від та до"),
    "Bulgarian": _language("bg", "юшфьщ", "и в вие ли как на къде колко не има ваш за от да"),
    "Serbian": _language("sr", "јљњћђџчжхфш", "и у ви ли како на где колико не има ваш за од да"),
    "Greek": _language("el", "ώφξψζβϊϋΐΰ", "και το η ο πόσο είναι σας στο ποια τι πού να δεν"),
    "Hebrew": _language("he", "ףץ", "של מה את האם כמה לא הוא אתה על או"),
    "Arabic": _language("ar", "ؤئءآذضظغثزًٌٍَُِّْـéèàçêôâîûùëï", "ما هل كم هو هي في من على إلى لا أو التي عدد أي"),
    "Farsi": _language("fa", "يىكةئءأغذضظثژچؤ", "چند در آيا و است شما از به را چه"),
    "Thai": _language("th", "".join(map(chr, range(0x0E01, 0x0E5C))), ""),
    "Japanese": _language("ja", "", ""),
    "Chinese": _language("zh", "", ""),
    "Korean": _language("ko", "", ""),
}

_EAST_ASIAN = {"Japanese": ("CJK", "HIRAGANA", "KATAKANA"), "Chinese": ("CJK",), "Korean": ("HANGUL",)}
_WEST = (
    *("English", "French", "Spanish", "Portuguese", "German", "Italian", "Dutch", "Catalan", "Haitian", "Albanian"),
    *("Swedish", "Norwegian", "Danish", "Finnish", "Icelandic"),
)
_CENTRE = ("Polish", "Czech", "Slovak", "Hungarian", "Romanian", "Croatian", "Slovene")
_CYRILLIC = ("Russian", "Ukrainian", "Bulgarian", "Serbian")

# What spreadsheet programs write, and so likely that it is not refused. The others are there to be compared.
_ACCEPTED = frozenset(("mac_roman", "cp874", *(f"cp125{number}" for number in range(8))))
# How common the files are, and the languages.
_CODE_PAGES: dict[str, tuple[float, tuple[str, ...]]] = {
    "cp1252": (1.0, _WEST),
    "cp1256": (0.3, ("Arabic", "Farsi", "Urdu", "French")),
    "cp1251": (0.3, _CYRILLIC),
    "cp1250": (0.3, _CENTRE),
    "cp1254": (0.3, ("Turkish", "Kurdish")),
    "cp1253": (0.2, ("Greek",)),
    "cp1255": (0.2, ("Hebrew",)),
    "cp1257": (0.2, ("Lithuanian", "Estonian", "Latvian")),
    "cp874": (0.2, ("Thai",)),
    "mac_roman": (0.1, _WEST),
    "cp850": (0.01, _WEST),
    "cp437": (0.01, _WEST),
    "cp852": (0.01, _CENTRE),
    "iso8859_2": (0.01, _CENTRE),
    "mac_latin2": (0.01, _CENTRE),
    "koi8_r": (0.01, _CYRILLIC),
    "koi8_u": (0.01, _CYRILLIC),
    "cp866": (0.01, _CYRILLIC),
    "iso8859_5": (0.01, _CYRILLIC),
    "mac_cyrillic": (0.01, _CYRILLIC),
    "iso8859_6": (0.01, ("Arabic", "Farsi")),
    "cp720": (0.01, ("Arabic",)),
    "iso8859_7": (0.01, ("Greek",)),
    "cp737": (0.01, ("Greek",)),
    "mac_greek": (0.01, ("Greek",)),
    "cp862": (0.01, ("Hebrew",)),
    "cp857": (0.01, ("Turkish",)),
    "mac_turkish": (0.01, ("Turkish",)),
    "cp932": (0.2, ("Japanese",)),
    "gb18030": (0.2, ("Chinese",)),
    "big5": (0.1, ("Chinese",)),
    "cp949": (0.2, ("Korean",)),
}


def guess_code_page(data: bytes) -> str | None:
    """Return the code page of a text that is not Unicode, None if it is not certain."""
    declared = set(_DECLARED_LANGUAGE.findall(data))
    readings: dict[str, _Reading] = {}  # by what the bytes mean: many code pages agree about some letters
    sample = _sample_cells(data)
    for page, (share, languages) in _CODE_PAGES.items():
        text = _decode(sample, page)
        if text is None:
            continue
        share_and_changes = math.log(share) + _CHANGE * _count_changes(text)
        for language in languages:
            prior = share_and_changes + (_DECLARED if _LANGUAGES[language].code in declared else 0)
            reading = _Reading(prior + _log_probability(text, language), page, language, text)
            readings[text] = max(reading, readings.get(text, reading))
    ranking = sorted(readings.values(), reverse=True)
    if not ranking or (len(ranking) > 1 and ranking[0].score - ranking[1].score < CERTAINTY):
        return None
    best = ranking[0]
    return best.page if best.page in _ACCEPTED and _is_plausible(best) else None


def _is_plausible(reading: _Reading) -> bool:
    """Whether its letters beyond ASCII are not only rare ones. The right language may be missing in our list."""
    letters = _letter_probabilities(reading.language)
    others = [char for char in reading.text if not char.isascii() and char.isalpha()]
    total = sum(letters.get(char.lower(), _unlisted(char, reading.language)) for char in others)
    return total >= LOWEST_PLAUSIBILITY * len(others)


def _sample_cells(data: bytes) -> bytes:
    """Return cells with other letters than those of ASCII: the first ones, and then each that has another byte.

    So code pages that agree about the sample agree about the file.
    """
    cells: list[bytes] = []
    size, seen = 0, set(range(128))
    for cell in _CELL_ENDS.split(data):
        if not cell.isascii() and (size < SAMPLE_BYTES or not seen.issuperset(cell)):
            cells.append(cell)
            seen.update(cell)
            size += len(cell)
    return b"\n".join(cells)


def _decode(sample: bytes, page: str) -> str | None:
    """Return the text, None if the bytes are no text in this code page."""
    try:
        text = sample.decode(page)
    except UnicodeDecodeError:
        return None
    is_invalid = any(unicodedata.category(char) in ("Cc", "Cn", "Co") for char in set(text) - {"\n"})
    return None if is_invalid else text


def _log_probability(text: str, language: str) -> float:
    letters = _letter_probabilities(language)
    total = 0.0
    for char, count in Counter(text).items():
        if char in _PUNCTUATION:
            total += _SIGN * count
        elif char.isalpha() or unicodedata.category(char) == "Mn":
            total += letters.get(char.lower(), _unlisted(char, language)) * count
        elif not char.isascii():
            total += _FOREIGN * count
    words = _LANGUAGES[language].words
    return total + _COMMON_WORD * sum(word in words for word in _WORDS.findall(text.lower()))


def _count_changes(text: str) -> int:
    """Count where a capital follows a small letter, or a letter one of another alphabet."""
    pairs = Counter(pairwise(text))
    return sum(count for (first, second), count in pairs.items() if _is_change(first, second))


def _is_change(first: str, second: str) -> bool:
    if not first.isalpha() or not second.isalpha():
        return False
    is_capital = first.islower() and second.isupper()
    return is_capital or (_alphabet(first) != _alphabet(second) and "CJK" not in (_alphabet(first), _alphabet(second)))


def _unlisted(char: str, language: str) -> float:
    alphabet, own_alphabet = _alphabet(char), _alphabet(_FREQUENCIES[language][0])
    if char.isascii():
        return _RARE if own_alphabet == alphabet else _LATIN_WORDS
    if alphabet in _EAST_ASIAN.get(language, ()):
        return _RARE_OF_THOUSANDS
    return _FOREIGN if alphabet == own_alphabet else _OTHER_ALPHABET


@lru_cache(maxsize=4096)
def _alphabet(char: str) -> str:
    """Return the first word of the name of a character, for example LATIN."""
    return unicodedata.name(char, "").partition(" ")[0]


@lru_cache(maxsize=4096)
def _letter_probabilities(language: str) -> dict[str, float]:
    ranked = _FREQUENCIES[language]
    weights = [math.exp(-rank / _RANK_DECAY) for rank in range(len(ranked))]
    probabilities = dict.fromkeys(_LANGUAGES[language].letters, _RARE)
    return probabilities | {
        letter: max(_RARE, math.log(weight / sum(weights))) for letter, weight in zip(ranked, weights, strict=True)
    }
