let opener = null, panelLines = [], panelAt = 0, panelTouched = false;

const marked = (parent, text, wanted) => {
  const low = text.toLowerCase();
  let from = 0;
  // Where lower case is longer than what was written (a capital I with a dot), places would be wrong.
  const found = low.length === text.length && wanted ? (start) => low.indexOf(wanted, start) : () => -1;
  for (let at = found(0); at >= 0; at = found(from)) {
    parent.append(text.slice(from, at));
    put(parent, "mark", text.slice(at, at + wanted.length));
    from = at + wanted.length;
  }
  parent.append(text.slice(from));
};
const lineOf = (number) => {
  const [path, line, at, text] = data.lines[number];
  return [textOf(path), line, at === null ? null : new Date(at).toISOString(), textOf(text)];
};
const listLines = () => {
  const wanted = $("panel-search").value.trim().toLowerCase(), list = $("panel-lines");
  const kept = panelLines.filter((number) => !wanted || lineOf(number).some((part) => String(part).toLowerCase().includes(wanted)));
  list.replaceChildren();
  for (const number of kept.slice(0, LINES_SHOWN)) {
    const [path, line, at, text] = lineOf(number);
    const item = put(list, "li");
    const place = put(item, "p");
    place.className = "place";
    marked(put(place, "code"), `${path}:${line}`, wanted);
    if (at) put(place, "span", ` ${written(Date.parse(at), "clock")}`);
    marked(put(item, "pre"), text, wanted);
  }
  if (kept.length > LINES_SHOWN) put(list, "li", `and ${kept.length - LINES_SHOWN} more lines`).className = "note";
  $("panel-found").textContent = !wanted ? "" : kept.length
    ? `${kept.length} of ${counted(panelLines.length, "line")}` : `None of ${counted(panelLines.length, "line")} holds that.`;
};
const showPanel = (title, note, numbers) => {
  $("panel-title").textContent = title;
  $("panel-note").textContent = note;
  panelLines = numbers;
  $("panel-search").value = "";
  $("panel-find").hidden = numbers.length < 2;
  listLines();
  if ($("panel").hidden) opener = document.activeElement;
  $("panel").hidden = false;
  [panelAt, panelTouched] = [scrollY, false];
  tip("");
  $("says").textContent = `${title}. ${note}`;
};
const hidePanel = () => {
  if ($("panel").hidden) return;
  $("panel").hidden = true;
  for (const picture of pictures.values()) picture.light(null);
  if (opener) opener.focus({ preventScroll: true });
};
// It belongs to what was clicked: once its reader has scrolled on from that, it would cover something else. What the page
// scrolls by itself (up to the lane, or still on its way to what was clicked) closes nothing: only what follows a reader's hand.
const touched = () => { panelTouched = true; };
const leavePanel = () => {
  if (!panelTouched) panelAt = scrollY;
  else if (Math.abs(scrollY - panelAt) > innerHeight / 6) hidePanel();
};
const tip = (text, x, y) => {
  const box = $("tip");
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.offsetWidth - 8))}px`;
  box.style.top = `${y + 18 + box.offsetHeight > innerHeight ? y - box.offsetHeight - 10 : y + 18}px`;
};
