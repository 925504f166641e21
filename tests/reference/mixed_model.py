"""The mixed model through statsmodels, from an explicit start and to a tight tolerance."""

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
