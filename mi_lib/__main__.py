"""The shell commands: ``python -m mi_lib claims | estimate``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

PAGE = Path("book/reference/scoreboard.md")


def claims(args: argparse.Namespace) -> int:
    """Run every claim, print the scoreboard, write its page; 1 when a verdict disagrees."""
    from .claims import get, run_all, scoreboard
    from .claims.scoreboard import all_problems, lines

    if args.only and args.output:
        raise ValueError("--only checks some claims and cannot write the whole page; drop --output")
    results = run_all([get(id) for id in args.only] if args.only else None)
    print("\n".join(lines(results)))
    problems = all_problems(results)
    output = args.output or (PAGE if PAGE.parent.is_dir() and not args.only else None)
    if output and not problems:
        output.write_text(scoreboard(results), encoding="utf-8")
        print(f"wrote {output}")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


def estimate(args: argparse.Namespace) -> int:
    """Estimate the mutual information of columns of a file; 1 when a diagnostic warns."""
    from .inference.command import run

    return run(args)


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line and run the command."""
    parser = argparse.ArgumentParser(prog="python -m mi_lib", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("claims", help="check every claim and print the scoreboard")
    command.add_argument("--output", type=Path, help=f"page to write (default {PAGE}, if there)")
    command.add_argument("--only", nargs="+", metavar="ID", help="check these claims only")
    command.set_defaults(run=claims)
    command = commands.add_parser("estimate", help="mutual information of columns of a file")
    command.add_argument("file", type=Path, help="CSV, TSV, Parquet or NPZ")
    command.add_argument("--x", required=True, help="columns of X, with commas between them")
    command.add_argument("--y", required=True, help="columns of Y")
    command.add_argument("--unit", default="bits", choices=("bits", "nats"))
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--format", default="table", choices=("table", "json"))
    command.set_defaults(run=estimate)
    args = parser.parse_args(argv)
    try:
        return args.run(args)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
