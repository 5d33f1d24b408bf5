"""Time and memory of the losses on large batches, as ratios within one run.

    python -m benchmarks.losses | tee benchmarks/losses.txt      # about ten minutes, one thread

Every form takes two embeddings [B, 128] to the loss and back to their gradients. Times: the forms
take turns, and the median over turns of the ratio to cross-entropy's time in the same turn is
printed. Memory: the peak of a process of its own, less what it held before the step with inputs and
gradients in place.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812

from mi_lib import InfoNCE, InfoNCEAnchor, objectives

WIDTH, TEMPERATURE = 128, 0.1
ROUNDS = {1024: 30, 4096: 7, 8192: 5}
HUGE = 65_536
CROSS_ENTROPY, IN_BLOCKS = "cross-entropy", "anchor, in blocks"


def anchor(block):
    return InfoNCEAnchor(nu="k", contrast="y", temperature=TEMPERATURE, block=block)


FORMS = {
    CROSS_ENTROPY: lambda x, y: F.cross_entropy(x @ y.T / TEMPERATURE, torch.arange(len(x))),
    "anchor, class by class": lambda x, y: objectives.anchor(
        x @ y.T / TEMPERATURE, nu=float(len(x) - 1), contrast="y"
    ),
    "anchor, one matrix": anchor(None),
    IN_BLOCKS: anchor(512),
    "InfoNCE, one matrix": InfoNCE(contrast="y", temperature=TEMPERATURE, block=None),
    "InfoNCE, in blocks": InfoNCE(contrast="y", temperature=TEMPERATURE, block=512),
}


def inputs(b: int) -> list[torch.Tensor]:
    """Normalised embeddings of pairs that go together, with room for their gradients."""
    g = torch.Generator().manual_seed(0)
    x = torch.randn(b, WIDTH, generator=g)
    y = x + torch.randn(b, WIDTH, generator=g)
    sides = [F.normalize(side).requires_grad_() for side in (x, y)]
    for side in sides:
        side.grad = torch.zeros_like(side)
    return sides


def seconds(name: str, sides: list[torch.Tensor]) -> float:
    """Forth and back, once."""
    start = time.perf_counter()
    FORMS[name](*sides).backward()
    return time.perf_counter() - start


def peak() -> float:
    """The largest memory of this process so far, in MB (on Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**10


def extra(name: str, b: int) -> tuple[float, float]:
    """MB beyond inputs and gradients, and seconds, of one step in this process."""
    seconds(name, inputs(128))
    sides = inputs(b)
    before = peak()
    took = seconds(name, sides)
    return peak() - before, took


def in_its_own_process(name: str, b: int) -> tuple[float, float]:
    """What `extra` finds in a new process."""
    command = [sys.executable, "-m", "benchmarks.losses", "--one", name, str(b)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    megabytes, took = map(float, done.stdout.split())
    return megabytes, took


def load() -> str:
    """How busy the machine is."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def main() -> None:
    """Print the tables."""
    print(
        f"Python {platform.python_version()}, torch {torch.__version__}, one thread; at the", end=""
    )
    print(f" start {load()}")
    print(f"\n{'forth and back, [B, 128]':26}{'B':>7}{'time':>8}{'memory':>8}{'MB':>8}")
    for b, rounds in ROUNDS.items():
        sides = inputs(b)
        turns = [{name: seconds(name, sides) for name in FORMS} for _ in range(rounds + 1)][1:]
        memory = {name: in_its_own_process(name, b)[0] for name in FORMS}
        for name in FORMS:
            ratio = statistics.median(turn[name] / turn[CROSS_ENTROPY] for turn in turns)
            share = memory[name] / memory[CROSS_ENTROPY]
            print(f"{name:26}{b:7}{ratio:8.2f}{share:8.2f}{memory[name]:8.0f}", flush=True)
        print(f"{'':26}{load():>31}\n")
    megabytes, took = in_its_own_process(IN_BLOCKS, HUGE)
    print(f"{IN_BLOCKS:26}{HUGE:7}{took:6.0f} s{'':8}{megabytes:8.0f}")
    print(f"{'':26}{load():>31}")
    print(
        "\ntime and memory: ratios to cross-entropy at the same B; MB: beyond inputs and gradients"
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one", nargs=2, metavar=("FORM", "B"), help="one step in this process")
    given = parser.parse_args()
    if given.one:
        print(*extra(given.one[0], int(given.one[1])))
    else:
        main()
