// A filter reaches incidents, groups, rows of tables, marks of the overview and lanes alike.
const FILTERS = ["group", "cause", "member"];
const ANY = "\n";  // between several groups, causes or names of one element

const includes = (names, wanted) => names.some((name) => name.toLowerCase().includes(wanted));
const lanesOf = (element) => all(".names li", element).flatMap((name) => [name.title, name.textContent]);
const namesIn = new Map();
const namesOf = (element) => {
  if (!namesIn.has(element)) namesIn.set(element, [...(element.dataset.names || "").split(ANY), ...lanesOf(element)]);
  return namesIn.get(element);
};
const wantedBy = (element) => {
  const { group, cause, of } = element.dataset;
  const holds = (held, wanted) => !wanted || held === undefined || held.split(ANY).includes(wanted);
  // A row or a mark stands for incidents told elsewhere: it stays while one of them does.
  const told = of ? of.split(ANY).map((id) => document.getElementById(id) || document.getElementById(id.replace("incident-", "listed-"))).filter(Boolean) : [];
  const tellers = told.length ? told : [element];
  return holds(group, state.group) && holds(cause, state.cause)
    && (!state.member || tellers.some((one) => includes(namesOf(one), state.member.toLowerCase())));
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
