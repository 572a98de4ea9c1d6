"""Fieldgate: a self-hosted service for humanitarian field data."""

__version__ = "0.1.0"
