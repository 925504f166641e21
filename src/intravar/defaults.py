"""Settings that commands show and functions share; plain numbers, so that help loads nothing."""

#: Days after the visit within which a prescription counts as its decision.
WINDOW = 30

#: Patients below which a physician's result is not reported.
MIN_PANEL = 30

#: Reliability below which a result is not reported.
MIN_RELIABILITY = 0.4
