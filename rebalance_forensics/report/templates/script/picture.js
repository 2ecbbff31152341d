class Picture {
  constructor(figure) {
    Object.assign(this, { figure, id: figure.dataset.picture, left: 0, span: WIDTH });
    const packed = data.pictures[this.id], { from } = packed;
    const after = (ms) => ms === null ? null : from + ms;
    this.arrows = packed.arrows.map(([row, at, toRow, to]) => ({ row, at: from + at, toRow, to: from + to }));
    this.data = { from, to: packed.to, rows: packed.rows.map(([bars, dots]) => ({
      bars: bars.map(([kind, begun, end, label, incident]) => [textOf(kind), from + begun, after(end), textOf(label), incident]),
      dots: dots.map(([severity, at, label, line, incident]) => [textOf(severity), from + at, textOf(label), line, incident]),
    })) };
    this.plot = figure.querySelector(".plot");
    this.chart = figure.querySelector(".chart");
    this.names = all(".names li", figure);
    this.rows = all("[data-row]", this.chart).map((node, number) => ({
      node, number, name: this.names[number].title, label: this.names[number].textContent, ...this.data.rows[number], barNodes: all(".bar", node), dotNodes: all(".dot", node),
      inTime: this.data.rows[number].dots.map((dot, index) => index).sort((one, other) =>
        this.data.rows[number].dots[one][1] - this.data.rows[number].dots[other][1]),
    }));
    for (const row of this.rows) row.layer = this.names[row.number].dataset.layer;
    this.generations = this.rows.find((row) => this.names[row.number].classList.contains("group"));
    this.layer = "members";
    this.shown = this.rows;
    this.cursor = { row: 0, dot: -1 };
    this.folding = new Folding(this);
    this.listen();
  }
  get length() { return this.data.to - this.data.from; }
  time(x) { return this.data.from + (this.left + x * this.span) / WIDTH * this.length; }
  share(at) { return ((at - this.data.from) / this.length * WIDTH - this.left) / this.span; }

  show(left, span) {
    const before = [this.left, this.span];
    this.span = Math.min(WIDTH, Math.max(span, 2));
    this.left = Math.max(0, Math.min(left, WIDTH - this.span));
    if (this.left !== before[0] || this.span !== before[1]) this.chosen();
    this.chart.setAttribute("viewBox", `${this.left} 0 ${this.span} ${this.shown.length * LANE}`);
    this.folding.fold();
    this.draw();
    this.label();
    this.place();
  }
  // Zoomed in, a strip below the lanes shows the whole time, what was disturbed in it, and which part of it is seen.
  place() {
    if (!this.map && this.span === WIDTH) return;
    if (!this.map) {
      const shape = (parent, name, values) => {
        const node = parent.appendChild(document.createElementNS("http://www.w3.org/2000/svg", name));
        for (const [key, value] of Object.entries(values)) node.setAttribute(key, value);
        return node;
      };
      this.map = shape(this.plot, "svg", { class: "map", width: "100%", height: 14, viewBox: `0 0 ${WIDTH} 14`, preserveAspectRatio: "none", "aria-hidden": "true" });
      const x = (at) => (at - this.data.from) / this.length * WIDTH;
      for (const row of this.rows.filter(({ layer }) => layer === "always")) {
        for (const [kind, from, to] of row.bars.filter(([kind]) => kind === "rebalancing" || kind === "unread-share")) {
          const end = to === null ? WIDTH : x(to), begin = Math.max(0, x(from));
          shape(this.map, "rect", { class: kind, x: begin, width: Math.max(end - begin, WIDTH / 500), y: kind === "rebalancing" ? 2 : 8, height: 4 });
        }
      }
      this.seen = shape(this.map, "rect", { class: "seen", y: 0, height: 14 });
    }
    this.map.style.display = this.span < WIDTH ? "" : "none";
    this.seen.setAttribute("x", this.left);
    this.seen.setAttribute("width", Math.max(this.span, WIDTH / 200));
  }
  // From what happened to the rebalance that it caused; of several side by side the first.
  draw() {
    const group = this.figure.querySelector(".arrows"), width = this.chart.clientWidth || this.chart.getBoundingClientRect().width, drawn = [];
    group.replaceChildren();
    for (const { row, at, toRow, to } of this.arrows) {
      const [from, into] = [row, toRow].map((number) => this.shown.indexOf(this.rows[number]));
      const [x, end] = [at, to].map((moment) => this.share(moment) * width);
      if (from < 0 || into < 0 || x < 0 || end < 0 || x > width || end > width) continue;
      if (drawn.some(([otherRow, other]) => otherRow === row && Math.abs(other - end) < 2 * FOLDED)) continue;
      drawn.push([row, end]);
      const y = HEAD + from * LANE + 5, tip = HEAD + into * LANE + 19, turn = Math.atan2(tip - y, end - x) * 180 / Math.PI;
      for (const [name, d] of [["shaft", `M${x} ${y}L${end} ${tip}`], ["head", "M0 0l-8-4v8z"]]) {
        const node = group.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "path"));
        node.setAttribute("class", name);
        node.setAttribute("d", d);
        if (name === "head") node.setAttribute("transform", `translate(${end} ${tip}) rotate(${turn})`);
      }
    }
  }
  chosen() {
    shownPicture = this;
    keepAddress();
  }
  zoom(factor, around = 0.5) { this.show(this.left + around * this.span * (1 - factor), this.span * factor); }
  center(at, ms) {
    const span = Math.max(ms / this.length * WIDTH, 2);
    this.show((at - this.data.from) / this.length * WIDTH - span / 2, span);
  }

  label() {
    const start = this.time(0), end = this.time(1), room = Math.max(3, Math.floor(this.plot.clientWidth / 110));
    const step = STEPS.find((one) => one * room >= end - start) || STEPS[STEPS.length - 1];
    const shape = step >= DAY ? "day" : step < 1000 ? "clock" : step < 60000 ? "seconds" : "minutes";
    const shift = state.local ? new Date(start).getTimezoneOffset() * 60000 : 0;
    const marks = [], grid = [];
    for (let at = Math.ceil((start - shift) / step) * step + shift; at <= end; at += step) {
      const midnight = (at - shift) % DAY === 0 && step >= 3600000;
      // A label that would be cut off at the right edge says less than none.
      if (this.share(at) < 1 - 60 / Math.max(this.plot.clientWidth, 1)) marks.push([this.share(at), written(at, midnight ? "day" : shape)]);
      grid.push(`M${(at - this.data.from) / this.length * WIDTH} 0v${this.rows.length * LANE}`);
    }
    this.chart.querySelector(".grid").setAttribute("d", grid.join(""));
    this.texts(".ticks", marks, 12);
    this.texts(".numbers", this.numbers(28 / Math.max(this.plot.clientWidth, 1)), 31);
  }
  numbers(room) {
    const made = (this.generations ? this.generations.bars : []).filter(([kind]) => kind !== "rebalancing" && kind !== "follow-up");
    const seen = made.map(([, from, to, text]) => [Math.max(0, this.share(from)), Math.min(1, to === null ? 1 : this.share(to)), text]);
    const placed = [];
    // Where not all have room, the generations that lasted longest are told.
    for (const [x, end, text] of seen.filter((one) => one[1] >= one[0] && one[0] < 0.985).sort((one, other) => other[1] - other[0] - one[1] + one[0])) {
      if (placed.length === 40) break;
      if (placed.every(([other]) => Math.abs(other - x) > room)) placed.push([x, (/^generation (-?\d+)/.exec(text) || ["", ""])[1]]);
    }
    return placed;
  }
  texts(selector, marks, y) {
    const group = this.figure.querySelector(selector);
    group.replaceChildren();
    for (const [x, text] of marks) {
      const node = document.createElementNS("http://www.w3.org/2000/svg", "text");
      node.setAttribute("x", `${x * 100}%`);
      node.setAttribute("y", y);
      node.textContent = text;
      group.appendChild(node);
    }
  }

  find(event) {
    const box = this.chart.getBoundingClientRect();
    const row = this.shown[Math.floor((event.clientY - box.top) / LANE)];
    const x = (event.clientX - box.left) / box.width, reach = event.pointerType === "touch" ? FINGER : REACH;
    if (!row || Math.abs(x - 0.5) > 0.5 + reach / box.width) return null;
    let best = -1, distance = reach / box.width;
    row.dots.forEach(([, at], index) => {
      const away = Math.abs(this.share(at) - x);
      if (away <= distance) [best, distance] = [index, away];
    });
    if (best >= 0) return { row, dot: row.marks[row.markOf[best]][0] };
    const at = this.time(x), slack = 3 / box.width * this.span / WIDTH * this.length;
    let bar = -1;
    row.bars.forEach(([kind, from, to], index) => {
      if (from - slack <= at && (to === null || to + slack >= at) && kind !== "leading") bar = index;
    });
    return bar >= 0 ? { row, bar } : null;
  }
  told({ row, dot, bar }) {
    if (dot !== undefined) return `${row.name}\n${this.when(row, dot)}  ${this.what(row, dot)}`;
    const [kind, from, to, label] = row.bars[bar];
    const until = to === null ? "to the end" : `to ${written(to, "clock")}, ${length(to - from)}`;
    const leads = row.bars.find((one) => one[0] === "leading" && one[1] === from);
    return `${row.name}\n${row.layer === "members" ? `${kind}: ` : ""}${label}${leads ? ", leads it" : ""}\n${written(from, "clock")} ${until}`;
  }
  group(row, dot) { return row.marks[row.markOf[dot]]; }
  what(row, dot) {
    const number = this.group(row, dot).length;
    return number > 1 ? `${row.dots[dot][2]}, ${number} times` : row.dots[dot][2];
  }
  when(row, dot) {
    const group = this.group(row, dot), [first, last] = [group[0], group[group.length - 1]].map((one) => written(row.dots[one][1], "clock"));
    return group.length > 1 ? `${first} to ${last}` : first;
  }
  open(found) {
    const [row, thing] = [found.row, found.dot !== undefined ? found.row.dots[found.dot] : found.row.bars[found.bar]];
    const incident = thing[4];
    this.light(incident, found);
    setTimeout(() => this.uncover(found.row));
    const note = incident === null || incident === undefined ? "" : ` Part of: ${data.incidents[incident][1]}`;
    if (found.dot !== undefined) {
      const lines = [...new Set(this.group(row, found.dot).map((dot) => row.dots[dot][3]).filter((line) => line !== null))];
      showPanel(`${row.name}: ${this.what(row, found.dot)}`, `${this.when(row, found.dot)}.${note}${lines.length ? "" : " Its line was left out of this page."}`, lines);
    } else {
      const end = thing[2] === null ? Infinity : thing[2];
      const within = (rows) => [...new Set(rows.flatMap((one) =>
        one.dots.filter(([, at]) => at >= thing[1] && at <= end).map((dot) => dot[3]).filter((line) => line !== null)))];
      const own = row.layer === "members" ? within([row]) : [];
      const known = own.length ? own : within(this.rows);
      showPanel(`${row.name}: ${thing[3]}`, `${this.told(found).split("\n")[2]}.${note}${known.length ? "" : " No line of it is drawn here."}`, known);
    }
  }
  uncover(row) {
    const lane = this.chart.getBoundingClientRect().top + (this.shown.indexOf(row) + 1) * LANE;
    const covered = lane + 8 - $("panel").getBoundingClientRect().top;
    if (covered <= 0 || $("panel").hidden) return;
    scrollBy({ top: covered, behavior: "instant" });
  }
  light(incident, found) {
    for (const node of all(".hit, .cursor", this.chart)) node.classList.remove("hit", "cursor");
    const causes = state.cause ? Object.keys(data.incidents).filter((number) => data.incidents[number][0] === state.cause).map(Number) : [];
    const wanted = incident !== null && incident !== undefined ? [incident] : causes;
    this.chart.classList.toggle("lit", wanted.length > 0);
    for (const row of wanted.length ? this.rows : []) {
      row.bars.forEach((bar, index) => row.barNodes[index].classList.toggle("hit", wanted.includes(bar[4])));
      row.dots.forEach((dot, index) => row.dotNodes[index].classList.toggle("hit", wanted.includes(dot[4])));
    }
    for (const chain of chains) chain.classList.toggle("lit", String(incident) === chain.dataset.incident);
    if (found) (found.dot !== undefined ? found.row.dotNodes[found.dot] : found.row.barNodes[found.bar]).classList.add("cursor", "hit");
  }

  filter() {
    const wanted = state.member.toLowerCase();
    // A partition stays with whoever reads it.
    const named = (row) => row.name.toLowerCase().includes(wanted) || row.label.toLowerCase().includes(wanted)
      || (row.layer === "partitions" && row.bars.some((bar) => bar[3].toLowerCase().includes(wanted)));
    const found = this.rows.filter((row) => row.layer === this.layer && named(row)), more = this.figure.querySelector("[data-do=whole]");
    const few = this.whole || wanted || found.length <= FEW + 1 ? found : found.slice(0, FEW);
    this.shown = [...this.rows.filter((row) => row.layer === "always"), ...few];
    more.hidden = few.length === found.length && !this.whole;
    more.textContent = this.whole ? "Fewer rows" : `All ${found.length} rows`;
    for (const row of this.rows) {
      const place = this.shown.indexOf(row);
      row.node.toggleAttribute("hidden", place < 0);
      row.node.toggleAttribute("display", false);
      row.node.style.display = place < 0 ? "none" : "";
      this.names[row.number].hidden = place < 0;
      row.node.setAttribute("transform", `translate(0 ${(place - row.number) * LANE})`);
    }
    this.chart.setAttribute("height", this.shown.length * LANE);
    this.show(this.left, this.span);
    this.light(null);
  }

  choose(layer) {
    this.layer = layer;
    for (const button of all(".switch button", this.figure)) button.setAttribute("aria-pressed", String(button.dataset.do === layer));
    for (const legend of all(".legend", this.figure)) legend.hidden = legend.dataset.layer !== layer;
    this.cursor = { row: 0, dot: -1 };
    this.filter();
    this.chosen();
    $("says").textContent = `${this.shown.filter((row) => row.layer === layer).length} rows of ${layer}`;
  }

  listen() {
    this.figure.querySelector(".controls").hidden = false;
    this.figure.addEventListener("click", (event) => this.command(event.target.dataset && event.target.dataset.do));
    this.plot.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = this.chart.getBoundingClientRect();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, (event.clientX - box.left) / box.width);
    }, { passive: false });
    // One finger or the mouse moves the picture, two fingers zoom it; up and down stays the browser's, which scrolls the page.
    let drag = null, pinch = null;
    const fingers = new Map();
    const grip = () => {
      const [one, other] = [...fingers.values()], box = this.chart.getBoundingClientRect();
      return { gap: Math.max(Math.abs(one - other), 10), middle: ((one + other) / 2 - box.left) / box.width };
    };
    this.plot.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, left: this.left, moved: fingers.size > 0 };
      fingers.set(event.pointerId, event.clientX);
      pinch = fingers.size === 2 ? { ...grip(), left: this.left, span: this.span } : null;
    });
    for (const name of ["pointerup", "pointercancel"]) {
      addEventListener(name, (event) => {
        fingers.delete(event.pointerId);
        pinch = null;
        setTimeout(() => { if (!fingers.size) drag = null; });
      });
    }
    this.plot.addEventListener("pointermove", (event) => {
      if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event.clientX);
      if (pinch) {
        const { gap, middle } = grip(), span = Math.min(WIDTH, pinch.span * pinch.gap / gap);
        this.show(pinch.left + pinch.middle * pinch.span - middle * span, span);
        tip("");
        return;
      }
      if (drag && event.buttons) {
        const moved = event.clientX - drag.x;
        drag.moved = drag.moved || Math.abs(moved) > 4;
        if (fingers.size < 2 && drag.moved) this.show(drag.left - moved / this.chart.clientWidth * this.span, this.span);
        tip("");
        return;
      }
      const found = this.find(event);
      tip(found ? this.told(found) : "", event.clientX, event.clientY);
    });
    this.plot.addEventListener("pointerleave", () => tip(""));
    this.plot.addEventListener("click", (event) => {
      if (drag && drag.moved) return;
      if (event.target.closest(".map")) {
        const box = this.map.getBoundingClientRect();
        this.show((event.clientX - box.left) / box.width * WIDTH - this.span / 2, this.span);
        return;
      }
      const found = this.find(event);
      if (found) this.open(found); else hidePanel();
    });
    this.plot.setAttribute("role", "application");  // else a screen reader keeps the arrow keys to itself
    this.plot.addEventListener("keydown", (event) => this.key(event));
    this.plot.addEventListener("blur", () => tip(""));
  }
  command(name) {
    if (name === "in") this.zoom(0.5);
    if (name === "out") this.zoom(2);
    if (name === "left") this.show(this.left - this.span / 3, this.span);
    if (name === "right") this.show(this.left + this.span / 3, this.span);
    if (name === "all") this.show(0, WIDTH);
    if (name === "whole") { this.whole = !this.whole; this.filter(); }
    if (name === "members" || name === "partitions") this.choose(name);
  }
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return undefined;  // the browser's own: zoom, back
    const commands = { "+": "in", "=": "in", "-": "out", "0": "all" };
    if (event.key in commands) return this.command(commands[event.key]);
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.shiftKey && step) return this.command(step[1] < 0 ? "left" : "right");
    if (!step && event.key !== "Enter") return undefined;
    event.preventDefault();
    if (step && step[0]) {
      this.cursor = { row: Math.max(0, Math.min(this.cursor.row + step[0], this.shown.length - 1)), dot: -1 };
    }
    const row = this.shown[Math.min(this.cursor.row, this.shown.length - 1)];
    const drawn = row.dots.length ? row.marks : row.bars;
    if (step && step[1]) this.cursor.dot = Math.max(0, Math.min(this.cursor.dot + step[1], drawn.length - 1));
    if (!drawn.length) { $("says").textContent = `${row.name}: nothing drawn`; return undefined; }
    const place = Math.max(0, this.cursor.dot), index = row.dots.length ? row.marks[place][0] : place;
    const things = row.dots.length ? row.dots : row.bars;
    const found = row.dots.length ? { row, dot: index } : { row, bar: index };
    for (const node of all(".cursor", this.chart)) node.classList.remove("cursor");
    (row.dots.length ? row.dotNodes : row.barNodes)[index].classList.add("cursor");
    $("says").textContent = this.told(found);
    const box = this.chart.getBoundingClientRect();
    const at = this.share(things[index][1]);
    if (at < 0 || at > 1) this.show((things[index][1] - this.data.from) / this.length * WIDTH - this.span / 2, this.span);
    tip(this.told(found), box.left + Math.max(0, this.share(things[index][1])) * box.width, box.top + this.cursor.row * LANE);
    if (event.key === "Enter") {
      this.open(found);
      $("panel").focus({ preventScroll: true });  // whoever has no mouse scrolls its lines with the arrow keys
    }
    return undefined;
  }
}
