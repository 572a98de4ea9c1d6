"""Imports: uploaded XLSForm files become assets."""
