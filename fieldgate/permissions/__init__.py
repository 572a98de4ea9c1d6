"""The asset permissions: which there are, what each implies and contradicts."""
