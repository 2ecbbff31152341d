"""The `completion` command: prints shell completion scripts."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from rebalance_forensics.cli.outcomes import OK, leave, say

BASH = """\
_rebalance_forensics() {
    local IFS=$'\\n'
    COMPREPLY=($(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \\
        _REBALANCE_FORENSICS_COMPLETE=complete_bash "$1" 2>/dev/null))
}
complete -o default -F _rebalance_forensics rebalance-forensics
"""
ZSH = """\
#compdef rebalance-forensics
_rebalance_forensics() {
    eval "$(_TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" \\
        _REBALANCE_FORENSICS_COMPLETE=complete_zsh rebalance-forensics 2>/dev/null)"
}
compdef _rebalance_forensics rebalance-forensics
"""
FISH = """\
complete --command rebalance-forensics --arguments \
"(_REBALANCE_FORENSICS_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args \
_TYPER_COMPLETE_ARGS=(commandline -cp) rebalance-forensics 2>/dev/null)"
"""


class Shell(StrEnum):
    """Shells with a completion script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


SCRIPTS = {Shell.BASH: BASH, Shell.ZSH: ZSH, Shell.FISH: FISH}


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell to write the script for.", metavar="SHELL")],
) -> None:
    """Print the completion script for bash, zsh or fish.

    bash: add eval "$(rebalance-forensics completion bash)" to ~/.bashrc. zsh: add the same with zsh to ~/.zshrc, after
    compinit. fish: rebalance-forensics completion fish > ~/.config/fish/completions/rebalance-forensics.fish
    """
    say(SCRIPTS[shell])
    leave(OK)


def causes(incomplete: str) -> list[str]:
    """The causes and follow-ups that start with `incomplete`."""
    from rebalance_forensics.diagnosis.reference.glossary import glossary  # noqa: PLC0415

    return [name for name in sorted([*glossary().causes, *glossary().follow_ups]) if name.startswith(incomplete)]
