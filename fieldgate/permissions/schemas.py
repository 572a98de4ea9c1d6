"""Records of permissions, of the effects of assigning them, and of explanations."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fieldgate.http.links import Link
from fieldgate.permissions.catalogue import codename_of


class PermissionRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="Address of this permission.")]
    codename: Annotated[
        str, Meta(description="Identifier of the permission, and key of its address.")
    ]
    implied: Annotated[
        list[Link],
        Meta(
            description="Permissions granted automatically with this one, in no particular order."
        ),
    ]
    contradictory: Annotated[
        list[Link],
        Meta(description="Permissions removed when this one is assigned, in no particular order."),
    ]
    name: Annotated[
        str, Meta(description="What the permission allows, in the language of the response.")
    ]


class EffectRecord(msgspec.Struct, frozen=True, kw_only=True):
    permission: Annotated[Link, Meta(description="The permission that changes.")]
    effect: Annotated[
        Literal["granted", "removed", "denied", "allowed", "filtered", "ends"],
        Meta(description="What happens to it. ends: at another time than before, or no longer."),
    ]
    reason: Annotated[
        Literal["asked", "implied", "contradicted", "dependent", "not_listed"],
        Meta(description="Why it happens."),
    ]
    because: Annotated[
        Link | None,
        Meta(description="The permission that implies or contradicts it, or that it requires."),
    ]
    message: Annotated[
        str, Meta(description="The effect in a sentence, in the language of the response.")
    ]
    label: Annotated[
        str, Meta(description="Label of the permission, in the language of the response.")
    ]
    why: Annotated[str, Meta(description="The reason in words, with labels in place of codenames.")]


class EffectsRecord(msgspec.Struct, frozen=True, kw_only=True):
    permission: Annotated[Link, Meta(description="The permission that would be assigned.")]
    asset_type: Annotated[str, Meta(description="The type of the asset.")]
    held: Annotated[
        list[Link],
        Meta(description="Permissions held before: the ones in `held` and all they imply."),
    ]
    effects: Annotated[
        list[EffectRecord],
        Meta(description="What would change. Empty if the permission is held already."),
    ]
    result: Annotated[list[Link], Meta(description="Permissions held afterwards.")]


class EffectsFilters(msgspec.Struct, frozen=True, kw_only=True):
    """Names are sorted: queries that differ in their order only are equal, and so are their responses."""

    held: Annotated[
        tuple[str, ...],
        Meta(
            description="Codenames or URLs of permissions held before, separated by commas. Implied ones are added."
        ),
    ] = ()
    asset_type: Annotated[
        Literal["survey", "template", "block", "question", "collection", "empty"],
        Meta(
            description="The type of the asset; not every permission can be assigned on every type."
        ),
    ] = "survey"

    def __post_init__(self) -> None:
        _sort_codenames(self, held=self.held)


class WhatIfQuery(EffectsFilters, frozen=True, kw_only=True):
    assign: Annotated[
        tuple[str, ...],
        Meta(description="Codenames or URLs of permissions to assign, separated by commas."),
    ] = ()
    remove: Annotated[
        tuple[str, ...],
        Meta(
            description="Codenames or URLs of permissions to remove, separated by commas. This is done first."
        ),
    ] = ()

    def __post_init__(self) -> None:
        _sort_codenames(self, held=self.held, assign=self.assign, remove=self.remove)


def _sort_codenames(query: EffectsFilters, **lists: tuple[str, ...]) -> None:
    for name, given in lists.items():
        msgspec.structs.force_setattr(query, name, tuple(sorted(map(codename_of, given))))


class WhatIfRecord(msgspec.Struct, frozen=True, kw_only=True):
    asset_type: Annotated[str, Meta(description="The type of the asset.")]
    held: Annotated[
        list[Link],
        Meta(description="Permissions held before: the ones in `held` and all they imply."),
    ]
    assigned: Annotated[list[Link], Meta(description="The permissions that would be assigned.")]
    removed: Annotated[list[Link], Meta(description="The permissions that would be removed.")]
    effects: Annotated[list[EffectRecord], Meta(description="What would change, and why.")]
    result: Annotated[list[Link], Meta(description="Permissions held afterwards.")]


class TeamReference(msgspec.Struct, frozen=True):
    """A team, as far as the caller may know it."""

    url: Annotated[Link | None, Meta(description="URL of the team; null if you are not in it.")] = (
        None
    )
    name: Annotated[
        str | None, Meta(description="Name of the team; null if you are not in it.")
    ] = None


class MatchedRecord(msgspec.Struct, frozen=True, kw_only=True):
    rule: Annotated[
        Literal[
            "account_disabled",
            "not_for_type",
            "unrestricted",
            "owner",
            "superuser",
            "assigned",
            "collection",
            "team",
            "public",
            "denied",
            "partial",
            "limited",
            "not_for_public",
            "nothing",
        ],
        Meta(description="A rule that matched; `nothing` if none did."),
    ]
    message: Annotated[
        str, Meta(description="The rule in a sentence, in the language of the response.")
    ]
    decided: Annotated[
        bool, Meta(description="Whether this rule decided: the first one that matches does.")
    ]
    because: Annotated[
        list[Link], Meta(description="Other permissions, held in the same way, that imply it.")
    ]
    why: Annotated[str, Meta(description="The rule in words, with labels in place of codenames.")]
    expires_at: Annotated[
        datetime | UnsetType,
        Meta(description="When it stops to apply, because what is assigned ends then."),
    ] = UNSET
    via: Annotated[
        list[TeamReference] | UnsetType,
        Meta(description="For the rule `team`: the teams that have the permission."),
    ] = UNSET


class PartialRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="A permission that is held for some submissions.")]
    filters: Annotated[
        list[dict[str, Any]],
        Meta(description="Which submissions: those that match any of these filters."),
    ]


class NeedRecord(msgspec.Struct, frozen=True, kw_only=True):
    permission: Annotated[Link, Meta(description="A permission that could be assigned.")]
    removes: Annotated[list[Link], Meta(description="Permissions that assigning it would remove.")]
    message: Annotated[
        str, Meta(description="The same in a sentence, in the language of the response.")
    ]
    why: Annotated[str, Meta(description="The same in words, with labels in place of codenames.")]


class ExplanationRecord(msgspec.Struct, frozen=True, kw_only=True):
    user: Annotated[Link, Meta(description="The user.")]
    permission: Annotated[Link, Meta(description="The permission.")]
    label: Annotated[
        str, Meta(description="Label of the permission, in the language of the response.")
    ]
    asset: Annotated[Link, Meta(description="The asset.")]
    allowed: Annotated[bool, Meta(description="Whether the user has the permission on the asset.")]
    rules: Annotated[
        list[MatchedRecord], Meta(description="Every rule that matched; the first one decided.")
    ]
    partial_permissions: Annotated[
        list[PartialRecord] | UnsetType,
        Meta(description="Filters of submissions, if a permission is held for some of them only."),
    ] = UNSET
    needs: Annotated[
        list[NeedRecord],
        Meta(
            description="Assigning any one of these would be enough. Empty if nothing is needed, or if none helps."
        ),
    ]
    missing_scope: Annotated[
        str | None,
        Meta(
            description="Scope that your token lacks to use your permission; null if it lacks none."
        ),
    ] = None
