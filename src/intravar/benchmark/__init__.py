"""The study: conditions x methods -> scores -> tables, beside the paper's figures."""

from intravar.benchmark.study import Study, benchmark

__all__ = ["Study", "benchmark"]
