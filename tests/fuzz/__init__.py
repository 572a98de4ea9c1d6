"""Fuzzing of every parser of input that other people control.

`targets.py` has one function for each parser. `make test` calls them with a bounded number of mutations of valid input
(`test_targets.py`); `make fuzz-parsers` lets atheris, which is guided by coverage, look for minutes
(`coverage_guided.py`).
"""
