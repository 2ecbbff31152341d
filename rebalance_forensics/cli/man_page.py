"""The `man` command: prints the manual page, made from the texts of `--help`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from rebalance_forensics import __version__
from rebalance_forensics.cli.outcomes import OK, leave, say

NAME = "rebalance-forensics"
FILES = (
    ("~/.config/rebalance-forensics/config.toml", "Defaults of options; $XDG_CONFIG_HOME instead of ~/.config if set."),
)


def man(context: typer.Context) -> None:
    """Print the manual page in roff, for man."""
    say("\n".join(_page(context.find_root())) + "\n")
    leave(OK)


def _page(root: Any) -> Iterator[str]:  # noqa: ANN401 - typer brings its own copy of click
    program = root.command
    about, _, rest = (program.help or "").partition("\n\n")
    yield f'.TH REBALANCE-FORENSICS 1 "" "{NAME} {__version__}" "User Commands"'
    yield f".SH NAME\n{NAME} \\- {_plain(about)}"
    yield f".SH SYNOPSIS\n.B {NAME}\n[OPTIONS] COMMAND [ARGUMENTS]"
    yield f".SH DESCRIPTION\n{_plain(rest)}"
    yield ".SH OPTIONS"
    yield from _options(program, root)
    yield ".SH COMMANDS"
    for name, command in program.commands.items():
        yield from _command(name, command, root)
    yield ".SH FILES"
    for path, what in FILES:
        yield f".TP\n.I {_escaped(path)}\n{_escaped(what)}"


def _command(name: str, command: Any, parent: Any) -> Iterator[str]:  # noqa: ANN401
    context = command.context_class(command, info_name=name, parent=parent)
    yield f".SS {_escaped(name)}"
    yield f".B {_escaped(context.command_path)}\n{_escaped(' '.join(command.collect_usage_pieces(context)))}"
    for paragraph in (command.help or "").split("\n\n"):
        yield f".PP\n{_plain(paragraph)}"
    yield from _options(command, context)
    yield from _examples(command.epilog or "")
    for inner, sub in getattr(command, "commands", {}).items():
        yield from _command(f"{name} {inner}", sub, parent)


def _options(command: Any, context: Any) -> Iterator[str]:  # noqa: ANN401
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record:
            name = record[0].partition(" <")[0]  # without the type, which means nothing to users
            yield f".TP\n.B {_escaped(name)}\n{_plain(record[1])}"


def _examples(epilog: str) -> Iterator[str]:
    # The lines after "Examples:", which are not wrapped.
    _, _, lines = epilog.partition("Examples:\n")
    if lines:
        yield ".PP\nExamples:\n.PP\n.nf"
        yield from map(_escaped, lines.splitlines())
        yield ".fi"


def _plain(text: str) -> str:
    # One paragraph, without click's \b markers.
    return _escaped(" ".join(text.replace("\b", "").split()))


def _escaped(text: str) -> str:
    # Escaped for roff: backslashes, hyphens, and lines that would start like a request.
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
