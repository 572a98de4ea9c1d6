"""What is in a form, for people and programs: its questions, and the differences between two versions."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row

from fieldgate.assets.authorization import AuthorizedAsset, asset_not_found
from fieldgate.assets.diff_records import ChangeSerializer, count_changes
from fieldgate.assets.form_outline import FormOutline
from fieldgate.assets.form_schemas import (
    ComparedVersion,
    DiffFilters,
    DiffRecord,
    QuestionFilters,
    QuestionRecord,
)
from fieldgate.assets.form_texts import (
    LabelFinder,
    find_language,
    form_languages,
    preferred_language,
)
from fieldgate.assets.routes.asset_routes import TAG
from fieldgate.assets.routes.version_routes import get_version
from fieldgate.assets.schemas import ASSETS_PATH, asset_path
from fieldgate.assets.store import AssetStore
from fieldgate.assets.version_diff import compare_contents
from fieldgate.errors import ValidationError
from fieldgate.http.links import Link
from fieldgate.http.operations import AssetLimit, Routes
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, Scope
from fieldgate.overload import run_in_thread_if
from fieldgate.pagination import ListResult, PageRequest

THREAD_THRESHOLD_ROWS = 300  # a few milliseconds
routes = Routes(tag=TAG, scope=Scope.READ, asset_limit=AssetLimit.PATH)


@routes.get_list(
    ASSETS_PATH + "{uid}/questions/",
    response=QuestionRecord,
    title=Message("Questions"),
    description=Message(
        "The questions, groups and notes of a form in one of its languages, in a readable shape: names of types, "
        "conditions in words, the first choices. The complete form is in the content of the asset."
    ),
    is_costly=True,
)
async def question_list(
    uid: str,
    page: PageRequest,
    caller: Caller,
    language: Language,
    query: QuestionFilters,
    store: AssetStore,
) -> ListResult[QuestionRecord]:
    asset = await store.authorize(uid, caller)
    content = await _load_content(asset, query.version, store)
    place = _language_place(content, query.language, language)

    def build() -> ListResult[QuestionRecord]:
        outline = FormOutline(content, place)
        if query.list_name:
            outline = outline.with_list(query.list_name)
        return ListResult(
            len(outline), outline.records(range(page.offset, page.offset + page.limit), language)
        )

    return await run_in_thread_if(_row_count(content) > THREAD_THRESHOLD_ROWS, build)


@routes.get(
    ASSETS_PATH + "{uid}/versions/{version}/diff/",
    response=DiffRecord,
    title=Message("Changes in a version"),
    description=Message(
        "What changed between two versions of a form: languages, settings, questions and choices that were added, "
        "removed, changed, moved or renamed."
    ),
    is_costly=True,
)
async def version_diff(
    uid: str,
    version: str,
    caller: Caller,
    language: Language,
    query: DiffFilters,
    store: AssetStore,
) -> DiffRecord:
    asset = await store.authorize(uid, caller)
    new_row = await get_version(asset, version, store)
    old_row = await _find_against(asset, query.against, new_row, store)
    new, old = new_row.content, {} if old_row is None else old_row.content
    place = _language_place(new, query.language, language)
    old_place = preferred_language(form_languages(old), language)
    if (same := find_language(form_languages(old), form_languages(new)[place] or "")) is not None:
        old_place = same

    def build() -> DiffRecord:
        changes = compare_contents(old, new)
        serializer = ChangeSerializer(
            LabelFinder(old, old_place), LabelFinder(new, place), language
        )
        return DiffRecord(
            version=_compared(uid, new_row),
            against=None if old_row is None else _compared(uid, old_row),
            count=len(changes),
            counts=count_changes(changes),
            changes=[
                serializer.record(each)
                for each in changes[query.offset : query.offset + query.limit]
            ],
        )

    return await run_in_thread_if(_row_count(old) + _row_count(new) > THREAD_THRESHOLD_ROWS, build)


async def _load_content(asset: AuthorizedAsset, version: str, store: AssetStore) -> dict[str, Any]:
    if version:
        content: dict[str, Any] = (await get_version(asset, version, store)).content
        return content
    newest = await store.get_newest_version(asset.id)
    if newest is None:  # deleted since it was authorized
        raise asset_not_found()
    return await store.get_content(newest.id)


async def _find_against(
    asset: AuthorizedAsset, uid: str, new: Row[Any], store: AssetStore
) -> Row[Any] | None:
    """The version to compare with: the one asked for, or the one before; None before the first."""
    if not uid:
        return await store.get_version_before(asset.id, new.number)
    found = await store.get_version(asset.id, uid)
    if found is None:
        raise ValidationError({"against": [Message("There is no version {uid}.", uid=uid)]})
    return found


def _language_place(content: Mapping[str, Any], wanted: str, language: Language) -> int:
    languages = form_languages(content)
    if not wanted.strip():
        return preferred_language(languages, language)
    place = find_language(languages, wanted)
    if place is None:
        available = ", ".join(name for name in languages[:50] if name) or "-"
        message = Message(
            "The form has no such language. Its languages: {available}.", available=available
        )
        raise ValidationError({"language": [message]})
    return place


def _row_count(content: Mapping[str, Any]) -> int:
    return len(content.get("survey") or ()) + len(content.get("choices") or ())


def _compared(uid: str, row: Row[Any]) -> ComparedVersion:
    link = Link(f"{asset_path(uid)}versions/{row.uid}/")
    return ComparedVersion(url=link, uid=row.uid, number=row.number, date_created=row.created_at)
