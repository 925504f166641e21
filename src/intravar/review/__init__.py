"""Blind review of pairs: how much of a discordance has a reason that is not in the record.

Pairs are drawn (:func:`draw`), reviewers judge them, and their answers are read (:func:`read`).
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
