"""Labels of permissions."""

import pytest

from fieldgate.i18n.languages import Language
from fieldgate.permissions import rules
from fieldgate.permissions.labels import label


@pytest.mark.parametrize("asset_type", sorted(rules.ASSIGNABLE))
def test_every_assignable_permission_has_a_label(asset_type: str) -> None:
    for permission in rules.assignable(asset_type):
        for language in Language:
            assert label(permission, asset_type, language)
