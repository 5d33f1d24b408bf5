"""Write requirements.lock: the exact versions of all that the tested environment has, but torch.

    python -m tools.lock

requirements.txt stays the list that people read: what the project uses directly. What those bring
in turn is pinned here, as constraints: pip installs of it only what something needs. torch is left
out because its builds for CPUs and for GPUs bring different packages.
"""

import sys

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.project import ROOT
from tools.wheel import closure

LOCK = ROOT / "requirements.lock"
HEAD = """# Exact versions of all that requirements.txt brings, but torch; pip's constraints.
# Made by `python -m tools.lock` in the tested environment: not written by hand.
"""
OF_TORCH = ("torch", "triton", "nvidia-", "cuda-")


def pins() -> list[str]:
    """``name==version`` of each distribution that requirements.txt brings, sorted by name."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = [Requirement(line) for line in lines if line and not line.startswith("#")]
    found = {(canonicalize_name(d.name), d.version) for d in closure(wanted)}
    return [f"{n}=={v}" for n, v in sorted(found) if not n.startswith(OF_TORCH)]


def main() -> int:
    """Write the file, and say how many there are."""
    made = pins()
    LOCK.write_text(HEAD + "\n".join(made) + "\n", encoding="utf-8")
    print(f"{LOCK.name}: {len(made)} exact versions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
