"""A server like IFRC GO in Django REST framework, in a process of its own, so that it can be killed.

Pages, links, order, languages, errors and JSON are made by the classes that make them in IFRC GO. The records inside an
event are stored as JSON, except countries and the type. Left out is what sync does not request: users other than an
administrator, slugs, CSV, most filters.
"""
