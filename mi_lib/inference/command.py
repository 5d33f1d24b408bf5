"""The shell command ``python -m mi_lib estimate data.csv --x a,b --y c``.

It exits with 0 where all is well, 1 where there is an estimate and a diagnostic warns, 2 where
there is none. The answer goes to standard output, progress and warnings to standard error.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from .estimator import MIEstimator
from .files import read_table, select


def run(args: argparse.Namespace) -> int:
    """Read, fit, print."""
    frame = read_table(args.file)
    x, y = select(frame, args.x, "x"), select(frame, args.y, "y")
    shared = sorted(set(x.columns) & set(y.columns))
    if shared:
        raise ValueError(f"{', '.join(shared)} is on both sides; the information is then infinite")
    say = f"{len(frame)} pairs, {x.shape[1]} columns of x, {y.shape[1]} of y"
    with progress(f"fitting: {say}"):
        est = MIEstimator(unit=args.unit, random_state=args.seed).fit(x, y)
    report = est.report()
    if args.format == "json":
        print(json.dumps(answer(est), indent=2))
    else:
        print(report)
    return 1 if report.warnings else 0


@contextmanager
def progress(say: str, every: float = 10.0) -> Iterator[None]:
    """Say what goes on, and every few seconds for how long it has."""
    print(say, file=sys.stderr, flush=True)
    started, over = time.monotonic(), Event()

    def tell() -> None:
        while not over.wait(every):
            print(f"  {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)

    clock = Thread(target=tell, daemon=True)
    clock.start()
    try:
        yield
    finally:
        over.set()
        clock.join()


def answer(est: MIEstimator) -> dict:
    """The numbers of a fit, ready for JSON."""
    return {
        "mi": est.mi_,
        "interval": list(est.interval_),
        "confidence": est.confidence,
        "lower_bound": est.lower_bound_,
        "dv": est.dv_,
        "p_value": est.p_value_,
        "unit": est.unit,
        "pairs": est.n_pairs_,
        "warnings": [f"{w.name}: {w.advice}" for w in est.diagnostics_ if not w.ok],
    }
