// Equal marks each within a few pixels of the last are drawn as one with their number, a storm as one band; zooming in
// takes them apart.
const FOLDED = 12, REPEATED = 3, COUNT_ROOM = 26, HEAD = 36;

const folded = (row, perMs) => {
  const groups = [], begun = new Map();
  for (const dot of row.inTime) {
    const [severity, at, label, , incident] = row.dots[dot];
    const kind = `${severity} ${incident} ${label}`, group = begun.get(kind);
    const near = group && row.dots[group[severity === "plain" ? 0 : group.length - 1]][1];
    if (group && (at - near) * perMs <= FOLDED) { group.push(dot); continue; }
    begun.set(kind, [dot]);
    groups.push(begun.get(kind));
  }
  return groups.flatMap((group) => group.length < REPEATED ? group.map((dot) => [dot]) : [group])
    .sort((one, other) => row.dots[one[0]][1] - row.dots[other[0]][1]);
};

class Folding {
  constructor(picture) {
    this.picture = picture;
    for (const row of picture.rows) this.take(row, row.inTime.map((dot) => [dot]));
  }
  take(row, marks) {
    row.marks = marks;
    row.markOf = [];
    marks.forEach((group, mark) => { for (const dot of group) row.markOf[dot] = mark; });
  }
  fold() {
    const { picture } = this, width = picture.chart.getBoundingClientRect().width;
    if (!width) return;
    const perMs = width * WIDTH / picture.span / picture.length, walked = picture.shown[picture.cursor.row];
    for (const row of picture.shown) {
      if (row.perMs === perMs || !row.dots.length) continue;
      row.perMs = perMs;
      const before = row === walked && picture.cursor.dot >= 0 ? row.marks[picture.cursor.dot][0] : null;
      this.take(row, folded(row, perMs));
      if (before !== null) picture.cursor.dot = row.markOf[before];
      for (const group of row.marks) {
        group.forEach((dot, place) => row.dotNodes[dot].classList.toggle("folded", place > 0));
        const [severity, first] = row.dots[group[0]], lasted = row.dots[group[group.length - 1]][1] - first, mark = row.dotNodes[group[0]];
        if (severity === "plain") continue;
        mark.classList.toggle("run", lasted * perMs > FOLDED);
        mark.setAttribute("d", mark.getAttribute("d").replace(/h.*/, `h${lasted / picture.length * WIDTH}`));
      }
    }
    this.count(width);
  }
  count(width) {
    const { picture } = this, counts = picture.figure.querySelector(".counts");
    counts.replaceChildren();
    picture.shown.forEach((row, place) => {
      const taken = [], many = row.marks.filter((group) => group.length > 1);
      // Where not all have room, the largest numbers are told; a pointer tells the others.
      for (const group of many.sort((one, other) => other.length - one.length)) {
        const x = picture.share(row.dots[group[0]][1]) * width;
        if (x < 0 || x > width - COUNT_ROOM || taken.some((other) => Math.abs(other - x) < COUNT_ROOM)) continue;
        taken.push(x);
        const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
        text.setAttribute("x", x + 6);
        text.setAttribute("y", HEAD + place * LANE + 9);
        text.textContent = `×${group.length}`;
        counts.appendChild(text);
      }
    });
  }
}
