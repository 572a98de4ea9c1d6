"""pyxform alone, for comparison. The fork server of the sandbox loads this module, and it converts a sample first."""

from pyxform.builder import create_survey_element_from_dict
from pyxform.xls2json import workbook_to_json
from pyxform.xls2json_backends import get_xlsform

from fieldgate.imports.sandbox.warm_up import sample_workbook


def convert_workbook(workbook: bytes) -> bytes:
    """Convert an XLSForm as `pyxform.xls2xform.convert` does, but without a temporary file. Return the XForm."""
    sheets = get_xlsform(workbook)
    definition = workbook_to_json(workbook_dict=sheets, fallback_form_name=sheets.fallback_form_name)
    xform: str = create_survey_element_from_dict(definition)._to_ugly_xml()
    return xform.encode()


convert_workbook(sample_workbook())
