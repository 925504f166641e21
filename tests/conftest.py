"""Settings for all tests."""

import os

import pytest
from hypothesis import settings

# Machines are shared and noisy: no test fails because it took long.
settings.register_profile("intravar", deadline=None)
settings.load_profile("intravar")

#: Where everything is set up, a test that is skipped has not been run, and that is a failure.
NO_SKIPS = os.environ.get("INTRAVAR_NO_SKIPS", "") not in ("", "0")


def _refuse_skips(report: pytest.TestReport | pytest.CollectReport) -> None:
    if NO_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"INTRAVAR_NO_SKIPS: {report.longrepr}"


@pytest.hookimpl(trylast=True, wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):  # type: ignore[no-untyped-def]
    report = yield
    _refuse_skips(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):  # type: ignore[no-untyped-def]
    report = yield
    _refuse_skips(report)
    return report
