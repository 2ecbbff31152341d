// A filter reaches incidents, groups, rows of tables, marks of the overview and lanes alike.
const FILTERS = ["severity", "group", "cause", "host", "member", "text"];
const ANY = "\n";  // between several groups, causes or names of one element

const includes = (names, wanted) => names.some((name) => name.toLowerCase().includes(wanted));
const lanesOf = (element) => all(".names li", element).flatMap((name) => [name.title, name.textContent]);
const namesIn = new Map();
const namesOf = (element) => {
  if (!namesIn.has(element)) namesIn.set(element, [...(element.dataset.names || "").split(ANY), ...lanesOf(element)]);
  return namesIn.get(element);
};
const wordsIn = new Map();
const wordsOf = (element) => {
  if (!wordsIn.has(element)) wordsIn.set(element, element.textContent.toLowerCase());
  return wordsIn.get(element);
};
// An element that does not say where it belongs may belong anywhere: it stays.
const fits = (element, name) => {
  const known = element.dataset[name];
  return !state[name] || known === undefined || known.split(ANY).includes(state[name]);
};
const wantedBy = (element) => {
  const { of } = element.dataset;
  // A row or a mark stands for incidents shown elsewhere: it stays while one of them does.
  const shown = of ? of.split(ANY).map((id) => document.getElementById(id) || document.getElementById(id.replace("incident-", "listed-"))).filter(Boolean) : [];
  const sources = shown.length ? shown : [element];
  const text = state.text.toLowerCase();
  return ["severity", "group", "cause"].every((name) => fits(element, name))
    && sources.some((one) => fits(one, "host"))
    && (!state.member || sources.some((one) => includes(namesOf(one), state.member.toLowerCase())))
    && (!text || sources.some((one) => wordsOf(one).includes(text)));
};
// The axis of all incidents stands below the first verdict; it stays where that one is filtered out.
const placeAxis = () => {
  const place = $("axis-place"), article = place && place.closest("article");
  if (place && article.hidden) article.before($("axis"));
  else if (place) place.append($("axis"));
};
const applyFilters = () => {
  const form = $("filters").elements;
  for (const name of FILTERS) state[name] = form[name] ? form[name].value.trim() : "";
  for (const element of all("[data-group]:not(.picture)")) element.toggleAttribute("hidden", !wantedBy(element));
  for (const row of all("tr[data-member]")) row.hidden = !row.dataset.member.toLowerCase().includes(state.member.toLowerCase());
  for (const section of all("main > section[aria-labelledby]")) {
    const parts = all(":scope > [data-group]", section);
    section.hidden = parts.length > 0 && parts.every((part) => part.hidden);
  }
  placeAxis();
  for (const picture of pictures.values()) picture.filter();
  // Where the headline is hidden, the page is still headed by something.
  const headless = all("h1").every((one) => one.closest("[hidden]"));
  for (const [name, value] of [["role", "heading"], ["aria-level", "1"]]) {
    if (headless) $("product").setAttribute(name, value); else $("product").removeAttribute(name);
  }
  for (const tally of all(".tally")) tally.hidden = FILTERS.some((name) => state[name]);
  tellFiltered();
  keepAddress();
};
const tellFiltered = () => {
  const asked = FILTERS.filter((name) => state[name]);
  const left = all("article.incident, details.incident, tr[id^=listed-]").filter((one) => !one.hidden).length;
  const groups = all("details.group").filter((one) => !one.hidden).length;
  const none = left || !asked.length ? "" : `No incident matches ${asked.map((name) => `${name} ${state[name]}`).join(", ")}`
    + `${groups ? `; ${counted(groups, "group")} below ${groups === 1 ? "does" : "do"}` : ""}`
    + `${state.member && $("none").dataset.leftOut ? `; ${$("none").dataset.leftOut}` : ""}.`;
  $("none-said").textContent = none;
  $("none").hidden = !none;
  $("says").textContent = none || `${counted(left, "incident")} and ${counted(groups, "group")} shown`;
};
const clearFilters = () => {
  $("filters").reset();
  applyFilters();
  $("filters").querySelector("select, input").focus();
};
const unfoldCause = (button) => {
  const open = button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", String(open));
  for (const row of all(`[data-in-cause="${button.dataset.ofCause}"]`)) row.toggleAttribute("data-folded", !open);
};
const unfoldFilters = () => {
  const open = $("unfold-filters").getAttribute("aria-expanded") !== "true";
  $("unfold-filters").setAttribute("aria-expanded", String(open));
  $("filters").classList.toggle("unfolded", open);
};
