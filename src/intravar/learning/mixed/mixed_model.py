"""Bayesian logistic regression with a random intercept per physician, by variational Bayes.

The posterior is approximated by independent Gaussians: one per fixed effect, one per random
intercept, one for the log standard deviation of the random intercepts. Objective, priors and
quadrature are those of statsmodels' ``BinomialBayesMixedGLM.fit_vb``; the optimum is found by
Newton steps that use the structure of the problem, and does not depend on a random start.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray, IntArray
from intravar.learning.mixed.arrow_system import ArrowSystem
from intravar.learning.mixed.expected_loss import ExpectedLoss
from intravar.learning.mixed.variational import VariationalProblem, VariationalState

# Beyond this the logistic function is 0 or 1 in double precision and a residual has no meaning.
_PROBABILITY_FLOOR = 1e-12
_FIRST_DAMPING = 1e-3
_LARGEST_DAMPING = 1e12
# The random scale joins the Newton step once no parameter moves by more than this.
_JOINT_STEP = 0.3


@dataclass(frozen=True)
class MixedModelFit:
    """Variational posterior of the mixed model.

    Attributes
    ----------
    fixed_effects, fixed_sd : ndarray of shape (p + 1,)
        Posterior means and standard deviations; the intercept comes first.
    random_effects, random_sd : ndarray of shape (n_physicians,)
        Posterior means and standard deviations of the physicians' intercepts.
    log_sd_mean, log_sd_sd : float
        Posterior mean and standard deviation of the log standard deviation of the intercepts.
    elbo : float
        Evidence lower bound, without the constants that no parameter touches.
    n_iterations : int
        Newton steps tried.
    converged : bool
        False when ``max_iterations`` ended the search.
    """

    fixed_effects: FloatArray
    fixed_sd: FloatArray
    random_effects: FloatArray
    random_sd: FloatArray
    log_sd_mean: float
    log_sd_sd: float
    elbo: float
    n_iterations: int
    converged: bool

    def fitted_probability(self, z: npt.ArrayLike, physician_code: npt.ArrayLike) -> FloatArray:
        """Probability of a positive decision at the posterior means, random effects included."""
        rows = np.asarray(z, dtype=np.float64)
        code = _checked_code(physician_code, self.random_effects.size, rows.shape[0])
        if rows.ndim != 2 or rows.shape[1] != self.fixed_effects.size - 1:
            raise ValueError(
                f"z must have {self.fixed_effects.size - 1} columns, got shape {rows.shape}"
            )
        predictor = self.fixed_effects[0] + rows @ self.fixed_effects[1:]
        predictor += self.random_effects[code]
        tail = np.exp(-np.abs(predictor))
        return np.asarray(np.where(predictor >= 0.0, 1.0, tail) / (1.0 + tail))


def _checked_code(physician_code: npt.ArrayLike, n_physicians: int, n_rows: int) -> IntArray:
    given = np.asarray(physician_code)
    if given.shape != (n_rows,):
        raise ValueError(f"physician_code must have shape ({n_rows},), got {given.shape}")
    code = given.astype(np.int64)
    if not np.array_equal(code, given):
        raise ValueError("physician_code must hold whole numbers")
    if code.size and (code.min() < 0 or code.max() >= n_physicians):
        raise ValueError(
            f"physician_code must lie in 0..{n_physicians - 1}, "
            f"got {int(code.min())}..{int(code.max())}"
        )
    return code


def _checked_inputs(
    z: npt.ArrayLike, y: npt.ArrayLike, physician_code: npt.ArrayLike, n_physicians: int | None
) -> tuple[FloatArray, FloatArray, IntArray, int]:
    rows = np.asarray(z, dtype=np.float64)
    decision = np.asarray(y, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] == 0:
        raise ValueError(f"z must have shape (patients, covariates), got {rows.shape}")
    if decision.shape != rows.shape[:1]:
        raise ValueError(f"y must have shape ({rows.shape[0]},), got {decision.shape}")
    if not np.isfinite(rows).all():
        column = int(np.flatnonzero(~np.isfinite(rows).all(axis=0))[0])
        raise ValueError(f"z holds a missing or infinite value in column {column}")
    if not np.isin(decision, (0.0, 1.0)).all():
        raise ValueError("y must hold only 0 and 1")
    if n_physicians is None:
        n_physicians = int(np.max(np.asarray(physician_code))) + 1
    code = _checked_code(physician_code, n_physicians, rows.shape[0])
    return rows, decision, code, n_physicians


def _attempt(
    problem: VariationalProblem, state: VariationalState, system: ArrowSystem, damping: float
) -> tuple[VariationalState, ExpectedLoss, float, float] | None:
    """Take one damped step: the new state, its loss, its objective, and the largest move."""
    step = system.step(damping)
    if step is None:
        return None
    largest = max(float(np.abs(part).max()) for part in step)
    with np.errstate(over="ignore", invalid="ignore"):
        candidate = problem.with_best_scale(state.moved(*step))
        loss = problem.loss(candidate)
        value = problem.objective(candidate, loss)
    return (candidate, loss, value, largest) if np.isfinite(value) else None


def _maximise(
    problem: VariationalProblem, max_iterations: int, tolerance: float
) -> tuple[VariationalState, float, int, bool]:
    """Damped Newton search: a step is kept only if it improves, else the damping grows.

    With the random scale held the problem is convex and steps are safe from afar; close to the
    optimum the scale joins, because waiting for it in turns would converge slowly.
    """
    state = problem.start()
    loss = problem.loss(state)
    value = problem.objective(state, loss)
    system = problem.system(state, loss)
    damping, joint = 0.0, False
    for iteration in range(1, max_iterations + 1):
        tried = system if joint else system.with_scale_held()
        attempt = _attempt(problem, state, tried, damping)
        # Close to the optimum the gain of a step drowns in the rounding of the objective.
        if attempt is not None and attempt[2] <= value + 1e-13 * (1.0 + abs(value)):
            state, loss, value, largest = attempt
            if joint and damping == 0.0 and largest < tolerance:
                return state, value, iteration, True
            joint = largest < _JOINT_STEP
            damping = 0.0 if damping <= _FIRST_DAMPING else 0.1 * damping
            system = problem.system(state, loss)
        elif joint:
            joint = False
        else:
            damping = max(_FIRST_DAMPING, 10.0 * damping)
        if damping > _LARGEST_DAMPING:
            break
    return state, value, iteration, False


def fit_mixed_model(
    z: npt.ArrayLike,
    y: npt.ArrayLike,
    physician_code: npt.ArrayLike,
    n_physicians: int | None = None,
    *,
    fixed_prior_sd: float = 2.0,
    log_sd_prior_sd: float = 1.0,
    max_iterations: int = 200,
    tolerance: float = 1e-6,
) -> MixedModelFit:
    """Fit ``logit P(y = 1) = b0 + z b + u[physician]`` with ``u ~ N(0, sd^2)``.

    Parameters
    ----------
    z : array-like of shape (n, p)
        Standardised covariates without intercept; ``p`` may be 0.
    y : array-like of shape (n,)
        Decisions, 0 or 1.
    physician_code : array-like of int, shape (n,)
        Physician of each patient, from 0 to ``n_physicians - 1``.
    n_physicians : int, optional
        Number of physicians; by default the largest code plus one. A physician without patients
        keeps a random effect of mean zero.
    fixed_prior_sd : float, default 2
        Standard deviation of the Gaussian prior of the fixed effects, intercept included.
    log_sd_prior_sd : float, default 1
        Standard deviation of the Gaussian prior, of mean zero, of the log standard deviation.
    max_iterations : int, default 200
        Bound on the number of Newton steps tried.
    tolerance : float, default 1e-6
        The search ends with the first undamped step that moves no parameter by more than this;
        Newton steps square the error, so the optimum is then known far better.

    Returns
    -------
    MixedModelFit
        The variational posterior. The priors are proper, so it is finite on separated data and
        when all decisions are equal.

    Raises
    ------
    ValueError
        If shapes disagree, a value is missing, ``y`` is not binary or a code is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(400, 1))
    >>> physician = np.repeat([0, 1, 2, 3], 100)
    >>> y = rng.random(400) < 1 / (1 + np.exp(-z[:, 0] - np.array([-1, 0, 0, 1])[physician]))
    >>> fit = fit_mixed_model(z, y, physician)
    >>> fit.converged
    True
    >>> bool(fit.random_effects[0] < fit.random_effects[3])
    True
    """
    rows, decision, code, count = _checked_inputs(z, y, physician_code, n_physicians)
    if fixed_prior_sd <= 0.0 or log_sd_prior_sd <= 0.0:
        raise ValueError("prior standard deviations must be positive")
    if max_iterations < 1:
        raise ValueError(f"max_iterations must be at least 1, got {max_iterations}")
    design = np.column_stack((np.ones(rows.shape[0]), rows))
    problem = VariationalProblem(design, decision, code, count, fixed_prior_sd, log_sd_prior_sd)
    state, value, n_iterations, converged = _maximise(problem, max_iterations, tolerance)
    return MixedModelFit(
        fixed_effects=state.fixed_mean,
        fixed_sd=np.exp(state.fixed_log_sd),
        random_effects=state.random_mean,
        random_sd=np.exp(state.random_log_sd),
        log_sd_mean=state.scale_mean,
        log_sd_sd=float(np.exp(state.scale_log_sd)),
        elbo=-value,
        n_iterations=n_iterations,
        converged=converged,
    )


def pearson_residuals(y: npt.ArrayLike, probability: npt.ArrayLike) -> FloatArray:
    """Residual over its standard deviation, ``(y - p) / sqrt(p (1 - p))``.

    Probabilities are kept at least 1e-12 away from 0 and 1, where the ratio would be 0/0 for a
    decision that agrees and infinite for one that does not.

    Parameters
    ----------
    y : array-like of shape (n,)
        Decisions, 0 or 1.
    probability : array-like of shape (n,)
        Fitted probabilities.

    Returns
    -------
    ndarray of shape (n,)
        Finite residuals.

    Examples
    --------
    >>> pearson_residuals([1, 0], [0.5, 0.2]).tolist()
    [1.0, -0.5]
    """
    kept = np.clip(
        np.asarray(probability, dtype=np.float64), _PROBABILITY_FLOOR, 1.0 - _PROBABILITY_FLOOR
    )
    return np.asarray((np.asarray(y, dtype=np.float64) - kept) / np.sqrt(kept * (1.0 - kept)))
