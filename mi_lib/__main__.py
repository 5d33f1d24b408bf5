"""The shell command: ``python -m mi_lib estimate data.csv --x a,b --y c``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

MOVED = ("claims", "sweep", "data")  # commands of the book, in the companion since 0.2


def estimate(args: argparse.Namespace) -> int:
    """Estimate the mutual information of columns of a file; 1 when a diagnostic warns."""
    from .inference.command import run

    return run(args)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mi_lib", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("estimate", help="mutual information of columns of a file")
    command.add_argument("file", type=Path, help="CSV, TSV, Parquet or NPZ")
    command.add_argument("--x", required=True, help="columns of X, with commas between them")
    command.add_argument("--y", required=True, help="columns of Y")
    command.add_argument("--unit", default="bits", choices=("bits", "nats"))
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--format", default="table", choices=("table", "json"))
    command.set_defaults(run=estimate)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line and run the command."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if argv and argv[0] in MOVED:
        print(
            f"error: `{argv[0]}` belongs to the book and is not in the library; in a clone of the "
            f"book run `python -m companion {' '.join(argv)}`",
            file=sys.stderr,
        )
        return 2
    args = _parser().parse_args(argv)
    try:
        return args.run(args)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
