"""Assets: forms, templates, blocks, questions and collections, with their versions and uploaded files.

Layers, top to bottom: `routes`, `sharing`, `store`, `authorization`, then assignments, SQL visibility, schemas and
tables. `sharing` uses what is below it and nothing below it knows `sharing`.
"""
