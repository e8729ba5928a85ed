"use strict";
(() => {
  const ROW = 54; // pixels; as in the style sheet
  const BEYOND = 8; // rows drawn above and below what is seen
  const PRINTED = 2000; // rows
  const DRIFT = 0.12; // seconds that the two players may be apart
  const find = (id) => document.getElementById(id);
  const data = JSON.parse(find("data").textContent);
  const matches = data.kind === "match";

  // --- rows: taken apart once ---------------------------------------------------------------------------------------

  const names = data.names.map(([shown, key, link, seconds]) => {
    const cut = shown.lastIndexOf("/") + 1;
    return { shown, key: key === null ? shown : key, link, seconds, folder: shown.slice(0, cut), base: shown.slice(cut), low: shown.toLowerCase() };
  });
  const rows = data.rows.map(([group, setA, a, setB, b, relation, score, offset, overlap, speed, coverA, coverB, flag, keep, times, reason, drawn], number) => {
    const one = (set, name) => ({ set, name: name === null ? null : names[name] });
    const row = { number, group, a: one(setA, a), b: one(setB, b), relation, score, offset, overlap, speed, coverA, coverB, flag, keep, times: times || null, reason: reason || "", drawn: drawn === 1, verdict: "", why: "" };
    row.a.kept = keep !== null && keep === a;
    row.b.kept = keep !== null && keep === b;
    row.pair = row.a.name !== null && row.b.name !== null;
    row.low = [row.a, row.b].map((side) => `${side.set.toLowerCase()} ${side.name ? side.name.low : ""}`).join(" ");
    return row;
  });
  const order = new Intl.Collator("en", { numeric: true });
  names.slice().sort((x, y) => order.compare(x.shown, y.shown)).forEach((name, rank) => { name.rank = rank; });

  // a moment of a's time line on b's, and back
  const pivot = (row) => (row.times ? row.times[0] : 0);
  const toB = (row, t) => pivot(row) - (row.offset || 0) + (t - pivot(row)) * (row.speed || 1);
  const toA = (row, t) => pivot(row) + (t - pivot(row) + (row.offset || 0)) / (row.speed || 1);
  const begin = (row) => Math.max(row.times ? row.times[1] : 0, toA(row, 0), 0);

  // --- making elements: text from outside only ever becomes a text node ------------------------------------------------

  const put = (made, attributes, children) => {
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") made.addEventListener(name, value);
      else if (value !== null && value !== false) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null && child !== ""));
    return made;
  };
  const make = (tag, attributes = {}, ...children) => put(document.createElement(tag), attributes, children);
  const draw = (tag, attributes = {}, ...children) => put(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

  const number = (value, digits) => (value === null ? "" : value.toFixed(digits));
  const percent = (value) => (value === null ? "" : `${Math.round(value * 100)} %`);
  const clock = (seconds, digits = 1) => {
    const whole = Math.abs(seconds) + 0.5 * 10 ** -digits;
    const minutes = Math.floor(whole / 60);
    const rest = (Math.floor((whole % 60) * 10 ** digits) / 10 ** digits).toFixed(digits);
    return `${seconds < 0 && whole >= 10 ** -digits ? "\u2212" : ""}${minutes}:${rest.padStart(digits ? digits + 3 : 2, "0")}`;
  };

  const nameLine = (side, letter) => {
    if (side.name === null) return make("div", { class: "name" }, make("i", { class: letter }, letter.toUpperCase()), make("span", { class: "folder" }, "none"));
    return make("div", { class: "name", title: side.name.shown },
      make("i", { class: letter }, letter.toUpperCase()),
      side.set ? make("span", { class: "set" }, make("bdi", {}, side.set)) : null,
      side.name.folder ? make("bdi", { class: "folder" }, side.name.folder) : null,
      make("bdi", { class: "base" }, side.name.base),
      side.kept ? make("span", { class: "keep" }, "keep") : null);
  };

  // --- the table ----------------------------------------------------------------------------------------------------

  const MARKS = { "": "", same: "=", different: "\u2260" };
  const columns = [
    { id: "group", title: "#", label: "Group", off: matches, value: (row) => row.group || Infinity, show: (row) => (row.group ? `#${row.group}` : "\u2013") },
    { id: "names", title: "Recordings", value: (row) => (row.a.name ? row.a.name.rank : Infinity), show: (row) => [nameLine(row.a, "a"), nameLine(row.b, "b")] },
    { id: "relation", title: matches ? "State" : "Relation", value: (row) => row.relation, show: (row) => make("span", { class: "pill", "data-kind": row.relation }, row.relation) },
    { id: "score", title: "Score", number: true, value: (row) => row.score, show: (row) => number(row.score, 2) },
    { id: "offset", title: "Offset", number: true, value: (row) => row.offset, show: (row) => (row.offset === null ? "" : `${number(row.offset, 2)} s`) },
    { id: "overlap", title: "Shared", number: true, value: (row) => row.overlap, show: (row) => (row.overlap === null ? "" : clock(row.overlap)) },
    { id: "covered", title: "Covers", number: true, value: (row) => Math.max(row.coverA, row.coverB), show: (row) => (row.coverA === null ? "" : `${percent(row.coverA).replace(" %", "")} / ${percent(row.coverB)}`) },
    { id: "speed", title: "Speed", number: true, value: (row) => row.speed, show: (row) => number(row.speed, 3) },
    { id: "verdict", title: "\u2713", label: "Reviewed", value: (row) => row.verdict, show: (row) => make("span", { class: row.verdict, title: row.verdict }, MARKS[row.verdict]) },
  ].filter((column) => !column.off);

  const scroller = find("scroller"), body = find("body");
  const hidden = new Set();
  const drawn = new Map(); // position -> element
  let shown = [], sorted = { id: "", falling: false }, chosen = null, printing = false, since = 0;

  const compare = (x, y) => (x === y ? 0 : x === null || x === Infinity ? 1 : y === null || y === Infinity ? -1 : x < y ? -1 : 1);

  function choose() {
    const terms = find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const review = find("review").value;
    const fits = (row, term) => (/^#\d+$/.test(term) ? row.group === Number(term.slice(1)) : row.low.includes(term));
    shown = rows.filter((row) => !hidden.has(row.relation)
      && (review === "" || (review === "open" ? row.verdict === "" : row.verdict === review))
      && terms.every((term) => fits(row, term)));
    const column = columns.find((one) => one.id === sorted.id);
    if (column) {
      const values = new Map(shown.map((row) => [row, column.value(row)]));
      const way = sorted.falling ? -1 : 1;
      const last = (value) => value === null || value === Infinity; // what has no value stands last, either way
      shown.sort((x, y) => {
        const u = values.get(x), v = values.get(y);
        return (last(u) || last(v) ? compare(u, v) : way * compare(u, v)) || x.number - y.number;
      });
    }
    shown.forEach((row, position) => { row.position = position; });
    find("none").hidden = shown.length > 0;
    find("table").setAttribute("aria-rowcount", shown.length + 1);
    find("count").textContent = `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} ${matches ? "rows" : "pairs"}`;
    forget();
    paint();
  }

  function forget() {
    for (const element of drawn.values()) element.remove();
    drawn.clear();
  }

  const above = make("tr", { class: "space", "aria-hidden": "true" }, make("td"));
  const below = above.cloneNode(true);
  body.append(above, below);

  function line(position) {
    const row = shown[position];
    return make("tr", {
      "aria-rowindex": position + 2, "aria-selected": String(row === chosen), tabindex: row === chosen ? 0 : -1,
      click: () => { select(row); drawn.get(row.position)?.focus({ preventScroll: true }); },
      focus: () => { if (row !== chosen) select(row); },
    }, ...columns.map((column) => {
      const cell = column.show(row);
      return make("td", { class: `${column.id}${column.number ? " number" : ""}` }, ...(Array.isArray(cell) ? cell : [cell]));
    }));
  }

  function paint() {
    const first = printing ? 0 : Math.max(0, Math.floor(scroller.scrollTop / ROW) - BEYOND);
    const end = Math.min(shown.length, printing ? PRINTED : Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW) + BEYOND);
    for (const [position, element] of drawn) {
      if (position < first || position >= end) { element.remove(); drawn.delete(position); }
    }
    let next = above.nextSibling;
    for (let position = first; position < end; position++) {
      let element = drawn.get(position);
      if (!element) {
        element = line(position);
        drawn.set(position, element);
        body.insertBefore(element, next);
      } else next = element.nextSibling;
    }
    above.firstChild.style.height = `${first * ROW}px`;
    below.firstChild.style.height = `${printing ? 0 : (shown.length - end) * ROW}px`;
  }

  function renew(row) {
    const element = row && drawn.get(row.position);
    if (!element || shown[row.position] !== row) return;
    const focused = document.activeElement === element;
    const fresh = line(row.position);
    element.replaceWith(fresh);
    drawn.set(row.position, fresh);
    if (focused) fresh.focus({ preventScroll: true });
  }

  function reveal(row) {
    const top = row.position * ROW, head = find("columns").offsetHeight;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + ROW + head > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + ROW + head - scroller.clientHeight;
    paint();
  }

  function select(row) {
    if (row === chosen) return;
    const before = chosen;
    chosen = row;
    stop();
    for (const one of [before, row]) {
      const element = one && shown[one.position] === one && drawn.get(one.position);
      if (element) {
        element.setAttribute("aria-selected", String(one === chosen));
        element.tabIndex = one === chosen ? 0 : -1;
      }
    }
    exhibit();
  }

  function move(steps) {
    if (!shown.length) return;
    const from = chosen && shown[chosen.position] === chosen ? chosen.position : -1;
    const row = shown[Math.min(shown.length - 1, Math.max(0, from < 0 ? 0 : from + steps))];
    select(row);
    reveal(row);
    drawn.get(row.position)?.focus({ preventScroll: true });
  }

  function sort(id) {
    if (sorted.id !== id) sorted = { id, falling: false };
    else if (!sorted.falling) sorted = { id, falling: true };
    else sorted = { id: "", falling: false };
    for (const head of find("columns").children) {
      if (head.dataset.id === sorted.id) head.setAttribute("aria-sort", sorted.falling ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    scroller.scrollTop = 0;
    choose();
  }

  find("columns").append(...columns.map((column) => make("th", { class: `${column.id}${column.number ? " number" : ""}`, scope: "col", "data-id": column.id },
    make("button", { type: "button", title: column.label || null, "aria-label": column.label || null, click: () => sort(column.id) }, column.title))));

  const kinds = new Map();
  for (const row of rows) kinds.set(row.relation, (kinds.get(row.relation) || 0) + 1);
  find("chips").append(...[...kinds].map(([kind, count]) => make("button", {
    type: "button", "aria-pressed": "true",
    click: (event) => {
      const off = !hidden.delete(kind);
      if (off) hidden.add(kind);
      event.currentTarget.setAttribute("aria-pressed", String(!off));
      choose();
    },
  }, `${kind} `, make("b", {}, count.toLocaleString("en")))));

  // --- the exhibit --------------------------------------------------------------------------------------------------

  const bytes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  let pictures = null; // of the chosen row
  let heads = []; // moves the line that shows where the sound is

  function load(row) {
    const island = row.drawn && find(`exhibit-${row.number}`);
    if (!island) return null;
    const found = JSON.parse(island.textContent);
    const side = (one) => ({ ...one, outline: bytes(one.outline), wave: bytes(one.wave), spectrum: bytes(one.spectrum) });
    return { window: found.window, errors: bytes(found.errors), a: side(found.a), b: side(found.b) };
  }

  // an outline mirrored about the middle, from x0 to x1
  function outline(levels, x0, x1, middle, reach) {
    const step = (x1 - x0) / levels.length;
    let over = "", under = "";
    levels.forEach((level, index) => {
      const x = (x0 + (index + 0.5) * step).toFixed(2), height = Math.max(0.4, (level / 255) * reach);
      over += `${index ? "L" : "M"}${x} ${(middle - height).toFixed(2)}`;
      under = `L${x} ${(middle + height).toFixed(2)}${under}`;
    });
    return `${over}${under}Z`;
  }

  function stage(from, to, seek, ...parts) {
    const head = make("div", { class: "head", hidden: "" });
    const whole = make("div", { class: "stage" }, ...parts, head);
    whole.addEventListener("click", (event) => {
      const box = whole.getBoundingClientRect();
      seek(from + ((event.clientX - box.left) / box.width) * (to - from));
    });
    heads.push((moment) => {
      head.hidden = moment === null || moment < from || moment > to;
      if (!head.hidden) head.style.left = `${((moment - from) / (to - from)) * 100}%`;
    });
    return whole;
  }

  function ticks(from, to, name) {
    const steps = [0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];
    const step = steps.find((one) => (to - from) / one <= 8) || 7200;
    const marks = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const left = ((at - from) / (to - from)) * 100;
      if (left < 4 || left > 96) continue;
      const mark = make("span", {}, clock(at, step < 1 ? 1 : 0));
      mark.style.left = `${left}%`;
      marks.push(mark);
    }
    return make("div", { class: "ticks", "aria-label": name }, ...marks);
  }

  function timelines(row) {
    const [, a0, a1, b0, b1] = row.times;
    const long = { a: row.a.name.seconds, b: row.b.name.seconds };
    if (!long.a || !long.b) return null;
    const from = Math.min(0, toA(row, 0)), to = Math.max(long.a, toA(row, long.b));
    const x = (t) => ((t - from) / (to - from)) * 1000;
    const bar = (letter, start, end, top, first, last) => {
      const levels = pictures ? pictures[letter].outline : [];
      return draw("g", {},
        draw("rect", { class: "bar", x: x(start), width: x(end) - x(start), y: top, height: 40, rx: 2 }),
        draw("rect", { class: letter, x: x(first), width: Math.max(1, x(last) - x(first)), y: top + 38, height: 2 }),
        levels.length ? draw("path", { class: letter, d: outline(levels, x(start), x(end), top + 19, 17) }) : "");
    };
    const picture = draw("svg", { class: "whole", viewBox: "0 0 1000 104", preserveAspectRatio: "none", role: "img", "aria-label": `A shares ${clock(a0)} to ${clock(a1)}, B shares ${clock(b0)} to ${clock(b1)}` },
      draw("polygon", { class: "band", points: `${x(a0)},4 ${x(a1)},4 ${x(a1)},44 ${x(toA(row, b1))},60 ${x(toA(row, b1))},100 ${x(toA(row, b0))},100 ${x(toA(row, b0))},60 ${x(a0)},44` }),
      bar("a", 0, long.a, 4, a0, a1),
      bar("b", toA(row, 0), toA(row, long.b), 60, toA(row, b0), toA(row, b1)));
    return make("figure", { id: "timelines" },
      make("figcaption", {}, make("span", {}, "Both recordings; what they share is shaded"), make("span", {}, placed(row))),
      stage(from, to, seek, make("div", { class: "part" }, picture, make("span", { class: "tag a" }, "A"), under("b", "B", 61))),
      ticks(from, to, "Time of A"));
  }

  function under(kind, text, top) {
    const tag = make("span", { class: `tag ${kind}` }, text);
    tag.style.top = `${top}px`;
    return tag;
  }

  function placed(row) {
    if (row.offset === null) return "";
    if (Math.abs(row.offset) < 0.1) return "both start together";
    return row.offset > 0 ? `B starts at ${clock(row.offset, 2)} of A` : `A starts at ${clock(-row.offset, 2)} of B`;
  }

  function shared(row) {
    const [from, to] = pictures.window;
    const edges = () => [row.times[1], row.times[2]].map((t) => ((t - from) / (to - from)) * 1000)
      .filter((x) => x > 1 && x < 999).map((x) => draw("line", { class: "edge", x1: x, x2: x, y1: 0, y2: 100 }));
    const wave = (letter) => (pictures[letter].wave.length
      ? draw("svg", { class: "wave", viewBox: "0 0 1000 100", preserveAspectRatio: "none", "aria-hidden": "true" },
        draw("path", { class: letter, d: outline(pictures[letter].wave, 0, 1000, 50, 46) }), ...edges()) : null);
    const part = (letter, ...children) => {
      const there = children.filter((child) => child !== null);
      return there.length ? make("div", { class: "part" }, ...there, make("span", { class: `tag ${letter}` }, letter.toUpperCase())) : null;
    };
    const differ = strip(pictures.errors, edges());
    return make("figure", { id: "shared" },
      make("figcaption", {}, make("span", {}, "The stretch they share, A above B"), make("span", {}, `${clock(row.overlap)} from ${clock(row.times[1])} of A, ${clock(row.times[3])} of B`)),
      ticks(from, to, "Time of A"),
      stage(from, to, seek, part("a", wave("a"), spectrum("a")), differ, part("b", spectrum("b"), wave("b"))),
      ticks(toB(row, from), toB(row, to), "Time of B"));
  }

  // how many bits of the fingerprints differ; at 50 % the recordings have nothing to do with one another
  function strip(errors, edges) {
    if (!errors.length) return null;
    const step = 1000 / errors.length;
    let path = "", most = 0, sum = 0, count = 0;
    errors.forEach((error, index) => {
      if (error === 255) return;
      const height = Math.min(100, (error / 120) * 100);
      if (error) path += `M${(index * step).toFixed(2)} 100v${(-height).toFixed(2)}h${step.toFixed(2)}v${height.toFixed(2)}Z`;
      most = Math.max(most, error);
      sum += error;
      count++;
    });
    const text = most ? `bits that differ: ${(sum / count / 2).toFixed(1)} % (unrelated: 50 %)` : "no bit differs";
    return make("div", { class: "part" },
      draw("svg", { class: "errors", viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img", "aria-label": text },
        draw("line", { class: "chance", x1: 0, x2: 1000, y1: 100 - 100 / 1.2, y2: 100 - 100 / 1.2 }),
        draw("path", { class: "differs", d: path }), ...edges),
      make("span", { class: "tag" }, text));
  }

  function spectrum(letter) {
    const { spectrum: halves, wave } = pictures[letter];
    if (!wave.length) return null;
    const width = wave.length, height = (halves.length * 2) / width;
    const canvas = make("canvas", { width, height, "aria-hidden": "true", "data-side": letter });
    ink(canvas, halves);
    return canvas;
  }

  function ink(canvas, halves) {
    const { width, height } = canvas;
    const context = canvas.getContext("2d");
    const colour = getComputedStyle(document.documentElement).getPropertyValue(`--${canvas.dataset.side}`).trim(); // #rrggbb
    const [red, green, blue] = [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
    const picture = context.createImageData(width, height);
    for (let column = 0; column < width; column++) {
      for (let band = 0; band < height; band++) {
        const index = column * height + band;
        const level = (halves[index >> 1] >> (index & 1 ? 4 : 0)) & 15;
        picture.data.set([red, green, blue, Math.round(255 * (level / 15) ** 1.6)], ((height - 1 - band) * width + column) * 4);
      }
    }
    context.putImageData(picture, 0, 0);
  }

  function repaint() { // another colour scheme, or paper
    if (pictures) for (const canvas of document.querySelectorAll("canvas")) ink(canvas, pictures[canvas.dataset.side].spectrum);
  }

  function figure(title, text) {
    return text === "" || text === null ? null : make("div", {}, make("dt", {}, title), make("dd", {}, text));
  }

  function longName(side, letter) {
    const made = nameLine(side, letter);
    const parts = [...made.children].filter((child) => child.matches(".folder, .base, .keep"));
    const path = make("span", { class: "path" });
    parts[0].before(path);
    path.append(...parts);
    if (side.name && side.name.seconds) made.append(make("span", { class: "long" }, clock(side.name.seconds)));
    return made;
  }

  function exhibit() {
    const row = chosen, place = find("exhibit");
    heads = [];
    pictures = row && load(row);
    if (!row) {
      place.replaceChildren(make("p", { class: "empty" }, rows.length ? "Select a pair to see and hear it." : "There are no pairs."));
      return;
    }
    const group = row.group ? make("button", { type: "button", title: "Show this group only", click: () => { find("search").value = `#${row.group}`; choose(); } }, `group ${row.group}`) : null;
    place.replaceChildren(...[
      make("div", { class: "lead" }, make("h2", {}, row.relation.replaceAll("-", " ")), group),
      make("div", { class: "pair" }, longName(row.a, "a"), longName(row.b, "b")),
      make("dl", { class: "figures" },
        figure("score", number(row.score, 3)),
        figure("offset", row.offset === null ? "" : `${number(row.offset, 2)} s`),
        figure("shared", row.overlap === null ? "" : clock(row.overlap)),
        figure("of A", percent(row.coverA)),
        figure("of B", percent(row.coverB)),
        figure("speed", row.speed === null || row.speed === 1 ? "" : `A runs ${number(row.speed, 3)}\u00d7 as fast`),
        figure(matches ? "same time line" : "title and artist agree", row.flag === null ? "" : row.flag ? "yes" : "no")),
      row.keep !== null ? make("p", { class: "why" }, "Keep ", row.a.kept ? "A" : row.b.kept ? "B" : make("bdi", {}, names[row.keep].shown), row.reason ? `: ${row.reason}.` : ".") : null,
      row.times && row.pair ? timelines(row) : null,
      pictures ? shared(row) : null,
      row.pair ? make("div", { class: "desk" }, player(row), judge(row)) : null,
    ].filter(Boolean));
    place.scrollTop = 0;
    tell();
  }

  // --- the player: both sides run together, one of them is heard -----------------------------------------------------

  const players = { a: find("audio-a"), b: find("audio-b") };
  let heard = "a", playing = false, at = 0, loaded = null, turn = 0;

  const source = (row, letter) => {
    const clip = pictures && pictures[letter].clip;
    return clip ? { url: `data:audio/mpeg;base64,${clip}`, start: pictures[letter].start } : { url: row[letter].name.link, start: 0 };
  };
  const timeOf = (row, letter, moment) => (letter === "a" ? moment : toB(row, moment));
  const momentOf = (row, letter, time) => (letter === "a" ? time : toA(row, time));

  function player(row) {
    at = begin(row);
    heard = source(row, "a").url || !source(row, "b").url ? "a" : "b";
    const none = !source(row, "a").url && !source(row, "b").url;
    const choice = (letter) => make("button", { type: "button", "data-side": letter, title: `Hear ${letter.toUpperCase()} (${letter})`, disabled: source(row, letter).url ? null : "", click: () => hear(letter) }, letter.toUpperCase());
    return make("div", { class: "player", role: "group", "aria-label": "Player" },
      make("button", { type: "button", class: "play", id: "play", disabled: none ? "" : null, click: () => toggle() }, "Play"),
      make("span", { class: "switch", role: "group", "aria-label": "Which one is heard" }, choice("a"), choice("b")),
      make("button", { type: "button", disabled: none ? "" : null, click: () => seek(begin(row)) }, "From the start"),
      make("span", { class: "clock", id: "clock" }),
      make("span", { class: "problem", id: "problem", role: "alert" }),
      none ? make("span", { class: "clock" }, matches ? "no sound at hand" : "no sound in this report") : null);
  }

  function ready(element, event) {
    return new Promise((resolve) => {
      const done = () => { element.removeEventListener(event, done); element.removeEventListener("error", done); resolve(); };
      element.addEventListener(event, done);
      element.addEventListener("error", done);
    });
  }

  async function prepare(row) {
    if (loaded === row) return;
    loaded = row;
    await Promise.all(["a", "b"].map(async (letter) => {
      const element = players[letter], { url, start } = source(row, letter);
      element.dataset.start = start;
      if (!url) { element.removeAttribute("src"); return; }
      element.src = url;
      element.playbackRate = letter === "b" ? row.speed || 1 : 1;
      element.preservesPitch = false; // a copy at another speed then sounds like the other
      element.load();
      await ready(element, "loadedmetadata");
      if (element.error) problem(letter);
    }));
  }

  function problem(letter) {
    const place = find("problem");
    if (place) place.textContent = `${letter.toUpperCase()} cannot be played: its file is not where it was, or this browser does not know its format.`;
  }

  const usable = (element) => element.hasAttribute("src") && !element.error && element.readyState > 0;
  const within = (element, time) => time >= 0 && time < (element.duration || 0);

  async function play() {
    const row = chosen, mine = ++turn;
    if (!row || !row.pair) return;
    playing = true;
    tell();
    await prepare(row);
    if (mine !== turn) return;
    if (!usable(players[heard])) {
      const other = heard === "a" ? "b" : "a";
      if (!usable(players[other])) { stop(); return; }
      heard = other;
    }
    const started = [];
    for (const [letter, element] of Object.entries(players)) {
      element.muted = letter !== heard;
      const time = timeOf(row, letter, at) - Number(element.dataset.start);
      if (usable(element) && within(element, time)) {
        const seeked = ready(element, "seeked");
        element.currentTime = time;
        started.push(seeked.then(() => element));
      }
    }
    const elements = await Promise.all(started);
    if (mine !== turn) return;
    if (!elements.length) { stop(); return; }
    await Promise.all(elements.map((element) => element.play().catch(() => {})));
    if (mine === turn) requestAnimationFrame(() => tick(mine));
  }

  function stop() {
    turn++;
    playing = false;
    for (const element of Object.values(players)) element.pause();
    tell();
  }

  function toggle() {
    if (playing) stop();
    else play();
  }

  function seek(moment) {
    at = moment;
    if (playing) { stop(); play(); } else tell();
  }

  function hear(letter) {
    if (!chosen || !chosen.pair || !source(chosen, letter).url) return;
    heard = letter;
    for (const [other, element] of Object.entries(players)) element.muted = other !== letter;
    tell();
  }

  function tick(mine) {
    if (mine !== turn) return; // stopped, or started anew
    const row = chosen, lead = players[heard].paused ? players[heard === "a" ? "b" : "a"] : players[heard];
    if (lead.paused || lead.ended) { stop(); at = begin(row); tell(); return; }
    at = momentOf(row, lead === players.a ? "a" : "b", lead.currentTime + Number(lead.dataset.start));
    for (const [letter, element] of Object.entries(players)) {
      if (element === lead || !usable(element) || element.seeking) continue;
      const time = timeOf(row, letter, at) - Number(element.dataset.start);
      if (!within(element, time)) continue;
      if (Math.abs(element.currentTime - time) > DRIFT) element.currentTime = time;
      if (element.paused) element.play().catch(() => {});
    }
    tell();
    requestAnimationFrame(() => tick(mine));
  }

  function tell() {
    const button = find("play");
    if (!button || !chosen) return;
    button.textContent = playing ? "Pause" : "Play";
    for (const one of document.querySelectorAll(".switch button")) one.setAttribute("aria-pressed", String(one.dataset.side === heard));
    find("clock").textContent = `A ${clock(at)}, B ${clock(toB(chosen, at))}`;
    for (const show of heads) show(at);
  }

  // --- the review ---------------------------------------------------------------------------------------------------

  let unsaved = false;

  function judge(row) {
    const button = (verdict, title) => make("button", {
      type: "button", class: verdict, "aria-pressed": String(row.verdict === verdict), click: () => decide(row, row.verdict === verdict ? "" : verdict),
    }, title);
    return make("div", { class: "judge", role: "group", "aria-label": "Your verdict" },
      button("same", "Same recording"), button("different", "Different"),
      make("input", { type: "text", id: "why", placeholder: "Reason (optional)", "aria-label": "Reason", autocomplete: "off", value: row.why, input: (event) => { row.why = event.target.value; note(true); } }));
  }

  function decide(row, verdict) {
    if (!row || !row.pair) return;
    row.verdict = verdict;
    note(true);
    renew(row);
    if (row === chosen) for (const one of document.querySelectorAll(".judge button")) one.setAttribute("aria-pressed", String(one.classList.contains(verdict || "none")));
  }

  function note(changed) {
    unsaved = changed;
    const count = rows.filter((row) => row.verdict).length;
    find("export").disabled = !count;
    find("export").textContent = count ? `Export review (${count.toLocaleString("en")})` : "Export review";
  }

  function review() {
    const pairs = rows.filter((row) => row.verdict).map((row) => ({ a: row.a.name.key, b: row.b.name.key, verdict: row.verdict, reason: row.why }));
    return `${JSON.stringify({ leakscan_reviewed: 1, pairs }, null, 1)}\n`;
  }

  find("export").addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([review()], { type: "application/json" }));
    make("a", { href: url, download: "reviewed-pairs.json" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    note(false);
  });

  find("import").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    event.target.value = "";
    if (!file) return;
    let found = null;
    try { found = JSON.parse(await file.text()); } catch { /* not JSON: said below */ }
    if (!found || found.leakscan_reviewed !== 1 || !Array.isArray(found.pairs)) {
      find("count").textContent = "That file is no review of leakscan; nothing was loaded.";
      return;
    }
    const known = new Map();
    for (const row of rows) if (row.pair) known.set(JSON.stringify([row.a.name.key, row.b.name.key]), row).set(JSON.stringify([row.b.name.key, row.a.name.key]), row);
    let count = 0;
    for (const pair of found.pairs) {
      const row = pair && known.get(JSON.stringify([pair.a, pair.b]));
      if (!row || !["same", "different"].includes(pair.verdict)) continue;
      row.verdict = pair.verdict;
      row.why = typeof pair.reason === "string" ? pair.reason : "";
      count++;
    }
    choose();
    exhibit();
    note(false);
    find("count").textContent += `; ${count.toLocaleString("en")} of ${found.pairs.length.toLocaleString("en")} verdicts loaded`;
  });

  window.addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });

  // --- keys, scrolling, paper -----------------------------------------------------------------------------------------

  const keys = {
    j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1),
    Home: () => move(-rows.length), End: () => move(rows.length),
    PageDown: () => move(Math.max(1, Math.floor(scroller.clientHeight / ROW) - 1)), PageUp: () => move(-Math.max(1, Math.floor(scroller.clientHeight / ROW) - 1)),
    Enter: () => { if (chosen) find("exhibit").focus(); else move(0); },
    Escape: () => { if (chosen && shown[chosen.position] === chosen) { reveal(chosen); drawn.get(chosen.position)?.focus({ preventScroll: true }); } },
    " ": () => toggle(), a: () => hear("a"), b: () => hear("b"),
    ArrowLeft: () => seek(at - 2), ArrowRight: () => seek(at + 2),
    s: () => decide(chosen, "same"), d: () => decide(chosen, "different"), u: () => decide(chosen, ""),
    "/": () => find("search").focus(), "?": () => find("help").showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || find("help").open) return;
    const target = event.target;
    if (event.key === "Escape" && target.matches("input")) { target.blur(); keys.Escape(); return; }
    if (target.matches("input, select, textarea")) return;
    if (target.matches("button, summary, label") && [" ", "Enter"].includes(event.key)) return;
    const action = Object.hasOwn(keys, event.key) && keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });

  scroller.addEventListener("scroll", () => {
    if (since) return;
    since = requestAnimationFrame(() => { since = 0; paint(); });
  }, { passive: true });
  new ResizeObserver(paint).observe(scroller);
  find("search").addEventListener("input", () => { scroller.scrollTop = 0; choose(); });
  find("review").addEventListener("change", choose);
  find("keys").addEventListener("click", () => find("help").showModal());
  find("close").addEventListener("click", () => find("help").close());

  const paper = matchMedia("print");
  const print = () => { printing = paper.matches; forget(); paint(); repaint(); };
  paper.addEventListener("change", print);
  window.addEventListener("beforeprint", () => { printing = true; forget(); paint(); });
  window.addEventListener("afterprint", () => { printing = false; forget(); paint(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);

  if (matches) find("search").placeholder = "Search";
  choose();
  if (shown.length) select(shown[0]);
  else exhibit();
})();
