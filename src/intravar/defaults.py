"""Settings that commands show and functions share; plain numbers, so that help loads nothing."""

#: Days after the visit within which a prescription counts as its decision.
WINDOW = 30
