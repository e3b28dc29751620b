"""One file for each way to run the three bodies; `benchmarks.work` has what a peer must keep to.

The first line of a file's docstring is what the tables call it.
"""
