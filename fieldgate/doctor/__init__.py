"""Checks of an installation, for `fieldgate doctor`."""
