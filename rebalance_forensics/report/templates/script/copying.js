// One incident as Markdown for a ticket, or on paper by itself.
// A third of a sheet for the lanes; smaller than that nobody reads their names.
const LANES_ON_PAPER = 340, SMALLEST_ZOOM = 0.4;

const copied = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page opened from a file may not have the clipboard; what is selected may be copied all the same.
    const field = put(document.body, "textarea", text);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
};
const copyIncident = async (button) => {
  const done = await copied(data.markdown[button.dataset.incident].map(textOf).join("\n"));
  button.focus({ preventScroll: true });
  const said = done ? "Copied" : "The browser does not let this page copy";
  $("says").textContent = said;
  button.textContent = said;
  setTimeout(() => { button.textContent = "Copy as Markdown"; }, 2000);
};
const printIncident = (button) => {
  const incident = button.closest(".incident");
  for (let outer = incident; outer; outer = outer.parentElement) outer.classList.add("printed");
  const lanes = incident.querySelector(".lanes");
  if (lanes) lanes.style.setProperty("--print-zoom", Math.max(SMALLEST_ZOOM, Math.min(1, LANES_ON_PAPER / lanes.clientHeight)));
  document.documentElement.classList.add("one-incident");
  print();
};
const printedOne = () => {
  document.documentElement.classList.remove("one-incident");
  for (const one of all(".printed")) one.classList.remove("printed");
};
const printingOne = () => document.documentElement.classList.contains("one-incident");
