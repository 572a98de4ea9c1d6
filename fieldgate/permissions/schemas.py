"""What permissions, what assigning one does, and why somebody has one look like on the wire."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fieldgate.http.response.links import Link


class PermissionRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="Address of this permission.")]
    codename: Annotated[str, Meta(description="Identifier of the permission, and key of its address.")]
    implied: Annotated[
        list[Link],
        Meta(description="Permissions granted automatically with this one, in no particular order."),
    ]
    contradictory: Annotated[
        list[Link], Meta(description="Permissions removed when this one is assigned, in no particular order.")
    ]
    name: Annotated[str, Meta(description="What the permission allows, in the language of the answer.")]


class EffectRecord(msgspec.Struct, frozen=True, kw_only=True):
    permission: Annotated[Link, Meta(description="What it happens to.")]
    effect: Annotated[
        Literal["granted", "removed", "denied", "allowed", "filtered"], Meta(description="What happens to it.")
    ]
    reason: Annotated[
        Literal["asked", "implied", "contradicted", "dependent", "not_listed"], Meta(description="Why it happens.")
    ]
    because: Annotated[
        Link | None, Meta(description="The permission that implies or contradicts it, or that it cannot be without.")
    ]
    message: Annotated[str, Meta(description="All of this as a sentence, in the language of the answer.")]


class EffectsRecord(msgspec.Struct, frozen=True, kw_only=True):
    permission: Annotated[Link, Meta(description="What would be assigned.")]
    asset_type: Annotated[str, Meta(description="The type of the asset.")]
    held: Annotated[list[Link], Meta(description="What is held before: what was named, and all it implies.")]
    effects: Annotated[list[EffectRecord], Meta(description="What would happen. Nothing, where it is held already.")]
    result: Annotated[list[Link], Meta(description="What would be held afterwards.")]


class EffectsFilters(msgspec.Struct, frozen=True, kw_only=True):
    held: Annotated[
        tuple[str, ...],
        Meta(description="Codenames of what is held before, separated by commas. What they imply is held too."),
    ] = ()
    asset_type: Annotated[
        Literal["survey", "template", "block", "question", "collection", "empty"],
        Meta(description="The type of the asset; not every permission can be assigned on every type."),
    ] = "survey"


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
            "public",
            "denied",
            "partial",
            "not_for_public",
            "nothing",
        ],
        Meta(description="A rule that matched; `nothing` where none did."),
    ]
    message: Annotated[str, Meta(description="The rule as a sentence, in the language of the answer.")]
    decided: Annotated[bool, Meta(description="Whether it is the one that decided; the others would have come after.")]
    because: Annotated[list[Link], Meta(description="Other permissions held the same way that imply it.")]


class PartialRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="What may be done with some submissions.")]
    filters: Annotated[list[dict[str, Any]], Meta(description="With which submissions: those that match any of these.")]


class NeedRecord(msgspec.Struct, frozen=True, kw_only=True):
    permission: Annotated[Link, Meta(description="What could be assigned.")]
    removes: Annotated[list[Link], Meta(description="What assigning it would remove.")]
    message: Annotated[str, Meta(description="The same as a sentence, in the language of the answer.")]


class ExplanationRecord(msgspec.Struct, frozen=True, kw_only=True):
    user: Annotated[Link, Meta(description="Who it is about.")]
    permission: Annotated[Link, Meta(description="What it is about.")]
    asset: Annotated[Link, Meta(description="Where.")]
    allowed: Annotated[bool, Meta(description="Whether the user has the permission there.")]
    rules: Annotated[list[MatchedRecord], Meta(description="Every rule that matched; the first one decided.")]
    partial_permissions: Annotated[
        list[PartialRecord] | UnsetType,
        Meta(description="Which submissions, where something is held for some of them only."),
    ] = UNSET
    needs: Annotated[
        list[NeedRecord],
        Meta(
            description="Each of these would be enough, if it were assigned. Empty where nothing is needed, or helps."
        ),
    ]
