"""Lists as files and data frames. `flatten` has the rule for tables."""
