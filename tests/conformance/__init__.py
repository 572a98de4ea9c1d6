"""The interface document, sentence by sentence: one module for each section, one test for each sentence.

A test is named by its section, and its docstring says in short which sentence it holds.
"""
