"""Imports: XLSForm files in, assets out, nothing lost."""
