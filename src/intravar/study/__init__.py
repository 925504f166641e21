"""The study of the paper: simulated cohorts with known truth, the benchmark, its tables and report.

Nothing that measures real patients imports this package.
"""
