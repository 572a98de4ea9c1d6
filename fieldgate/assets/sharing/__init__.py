"""Who may do what with an asset: assignments, what they allow, and how they came about."""
