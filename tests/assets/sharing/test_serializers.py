"""Encoded lists of assignments."""

import pytest

from fieldgate.accounts.tables import PUBLIC_USER_ID, PUBLIC_USERNAME
from fieldgate.assets.assignments import AssignmentScope
from fieldgate.assets.sharing.grants import AssetGrants, Grantee, ListedAssignment
from fieldgate.assets.sharing.serializers import assignment_records, encode_assignments
from fieldgate.http.response.links import encode
from fieldgate.i18n.languages import Language
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL

USERS = [
    Grantee(PUBLIC_USER_ID, PUBLIC_USERNAME),
    *(Grantee(number, name) for number, name in enumerate(["amina", "a@b.c", "ж", 'quo"te\\', "a b/-uid-", "\x01%"])),
]
FILTERS = {"view_submissions": ({"_submitted_by": "amina"},)}


@pytest.mark.parametrize("asset_type", [each for each, taken in rules.ASSIGNABLE.items() if taken])
@pytest.mark.parametrize("language", list(Language))
def test_lists_are_encoded_like_single_assignments(asset_type: str, language: Language) -> None:
    scope = AssignmentScope(asset_type=asset_type, owner_id=1, direct={})
    grants = AssetGrants(id=1, uid="aKm3pVw8ZtQ2xYcRnB5dFh", scope=scope, grantees_by_id={})
    listed = [
        ListedAssignment(
            f"p{number}{permission[:3]}", user, permission, FILTERS if permission == PARTIAL else None, is_inherited
        )
        for number, user in enumerate(USERS)
        for permission in sorted(rules.ASSIGNABLE[asset_type])
        for is_inherited in (False, True)
    ]
    for some in ([], listed[:1], listed):
        assert bytes(encode_assignments(grants, some, language)) == encode(assignment_records(grants, some, language))
