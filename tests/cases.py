"""What several test files share: the rules to try, and one run of all claims a session."""

import functools

from companion.claims.scoreboard import run_all
from mi_lib import InverseLog, Kliep, Log, Power, PseudoSpherical, RobustDRE, SymmetricInverseLog

ALPHAS = (-1, 0.5, 1.5, 2, 3)
SYMMETRIC = [
    Log(),
    *(Power(alpha) for alpha in ALPHAS),
    *(PseudoSpherical(alpha) for alpha in ALPHAS),
    SymmetricInverseLog(),
]
ASYMMETRIC = [Kliep(), *(RobustDRE(alpha) for alpha in ALPHAS), InverseLog()]
RULES = SYMMETRIC + ASYMMETRIC


@functools.cache
def claim_results():
    """Each claim's outcome and its twin's; about 20 s, so once for all tests."""
    return run_all()
