"""Users, their passwords and tokens, and who a request comes from."""
