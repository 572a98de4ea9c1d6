"""Countries, regions and disaster types, which events refer to by id."""
