"""Benchmark of Fieldgate next to a peer and a bare server. Not part of the installed package."""
