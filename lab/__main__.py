"""`python -m lab SCENARIO --kafka 4.1.1 --out DIR`: record an incident on real Kafka."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from lab.members import PROTOCOLS, Group
from lab.run import record
from lab.scenarios import scenarios


def main() -> None:
    """Run one scenario; all of its processes are ended, even if it is interrupted."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    known = scenarios()
    told = "\n".join(f"  {name:18} {scenario.about}" for name, scenario in known.items())
    parser = argparse.ArgumentParser(
        prog="python -m lab",
        description=f"Record an incident on real Kafka.\n\n{told}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scenario", choices=known)
    parser.add_argument("--out", type=Path, required=True, help="folder for logs/, truth.json and listener.jsonl")
    parser.add_argument("--kafka", default="4.1.1", help="release of the brokers (3.3 or newer)")
    parser.add_argument("--clients", help="release of the Java client; the brokers' when not given")
    parser.add_argument("--brokers", type=int, default=1)
    parser.add_argument("--protocol", choices=PROTOCOLS, default="eager")
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--batch", type=float, default=2.0, help="seconds a member takes for each batch")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a further consumer setting")
    chosen = parser.parse_args()
    group = Group(
        release=chosen.clients or chosen.kafka,
        protocol=chosen.protocol,
        members=chosen.members,
        partitions=chosen.partitions,
        batch_ms=round(chosen.batch * 1000),
        settings=dict(setting.split("=", 1) for setting in chosen.set),
    )
    brokers: int = chosen.brokers
    print(record(chosen.scenario, known[chosen.scenario], group, chosen.kafka, chosen.out, brokers=brokers))


if __name__ == "__main__":
    main()
