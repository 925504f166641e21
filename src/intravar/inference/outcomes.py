"""Tables of outcomes: the probability of every combination of several decisions, per patient.

With K decisions there are 2^K combinations. Combination v has decision k as its bit k, so that the
first decision counts 1, the second 2, the third 4. A table has a row per patient and a column per
combination.
"""

from collections.abc import Sequence

import numpy as np

from intravar.arrays import FloatArray, IntArray

#: More decisions at once would make tables too wide, and combinations too rare to learn.
MOST_DECISIONS = 6


def vectors(n_decisions: int) -> FloatArray:
    """Return the combinations as rows of 0 and 1, one column per decision.

    Examples
    --------
    >>> vectors(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    numbers = np.arange(2**n_decisions)[:, None]
    return ((numbers >> np.arange(n_decisions)) & 1).astype(np.float64)


def positions(decided: IntArray) -> IntArray:
    """Return which combination every patient got; one row per patient, one column per decision.

    Examples
    --------
    >>> positions(np.array([[1, 0], [1, 1]])).tolist()
    [1, 3]
    """
    return np.asarray(decided.astype(np.int64) @ (1 << np.arange(decided.shape[1])))


def chained(conditional: Sequence[FloatArray]) -> FloatArray:
    """Return the table of outcomes from P(yes) of each decision given those before it.

    That has one row per patient and one column per combination of the decisions before it.

    Examples
    --------
    >>> first, second = np.array([[0.5]]), np.array([[0.2, 0.6]])
    >>> chained([first, second]).tolist()
    [[0.4, 0.2, 0.1, 0.3]]
    """
    table = np.ones((len(conditional[0]), 1))
    for chance in conditional:
        table = np.hstack([table * (1 - chance), table * chance])
    return table


def marginal(table: FloatArray) -> FloatArray:
    """Return P(yes) of every decision whatever the others, one column each.

    Examples
    --------
    >>> marginal(np.array([[0.4, 0.2, 0.1, 0.3]])).round(6).tolist()
    [[0.5, 0.4]]
    """
    return np.asarray(table @ vectors(table.shape[1].bit_length() - 1))


def differ(table: FloatArray) -> FloatArray:
    """Return the probability that two such patients differ in at least one decision.

    Examples
    --------
    >>> differ(np.array([[0.25, 0.25, 0.25, 0.25]])).tolist()
    [0.75]
    """
    return np.asarray(1 - np.square(table).sum(axis=1))


def given_earlier(table: FloatArray) -> FloatArray:
    """Return the discordance of every decision among patients alike in the decisions before it.

    One column per decision. That of the first is its discordance given the covariates alone.

    Examples
    --------
    The second decision follows the first and nothing else.

    >>> given_earlier(np.array([[0.5, 0.0, 0.0, 0.5]])).tolist()
    [[0.5, 0.0]]
    """
    columns = []
    for decision in range(table.shape[1].bit_length() - 1):
        # Later decisions summed out: blocks of 2^(k+1) combinations, the upper half with a yes.
        known = table.reshape(len(table), -1, 2 ** (decision + 1)).sum(axis=1)
        no, yes = np.split(known, 2, axis=1)
        before = np.where(no + yes > 0, no + yes, 1.0)
        columns.append((2 * no * yes / before).sum(axis=1))
    return np.column_stack(columns)
