"""`demo`: the shipped sample logs, analyzed."""

from __future__ import annotations

from pathlib import Path

from rebalance_forensics.cli.analysis_run import exit_code, options_of, run
from rebalance_forensics.cli.options import EngineName, EngineOption, JavaHomeOption
from rebalance_forensics.cli.outcomes import colored, leave, say, warn, width
from rebalance_forensics.pipeline.refusals import InputError

PAGE = Path("rebalance-report.html")


def demo(engine: EngineOption = EngineName.SPARK, java_home: JavaHomeOption = None) -> None:
    """Analyze the shipped sample logs, print the report.

    Also writes rebalance-report.html into the current directory; opens nothing.
    """
    options = options_of(engine=engine, java_home=java_home, cluster_per_directory=True)
    analysis = run([str(sample_logs())], options)
    from rebalance_forensics.report.html import to_html  # noqa: PLC0415 - while Spark started nobody needed it
    from rebalance_forensics.report.output_files import write_whole  # noqa: PLC0415
    from rebalance_forensics.report.terminal import render  # noqa: PLC0415

    say(render(analysis.report, width=width(), color=colored()))
    write_whole(PAGE, to_html(analysis.report))
    warn(f"wrote {PAGE}; open it in a browser.")
    leave(exit_code(analysis))


def sample_logs() -> Path:
    """Where the samples are: inside an installed package, or beside it in a source tree."""
    package = Path(__file__).resolve().parents[1]
    for candidate in (package / "_samples", package.parent / "sample_logs"):
        if candidate.is_dir():
            return candidate
    raise InputError("the sample logs are missing from this installation; reinstall rebalance-forensics.")
