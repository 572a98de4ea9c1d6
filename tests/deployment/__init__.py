"""The Containerfile and the systemd units: what they say, and whether it works.

`make nightly` runs every instruction of the Containerfile in a bare Debian, without a container engine, and the
service in it as an engine and as systemd would run it.
"""
