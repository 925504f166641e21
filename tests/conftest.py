"""Settings for all tests."""

from hypothesis import settings

# Machines are shared and noisy: no test fails because it took long.
settings.register_profile("intravar", deadline=None)
settings.load_profile("intravar")
