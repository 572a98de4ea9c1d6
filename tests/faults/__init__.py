"""Trials of the service under faults and attacks: killed processes, full disks, hostile clients, lost databases.

They run in `make nightly`. The kill matrix writes its results to `faults.md`, as rows for `docs/reliability.md`.
"""
