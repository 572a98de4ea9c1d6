"""Log in with an account at a provider.

attempt, url = await sign_on.begin("keycloak", next_path="/", language="fr")   # the browser keeps the attempt
user = await sign_on.finish(attempt, answer, origin)                           # what the browser brings back

An attempt is only in a cookie of the browser, so any process can finish it. Its state ties the answer to the browser,
its nonce the ID token to the attempt, its verifier (PKCE) the code to the service that began it.
"""

import hashlib
import logging
import secrets
from collections.abc import Hashable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import Row

from fieldgate.accounts.account_rules import person_name_error, username_error, username_from_claim
from fieldgate.accounts.authentication import authenticated_user
from fieldgate.accounts.schemas import UserChanges
from fieldgate.accounts.sign_on.identities import IdentityStore, add_identity
from fieldgate.accounts.store import AccountStore, NewUser, UsernameTaken
from fieldgate.accounts.teams import TeamStore
from fieldgate.accounts.user_changes import UserEditor
from fieldgate.errors import BadRequest, Conflict, Forbidden, NotFound, Problem
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, Origin, User
from fieldgate.providers import Provider
from fieldgate.reference.store import ReferenceStore
from fieldgate.settings import PasswordLogin, Settings

if TYPE_CHECKING:
    from fieldgate.accounts.sign_on.oidc_client import OIDCClient

CREDENTIAL = "provider"  # in the log
MAX_SUBJECT_CHARS = 255  # of the standard
SECRET_BYTES = 32
MAX_LOGGED_CHARS = 300  # of what came from a browser

log = logging.getLogger(__name__)

_STRANGER = Message("You have no account here. Ask the operator of this service for one.")
_TAKEN = Message(
    "There already is a user {name} here. If this is you, log in with your password, and link {provider} on the page "
    "of your account. Otherwise ask the operator for an account."
)
_TAKEN_WITHOUT_PASSWORDS = Message(
    "There already is a user {name} here. If this is you, log in as you did before, and link {provider} on the page of "
    "your account, or ask the operator to link it. Otherwise ask the operator for an account."
)


class Attempt(msgspec.Struct, frozen=True):
    """A login that was begun in a browser."""

    provider: str
    state: str
    nonce: str
    verifier: str
    next_path: str
    link: str = ""  # CSRF token of the session that links an account, instead of logging in


class Answer(msgspec.Struct, frozen=True):
    """The parameters with which a provider sends the browser back."""

    code: str = ""
    iss: str | None = None
    error: str = ""
    error_description: str = ""


class SignOn:
    def __init__(
        self,
        settings: Settings,
        stores: tuple[AccountStore, IdentityStore, UserEditor, TeamStore, ReferenceStore],
    ) -> None:
        self.providers: Mapping[str, Provider] = {each.id: each for each in settings.sign_on}
        self.password_login = settings.password_login
        self._base_url = settings.base_url
        self._accounts, self._identities, self._editor, self._teams, self._reference = stores
        self._clients: dict[str, OIDCClient] = {}

    def place(self, provider_id: str, caller: Hashable) -> AbstractAsyncContextManager[None]:
        """Hold a place for a request to a provider. Raise `ServiceUnavailable` if the caller has too many of them."""
        return self._client(provider_id).places.slot(caller)

    async def begin(
        self, provider_id: str, next_path: str, language: str, link: str = ""
    ) -> tuple[Attempt, str]:
        """Return an attempt, and the URL at the provider where the person logs in."""
        client = self._client(provider_id)
        state, nonce, verifier = (secrets.token_urlsafe(SECRET_BYTES) for _ in range(3))
        url = await client.authorization_url(
            state=state, nonce=nonce, verifier=verifier, language=language
        )
        return Attempt(provider_id, state, nonce, verifier, next_path, link), url

    async def finish(
        self, attempt: Attempt, answer: Answer, caller: Caller, origin: Origin
    ) -> User:
        """Return the user who logged in, or linked an account. Raise a `Problem` whose message the person can read."""
        client, provider = self._client(attempt.provider), self.providers[attempt.provider]
        await client.check_issuer(answer.iss)
        if answer.error or not answer.code:
            reason = f"{answer.error} {answer.error_description}"[:MAX_LOGGED_CHARS]
            log.warning("single sign-on with %s: the provider refused: %r", provider.id, reason)
            raise Forbidden(
                Message(
                    "{provider} did not log you in. Nothing was changed.", provider=provider.name
                )
            )
        claims = await client.read_claims(
            answer.code,
            nonce=attempt.nonce,
            verifier=attempt.verifier,
            wanted=_wanted_claims(provider),
        )
        subject = claims["sub"]
        if (
            not isinstance(subject, str)
            or not 0 < len(subject) <= MAX_SUBJECT_CHARS
            or not subject.isprintable()
        ):
            raise BadRequest(
                Message("The answer of the provider is not valid, or too old. Log in again.")
            )
        try:
            return await self._log_in(attempt, provider, subject, claims, caller, origin)
        except Problem as problem:
            # For `fieldgate user link`, too. Some providers show the subject nowhere.
            log.warning(
                "single sign-on with %s: refused %s %r: %s",
                provider.id,
                provider.issuer,
                subject,
                problem,
            )
            raise

    async def _log_in(
        self,
        attempt: Attempt,
        provider: Provider,
        subject: str,
        claims: Mapping[str, Any],
        caller: Caller,
        origin: Origin,
    ) -> User:
        _check_domain(provider, claims)
        if attempt.link:
            # The cookie may be from another site of the same domain, which does not know the session.
            if not isinstance(caller, User) or not caller.accepts_csrf_token(attempt.link):
                raise Forbidden(
                    Message("You were logged out, or are somebody else now. Log in and try again.")
                )
            await self._identities.link(caller.id, provider.issuer, subject, by=caller)
            return caller
        row = await self._identities.find_user(provider.issuer, subject)
        if row is None:
            row = await self._create_user(provider, subject, claims, origin)
        elif row.disabled_at is not None:
            raise Forbidden(Message("Your account is disabled. Ask the operator of this service."))
        user = msgspec.structs.replace(authenticated_user(row, origin), credential=CREDENTIAL)
        await self._identities.record_login(provider.issuer, subject)
        await self._apply_claims(provider, claims, user)
        await self._accounts.count_login(user)
        return user

    async def logout_url(self, provider_id: str) -> str:
        """Where the browser goes to log out at the provider. Raise `Conflict` if it offers that nowhere."""
        url = await self._client(provider_id).logout_url(f"{self._base_url}/login/")
        if not url:
            name = self.providers[provider_id].name
            raise Conflict(
                Message(
                    "{provider} offers no logout to other services. Log out on its own pages.",
                    provider=name,
                )
            )
        return url

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()

    def _client(self, provider_id: str) -> "OIDCClient":
        # Its libraries are loaded at the first login, not at the start of each process.
        from fieldgate.accounts.sign_on.oidc_client import OIDCClient

        if provider_id not in self.providers:
            raise NotFound
        if provider_id not in self._clients:
            redirect_uri = f"{self._base_url}/login/{provider_id}/callback/"
            self._clients[provider_id] = OIDCClient(self.providers[provider_id], redirect_uri)
        return self._clients[provider_id]

    async def _create_user(
        self, provider: Provider, subject: str, claims: Mapping[str, Any], origin: Origin
    ) -> Row[Any]:
        if not provider.create_users:
            raise Forbidden(_STRANGER)
        claim = claims.get(provider.username_claim)
        if not isinstance(claim, str) or not claim.strip():
            message = Message(
                "{provider} did not send the claim {claim}.",
                provider=provider.name,
                claim=provider.username_claim,
            )
            raise Forbidden(message)
        digest = hashlib.sha256(f"{provider.issuer} {subject}".encode()).hexdigest()
        username = username_from_claim(claim, otherwise=f"user_{digest[:12]}")
        new = NewUser(
            username=username,
            password_hash="",  # none has it
            first_name=_person_name(claims.get("given_name")),
            last_name=_person_name(claims.get("family_name")),
        )
        by = Caller(credential=CREDENTIAL, origin=origin)
        try:
            if username_error(username):
                raise UsernameTaken(username)
            await self._accounts.create_user(
                new,
                by=by,
                then=lambda connection, user_id: add_identity(
                    connection, user_id, provider.issuer, subject
                ),
            )
        except UsernameTaken:
            pass  # unless the same person logged in twice at once
        row = await self._identities.find_user(provider.issuer, subject)
        if row is None:
            # The user may be the same person, or another one: the provider cannot know.
            refusal = (
                _TAKEN if self.password_login is PasswordLogin.ALL else _TAKEN_WITHOUT_PASSWORDS
            )
            raise Conflict(Message(refusal.text, name=username, provider=provider.name))
        return row

    async def _apply_claims(
        self, provider: Provider, claims: Mapping[str, Any], user: User
    ) -> None:
        """Bring rights and teams in line with the claims, as far as the provider is configured to decide on them."""
        is_ifrc = _is_true(claims.get(provider.ifrc_claim)) if provider.ifrc_claim else user.is_ifrc
        countries = list(user.countries)
        if provider.countries_claim:
            countries = await self._countries(claims.get(provider.countries_claim))
        if (is_ifrc, countries) != (user.is_ifrc, list(user.countries)):
            by = Caller(credential=CREDENTIAL, origin=user.origin)
            await self._editor.change(
                user.id, UserChanges(is_ifrc=is_ifrc, countries=countries), by=by
            )
        elsewhere = claims.get("_claim_names")
        if not provider.teams_claim or (
            isinstance(elsewhere, dict) and provider.teams_claim in elsewhere
        ):
            return  # with very many groups, Entra sends a reference in place of the claim
        held = set(_texts(claims.get(provider.teams_claim)))
        # Teams are changed as by a superuser; the log names the person and the provider.
        manager = msgspec.structs.replace(user, is_superuser=True)
        wanted = {uid for value, uid in provider.teams.items() if value in held}
        current = await self._teams.uids_of(user.id) & set(provider.teams.values())
        for uid in sorted(wanted ^ current):
            try:
                if uid in wanted:
                    await self._teams.add_members(manager, uid, [user.username], "member")
                else:
                    await self._teams.remove_member(manager, uid, user.username)
            except (
                NotFound,
                Conflict,
            ) as problem:  # there is no such team, it is full, or it would have no admin
                log.warning("single sign-on with %s: %s (team %s)", provider.id, problem, uid)

    async def _countries(self, claim: Any) -> list[str]:
        known = await self._reference.current()
        values = [code for text in _texts(claim) for code in text.replace(",", " ").split()]
        codes = dict.fromkeys(code.upper() for code in values)
        return [code for code in codes if known.country_by_iso3(code) is not None]


def _wanted_claims(provider: Provider) -> list[str]:
    names = [
        provider.username_claim,
        provider.countries_claim,
        provider.ifrc_claim,
        provider.teams_claim,
    ]
    if provider.allowed_domains:
        is_email_enough = provider.trust_email or provider.domain_claim
        names += [provider.domain_claim or "email", "" if is_email_enough else "email_verified"]
    return [name for name in names if name]


def _check_domain(provider: Provider, claims: Mapping[str, Any]) -> None:
    if not provider.allowed_domains:
        return
    if provider.domain_claim:
        domain = claims.get(provider.domain_claim)
    else:
        email = claims.get("email")
        name, _, domain = email.rpartition("@") if isinstance(email, str) else ("", "", "")
        domain = domain if name else ""
    if not isinstance(domain, str) or domain.lower() not in {
        each.lower() for each in provider.allowed_domains
    }:
        raise Forbidden(Message("Your e-mail address is not one of those that can log in here."))
    if not (
        provider.domain_claim or provider.trust_email or _is_true(claims.get("email_verified"))
    ):
        raise Forbidden(
            Message(
                "{provider} has not verified your e-mail address. Verify it there, and log in again.",
                provider=provider.name,
            )
        )


def _is_true(claim: Any) -> bool:
    return claim is True or claim == "true"


def _texts(claim: Any) -> list[str]:
    """The values of a claim: a list, or one text, which is one value. The names of groups can have spaces."""
    values = claim if isinstance(claim, list) else [claim]
    return [each for each in values if isinstance(each, str)]


def _person_name(claim: Any) -> str:
    name = claim.strip() if isinstance(claim, str) else ""
    return "" if person_name_error(name) else name
