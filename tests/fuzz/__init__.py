"""Fuzzing of every parser of input that other people control.

`targets.py` has one function for each parser. `make nightly` calls them with mutations of valid input
(`test_targets.py`), and lets atheris, which is guided by coverage, look for minutes (`coverage_guided.py`).
"""
