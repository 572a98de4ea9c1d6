"""Build pyxform's tree of a form so that compiling takes time in proportion to its rows.

For each question in a repeat, pyxform (4.5) compares repeats with `==`. It defines equality by value: both repeats are
copied into dictionaries with all their questions and choices first. A question that is not a direct child of a repeat
is compared so once for every repeat around it, which takes minutes for a thousand rows.

The repeats that are compared contain each other, and a part never has the same value as the whole. So comparing
identities gives the same result.
"""

from typing import Any

from pyxform.builder import SurveyElementBuilder
from pyxform.section import RepeatingSection
from pyxform.survey import Survey

_REPEAT = "repeat"


class _Repeat(RepeatingSection):  # type: ignore[misc]
    """A repeat that is equal to itself only."""

    __eq__ = object.__eq__
    __hash__ = RepeatingSection.__hash__


class _SurveyBuilder(SurveyElementBuilder):  # type: ignore[misc]
    def _create_section_from_dict(self, d: dict[str, Any], choices: Any = None) -> Any:
        if d["type"] != _REPEAT:
            return super()._create_section_from_dict(d=d, choices=choices)
        repeat = _Repeat(**d)
        for child in d.get("children") or ():
            repeat.add_children(self.create_survey_element_from_dict(d=child, choices=choices))
        return repeat


def build_survey(form: dict[str, Any]) -> Survey:
    """Do what `pyxform.builder.create_survey_element_from_dict` does."""
    return _SurveyBuilder().create_survey_element_from_dict(form)
