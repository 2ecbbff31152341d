"""The command-line program: registers all commands and turns errors into messages and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from rebalance_forensics import __version__
from rebalance_forensics.cli import analyze, completion, demo, doctor, explain, fleet, man_page, patterns, queries
from rebalance_forensics.cli.config_file import defaults_from
from rebalance_forensics.cli.examples import examples
from rebalance_forensics.cli.outcomes import DEFECT, INTERRUPTED, OK, REFUSED, leave, say, warn
from rebalance_forensics.cli.parts import Parts
from rebalance_forensics.defects import DefectError, sentence
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.process import stop_signals

NAME = "rebalance-forensics"
START_WITH = """\b
Start with:
  rebalance-forensics demo             report on a shipped sample incident
  rebalance-forensics analyze logs/    report on your logs
The --help of each command has examples.
"""

app = typer.Typer(
    name=NAME,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(asked: bool) -> None:  # noqa: FBT001 - typer's way to call it
    if asked:
        say(f"{NAME} {__version__}\n")
        leave(OK)


@app.callback(epilog=START_WITH)
def root(
    context: typer.Context,
    *,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Read default options from FILE instead of ~/.config/rebalance-forensics/config.toml.",
            show_default=False,
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Why won't this Kafka consumer group stop rebalancing? Logs in, proven root cause out.

    Exit codes: 0 success; 1 an incident at or above --fail-on was found; 2 invalid usage or input;
    3 incomplete report, because part of the input could not be read or an internal error occurred;
    70 internal error, no report; 75 another job is writing the tables; 129, 130, 143 stopped by SIGHUP,
    Ctrl-C, SIGTERM. Results go to standard output, messages to standard error. NO_COLOR and COLUMNS are
    respected.
    """
    del version  # already printed by its callback
    context.default_map = defaults_from(config)


app.command(epilog=examples("analyze"))(analyze.analyze)
app.command(epilog=examples("explain"))(explain.explain)
app.command(epilog=examples("timeline"))(queries.timeline)
app.command(epilog=examples("whois"))(queries.whois)
app.command(epilog=examples("events"))(queries.events)
app.command(epilog=examples("coverage"))(queries.coverage)
app.add_typer(patterns.app, name="patterns")
app.command(epilog=examples("compare"))(queries.compare)


@app.command(add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def job(context: typer.Context) -> None:
    """Run as a scheduled Spark job that writes tables."""
    parts: Parts = context.find_root().obj
    leave(parts.job(context.args))


app.command(epilog=examples("fleet"))(fleet.fleet)


app.command(epilog=examples("doctor"))(doctor.doctor)
app.command(epilog=examples("warmup"))(doctor.warmup)
app.command(epilog=examples("demo"))(demo.demo)
app.command(epilog=examples("completion"))(completion.completion)
app.command(epilog=examples("man"))(man_page.man)


def main(arguments: Sequence[str], parts: Parts) -> NoReturn:
    """Run a command and exit the process with its exit code."""
    # If a stream is closed (`>&-`), Python sets it to None.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: PTH123, SIM115 - there until the process ends
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        # Logs may contain any character: one that the terminal's encoding lacks must not fail the report.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    command = typer.main.get_command(app)
    # Typer's own options edit the user's shell files; `completion` prints the script instead.
    command.params = [
        parameter for parameter in command.params if parameter.name not in ("install_completion", "show_completion")
    ]
    try:
        code = command.main(args=list(arguments), prog_name=NAME, standalone_mode=False, obj=parts)
    except KeyboardInterrupt:
        leave(_interrupted())
    except Exception as error:  # noqa: BLE001 - classified below
        leave(_report_error(error, arguments))
    # Typer turns Ctrl-C into an exit code without a message.
    leave(_interrupted() if code == INTERRUPTED else code if isinstance(code, int) else OK)


def _report_error(error: Exception, arguments: Sequence[str]) -> int:
    if stop_signals.is_stopping():
        # The error is only a consequence of the interruption.
        return _interrupted()
    if isinstance(error, InputError | OSError):
        return _refused(error)
    return _wrong_usage(error, arguments) if hasattr(error, "format_message") else _unexpected(error, arguments)


def _refused(error: Exception) -> int:
    if isinstance(error, BrokenPipeError):
        # The reader of the pipe, such as `head`, has closed it.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - there until the process ends
        return OK
    if isinstance(error, OSError) and error.filename and error.strerror:
        warn(f"{error.filename}: {error.strerror.lower()}.")
    else:
        warn(str(getattr(error, "strerror", None) or error))
    return REFUSED


def _interrupted() -> int:
    warn(stop_signals.sentence())
    return stop_signals.exit_code()


def _unexpected(error: Exception, arguments: Sequence[str]) -> int:
    # Ctrl-C as reported by click, not enough memory, or an internal error that left no report.
    if type(error).__name__ == "Abort":
        return _interrupted()
    if isinstance(error, MemoryError):
        warn("there is not enough memory; analyze fewer files at once, or use a larger machine.")
    elif isinstance(error, DefectError):
        warn(f"{error}.")
    else:
        warn(f"{sentence(f'{next(iter(arguments), NAME)} broke off and left no report', error)}.")
    return DEFECT


def _wrong_usage(error: Exception, arguments: Sequence[str]) -> int:
    # Usage errors of typer, in one sentence. Typer vendors click, so they are recognized by their attributes.
    if type(error).__name__ == "NoArgsIsHelpError":
        say(f"{error}\n")
        return REFUSED
    message_of = getattr(error, "format_message", str)
    context = getattr(error, "ctx", None)
    command = context.command_path if context else NAME
    sentence = " ".join(message_of().split()).rstrip(".").replace("Value error, ", "")
    if ":" not in sentence and context and getattr(getattr(error, "param", None), "param_type_name", "") == "argument":
        # If NAME is missing after PATH..., the parser takes the only path for NAME and reports PATH as missing.
        given = [argument for argument in arguments[1:] if not argument.startswith("-")]
        if len(given) == 1 and Path(given[0]).exists():
            sentence = sentence.replace("'PATH'", "'NAME'")
        taken = [piece.strip("{}") for piece in context.command.collect_usage_pieces(context)[1:]]
        sentence = f"{sentence}: {context.command.name} takes {' '.join(taken).replace('}', '')}"
    warn(f"{sentence}{' See' if sentence.endswith('?') else '; see'} {command} --help.")
    return REFUSED
