"""The `demo` command: analyzes one of the shipped sample incidents, or all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rebalance_forensics.cli.analysis_run import exit_code, options_of, run
from rebalance_forensics.cli.outcomes import colored, leave, say, warn, width
from rebalance_forensics.cli.parameters import EngineName, EngineOption, JavaHomeOption
from rebalance_forensics.pipeline.refusals import InputError, did_you_mean

PAGE = Path("rebalance-report.html")
# The most common cause of repeated rebalances.
DEFAULT_SAMPLE = "slow-processing"


def _complete_name(incomplete: str) -> list[str]:
    return [name for name in _names(sample_logs()) if name.startswith(incomplete)]


def demo(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The sample incident, named by its cause.", autocompletion=_complete_name),
    ] = DEFAULT_SAMPLE,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Analyze all sample incidents at once.")] = False,
    engine: EngineOption = EngineName.AUTO,
    java_home: JavaHomeOption = None,
) -> None:
    """Analyze a shipped sample incident and print the report.

    Also writes rebalance-report.html to the current directory, without opening it.
    """
    logs = sample_logs()
    chosen = logs if everything else _sample(logs, name)
    options = options_of(engine=engine, java_home=java_home, cluster_per_directory=everything, lanes=True)
    analysis = run([str(chosen)], options)
    from rebalance_forensics.report.html import to_html  # noqa: PLC0415 - not needed while Spark started
    from rebalance_forensics.report.output_files import write_whole  # noqa: PLC0415
    from rebalance_forensics.report.terminal import render  # noqa: PLC0415

    say(render(analysis.report, width=width(), color=colored()))
    write_whole(PAGE, to_html(analysis.report))
    warn(f"wrote {PAGE}; open it in a browser. The logs are in {chosen}.")
    if not everything:
        others = len(_names(logs)) - 1
        warn(f"{others} more samples: demo --all, or demo NAME, such as demo rebalance-straggler.")
    leave(exit_code(analysis))


def sample_logs() -> Path:
    """The directory of the samples: inside an installed package, or next to it in a source tree."""
    package = Path(__file__).resolve().parents[1]
    for candidate in (package / "_samples", package.parent / "sample_logs"):
        if candidate.is_dir():
            return candidate
    raise InputError("the sample logs are missing from this installation; reinstall rebalance-forensics.")


def _sample(logs: Path, name: str) -> Path:
    # The directory of a sample; InputError suggests similar names if there is none with this name.
    names = _names(logs)
    if name in names:
        return logs / name
    raise InputError(f"no sample is called {name!r}; {did_you_mean(name, names, 'samples')}")


def _names(logs: Path) -> list[str]:
    return sorted(sample.name for sample in logs.iterdir() if sample.is_dir())
