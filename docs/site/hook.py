"""mkdocs asks here for the pages that are made from the product: causes, messages, reports on the samples.

Build with `python -m mkdocs build` from the root of the repository, so that this folder can be imported.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.site import cause_pages, message_pages
from docs.site.markdown import slug
from docs.site.recorded import recorded
from rebalance_forensics.diagnosis.engine.discovery import all_causes
from rebalance_forensics.diagnosis.reference.glossary import glossary

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\[(?P<words>[^\]\[]*)\]\((?P<path>(?!https?:|#|mailto:)[^)#\s]+)(?:#[^)\s]*)?\)")
GUIDES = (
    "getting-logs",
    "reading-a-report",
    "outputs",
    "formats",
    "running-on-a-cluster",
    "tables",
    "scaling",
    "trust",
)
CONTRIBUTING = ("architecture", "adding-a-pattern", "adding-a-root-cause", "adding-a-sign")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Lay out the navigation: guides by hand, the rest from the product."""
    speakers = {message_pages.speaker_of(one) for one in message_pages.patterns()}
    config.nav = [
        {"Home": "index.md"},
        {"Guides": [f"{name}.md" for name in GUIDES if (ROOT / "docs" / f"{name}.md").exists()]},
        {
            "Causes": [
                "causes/index.md",
                *(f"causes/{name}.md" for name in sorted(all_causes())),
                {"Follow-ups": [f"causes/follow-up-{name}.md" for name in glossary().follow_ups]},
            ]
        },
        {
            "Log lines": [
                "messages/index.md",
                *(
                    {
                        title: [
                            f"messages/{slug(name)}/index.md",
                            *(
                                message_pages.path_of(one)
                                for one in message_pages.patterns()
                                if message_pages.speaker_of(one) == name
                            ),
                        ]
                    }
                    for name, title in message_pages.SPEAKERS.items()
                    if name in speakers
                ),
            ]
        },
        {"Reference": ["events.md", "clients.md", "known-bugs.md"]},
        {"Contributing": [f"{name}.md" for name in CONTRIBUTING]},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made from the product."""
    shown = recorded()
    home = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    made = {"index.md": home, **dict(cause_pages.pages(shown)), **dict(message_pages.pages(shown))}
    made |= {f"reports/{name}.html": text for name, text in shown.reports.items()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - mkdocs passes it by name
    """Of links to files of the repository that are no page of the site only the words stay."""

    def kept(link: re.Match[str]) -> str:
        return link[0] if _is_page(link["path"], page, files) else link["words"]

    return LINK.sub(kept, markdown)


def _is_page(path: str, page: Page, files: Files) -> bool:
    parts: list[str] = page.file.src_uri.split("/")[:-1]
    for piece in path.split("/"):
        if piece == "..":
            if not parts:
                return False
            parts.pop()
        elif piece not in (".", ""):
            parts.append(piece)
    return files.get_file_from_path("/".join(parts)) is not None
