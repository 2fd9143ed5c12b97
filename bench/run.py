"""Compare partita with its peers on this machine (see README.md).

python bench/run.py [--quick] [--only STAGE,…] [--data NAME,…] [--minutes 90] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from peers.kmeans_peers import OURS
from plan import FULL_PLAN, QUICK_PLAN
from stages import STAGES, Session
from threadpoolctl import threadpool_limits


def main() -> int:
    options = _options()
    threadpool_limits(1)  # of this process, whose BLAS would spin beside the peers
    signal.signal(signal.SIGTERM, _interrupt)
    plan = QUICK_PLAN if options.quick else FULL_PLAN
    if options.minutes:
        plan = plan.within(60.0 * options.minutes)
    if options.data:
        plan = plan.of_data(options.data)
    session = Session(plan, options.threads, options.out)
    if OURS not in session.processes:
        print(f"partita is absent: {session.absent[OURS]}", file=sys.stderr)
        return 1
    if options.quick:
        session.note("QUICK: few rows and rounds; the verdicts are hints, not results.")
    try:
        for name in options.only:
            _stage(name, session)
            session.save()
    except KeyboardInterrupt:
        session.incomplete = True
        session.note("INTERRUPTED: what follows is what there was by then.")
        session.save()
    print(session.text())
    session.close()
    return int(session.incomplete)


def _stage(name: str, session: Session) -> None:
    """Run a stage; a failure is reported and the others still run."""
    try:
        STAGES[name](session)
    except Exception as error:
        traceback.print_exc()
        session.incomplete = True
        session.note(f"INCOMPLETE: {name} broke off ({type(error).__name__}: {error}).")


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare partita with its peers.")
    parser.add_argument("--quick", action="store_true", help="a small part, under five minutes")
    parser.add_argument("--threads", type=int, default=2, help="threads of every library")
    parser.add_argument("--minutes", type=float, help="about how long it may take (default 90)")
    parser.add_argument("--out", type=Path, help="also write this Markdown file, and a picture")
    parser.add_argument(
        "--only", type=_stages, default=list(STAGES), help=f"some of: {', '.join(STAGES)}"
    )
    parser.add_argument(
        "--data", type=lambda text: text.split(","), help="only fits and defaults of these data"
    )
    return parser.parse_args()


def _stages(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in STAGES]:
        raise argparse.ArgumentTypeError(f"no stage {unknown[0]!r}; there are {', '.join(STAGES)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
