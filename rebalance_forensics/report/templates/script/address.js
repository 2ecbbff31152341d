// What is chosen stands in the address behind the #, which no server sees: a link shows what its sender saw.
let chosenIncident = "", shownPicture = null, writing = 0;
const ADDRESS_MS = 150;  // browsers refuse to change the address many times a second

const addressNow = () => {
  const told = new URLSearchParams();
  for (const name of FILTERS) if (state[name]) told.set(name, state[name]);
  if (state.local) told.set("times", "local");
  if (chosenIncident) told.set("incident", chosenIncident);
  if (shownPicture && (shownPicture.span < WIDTH || shownPicture.layer !== "members")) {
    told.set("picture", shownPicture.id);
    if (shownPicture.layer !== "members") told.set("rows", shownPicture.layer);
    if (shownPicture.span < WIDTH) {
      told.set("from", new Date(Math.round(shownPicture.time(0))).toISOString());
      told.set("to", new Date(Math.round(shownPicture.time(1))).toISOString());
    }
  }
  return String(told);
};
const keepAddress = () => {
  clearTimeout(writing);
  writing = setTimeout(() => {
    const told = addressNow();
    if (told !== location.hash.slice(1)) history.replaceState(null, "", told ? `#${told}` : location.pathname + location.search);
  }, ADDRESS_MS);
};
const openIncident = (id, behavior = "auto") => {
  const target = document.getElementById(`incident-${id}`) || document.getElementById(`listed-${id}`);
  if (!target) return;
  chosenIncident = id;
  if (target.tagName === "DETAILS") target.open = true;
  target.scrollIntoView({ behavior });
};
const showInPicture = (told) => {
  const figure = all(".picture").find((one) => one.dataset.picture === told.get("picture"));
  if (!figure) return;
  for (let outer = figure.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
  const picture = start(figure), from = Date.parse(told.get("from")), to = Date.parse(told.get("to"));
  if (told.get("rows") === "partitions" && figure.querySelector(".switch")) picture.choose("partitions");
  if (to > from) picture.center((from + to) / 2, to - from);
  shownPicture = picture;
  figure.scrollIntoView({ behavior: "instant", block: "center" });
};
const named = (hash) => {
  try {
    return document.getElementById(decodeURIComponent(hash));
  } catch {
    return null;  // no address that this page wrote
  }
};
const readAddress = () => {
  const hash = location.hash.slice(1);
  // A link of the page itself leads to an element; what is chosen besides stays as it is.
  const target = hash && !hash.includes("=") && named(hash);
  if (target) {
    const incident = /^(?:incident|listed)-(.+)$/.exec(target.id);
    if (incident) openIncident(incident[1]);
    keepAddress();
    return;
  }
  const told = new URLSearchParams(hash), form = $("filters").elements;
  for (const name of FILTERS) if (form[name]) form[name].value = told.get(name) || "";
  chosenIncident = "";
  // Filters that are set are not hidden behind their button.
  if (FILTERS.some((name) => told.get(name)) && !form.namedItem("text").checkVisibility()) unfoldFilters();
  if ((told.get("times") === "local") !== state.local) switchZone();
  applyFilters();
  // A reader who followed a link has seen nothing of the page to scroll past.
  if (told.has("incident")) openIncident(told.get("incident"), "instant");
  if (told.has("picture")) showInPicture(told);
};
