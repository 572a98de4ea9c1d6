"""Trials of the service under faults and attacks: killed processes, full disks, hostile clients, lost databases.

The short form is part of `make test`; `make faults` runs the long form and writes the table of `docs/reliability.md`.
"""
