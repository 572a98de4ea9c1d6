"""Parse a small form when this module is loaded, by the fork server only, so that forked processes need not.

The first form in a process takes a quarter longer than others: regular expressions are compiled, caches are filled,
modules are loaded. Forked processes have all of that in the memory that they share.
"""

import logging

from fieldgate.imports import xlsform

log = logging.getLogger(__name__)

SAMPLE = """survey
,type,name,label::English (en),label::French (fr),required,relevant,calculate
,text,name,Name,Nom,yes,,
,begin_group,household,Household,Ménage,,,
,integer,size,Size,Taille,,,
,select_one yes_no,displaced,Displaced?,Déplacé ?,,${size} > 1,
,end_group,,,,,,
,calculate,doubled,,,,,${size} * 2
choices
,list_name,name,label::English (en),label::French (fr)
,yes_no,yes,Yes,Oui
,yes_no,no,No,Non
settings
,form_title,default_language
,Sample,English (en)
"""


def warm_up() -> None:
    try:
        xlsform.parse_workbook(SAMPLE.encode(), "sample")
    except Exception:  # forms take longer, but are imported
        log.exception("the sample form could not be parsed")


warm_up()
