const two = (number, digits = 2) => String(number).padStart(digits, "0");
const written = (at, shape) => {
  const moment = new Date(state.local ? at - new Date(at).getTimezoneOffset() * 60000 : at);
  const date = `${moment.getUTCFullYear()}-${two(moment.getUTCMonth() + 1)}-${two(moment.getUTCDate())}`;
  const minutes = `${two(moment.getUTCHours())}:${two(moment.getUTCMinutes())}`;
  const clock = `${minutes}:${two(moment.getUTCSeconds())}`;
  if (shape === "day") return date;
  if (shape === "minutes") return minutes;
  if (shape === "seconds") return clock;
  if (shape === "clock") return `${clock}.${two(moment.getUTCMilliseconds(), 3)}`;
  return `${date} ${clock}`;
};
const length = (ms) => {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3600000) return `${Math.floor(ms / 60000)} min ${Math.round(ms / 1000) % 60} s`;
  return `${Math.floor(ms / 3600000)} h ${Math.round(ms / 60000) % 60} min`;
};
const switchZone = () => {
  state.local = !state.local;
  $("zone").setAttribute("aria-pressed", String(state.local));
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "local";
  $("zone-name").textContent = state.local ? `Times are local (${zone})` : "Times are UTC";
  for (const label of all("text[data-at]")) label.textContent = written(Number(label.dataset.at), label.dataset.shape);
  for (const time of all("time")) time.textContent = written(Date.parse(time.dateTime), time.dataset.shape || "clock");
  for (const picture of pictures.values()) picture.label();
  keepAddress();
};
