"""The data of tests, made as callers make it, by HTTP, or by plain SQL where no operation makes it or rows are many."""
