const start = (figure) => {
  const name = figure.dataset.picture;
  if (!pictures.has(name)) {
    pictures.set(name, new Picture(figure));
    pictures.get(name).filter();
  }
  return pictures.get(name);
};
// To ask the browser for the size of something folded, or far below the screen, makes it lay out what nobody sees yet.
const nearing = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) if (isIntersecting) { nearing.unobserve(target); start(target); }
}, { rootMargin: "100%" });
const wake = (root) => {
  for (const figure of all(".picture", root)) {
    if (figure.closest("details:not([open])")) continue;
    if (!figure.closest(".group")) { start(figure); continue; }
    figure.querySelector(".controls").hidden = false;
    nearing.observe(figure);
    for (const name of ["pointerenter", "focusin"]) figure.addEventListener(name, () => start(figure), { once: true });
  }
};
wake(document);
for (const details of all("details")) details.addEventListener("toggle", () => { if (details.open) wake(details); });
$("filters").hidden = false;
$("unfold-filters").hidden = false;
$("unfold-filters").addEventListener("click", unfoldFilters);
for (const button of all(".unfold")) button.addEventListener("click", () => unfoldCause(button));
$("filters").addEventListener("input", applyFilters);
$("filters").addEventListener("submit", (event) => event.preventDefault());
$("clear-filters").addEventListener("click", clearFilters);
$("zone").addEventListener("click", switchZone);
$("panel-search").addEventListener("input", listLines);
$("panel-close").addEventListener("click", hidePanel);
// Before the page acts on them: what opens the panel is not what scrolls on from it.
for (const name of ["wheel", "pointerdown", "keydown"]) addEventListener(name, touched, { passive: true, capture: true });
addEventListener("scroll", leavePanel, { passive: true });
addEventListener("keydown", (event) => { if (event.key === "Escape") { tip(""); hidePanel(); } });
for (const chain of chains) {
  for (const link of all("[data-at]", chain)) {
    const said = link.lastElementChild.textContent;
    link.append(" ");
    const button = put(link, "button", "show");
    button.type = "button";
    button.className = "show";
    button.setAttribute("aria-label", `Show in the picture: ${said}`);
  }
  chain.addEventListener("click", ({ target }) => {
    if (!target.classList.contains("show")) return;
    const picture = start(document.querySelector(`.picture[data-picture="${chain.dataset.in}"]`));
    picture.center(Number(target.parentElement.dataset.at), Math.min(picture.length, 30000));
    picture.light(Number(chain.dataset.incident));
    picture.figure.scrollIntoView({ block: "center" });
    picture.plot.focus({ preventScroll: true });
  });
}
for (const summary of all("details.incident > summary")) {
  summary.addEventListener("click", () => {
    const { open, id } = summary.parentElement, incident = id.replace("incident-", "");
    if (!open) chosenIncident = incident;
    else if (chosenIncident === incident) chosenIncident = "";
    keepAddress();
  });
}
for (const actions of all(".actions")) {
  actions.hidden = false;
  actions.addEventListener("click", ({ target }) => {
    if (target.dataset.do === "copy") copyIncident(target);
    if (target.dataset.do === "print") printIncident(target);
  });
}
addEventListener("hashchange", readAddress);
if (location.hash) readAddress();
addEventListener("beforeprint", () => {
  if (printingOne()) return;
  for (const details of all("details:not([open])")) { details.open = true; details.dataset.printed = ""; }
  for (const figure of all(".picture")) start(figure);
});
addEventListener("afterprint", () => {
  printedOne();
  for (const details of all("details[data-printed]")) { details.open = false; delete details.dataset.printed; }
});
