"""Random streams keyed by names.

Every draw asks for its own stream by name, so any part of a study can be made again alone: nothing
depends on what was drawn before it, on the number of workers or on the order of the work, and a
draw added later does not shift the others.
"""

import hashlib

import numpy as np


def _digest(seed: int, names: tuple[str, ...]) -> int:
    # The lengths keep ("ab", "c") apart from ("a", "bc").
    text = "".join(f"{len(part)}:{part}" for part in (str(seed), *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")


def stream(seed: int, *names: str) -> np.random.Generator:
    """Return the generator that belongs to a seed and a path of names.

    Examples
    --------
    >>> bool(stream(7, "score2", "age").random() == stream(7, "score2", "age").random())
    True
    """
    return np.random.default_rng(np.random.SeedSequence(_digest(seed, names)))


def derived_seed(seed: int, *names: str) -> int:
    """Return a seed below 2**31 that belongs to a seed and a path of names."""
    return _digest(seed, names) % 2**31
