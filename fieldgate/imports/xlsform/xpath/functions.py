"""Functions that forms may call: those of XPath 1.0, and those that ODK Collect and Enketo add. Node tests and axes."""

_XPATH_FUNCTIONS = """
    boolean ceiling concat contains count false floor id lang last local-name name namespace-uri normalize-space not
    number position round starts-with string string-length substring substring-after substring-before sum translate
    true
"""

_XFORMS_FUNCTIONS = """
    abs acos area asin atan atan2 base64-decode boolean-from-string checklist coalesce comment-status cos
    count-non-empty count-selected current date date-time decimal-date-time decimal-time depend digest distance
    enclosed-area ends-with exp exp10 extract-signed format-date format-date-time geofence if indexed-repeat instance
    int intersects join jr:choice-name jr:itext log log10 max min now once pi pow property pulldata random randomize
    regex selected selected-at sin sqrt substr tan today uuid weighted-checklist
"""

_AXES = """
    ancestor ancestor-or-self attribute child descendant descendant-or-self following following-sibling namespace parent
    preceding preceding-sibling self
"""

KNOWN_FUNCTIONS = frozenset((_XPATH_FUNCTIONS + _XFORMS_FUNCTIONS).split())

NODE_TESTS = frozenset({"text", "node", "comment", "processing-instruction"})

AXES = frozenset(_AXES.split())
