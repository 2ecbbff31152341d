// A click on a column's head sorts by it, another one turns the order round, a third one brings back the report's own.
// What is unknown comes last either way.
const ORDERS = [["ascending", 1], ["descending", -1], ["none", 0]];
const natural = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

const keyOf = (cell) => {
  if (cell.dataset.sort !== undefined) return cell.dataset.sort === "" ? null : Number(cell.dataset.sort);
  const time = cell.querySelector("time");
  if (time) return Date.parse(time.dateTime);
  const text = cell.textContent.trim();
  if (text === "" || text === "unknown") return null;
  // Counts are written with commas between thousands.
  return cell.classList.contains("number") && /^-?[\d,]+$/.test(text) ? Number(text.replaceAll(",", "")) : text;
};
const compare = (one, other) => typeof one === "number" && typeof other === "number" ? one - other : natural.compare(one, other);

const sortable = (table) => {
  const body = table.tBodies[0], own = [...body.rows], heads = [...table.tHead.rows[0].cells];
  if (own.length < 2) return;
  const sort = (column, [name, direction]) => {
    const keyed = own.map((row, place) => ({ row, place, key: keyOf(row.cells[column]) }));
    const order = (one, other) => {
      if (one.key === null || other.key === null) return (one.key === null) - (other.key === null);
      return direction * compare(one.key, other.key);
    };
    if (direction) keyed.sort((one, other) => order(one, other) || one.place - other.place);
    body.append(...keyed.map(({ row }) => row));
    heads.forEach((head, number) => head.setAttribute("aria-sort", number === column ? name : "none"));
    $("says").textContent = direction ? `Sorted by ${heads[column].textContent}, ${name}` : "In the report's order";
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const now = ORDERS.findIndex(([name]) => name === head.getAttribute("aria-sort"));
      sort(column, ORDERS[(now + 1) % ORDERS.length]);
    });
  });
};
for (const table of all(".scroll > table:not(.signs, .hours)")) sortable(table);
