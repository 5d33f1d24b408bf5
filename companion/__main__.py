"""The commands of the book: ``python -m companion claims | sweep | data``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
PAGE = Path("book/reference/scoreboard.md")
STORED = Path("results")  # the project's memory; a reader's own runs go to OWN_RUNS
OWN_RUNS = Path("_build/results")


def claims(args: argparse.Namespace) -> int:
    """Print the scoreboard of the executed notebooks and write its page, or run one claim; 1 where
    something disagrees."""
    from .scoreboard import collect, lines, problems
    from .scoreboard_page import page

    root = args.book.resolve()
    if not (root / "_toc.yml").is_file():
        raise ValueError(f"{args.book} has no _toc.yml; --book names the folder of the project")
    if args.run_one:
        from .rerun import rerun

        shown, error = rerun(args.run_one, root)
        print("\n".join(shown))
        if error:
            print(f"error: {error}", file=sys.stderr)
        return 1 if error else 0
    rows = collect(root)
    print("\n".join(lines(rows)))
    wrong = problems(rows, root)
    if not wrong:
        output = args.output or root / PAGE
        output.write_text(page(rows), encoding="utf-8")
        print(f"wrote {output}")
    for problem in wrong:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if wrong else 0


def sweep(args: argparse.Namespace) -> int:
    """Run the missing pieces of an experiment; 1 when one failed, 130 after Ctrl-C."""
    from fnmatch import fnmatch

    from mi_lib.devices import pick_device

    from . import sweep as engine
    from . import workers
    from .experiments import experiment, modules_of

    module = experiment(args.name)

    chosen = [
        piece
        for piece in module.pieces(args.name, args.profile)
        if not args.only or any(fnmatch(piece.key, pattern) for pattern in args.only)
    ]
    if not chosen:
        raise ValueError(f"--only {' '.join(args.only)} matches no piece; leave it out to see all")
    results = STORED if args.store else args.output
    print(f"results go to {results / args.name}")
    with workers.local_workers(args.workers) as pool:
        try:
            device = str(pick_device(args.device))
            failed = engine.sweep(chosen, module.run, results, modules_of(args.name), pool, device)
        except KeyboardInterrupt:
            return 130
    return 1 if failed else 0


def data(args: argparse.Namespace) -> int:
    """Say which data sets are there, fetch one, or pack the text of the benchmark."""
    from .data import registry, text

    if args.action == "build-imdb":
        if args.what is None:
            raise ValueError("build-imdb needs the zip file of the benchmark's repository")
        print(f"wrote {text.build_imdb(Path(args.what))}")
        return 0
    if args.action == "fetch":
        if args.what is None:
            raise ValueError(f"fetch needs a name: {', '.join(registry.DATA)}")
        for path in registry.fetch(args.what):
            print(path)
        return 0
    print(f"data folder: {registry.data_folder()}")
    for name in registry.DATA:
        print(f"  {name:16} {'there' if registry.available(name) else 'absent'}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line and run the command."""
    parser = argparse.ArgumentParser(prog="python -m companion", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("claims", help="the scoreboard of the executed notebooks")
    command.add_argument("--run", dest="run_one", metavar="ID", help="execute this claim's cells")
    command.add_argument("--book", type=Path, default=HERE, help="the project's folder")
    command.add_argument("--output", type=Path, help=f"page to write (default {PAGE})")
    command.set_defaults(run=claims)
    command = commands.add_parser("sweep", help="run an experiment, piece by piece; resumable")
    command.add_argument("name", help="an experiment: gaussian, mnist, text, ...")
    command.add_argument("--profile", default="ci", help="ci, laptop or paper (default ci)")
    command.add_argument("--device", default="auto", help="auto, cuda, mps or cpu")
    command.add_argument("--workers", type=int, default=2, help="processes (default 2)")
    command.add_argument("--only", nargs="+", metavar="PATTERN", help="pieces, like 'paper-b64*'")
    command.add_argument("--output", type=Path, default=OWN_RUNS, help=f"default {OWN_RUNS}")
    command.add_argument("--store", action="store_true", help=f"write to {STORED}, to be committed")
    command.set_defaults(run=sweep)
    command = commands.add_parser("data", help="which data sets are there; fetch one")
    command.add_argument("action", choices=["list", "fetch", "build-imdb"], nargs="?")
    command.add_argument("what", nargs="?", help="a data set, or a zip file")
    command.set_defaults(run=data)
    args = parser.parse_args(argv)
    try:
        return args.run(args)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
