"""The examples at the end of every `--help`: a command line and what it shows."""

from __future__ import annotations

PROGRAM = "rebalance-forensics"
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "analyze": (
        ("analyze logs/", "what happened, why, and the lines that prove it"),
        ("analyze /var/log/kafka app.tar.gz --since 2h --html report.html", "the last two hours, also as an HTML page"),
        ("analyze logs/ --why", "also every cause considered, with the evidence for and against it"),
        ("analyze logs/ --export markdown=ticket.md --anonymize", "a ticket without real names"),
        ("analyze --clipboard", "lines just copied from a ticket or a chat"),
        ("kubectl logs -l app=payments --timestamps | rebalance-forensics analyze -", "straight from a cluster"),
    ),
    "explain": (
        ("explain rebalance-straggler", "how it happens, how to recognize it, what to do"),
        ("explain max.poll.interval.ms", "a setting; likewise KIP-345, KAFKA-14024, UNKNOWN_MEMBER_ID or 25"),
        ("explain logs/#4f1c9a20", "how this incident was judged, sign by sign (the id as analyze prints it)"),
        (
            "explain --line 'Member c-1-77aa in group payments has failed, removing it from the group'",
            "what the line means, field by field",
        ),
        ("grep -m 1 LeaveGroup app.log | rebalance-forensics explain --line -", "the same, without quoting the line"),
    ),
    "timeline": (
        ("timeline logs/ --group payments --since 30m", "every generation of the last half hour"),
        ("timeline logs/ --group payments --verbose", "also repetitive generations, and every member"),
    ),
    "whois": (("whois logs/ payments-consumer-2", "its member ids, host and files over time"),),
    "events": (("events logs/ | jq 'select(.event == \"MemberFailed\")'", "every eviction, one line of JSON each"),),
    "coverage": (("coverage logs/", "was each file recognized, and which process wrote it?"),),
    "compare": (
        ("compare before/ after/", "did the change help?"),
        (
            "compare monday/#4f1c9a20 tuesday/#85dfcf11",
            "are these two incidents the same? (ids as analyze prints them)",
        ),
    ),
    "fleet": (
        ("fleet /lake/rebalances --html fleet.html", "the last four weeks of all groups, also as an HTML page"),
        (
            "fleet s3://logs/rebalances --since 7d --known accepted.toml",
            "last week, without the incidents that the team has accepted",
        ),
        ("fleet /lake/rebalances --export markdown=-", "for Monday's meeting"),
    ),
    "doctor": (("doctor", "can Spark run here, and what would make it faster?"),),
    "warmup": (("warmup", "once after an installation"),),
    "demo": (
        ("demo", "a slow consumer"),
        ("demo rebalance-straggler", "another sample incident"),
        ("demo --all", "all of them in one report"),
    ),
    "completion": (("completion bash", 'for ~/.bashrc, within eval "$(…)"'),),
    "man": (("man | man -l -", "the manual page, without installing it"),),
    "patterns": (("patterns list | grep MemberFailed", "which log lines mean that a member failed"),),
    "patterns list": (("patterns list | grep MemberFailed", "which log lines mean that a member failed"),),
    "patterns check": (("patterns check my-patterns/", "before you use them with --patterns my-patterns/"),),
    "patterns match": (("patterns match < server.log", "the pattern, event and fields of each line"),),
}


def examples(command: str) -> str:
    """The examples of a command for the end of its help; click does not wrap what follows a backspace character."""
    lines = (f"  {_command_line(line)}\n      {meaning}" for line, meaning in EXAMPLES[command])
    return "\b\nExamples:\n" + "\n".join(lines)


def _command_line(line: str) -> str:
    return line if PROGRAM in line else f"{PROGRAM} {line}"
