"""An index of the hosts on which members run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

from rebalance_forensics.timeline.identity.names import LOOPBACK
from rebalance_forensics.timeline.model import GroupOutline


class HostIndex(Struct, frozen=True):
    """Hosts of members, without a host on which all members of a cluster run, since it distinguishes none."""

    hosts: dict[tuple[str, str], dict[str, str]]
    """(cluster, group) -> name -> host."""

    members: dict[tuple[str, str], frozenset[str]]
    """(cluster, host) -> the groups that have a member there."""

    def hosts_of(self, cluster: str, group: str, names: Iterable[str]) -> list[str]:
        """Return the distinct hosts of a group's members with these names."""
        of_group = self.hosts.get((cluster, group), {})
        return list(dict.fromkeys(of_group[name] for name in names if name in of_group))


def index_hosts(histories: Iterable[GroupOutline]) -> HostIndex:
    """Index all members, once for all incidents."""
    hosts: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    of_cluster: dict[str, set[str]] = defaultdict(set)
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    for history in histories:
        for identity in history.identities:
            host = (identity.host or "").rpartition("/")[2]
            if not host or host in LOOPBACK:
                continue
            of_cluster[history.cluster].add(host)
            groups[history.cluster, host].add(history.group)
            for name in {identity.name, identity.client_id, identity.instance_id, identity.host} - {None}:
                hosts[history.cluster, history.group][name or ""] = host
    return HostIndex(
        {key: of_group for key, of_group in hosts.items() if len(of_cluster[key[0]]) > 1},
        {place: frozenset(names) for place, names in groups.items()},
    )
