"""The mixed model through statsmodels' own search, and its objective written out."""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM
from statsmodels.tools.sm_exceptions import ConvergenceWarning

FloatArray = npt.NDArray[np.float64]


def fit_mixed_model(
    z: FloatArray,
    y: FloatArray,
    physician_code: npt.NDArray[np.intp],
    n_physicians: int,
    *,
    gradient_tolerance: float = 1e-7,
) -> Any:
    """Run ``fit_vb`` started at zero means and log standard deviations of -0.5.

    ``fit_vb`` draws its start at random unless told otherwise. BFGS is asked for a smaller
    gradient than its default; when rounding stops it before, it warns, at the optimum all the same.
    """
    n = y.size
    design = np.column_stack((np.ones(n), z))
    indicator = sparse.csr_matrix(
        (np.ones(n), (np.arange(n), physician_code)), shape=(n, n_physicians)
    )
    model = BinomialBayesMixedGLM(
        y, design, indicator, np.zeros(n_physicians, dtype=int), vcp_p=1, fe_p=2
    )
    size = design.shape[1] + 1 + n_physicians
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit_vb(
            mean=np.zeros(size),
            sd=np.full(size, np.exp(-0.5)),
            minim_opts={"gtol": gradient_tolerance, "maxiter": 2000},
        )


def evidence_lower_bound(
    parameters: FloatArray,
    z: FloatArray,
    y: FloatArray,
    physician_code: npt.NDArray[np.intp],
    *,
    fixed_prior_sd: float = 2.0,
    log_sd_prior_sd: float = 1.0,
) -> float:
    """Return the objective, patient by patient; constants that no parameter touches are left out.

    Means first, then log standard deviations: of fixed effects, of the log standard deviation
    of random effects, of random effects. Expectations are taken as statsmodels does: ten nodes of
    Gauss and Legendre within five standard deviations, whose weights do not quite sum to one.
    """
    mean, sd = np.split(parameters, 2)[0], np.exp(np.split(parameters, 2)[1])
    p = z.shape[1] + 1
    nodes, weights = np.polynomial.legendre.leggauss(10)
    nodes, weights = 5 * nodes, 5 * weights * np.exp(-0.5 * (5 * nodes) ** 2) / np.sqrt(2 * np.pi)
    total = 0.0
    for row, decision, own in zip(z, y, physician_code + p + 1, strict=True):
        x = np.concatenate(([1.0], row))
        centre = x @ mean[:p] + mean[own]
        spread = np.sqrt(x**2 @ sd[:p] ** 2 + sd[own] ** 2)
        softplus = np.logaddexp(0.0, centre + spread * nodes)
        total += decision * centre - weights @ softplus
    scale, scale_sd = mean[p], sd[p]
    squares = mean[p + 1 :] ** 2 + sd[p + 1 :] ** 2
    total -= 0.5 * np.exp(2 * (scale_sd**2 - scale)) * squares.sum() + len(squares) * scale
    total -= 0.5 * (scale**2 + scale_sd**2) / log_sd_prior_sd**2
    total -= 0.5 * np.sum(mean[:p] ** 2 + sd[:p] ** 2) / fixed_prior_sd**2
    return float(total + np.log(sd).sum())
