"""Asset permissions: the catalogue, the rules of assigning and removing them, and explanations."""
