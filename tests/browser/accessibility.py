"""axe-core on an opened report: what it finds wrong for people who do not see it or have no mouse."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

ALIKE = 3
"""So many elements of a kind are looked at before a row, item or folded part that holds nothing else is left out."""
Seen = dict[str, int]
THIN = """([alike, before]) => {
  if (window.thinned) return before;
  window.thinned = true;
  const seen = new Map(Object.entries(before));
  const own = (node) => [node.localName, ...node.getAttributeNames(), node.className, node.getAttribute('role'),
    node.textContent.trim() === ''].join(' ');
  const kind = (node) => `${own(node.parentElement)} > ${own(node)}`;
  const drawn = (node) => node.closest('svg') !== null;
  const thin = (node) => {
    if (drawn(node)) return;
    const held = [node, ...node.querySelectorAll('*')].filter((one) => !drawn(one));
    const known = node.matches('details, article, tr, li') && held.every((one) => seen.get(kind(one)) >= alike);
    if (known) return node.remove();
    seen.set(kind(node), (seen.get(kind(node)) || 0) + 1);
    for (const child of [...node.children]) thin(child);
  };
  for (const part of [...document.body.children]) thin(part);
  return Object.fromEntries(seen);
}"""
RUN = """async (rules) => (await axe.run({exclude: ['.chart', '.axis']}, {resultTypes: ['violations'], ...rules}))
    .violations.map(one => [one.impact, one.id, one.nodes[0].html])"""


def violations(page: Page, *rules: str, seen: Seen | None = None) -> list[list[str]]:
    """Unfold everything and run axe, or the given rules of it; of what repeats itself or was `seen` over its begin."""
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true")
    known = page.evaluate(THIN, [ALIKE, seen or {}])
    if seen is not None:
        seen.update(known)
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found: list[list[str]] = page.evaluate(RUN, {"runOnly": list(rules)} if rules else {})
    return found
