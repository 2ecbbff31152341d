"""Every span of time the project judges by, with its reason. Milliseconds.

What logs tell of timeouts comes first, then what is known of the client and its release, then the pace of the log
itself: nothing here may depend on how fast somebody's incident happened to unfold.
"""

from __future__ import annotations

QUIET_MS = 5 * 60 * 1000
"""A cause that comes back to the same culprit within this is the same incident (contract: or three timeouts)."""
ONE_BLOW_MS = 15_000
"""What hits several members of a host, a switch or a power line hits them within this: sessions end together, give or
take a heartbeat interval and the clocks of the hosts."""
WAKING_MS = 4_000
"""A process that wakes up finds its coordinator again within this; one that is cut off does not."""
BURST_MS = 3_000
"""Lost connections that spread over more are a network; all in one burst are a process that woke up."""
IN_VAIN_MS = 1_000
"""Connections that fail for so long are no burst of a process that wakes up: attempts are 50 ms apart at first, and at
most a second (reconnect.backoff.ms, reconnect.backoff.max.ms)."""
SEEN_BY_BOTH_MS = 2_000
"""A client's word that it lost its membership and the coordinator's are of the same loss within this: both look once a
second at most."""
SAME_REBALANCE_MS = 500
"""What follows a departure so closely belongs to the rebalance that it began."""
REQUEST_TIMEOUT_MS = 30_000
"""request.timeout.ms of Java consumers from 2.0 on unless set (ConsumerConfig, KIP-266; Connect workers wait 40 s, by
DistributedConfig): until then one that is cut off has nothing to log."""
ONE_STEP_MS = 4 * 60 * 1000
"""Two steps of a deployment follow each other within this unless the walk itself shows another pace: a pod's grace
period (30 s), its start, and readiness probes of up to a few minutes."""
ONE_PACE = 3
"""Steps of one walk differ by less than this factor from its median step; a member may be slow to come up."""
AT_ONCE_MS = 10_000
"""Members that are told to stop together are gone within this."""
STARTUP_GAP_MS = 20_000
"""Members of one start follow each other within this: containers and JVMs start, one host slower than another."""
STARTUP_SLACK_MS = 10_000
"""A client asks to join up to this long before its coordinator answers: group.initial.rebalance.delay.ms (3 s unless
set, and once more for each newcomer: InitialDelayedJoin, KIP-134) and a retry (retry.backoff.max.ms, 1 s: KIP-580)."""
ADDED_MS = 2_000
"""A thread that joins later than this after the first generation was added to its process (KIP-663)."""
ONE_SHUTDOWN_MS = 20_000
"""The members of an application that is stopped go within this of each other, or within a session timeout: each
commits, closes and is waited for."""
LONG_BEFORE_MS = 10_000
"""Whoever went this long before the others, and four times as long as lay between them, went for another reason."""
RESTART_MS = 3_000
"""A process that ended without a word did so about this long before the first line of its next life: its supervisor
starts it at once, and a JVM takes seconds to get to its consumer. A guess: it may be a second or a minute."""
RESTART_PAIR_MS = 90_000
"""A process that nobody can name is the next life of one that went this shortly before: a pod's grace period (30 s),
and twice that for its start."""
SUCCESSION_MS = 90_000
"""The same for a new name in place of an old one; members that come and go by turns need no such window."""
TOGETHER_MS = 45_000
"""Threads of one process that go together are evicted within this: session.timeout.ms of Java clients from 3.0 on
(KIP-735) unless a log shows a longer one."""
BEHIND_ITS_START_MS = 15_000
"""A process is started this long before its former life is evicted, and the session: JVM, container and first poll."""
ONE_SCALING_MS = 120_000
"""Members that are added or removed in one go follow each other within this: images are pulled, JVMs start."""
NO_SWAP_MS = 15_000
"""A thread that comes while another of its process goes within this takes its place and adds nothing."""
ONE_PROCESS_MS = 10_000
"""The threads of a process that starts ask to join within this time of each other."""
STORM_GAP_MS = 120_000
"""Poll timeouts that follow each other within this have one slow thing behind them: a sink, a batch, a lock."""
SHORTEST_POLL_INTERVAL_MS = 5_000
"""Nobody sets max.poll.interval.ms shorter than this: one commit that has to be retried would take a member out."""
POLL_SLACK_MS = 1_000
"""The heartbeat thread looks at the poll timer every retry.backoff.ms, 100 ms unless set (AbstractCoordinator)."""
LAST_JOINED_MS = 5_000
"""The rebalance that the last member of a start asks for begins within this: a JoinGroup and a retry."""
ONE_RETURN_MS = 60_000
"""A static member's stop, start and replaced member id within this are one return."""
SAME_GENERATION_MS = 2_000
"""Members get their assignment of a generation within this of each other: SyncGroup is answered to all at once, and
Sarama prints whole seconds."""
ARRIVED_MS = 1_000
"""A member that joined is counted this much later: its JoinGroup is answered first."""
CLOSING_MS = 500
"""A member is on its way out this long before its departure is logged."""
SHORTEST_UNREAD_MS = 100
"""Spans without a reader that are shorter are not told (contract)."""
BARRIER_MS = 6_000
"""A member that polls hears of a rebalance at its next heartbeat (3 s unless set) and rejoins at its next poll."""
HEARTBEAT_MS = 3_000
"""heartbeat.interval.ms of the Java consumer and of Connect workers unless set (ConsumerConfig, DistributedConfig);
other clients have the same or a little more."""
AFTERMATH_MS = 1_500
"""Members are given their partitions a little after the last line that an incident rests on."""
REJECTED_AWAY_MS = 60_000
"""A client that is turned away for good closes, is missed and perhaps started again by its supervisor within this."""
REJECTED_STOP_MS = 1_000
"""The thread that closes the client may log that just before the line which names the error."""
DENIED_BEFORE_MS = 10_000
"""A principal that may join but not read is a member for a few heartbeats before its first denial."""
CLOSED_AFTER_DENIAL_MS = 5_000
"""A consumer that is denied its topic fails in its next poll(), after the batch at hand, and is then closed."""
FENCED_AROUND_MS = 20_000
"""A fenced member is missed, and its rival joins, within two sessions of kafka-python's or sarama's 10 s; those of
Java are told of at once."""
METADATA_AGE_MS = 330_000
"""Clients see new topics up to metadata.max.age.ms (300 s by default, ConsumerConfig) later, and rejoin at their next
poll()."""
PATTERN_MATCHED_MS = 60_000
"""Where a member says that its subscription changed, a topic made within this is taken for the reason: a wider window
would hold too many topics."""
HANDED_OVER_MS = 3_000
"""A cooperative member that revoked partitions rejoins at its next poll(): the second half of the same rebalance."""
ASKED_AT_ONCE_MS = 1_000
"""JoinGroup follows the line that gives its reason within a poll() of the loop, and its rebalance within a request."""
SUBSCRIBED_BEFORE_MS = 30_000
"""A topic that a member asked for is given to it in the rebalance that its JoinGroup starts: a loop that processes for
half a minute between subscribe() and poll() is slow, but usual."""
RESUBSCRIBED_MS = 10_000
"""subscribe() is followed by the rejoin at the next poll(), and by the rebalance once all members have polled."""
SETTLED_MS = 200
"""Lines of one moment that reach the logs of several hosts one after the other."""
ONE_METADATA_CHANGE_MS = 120_000
"""Topics that are made by one script, and partitions added to several topics, are noticed within a few refreshes."""
SAME_REJOIN_MS = 5_000
"""A member's own line and its coordinator's line about one rejoin are apart by no more than the clocks of the hosts."""
METADATA_NOTICED_MS = 10_000
"""The coordinator of a KIP-848 group sees a changed topic at the next heartbeat of any member:
group.consumer.heartbeat.interval.ms, 5 s by default (GroupCoordinatorConfig)."""
COMMIT_REFUSED_MS = 10_000
"""A broker that has just started does not know its partitions for a moment; its members' commits are refused too."""
COMMIT_REPEATED_MS = 2_000
"""A refused commit is repeated after retry.backoff.ms, at most a second (retry.backoff.max.ms, KIP-580)."""
ONE_DELETION_MS = 60_000
"""Commits of a deleted topic that are refused within a minute of each other (default.api.timeout.ms, KIP-266) are one
story."""
HELD_UP_MS = 30_000
"""Members that stand still for longer than request.timeout.ms of Java consumers are no longer a planned change."""
ONE_CONFIG_CHANGE_MS = 60_000
"""A script that submits connectors one after the other waits for a rebalance (a few seconds) between two requests."""
CONFIG_NOTICED_MS = 3_000
"""Workers read the config topic at once and rejoin at their next tick; all of them within this."""
CONFIG_BEFORE_MS = 500
"""The coordinator's line of a rebalance may be earlier than the worker's line that gives the reason: another clock."""
ONE_REQUEST_MS = 2_999
"""A member that moves or rejoins less than a KIP-848 heartbeat (3 s where it is set low) from a new epoch made it."""
SOON_AFTER_MS = 5_000
"""What a line announces, or an exception leads to, follows within this: one JoinGroup and its SyncGroup."""
MOMENTS_BEFORE_MS = 2_000
"""A request travels in a JoinGroup: the rebalance may begin on the broker before the line that tells of it is written,
and clocks of hosts differ."""
AROUND_MS = 15_000
"""A dying thread, its consumer's LeaveGroup, its successor's join and the rebalance of both lie within this: closing a
consumer and its tasks takes seconds, a join two requests."""
TAKING_OVER_MS = 30_000
"""What members ask for once they learn of a new endpoint comes within a request timeout."""
STOPPING_MS = 20_000
"""How long before its next start a Streams instance begins to stop: its tasks are closed and their state flushed."""
THREAD_SWAP_MS = 2_000
"""An uncaught exception handler adds the successor in the same call that ends the thread."""
THREADS_BY_HAND_MS = 10_000
"""removeStreamThread() says `removing`, and returns when the thread has stopped: within this of its end."""
EXPIRY_SLACK_MS = 5_000
"""A session runs from the last heartbeat, up to heartbeat.interval.ms (3 s unless set) before the member fell silent,
and its end is noticed at the timer's next tick (SystemTimerReaper, 200 ms)."""
PROBING_INTERVAL_MS = 600_000
"""probing.rebalance.interval.ms unless set (StreamsConfig, KIP-441)."""
PROBING_REQUEST_MS = 60_000
"""probing.rebalance.interval.ms may be set as low as this (StreamsConfig), so who asked for the first probing rebalance
did so no later before it."""
SHUTTING_DOWN_MS = 120_000
"""All instances of an application that was asked to stop are gone within this: each learns of it in the next rebalance
and closes its tasks."""
TOPICS_MISSED_MS = 60_000
"""A leader that misses source topics tells the members in the next assignment, of which there is one a minute or so."""
OBEYED_MS = 10_000
"""A thread that receives the error code, or waited in vain, stops at once."""
EXCEPTION_MS = 15_000
"""An exception that ends a poll loop precedes the close by what the application takes to commit and clean up."""
LONG_STOP_MS = 30_000
"""A rebalance that lasts longer than a request timeout is felt by whoever waits for records, whatever caused it."""
STEADY_MS = QUIET_MS
"""Lines of a group over this long, without a rebalance among them, show that it is stable: heartbeats fail sooner."""
CLOCK_SLACK_MS = 1_000
"""Two lines about one step, one by the broker and one by a client, are written within this of each other: a round trip
and what the clocks of two hosts differ by once they are set by each other."""
SAME_STEP_MS = 200
"""Two lines about one step that the same broker writes."""
ITS_REBALANCE_MS = 2_500
"""A LeaveGroup, a JoinGroup or a close begins its rebalance within this: a poll() of the loop, a round trip, and what
the clocks of two hosts differ by."""
LEAVE_LOGGED_MS = 2_000
"""A client says why it leaves in the call that sends its LeaveGroup; the coordinator's line follows within a round trip
and what two clocks differ by."""
LAST_WORDS_MS = 2_000
"""A process that closes has written its last line this long after the coordinator let it go."""
PATIENCE_MS = 20_000
"""A missing return says nothing before a JVM has had time to start, whatever the session."""
STILL_OPEN_MS = 30_000
"""A rebalance that never ended is still going on when the logs end no later than this after its last line; members
retry within request.timeout.ms, so a longer silence is an end nobody logged."""
ACROSS_GROUPS_MS = 60_000
"""Session timeouts differ from group to group (6 s to a minute in practice), so one death shows itself in all of them
within about this."""
TERM_SLACK_MS = 30_000
"""A broker counts as a group's coordinator this long after its term: members that have nothing to send learn of the end
when a request times out (request.timeout.ms)."""
NO_TIMEOUT_MS = 3_600_000
"""A timeout set to this or more means `never` (Integer.MAX_VALUE for max.poll.interval.ms in Streams before 2.3)."""
SIGNATURE_NEAR_MS = 120_000
"""The lines by which a known bug shows itself belong to a finding within this of its evidence: bugs that leave a member
stuck are noticed at the next session or request timeout."""

# The rhythm of rebalances
ON_TIME_MS = 1_000
"""Timers of the coordinator and of clients fire within this time of their setting."""
SHORTEST_RHYTHM_MS = 2_000
"""Rebalances closer than this are no rhythm."""
ONE_BURST_MS = 5_000
"""Gaps up to this lie inside a burst: a follow-up comes right after the rebalance that asked for it."""

# What is unset has its default
SESSION_MS = 45_000
"""session.timeout.ms of Java consumers from 3.0 on and of librdkafka from 1.7 on (KIP-735), and
group.consumer.session.timeout.ms of brokers (KIP-848)."""
SESSION_BEFORE_3_0_MS = 10_000
"""The same of Java consumers before 3.0, and of Connect workers of every release (DistributedConfig)."""
POLL_INTERVAL_MS = 300_000
"""max.poll.interval.ms of every Java consumer (ConsumerConfig, KIP-62)."""
JOIN_LAPSE_MS = 5_000
"""A JoinGroup is given this much longer than the rebalance timeout (AbstractCoordinator.JOIN_GROUP_TIMEOUT_LAPSE)."""
GAVE_UP_MS = 2_000
"""A client looks for timed out requests whenever it polls the network: within this of the timeout it has given up."""
SCHEDULED_DELAY_MS = 300_000
"""scheduled.rebalance.max.delay.ms of Connect workers (DistributedConfig, KIP-415)."""
CONNECT_REBALANCE_MS = 60_000
"""rebalance.timeout.ms of Connect workers (DistributedConfig); a consumer's is its max.poll.interval.ms."""

# The join barrier
INITIAL_DELAY_MS = 3_000
"""group.initial.rebalance.delay.ms of every broker from 0.11 on unless set (KIP-134); the server.properties that Kafka
ships sets 0."""
BARRIER_ALLOWED_MS = 3_000
"""Contract: a barrier is long when it stands this much longer than heartbeats and the initial delay explain."""
START_UP_BARRIER_MS = 60_000
"""While processes start, each newcomer prolongs the barrier: containers of one deployment come up within a minute."""
LAST_JOIN_MS = 1_500
"""The coordinator ends the barrier when the last JoinGroup arrives: whoever joined earlier was not waited for."""

# The coordinator
ALL_AT_ONCE_MS = 5_000
"""Members notice a coordinator that died by their broken connections, and by their next heartbeat at the latest."""
ONE_LOSS_MS = 15_000
"""Losses of one coordinator follow each other within this: with its host gone, the connection set-up of a client times
out after 10 s (socket.connection.setup.timeout.ms, KIP-601), and it asks again."""
FOUND_AGAIN_MS = 1_000
"""A coordinator that is there is found again by then: two lookups, retry.backoff.ms (100 ms) apart."""
HAND_OVER_MS = 60_000
"""What a broker logs of its stop and another of loading the group belongs to one move: from the stop to the fencing of
a broker pass 9 s (broker.session.timeout.ms, KRaftConfigs) or 18 s (zookeeper.session.timeout.ms, ZkConfigs; 6 s before
2.5, KIP-537), and large partitions load long."""
STOP_TO_LOAD_MS = 30_000
"""A move begins with the broker's stop when no more than a ZooKeeper session lies between it and the loading."""
DENIED_MS = 10_000
"""A client that is refused a group gives its coordinator up, and asks again after at most ten back-offs of 1 s."""
AFTER_MOVE_MS = 20_000
"""Members find a new coordinator and join again within this: a metadata refresh and a few back-offs."""
WHOLE_CLUSTER_MS = 60_000
"""Whoever shuts a cluster down tells all of its brokers to stop within this."""
SESSION_END_MS = 1_500
"""A session that restarts when its group is loaded (GroupCoordinator.onGroupLoaded) ends exactly one session later, but
for the time from the line about the group to the last of its members and for the tick of the coordinator's timer
(SystemTimerReaper, 200 ms)."""

# The offsets topic
OFFSETS_WRITE_MS = 5_000
"""offsets.commit.timeout.ms of every broker unless set (GroupCoordinatorConfig): how long a coordinator waits for a
write to be replicated."""

# The assignment
ASSIGNED_LATE_MS = 1_500
"""An assignor that ends this much before its session does has all but used it up; the heartbeat before it is not
logged."""
TOPICS_LATE_MS = 10_000
"""Topics that are created along with an application appear within this; a group that waits longer was not meant to."""
ONE_WAIT_MS = 60_000
"""Members are told of missing topics at every heartbeat; a longer silence ends the wait."""

# What lines of one thing have in common
NEXT_HEARTBEAT_MS = 5_000
"""A member hears of a rebalance in the response to its next heartbeat: Java clients send one every 3 s by default
(heartbeat.interval.ms), and the response takes its time."""
ID_GIVEN_BEFORE_MS = 150
"""A member id is given at once to who asks for one (KIP-394): JoinGroup was sent this shortly before."""
ID_GIVEN_AFTER_MS = 20
"""What clocks of one host, or clocks that were set by each other, still differ by."""
SUCCESSORS_OVERLAP_MS = 5_000
"""An instance that closes may still write while the next one starts: Streams closes its state stores for seconds."""
ONE_EPOCH_MS = 60_000
"""Classic members of a consumer group reach an epoch within a rebalance of its beginning (KIP-848); the same number a
minute apart is of another life of the group."""
ONE_LIFE_MS = 60_000
"""Lines about one generation lie within a rebalance; the same number a minute later is of a group that was born again,
for a group that empties begins to count anew when its offsets are gone."""
WITHIN_A_REJOIN_MS = 50
"""A rebalance begins a request after the member went that comes back at once."""
SAME_MOMENT_MS = 50
"""Lines of one request that two threads of a process write."""
FOLLOW_UP_TOLD_MS = 100
"""The member that requests a follow-up rebalance logs why, and may do so after the coordinator has logged its begin."""
FOLLOW_UP_MS = 60_000
"""Who asks for a follow-up, and what announces it, is of the rebalance before: no older than a long join barrier."""
DELAY_ENDS_MS = 3_000
"""scheduled.rebalance.max.delay.ms is over for a worker at its next tick or heartbeat, 3 s unless set."""
HANDED_OVER_AT_ONCE_MS = 1_000
"""A cooperative member that gave partitions up rejoins in the poll() that told it so."""
STOPS_WORK_MS = 15_000
"""task.shutdown.graceful.timeout.ms is 5 s; connectors are stopped before the tasks."""
LATE_LINE_MS = 500
"""A client writes that it joined after a moment of garbage collection, or of a busy disk."""
WAITED_IN_VAIN_MS = 10_000
"""A member that never rejoins holds the join barrier open for the rebalance timeout; silently before 2.7."""
GIVEN_UP_LATE_MS = 15_000
"""Clients' clocks differ, and a member may give up in the middle of its successor's start."""
STATIC_CLOSE_MS = 2_000
"""A static member that closes gives its partitions up in the same close(), before or after its last heartbeat."""
ONE_START_MS = 45_000
"""Lines of one start come within this: a slow machine takes seconds between config dump and subscription."""
SILENT_START_MS = 10_000
"""A process that starts is not silent for as long."""
START_LINES_MS = 1_500
"""A consumer prints its configuration and its version in its constructor: on a slow machine a second apart."""
STOP_LINES_MS = 5_000
"""Lines of one close(): a consumer waits up to its timeout for LeaveGroup and the last commit."""
STARTED_LATELY_MS = 60_000
"""A static member that joins within this of its configuration was restarted: its join answers no line of before."""
CLOSES_AFTER_MS = 30_000
"""A consumer that unsubscribed in order to close says so within the time that close() gives itself, 30 s unless set
(ConsumerUtils.DEFAULT_CLOSE_TIMEOUT_MS)."""
TOLD_BY_BOTH_MS = 20_000
"""Client and coordinator tell the same departure within this: clocks differ, and a stopped client writes late."""
TAKEN_BACK_MS = 1_000
"""A stream thread whose commit carries a stale epoch is back with its next heartbeat, which it sends at once."""
ASKS_AGAIN_MS = 1_000
"""A client joins with the id it was given at once (KIP-394); clocks of hosts differ by less."""
RETURN_TOLD_MS = 1_000
"""A coordinator tells the return of a static member in several lines of one request."""
ITS_ARRIVAL_MS = 29_999
"""A static member that is back joined no longer before or after the line that says so: two returns share no join."""
LOGS_END_MS = 2_000
"""Logs that end this shortly after an eviction show nothing of what came of it: no JVM is back within two seconds."""
LOST_AT_THE_END_MS = 2_000
"""A member that is evicted may have lost its coordinator this long before: half of what it takes to find it again."""
LAST_ONE_OUT_MS = 101
"""A generation that has members this long after the last departure was formed without those who left."""
BUG_LINES_MS = 60_000
"""Lines of one known bug follow each other within this unless its signature says otherwise."""
DRAWN_AROUND_MS = 60_000
"""What brokers say this long around a rebalance is drawn where they say more than can be shown."""

# Clocks
FARTHEST_CLOCK_MS = 14 * 60 * 60 * 1000
"""No zone is further from UTC (Kiribati): what seems further apart is of another time, and no clock."""
SMALLEST_SKEW_MS = 400
"""Below this a difference may as well be the network or a busy process; it is shown, not applied."""
LARGEST_SKEW_MS = 10 * 60 * 1000
"""A clock that only a generation number shows is off by no more: further apart, the number is of another group."""
RESTART_NOT_SKEW_MS = 5_000
"""A difference beyond this that only restarts of static members tell is the time between them, not of clocks."""
A_SECOND_MS = 1_000
A_MINUTE_MS = 60_000
"""How far apart the times of layouts without milliseconds, or without seconds, are at least."""
ROOM_FOR_AN_ANSWER_MS = 2
"""Between two lines of a coordinator in one whole second there is room for what a client says in between."""
A_LINE_MS = 1_000
"""What one line counts for where only their order is known: close enough for cause and effect to meet."""

# What if
WORTH_A_CHANGE_MS = 1_000
"""A gain under a second is not worth a change of protocol."""
USUAL_TIMEOUTS_MS = (6_000, 10_000, 15_000, 20_000, 30_000, 45_000, 60_000, 120_000, 180_000, 300_000)
"""What people set timeouts to."""
LEAST_SESSION_MS = 6_000
"""group.min.session.timeout.ms of a broker whose logs show none: its default."""
LIKE_THE_LOGS_MS = 2_000
"""A simulation of what did happen comes this close to it, partition by partition: else it is not understood."""
BARRIER_TIMEOUT_MS = 300_000
"""How long a simulated barrier waits where no log shows max.poll.interval.ms: its default, which nobody exceeded."""
SHORT_BATCH_MS = 100
"""Batches that are shorter are told as that: logs tell them no better."""
SHORTEST_BATCH_MS = 20
"""Simulated members poll no more often; faster ones lose no more time between polls than the log's clock can tell."""
IDLE_MS = 50
"""Whoever rejoins within this of the word of a rebalance waited inside poll(), without partitions or records."""
LATE_HEARTBEAT_MS = 50
"""A heartbeat thread looks at its timer every retry.backoff.ms (100 ms unless set): half of that is how late it is."""
TWO_REQUESTS_MS = 50
"""JoinGroup's answer, the assignment and SyncGroup's answer, or two heartbeats: members wait no longer than this."""

SHORTEST_SESSION_MS = 10_000
"""aiokafka's session timeout where nobody set it; KafkaJS' is three times as long."""
