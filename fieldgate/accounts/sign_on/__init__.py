"""Single sign-on: log in with an account at a provider, by OpenID Connect."""
