"""The same interface as a good team would write it in Django REST framework.

It runs in its own virtual environment, so nothing here may import what only the main environment has,
and the type check of the main environment cannot see the framework: each module says so on its first line.
"""
