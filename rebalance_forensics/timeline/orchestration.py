"""The events of orchestrators about pods, workloads and nodes, indexed once for all groups, and the pods of members."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import by_time_then_origin, time_of
from rebalance_forensics.timeline.identity.own_process import container_ids
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import NOTHING, TimeIndex, sets_by_key

# The name of a Deployment's pod ends in a hash of the template and five random characters, both without vowels and
# look-alikes (k8s.io/apimachinery, util/rand); the name is unique across namespaces and time.
_UNIQUE = re.compile(r".+-[bcdfghjklmnpqrstvwxz2456789]{5,10}-[bcdfghjklmnpqrstvwxz2456789]{5}")
# The logs of containers in a kubelet's directory: `/var/log/pods/shop_orders-0_8b0f…/app/0.log`, and links to them,
# `/var/log/containers/orders-0_shop_app-3f2a….log`.
_IN_NAMESPACE = re.compile(
    r"(?:^|/)(?:(?P<namespace>[a-z0-9-]+)_[a-z0-9.-]+_[0-9a-f-]{8,}/|[a-z0-9.-]+_(?P<linked>[a-z0-9-]+)_[^/_]+\.log)"
)
# Sidecar containers, which may end while the application keeps running.
_SIDECARS = frozenset(
    """
    istio-proxy linkerd-proxy envoy consul-dataplane daprd vault-agent cloud-sql-proxy fluent-bit fluentd filebeat
    promtail otc-container otel-collector jaeger-agent datadog-agent vector
    """.split()  # noqa: SIM905 - names read best as words
)
_ORDINAL = re.compile(r"-\d+$")
_ID, _SHORT_ID = re.compile(r"[0-9a-f]{12,64}"), 12
_APPLICATION = ("app", "application")
_OF_STATUS = ("running", "ended", "oom-kill")


def is_unique(pod: str) -> bool:
    """True for the name of a Deployment's pod, which is unique."""
    return _UNIQUE.fullmatch(pod) is not None


class Orchestration:
    """The events of pods, workloads and nodes, without duplicates from several tables and exports."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        found = {(type(e), e.at, e.text): e for e in sorted(events, key=by_time_then_origin, reverse=True)}
        self.untimed = tuple(e for e in found.values() if e.at is None)
        """Those of tables that print an age only."""
        self.timed: TimeIndex[Event] = TimeIndex((e for e in found.values() if e.at is not None), time_of)

    def __iter__(self) -> Iterator[Event]:
        """All events."""
        return chain(self.untimed, self.timed)

    def __len__(self) -> int:
        """The number of events."""
        return len(self.untimed) + len(self.timed)

    @cached_property
    def files(self) -> frozenset[str]:
        """The files that contain the events."""
        return frozenset(e.origin.path for e in self)

    @cached_property
    def of_pod(self) -> Mapping[str, TimeIndex[ev.ContainerReported]]:
        """Pod, or container of Docker -> its events."""
        return TimeIndex((e for e in self.timed if isinstance(e, ev.ContainerReported)), time_of).by(lambda e: e.name)

    @cached_property
    def scalings(self) -> TimeIndex[ev.ScalingReported]:
        """The scaling events of workloads."""
        return TimeIndex((e for e in self.timed if isinstance(e, ev.ScalingReported)), time_of)

    @cached_property
    def of_node(self) -> Mapping[str, TimeIndex[ev.NodeReported]]:
        """Node -> its events."""
        return TimeIndex((e for e in self.timed if isinstance(e, ev.NodeReported)), time_of).by(lambda e: e.node)

    @cached_property
    def _pods(self) -> frozenset[str]:
        return frozenset({*self.of_pod, *(e.pod for e in self.scalings if e.pod is not None)})

    @cached_property
    def _replica_sets(self) -> frozenset[str]:
        return frozenset(e.workload for e in self.scalings if e.workload is not None)

    @cached_property
    def _namespaces(self) -> Mapping[str, set[str]]:
        named = [(e.name, e.namespace) for of_one in self.of_pod.values() for e in of_one]
        named += [(e.pod, e.namespace) for e in self.scalings if e.pod is not None]
        return sets_by_key((pod, namespace) for pod, namespace in named if namespace is not None)

    @cached_property
    def _by_service(self) -> Mapping[str, set[str]]:
        # Compose names a container `shop-orders-1`, but prefixes its lines with `orders-1`.
        # Without the project, it may also be `cache-node-1`.
        return sets_by_key(
            (name[len(project) + 1 :], name)
            for name, projects in self._namespaces.items()
            for project in projects
            if self._is_of_docker(name) and name.startswith((f"{project}-", f"{project}_"))
        )

    @cached_property
    def _by_id(self) -> Mapping[str, set[str]]:
        # The path of a container's log contains its id with kubelets and Docker. containerd has no other name for it,
        # and in Docker the first twelve characters are the container's host name.
        named = [(name[:_SHORT_ID], name) for name in self.of_pod if _ID.fullmatch(name)]
        reports = (e for of_one in self.of_pod.values() for e in of_one if e.container_id is not None)
        return sets_by_key([*named, *(((e.container_id or "")[:_SHORT_ID], e.name) for e in reports)])

    def _is_of_docker(self, name: str) -> bool:
        return any(e.container == name or e.what == "signalled" for e in self.of_pod.get(name, ()))

    def pods_of(self, participant: Participant) -> frozenset[str]:
        """The pods of a participant, by its host, its instance id or its client id."""
        names = {participant.name, *participant.hosts, *participant.instance_ids, *participant.client_ids}
        found = names & self._pods
        unique = (pod for name in names for pod in _unique_names_in(name))
        found |= {pod for pod in unique if pod in self._pods or workload_of(pod) in self._replica_sets}
        if self._by_id:
            found |= set().union(*(self._by_id.get(known[:_SHORT_ID], ()) for known in container_ids(participant)))
        if not found:
            services = [self._by_service[host] for host in participant.hosts if host in self._by_service]
            found = {next(iter(named)) for named in services if len(named) == 1}
        named = (_IN_NAMESPACE.search(file) for file in participant.files)
        namespaces = {match["namespace"] or match["linked"] for match in named if match is not None}
        return frozenset(pod for pod in found if self._is_in_one(pod, namespaces))

    def _is_in_one(self, pod: str, known: Collection[str]) -> bool:
        # Each namespace may have a StatefulSet with a pod `orders-0`. Without a directory that names the namespace, the
        # events decide.
        named = self._namespaces.get(pod, set())
        return named <= set(known) if known else is_unique(pod) or len(named) <= 1

    def reports(
        self, pods: Iterable[str], begin: int, end: int, names: Collection[str] = ()
    ) -> list[ev.ContainerReported]:
        """The events about the application in these pods in a span; `names` are the names of the application."""
        near = (e for pod in sorted(pods) for e in self.of_pod.get(pod, NOTHING).between(begin, end))
        return [e for e in near if self.is_of_application(e, names)]

    def is_of_application(self, report: ev.ContainerReported, names: Collection[str] = ()) -> bool:
        """True for an event of the pod, or of the container that is known to be the application."""
        pod, container = report.name, report.container
        if report.task not in (None, pod):
            return False  # a probe, or a shell started by `exec`
        if container is None:
            # Events do not name the container whose probe failed.
            all_named = {e.container for e in self.of_pod.get(pod, ()) if e.container is not None}
            return report.what != "probe-failed" or all(self._is_application(pod, each, names) for each in all_named)
        return self._is_application(pod, container, names)

    def unknown_containers(self, pods: Iterable[str], names: Collection[str]) -> set[str]:
        """The containers of these pods that ended or stopped and may not be the application."""
        reports = (e for pod in pods for e in self.of_pod.get(pod, ()) if e.what != "running")
        containers = ((e, e.container) for e in reports if e.container is not None and e.container not in _SIDECARS)
        return {container for e, container in containers if not self.is_of_application(e, names)}

    def _is_application(self, pod: str, container: str, names: Collection[str]) -> bool:
        if container in _SIDECARS:
            return False
        # Docker only names a container; a pod's status lists all of its containers.
        listed = {e.container for e in self.of_pod.get(pod, ()) if e.what in _OF_STATUS}
        return container in {pod, application_of(pod), *_APPLICATION, *names} or listed == {container}


def _unique_names_in(name: str) -> Iterable[str]:
    """The pod names that a client id may contain: `consumer-orders-7d9f8b6c5d-x2x7k-1`."""
    parts = name.split("-")
    for end in range(len(parts), 2, -1):
        whole = "-".join(parts[:end])
        if is_unique(whole):
            yield from ("-".join(parts[begin:end]) for begin in range(end - 2))


def workload_of(pod: str) -> str:
    """The replica set or StatefulSet of a pod, by its name."""
    return pod.rpartition("-")[0]


def application_of(pod: str) -> str:
    """The Deployment or StatefulSet of a pod, by its name."""
    return workload_of(workload_of(pod)) if is_unique(pod) else _ORDINAL.sub("", pod)


def application_names(group: str, participant: Participant) -> frozenset[str]:
    """The names that identify a container as the application of a member: the group's and the clients'."""
    names = {group, participant.name, *participant.client_ids, *participant.instance_ids}
    return frozenset(names | {_ORDINAL.sub("", name) for name in names})
