"""Several services that share one PostgreSQL, measured: `python -m tests.scaling` writes docs/scaling.md."""
