"""The study: conditions x methods -> scores -> tables, beside the paper's figures."""

from intravar.benchmarking.study import Study, benchmark

__all__ = ["Study", "benchmark"]
