"""The page that explains what a person can do with an asset, and why."""

from collections.abc import Mapping
from typing import Any

import msgspec

from fieldgate.http.internal_api import InternalAPI
from fieldgate.i18n.languages import Language
from fieldgate.permissions.filter_sentences import describe_submissions
from fieldgate.permissions.labels import short_label
from fieldgate.web.page_views import Page
from fieldgate.web.pages.record_links import codename, username
from fieldgate.web.pages.sharing_people import PUBLIC_USERNAME, AssetAccess, display_name, sentence_name


class ExplainedPermission(msgspec.Struct, frozen=True):
    """One permission: whether the person has it, why, and what could be given."""

    codename: str
    label: str
    is_allowed: bool
    is_partial: bool
    reasons: tuple[str, ...]
    submissions: tuple[tuple[str, str], ...]  # the label of a permission, and which submissions it is for
    needs: tuple[str, ...]


async def load_explanation(page: Page, api: InternalAPI) -> dict[str, Any]:
    asset = AssetAccess.from_record(await api.get(f"/api/v2/assets/{page.request.path_values['uid']}/"))
    name = username(page.record["user"])
    asked = codename(page.record["permission"])
    explained = []
    for permission in asset.assignable:
        query = {"user": name, "permission": permission}
        record = page.record if permission == asked else await api.get(f"{asset.path}explain/", query)
        explained.append(explain_permission(record, asset.asset_type, page.language))
    main = explain_permission(page.record, asset.asset_type, page.language)
    return {
        "asset": asset,
        "person": display_name(name, page.language),
        "person_in_sentence": sentence_name(name, page.language),
        "is_everyone": name == PUBLIC_USERNAME,
        "user": name,
        "main": main,
        "explained": explained,
    }


def explain_permission(record: Mapping[str, Any], asset_type: str, language: Language) -> ExplainedPermission:
    """Return an `ExplanationRecord` in words."""
    rules = [each["rule"] for each in record["rules"]]
    partials = record.get("partial_permissions", ())
    return ExplainedPermission(
        codename=codename(record["permission"]),
        label=record["label"],
        is_allowed=record["allowed"],
        is_partial=not record["allowed"] and "partial" in rules,
        reasons=tuple(dict.fromkeys(each["why"] for each in record["rules"])),
        submissions=tuple(
            (
                short_label(codename(each["url"]), asset_type, language),
                describe_submissions(each["filters"], language),
            )
            for each in partials
        ),
        needs=tuple(each["why"] for each in record["needs"]),
    )
