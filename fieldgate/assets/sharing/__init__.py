"""Sharing: permission assignments on assets, and their history."""
