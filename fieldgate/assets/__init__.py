"""Assets: forms, templates, blocks, questions and collections, with every version and the file it came from."""
