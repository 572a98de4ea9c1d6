"""Trials of the service under faults and attacks: killed processes, full disks, hostile clients, lost databases.

They run in `make nightly`, which writes their results to `faults.md`, as rows for the table in `docs/reliability.md`.
"""
