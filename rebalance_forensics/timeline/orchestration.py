"""What orchestrators report of pods, workloads and nodes, indexed once for all groups, and whose pods they are."""

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

# The names of a Deployment's pods end in a hash of the template and five random characters, both without vowels and
# look-alikes (k8s.io/apimachinery, util/rand); of no other namespace or time is there one of the same name.
_UNIQUE = re.compile(r".+-[bcdfghjklmnpqrstvwxz2456789]{5,10}-[bcdfghjklmnpqrstvwxz2456789]{5}")
# Where kubelets keep the logs of containers: `/var/log/pods/shop_orders-0_8b0f…/app/0.log`, and links to them,
# `/var/log/containers/orders-0_shop_app-3f2a….log`.
_IN_NAMESPACE = re.compile(
    r"(?:^|/)(?:(?P<namespace>[a-z0-9-]+)_[a-z0-9.-]+_[0-9a-f-]{8,}/|[a-z0-9.-]+_(?P<linked>[a-z0-9-]+)_[^/_]+\.log)"
)
# Containers that run beside an application in its pod and end without it.
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
    """True for the name of a Deployment's pod, which occurs once."""
    return _UNIQUE.fullmatch(pod) is not None


class Orchestration:
    """The events of pods, workloads and nodes, each once however many tables and exports have it."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        found = {(type(e), e.at, e.text): e for e in sorted(events, key=by_time_then_origin, reverse=True)}
        self.untimed = tuple(e for e in found.values() if e.at is None)
        """Those of tables that print an age only."""
        self.timed: TimeIndex[Event] = TimeIndex((e for e in found.values() if e.at is not None), time_of)

    def __iter__(self) -> Iterator[Event]:
        """All of them."""
        return chain(self.untimed, self.timed)

    def __len__(self) -> int:
        """The number of all."""
        return len(self.untimed) + len(self.timed)

    @cached_property
    def files(self) -> frozenset[str]:
        """The files they stand in."""
        return frozenset(e.origin.path for e in self)

    @cached_property
    def of_pod(self) -> Mapping[str, TimeIndex[ev.ContainerReported]]:
        """Pod, or container of Docker -> what was reported of it."""
        return TimeIndex((e for e in self.timed if isinstance(e, ev.ContainerReported)), time_of).by(lambda e: e.name)

    @cached_property
    def scalings(self) -> TimeIndex[ev.ScalingReported]:
        """What controllers did to workloads."""
        return TimeIndex((e for e in self.timed if isinstance(e, ev.ScalingReported)), time_of)

    @cached_property
    def of_node(self) -> Mapping[str, TimeIndex[ev.NodeReported]]:
        """Node -> what was reported of it."""
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
        # Compose calls a container `shop-orders-1`, its lines come from `orders-1`.
        # Without its project it may as well be `cache-node-1`.
        return sets_by_key(
            (name[len(project) + 1 :], name)
            for name, projects in self._namespaces.items()
            for project in projects
            if self._is_of_docker(name) and name.startswith((f"{project}-", f"{project}_"))
        )

    @cached_property
    def _by_id(self) -> Mapping[str, set[str]]:
        # Kubelets and Docker put a container's id into the path of its log; containerd knows no other name of it, and
        # the host of a container of Docker is called by its first twelve characters.
        named = [(name[:_SHORT_ID], name) for name in self.of_pod if _ID.fullmatch(name)]
        reports = (e for of_one in self.of_pod.values() for e in of_one if e.container_id is not None)
        return sets_by_key([*named, *(((e.container_id or "")[:_SHORT_ID], e.name) for e in reports)])

    def _is_of_docker(self, name: str) -> bool:
        return any(e.container == name or e.what == "signalled" for e in self.of_pod.get(name, ()))

    def pods_of(self, participant: Participant) -> frozenset[str]:
        """The pods that a participant runs in, by its host, its instance id or its client id."""
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
        # A StatefulSet's `orders-0` may run in each namespace; without a directory that names it, by the events.
        named = self._namespaces.get(pod, set())
        return named <= set(known) if known else is_unique(pod) or len(named) <= 1

    def reports(
        self, pods: Iterable[str], begin: int, end: int, names: Collection[str] = ()
    ) -> list[ev.ContainerReported]:
        """What was reported of the application in these pods in a span; `names` are those of the application."""
        near = (e for pod in sorted(pods) for e in self.of_pod.get(pod, NOTHING).between(begin, end))
        return [e for e in near if self.is_of_application(e, names)]

    def is_of_application(self, report: ev.ContainerReported, names: Collection[str] = ()) -> bool:
        """True for a report of a whole pod, or of the container that is known to be the application."""
        pod, container = report.name, report.container
        if report.task not in (None, pod):
            return False  # a probe or a shell that `exec` started
        if container is None:
            # Events do not name the container whose probe failed.
            all_named = {e.container for e in self.of_pod.get(pod, ()) if e.container is not None}
            return report.what != "probe-failed" or all(self._is_application(pod, each, names) for each in all_named)
        return self._is_application(pod, container, names)

    def unknown_containers(self, pods: Iterable[str], names: Collection[str]) -> set[str]:
        """Containers of these pods of which an end or a stop was reported, and that may not be the application."""
        reports = (e for pod in pods for e in self.of_pod.get(pod, ()) if e.what != "running")
        containers = ((e, e.container) for e in reports if e.container is not None and e.container not in _SIDECARS)
        return {container for e, container in containers if not self.is_of_application(e, names)}

    def _is_application(self, pod: str, container: str, names: Collection[str]) -> bool:
        if container in _SIDECARS:
            return False
        # Docker names a container only; a pod's status lists all of its containers.
        listed = {e.container for e in self.of_pod.get(pod, ()) if e.what in _OF_STATUS}
        return container in {pod, application_of(pod), *_APPLICATION, *names} or listed == {container}


def _unique_names_in(name: str) -> Iterable[str]:
    """The names of pods that a client id may hold: `consumer-orders-7d9f8b6c5d-x2x7k-1`."""
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
    """The names by which a container is known to be a member's application: its group's and its clients'."""
    names = {group, participant.name, *participant.client_ids, *participant.instance_ids}
    return frozenset(names | {_ORDINAL.sub("", name) for name in names})
