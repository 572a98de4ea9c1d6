"""Countries, regions and disaster types: what events refer to, and people look ids up in."""
