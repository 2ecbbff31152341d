"""The typed events: everything that a Kafka process logs about a group, by topic.

A module that reads many types imports the package: `from rebalance_forensics import events as ev`, then
`ev.MemberLeft`. `EVENT_TYPES` maps each event's name to its class; new classes are discovered.
"""

from __future__ import annotations

import importlib
import pkgutil

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import *
from rebalance_forensics.events.coordinator import *
from rebalance_forensics.events.epochs import *
from rebalance_forensics.events.membership import *
from rebalance_forensics.events.orchestration import *
from rebalance_forensics.events.partitions import *
from rebalance_forensics.events.process import *
from rebalance_forensics.events.rebalances import *
from rebalance_forensics.events.streams import *

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

EVENT_TYPES: dict[str, type[Event]] = {
    cls.__name__: cls for cls in sorted(Event.__subclasses__(), key=lambda cls: cls.__name__)
}
