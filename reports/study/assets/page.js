// The explorer of a study: a table, parallel coordinates and a plane of two
// columns, linked. Everything here is an extra: without it the page shows the
// best candidates as a table and still figures.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const perPage = 50;

  async function unpack(id) {
    const bytes = Uint8Array.from(atob(JSON.parse($(id).textContent)), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(plain).json();
  }

  function make(name, attributes, ...content) {
    const e = document.createElement(name);
    for (const [k, v] of Object.entries(attributes || {})) if (k.startsWith("on")) e.addEventListener(k.slice(2), v); else if (v !== false) e.setAttribute(k, v === true ? "" : v);
    e.append(...content); // texts stay texts
    return e;
  }

  function start(data) {
    const n = data.label.length, cols = data.columns, params = cols.filter((c) => c.kind !== "metric"), goals = cols.filter((c) => c.goal);
    const rows = { standing: data.standing, order: [...Array(n).keys()].sort((a, b) => data.standing[a] - data.standing[b] || a - b) };
    const texts = data.label.map((l, i) => (l + " " + data.verdict[i] + " " + params.filter((c) => c.choices).map((c) => Draw.say(c, c.values[i])).join(" ")).toLowerCase());
    const brushes = new Map(); // column to [low, high]
    const active = new Uint8Array(n);
    let shown = new Set(params.slice(0, Math.max(3, 14 - goals.length)).concat(goals.length ? goals : cols.filter((c) => c.kind === "metric").slice(0, 4)));
    let axes = [], X, Y, sorted = [], sort = { key: "rank", down: false }, page = 0, hot = -1, pinned = -1, colors = Draw.palette();
    rows.label = data.label;
    let parFrame, planeFrame, queued = false;

    // Filters.
    function filter() {
      const find = $("find").value.trim().toLowerCase(), front = $("only-front").checked, feasible = $("only-feasible").checked, list = [...brushes];
      let count = 0;
      for (let i = 0; i < n; i++) {
        let ok = !(front && !data.front[i]) && !(feasible && !data.feasible[i]) && (!find || texts[i].includes(find));
        for (let k = 0; ok && k < list.length; k++) {
          const v = list[k][0].values[i], [lo, hi] = list[k][1];
          ok = v !== null && v >= lo && v <= hi;
        }
        active[i] = ok ? 1 : 0;
        count += active[i];
      }
      $("count").textContent = count === n ? n.toLocaleString("en-US") + " candidates" : count.toLocaleString("en-US") + " of " + n.toLocaleString("en-US") + " candidates";
      page = 0;
      order();
      draw();
    }

    // compare puts what has no value last, whichever way the rest goes.
    function order() {
      const { key, down } = sort;
      if (key === "rank") { sorted = data.rank.filter((i) => active[i]); table(); return; }
      const value = key === "label" ? data.label : key === "verdict" ? data.verdict : key.values, sign = down ? -1 : 1;
      const text = typeof key === "string" || key.choices, names = typeof key === "string" ? value : value.map((v) => v === null ? null : text ? Draw.say(key, v) : v);
      const collator = new Intl.Collator("en", { numeric: true });
      sorted = [];
      for (let i = 0; i < n; i++) if (active[i]) sorted.push(i);
      const none = (v) => v === null || v === "";
      sorted.sort((a, b) => {
        const x = names[a], y = names[b];
        if (none(x) || none(y)) return none(x) - none(y) || a - b;
        return sign * (text ? collator.compare(x, y) : x - y) || a - b;
      });
      table();
    }

    // Table.
    // What is read first stands first: what came out, then what was set.
    const linked = data.link.some((l) => l), judged = data.verdict.some((v) => v);
    const results = cols.filter((c) => c.kind === "metric"), all = [...results, ...params], commanded = data.commands.some((c) => c.length);
    const inTable = new Set([...results, ...params.slice(0, Math.max(3, 10 - results.length))]);
    const heads = [["label", "candidate"], ...(linked ? [[null, "run"]] : []), ...(judged ? [["verdict", "verdict"]] : []), ...all.map((c) => [c, c.name + (c.bound ? " (" + c.bound + ")" : "")]), ...(commanded ? [[null, "commands"]] : [])];
    for (const c of all) {
      const box = make("input", { type: "checkbox", onchange: () => { if (box.checked) inTable.add(c); else inTable.delete(c); table(); } });
      box.checked = inTable.has(c);
      $("columns").append(make("label", {}, box, " " + c.name));
    }
    // parted lets a name break behind its underscores.
    const parted = (name) => name.split(/(?<=_)/).flatMap((s, k) => k ? [make("wbr"), s] : [s]);
    const ths = heads.map(([key, name]) => {
      const th = make("th", { scope: "col", class: key && key.values && !key.choices ? "n" : false });
      if (key === null) { th.textContent = name; return th; }
      th.append(make("button", { type: "button", title: "sort by " + name, onclick: () => {
        sort = { key, down: sort.key === key ? !sort.down : key.better > 0 };
        page = 0;
        order();
      } }, ...parted(name)));
      return th;
    });
    $("rows").tHead.rows[0].append(...ths);

    function table() {
      ths.forEach((th, k) => { th.hidden = typeof heads[k][0] === "object" && heads[k][0] !== null && !inTable.has(heads[k][0]); });
      ths.forEach((th, k) => th.setAttribute("aria-sort", heads[k][0] !== null && heads[k][0] === sort.key ? sort.down ? "descending" : "ascending" : "none"));
      const pages = Math.max(1, Math.ceil(sorted.length / perPage));
      page = Math.min(Math.max(page, 0), pages - 1);
      $("page").textContent = "page " + (page + 1) + " of " + pages;
      $("first").disabled = $("before").disabled = page === 0;
      $("last").disabled = $("after").disabled = page === pages - 1;
      $("rows").tBodies[0].replaceChildren(...sorted.slice(page * perPage, (page + 1) * perPage).map(line));
      mark();
    }

    function symbol(standing) {
      const c = make("canvas", { width: "28", height: "28", style: "width:14px;height:14px;vertical-align:-2px", "aria-hidden": "true" }), g = c.getContext("2d");
      g.scale(2, 2);
      const s = Draw.standings[standing];
      Draw.stamp(g, s.mark, 7, 7, Math.min(s.size, 6), colors.by[standing]);
      return c;
    }

    function line(i) {
      const tr = make("tr", { "data-row": i, onpointerenter: () => hover(i), onpointerleave: () => hover(-1) });
      tr.append(make("td", {}, symbol(data.standing[i]), " ", make("button", { type: "button", class: "pin", title: "pin " + data.label[i], onclick: () => pin(i), onfocus: () => hover(i) }, data.label[i])));
      if (linked) tr.append(make("td", {}, data.link[i] ? make("a", { href: data.link[i], "aria-label": "open the run of " + data.label[i] }, "open") : ""));
      if (judged) tr.append(make("td", { class: data.verdict[i] === "better" ? "says good" : data.verdict[i] === "worse" ? "says bad" : data.verdict[i].length > 24 ? "says long" : "says" }, data.verdict[i]));
      for (const c of all) if (inTable.has(c)) {
        const td = make("td", { class: c.choices ? false : "n" }, Draw.say(c, c.values[i]));
        if (c.low && c.low[i] !== null && c.high[i] !== null) td.append(make("span", { class: "range", title: "95 % interval" }, Draw.spell(c, c.low[i], 0) + " to " + Draw.spell(c, c.high[i], 0)));
        tr.append(td);
      }
      if (commanded) tr.append(make("td", {}, data.commands[i].length ? make("details", {}, make("summary", {}, "show"), ...data.commands[i].map((c) => make("div", { class: "cmd" }, c))) : ""));
      return tr;
    }

    function mark() {
      for (const tr of $("rows").tBodies[0].rows) {
        tr.classList.toggle("hot", +tr.dataset.row === hot);
        tr.classList.toggle("pinned", +tr.dataset.row === pinned);
      }
    }

    // What one candidate is.
    function describe(i) {
      const list = goals.length ? goals : cols.filter((c) => c.kind === "metric");
      const parts = list.map((c) => c.name + " " + Draw.say(c, c.values[i])).concat(params.slice(0, 12).map((c) => c.name + " " + Draw.say(c, c.values[i])));
      return data.label[i] + " (" + Draw.standings[data.standing[i]].says + (data.verdict[i] ? ", " + data.verdict[i] : "") + "): " + parts.join(", ");
    }

    function hover(i) {
      if (i === hot) return;
      hot = i;
      if (i >= 0) $("says").textContent = describe(i);
      mark();
      over();
    }

    function pin(i) {
      pinned = i;
      const p = $("pinned");
      p.hidden = i < 0;
      p.replaceChildren();
      if (i >= 0) {
        p.append("Pinned: " + data.label[i] + " ");
        if (data.link[i]) p.append(make("a", { href: data.link[i], id: "open-run" }, "open its run"), " ");
        p.append(make("button", { type: "button", onclick: () => pin(-1) }, "unpin"));
        for (const c of data.commands[i]) p.append(make("div", { class: "cmd" }, c));
        $("says").textContent = describe(i);
      }
      mark();
      over();
    }

    // Canvases.
    const canvas = (id, layer) => $(id).querySelector("." + layer);
    function draw() {
      if (queued) return;
      queued = true;
      requestAnimationFrame(() => {
        queued = false;
        axes = cols.filter((c) => shown.has(c) && c.values.some((v) => v !== null)).map((col) => ({ col, scale: Draw.scale(col, col.better < 0, data.standing) }));
        $("par").style.minWidth = axes.length * 72 + "px"; // a small screen scrolls
        $("par").hidden = $("par-title").hidden = $("par-says").hidden = axes.length < 2; // one axis has no lines
        parFrame = Draw.parallel(canvas("par", "base"), axes, rows, active, brushes, colors);
        if (X && Y) planeFrame = Draw.plane(canvas("plane", "base"), X, Y, rows, active, brushes, colors);
        over();
        ranges();
        $("explore").dataset.drawn = +($("explore").dataset.drawn || 0) + 1;
      });
    }

    function over(box) {
      const p = Draw.sized(canvas("par", "over")), q = Draw.sized(canvas("plane", "over"));
      for (const [i, color, wide] of [[pinned, colors.ink, 2.2], [hot, colors.ink, 3.2]]) {
        if (i < 0) continue;
        p.g.strokeStyle = color;
        p.g.lineWidth = wide;
        if (parFrame) Draw.trace(p.g, parFrame, axes, i);
        const at = X && Y && spot(i);
        if (at) {
          Draw.stamp(q.g, "disc", at[0], at[1], 5, colors.by[data.standing[i]]);
          q.g.strokeStyle = color;
          q.g.lineWidth = 2;
          q.g.beginPath(); q.g.arc(at[0], at[1], 8, 0, 2 * Math.PI); q.g.stroke();
        }
      }
      if (box) { q.g.strokeStyle = colors.blue; q.g.strokeRect(...box); }
    }

    function spot(i) {
      const a = X.col.values[i], b = Y.col.values[i];
      return a === null || b === null || !planeFrame ? null : [planeFrame.x(Draw.clip(X.scale.place(a))), planeFrame.y(Draw.clip(Y.scale.place(b)))];
    }

    function nearestPoint(x, y) {
      let best = -1, least = 14 * 14;
      for (let i = 0; i < n; i++) {
        const at = active[i] && spot(i);
        if (!at) continue;
        const d = (at[0] - x) ** 2 + (at[1] - y) ** 2;
        if (d < least || d === least && data.standing[i] > data.standing[best]) { least = d; best = i; }
      }
      return best;
    }

    function nearestLine(x, y) {
      let k = 0;
      while (k < axes.length - 2 && x > parFrame.x(k + 1)) k++;
      if (axes.length < 2) return -1;
      const x0 = parFrame.x(k), t = Math.min(1, Math.max(0, (x - x0) / (parFrame.x(k + 1) - x0))), a = axes[k], b = axes[k + 1];
      let best = -1, least = 8;
      for (let i = 0; i < n; i++) {
        const v = a.col.values[i], w = b.col.values[i];
        if (!active[i] || v === null || w === null) continue;
        const d = Math.abs(parFrame.y(Draw.clip(a.scale.place(v)) * (1 - t) + Draw.clip(b.scale.place(w)) * t) - y);
        if (d < least || d === least && data.standing[i] > data.standing[best]) { least = d; best = i; }
      }
      return best;
    }

    function brush(col, lo, hi) {
      if (lo === null) brushes.delete(col); else brushes.set(col, [Math.min(lo, hi), Math.max(lo, hi)]);
    }

    // drag follows the pointer from press to release; what did not move is a click.
    function drag(element, { move, done, click, hoverAt }) {
      let from = null;
      const at = (e) => { const r = element.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
      element.addEventListener("pointerdown", (e) => { if (e.button === 0) { from = at(e); try { element.setPointerCapture(e.pointerId); } catch { /* a pointer that is gone already */ } } });
      element.addEventListener("pointermove", (e) => { const p = at(e); if (!from) hover(hoverAt(...p)); else if (Math.hypot(p[0] - from[0], p[1] - from[1]) > 4) move(from, p); });
      element.addEventListener("pointerup", (e) => {
        if (!from) return;
        const p = at(e), start = from;
        from = null;
        if (Math.hypot(p[0] - start[0], p[1] - start[1]) > 4) done(start, p); else click(p);
      });
      element.addEventListener("pointercancel", () => { from = null; over(); });
      element.addEventListener("pointerleave", () => { if (!from) hover(-1); });
    }

    const axisAt = (x) => { let k = -1; axes.forEach((a, i) => { if (Math.abs(parFrame.x(i) - x) <= 16) k = i; }); return k; };
    const share = (y) => Draw.clip((parFrame.bottom - y) / (parFrame.bottom - parFrame.top));
    const alongAxis = (from, to) => {
      const k = axisAt(from[0]);
      if (k < 0) return;
      brush(axes[k].col, axes[k].scale.value(share(from[1])), axes[k].scale.value(share(to[1])));
      filter();
    };
    drag(canvas("par", "over"), {
      move: alongAxis, done: alongAxis, hoverAt: nearestLine,
      click: ([x, y]) => { const k = axisAt(x); if (k >= 0 && brushes.has(axes[k].col)) { brush(axes[k].col, null); filter(); } else pin(nearestLine(x, y)); },
    });
    drag(canvas("plane", "over"), {
      move: (a, b) => over([a[0], a[1], b[0] - a[0], b[1] - a[1]]),
      done: (a, b) => {
        const px = (x) => (x - planeFrame.left) / (planeFrame.right - planeFrame.left), py = (y) => (planeFrame.bottom - y) / (planeFrame.bottom - planeFrame.top);
        brush(X.col, X.scale.value(px(a[0])), X.scale.value(px(b[0])));
        brush(Y.col, Y.scale.value(py(a[1])), Y.scale.value(py(b[1])));
        filter();
      },
      click: ([x, y]) => {
        const i = nearestPoint(x, y);
        if (i < 0 && (brushes.has(X.col) || brushes.has(Y.col))) { brush(X.col, null); brush(Y.col, null); filter(); } else pin(i);
      },
      hoverAt: nearestPoint,
    });
    for (const id of ["par", "plane"]) canvas(id, "over").addEventListener("keydown", (e) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
      if (step && sorted.length) {
        e.preventDefault();
        const k = sorted.indexOf(pinned);
        pin(sorted[k < 0 ? 0 : (k + step + sorted.length) % sorted.length]);
      } else if (e.key === "Enter" && $("open-run")) $("open-run").click();
      else if (e.key === "Escape") pin(-1);
    });

    // Ranges as numbers, and which axes there are.
    const inputs = [];
    for (const col of cols) {
      const unit = col.choices ? "one of " + col.choices.map((c, i) => i + " " + c).join(", ") : col.share ? "0 to 1" : col.unit || "";
      const end = (which) => make("input", { type: "number", step: "any", "aria-label": which + " " + col.name, onchange: () => {
        const number = (e, d) => e.value === "" ? d : +e.value;
        if (lo.value === "" && hi.value === "") brush(col, null); else brushes.set(col, [number(lo, -Infinity), number(hi, Infinity)]);
        filter();
      } });
      const lo = end("least"), hi = end("most");
      const box = make("input", { type: "checkbox", "aria-label": "show " + col.name, onchange: () => { if (box.checked) shown.add(col); else shown.delete(col); draw(); } });
      box.checked = shown.has(col);
      $("ranges").append(make("tr", {}, make("th", { scope: "row" }, col.name), make("td", {}, box), make("td", {}, lo), make("td", {}, hi), make("td", {}, unit)));
      inputs.push([col, lo, hi]);
    }
    function ranges() {
      const text = (v) => Number.isFinite(v) ? String(+v.toPrecision(6)) : "";
      for (const [col, lo, hi] of inputs) {
        const b = brushes.get(col);
        if (document.activeElement !== lo) lo.value = b ? text(b[0]) : "";
        if (document.activeElement !== hi) hi.value = b ? text(b[1]) : "";
      }
    }

    // Controls.
    // One objective is seen beside what may not get worse, if there is such a column.
    const bounded = cols.filter((c) => c.bound && !c.goal), pair = goals.length > 1 ? goals : bounded.length && goals.length ? [bounded[0], goals[0]] : [...params.slice(0, 1), ...goals, ...cols.filter((c) => c.kind === "metric" && !c.goal)];
    const pickers = [$("plane-x"), $("plane-y")];
    pickers.forEach((p, k) => {
      cols.forEach((c, i) => p.append(make("option", { value: i }, c.name)));
      p.value = String(Math.max(0, cols.indexOf(pair[k] || cols[k] || cols[0])));
      p.addEventListener("change", choose);
    });
    function choose() {
      [X, Y] = pickers.map((p) => cols[+p.value]).map((col) => col && { col, scale: pad(Draw.scale(col, false, data.standing)) });
      draw();
    }
    // Points at the ends of a scale stay clear of the frame.
    function pad(s) { return { ...s, place: (v) => 0.02 + 0.96 * s.place(v), value: (p) => s.value(Math.min(1.02, Math.max(-0.02, (p - 0.02) / 0.96))) }; }
    const go = (f) => () => { page = f(page); table(); };
    for (const [id, f] of [["first", () => 0], ["before", (p) => p - 1], ["after", (p) => p + 1], ["last", () => Infinity]]) $(id).addEventListener("click", go(f));
    $("find").addEventListener("input", filter);
    $("only-front").addEventListener("change", filter);
    $("only-feasible").addEventListener("change", filter);
    $("only-front").parentElement.hidden = goals.length < 2;
    $("only-feasible").parentElement.hidden = data.feasible.every((f) => f);
    $("clear").addEventListener("click", () => { brushes.clear(); $("find").value = ""; $("only-front").checked = $("only-feasible").checked = false; pin(-1); filter(); });
    function legend() {
      const met = new Set(data.standing);
      $("legend").replaceChildren(...Draw.standings.map((s, i) => met.has(i) ? make("span", {}, symbol(i), " " + s.says) : "").filter(Boolean));
    }
    function restyle() { colors = Draw.palette(); legend(); table(); draw(); }

    $("still").hidden = true;
    $("explore").hidden = false;
    choose();
    legend();
    filter();
    new ResizeObserver(draw).observe($("par"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
    requestAnimationFrame(() => requestAnimationFrame(() => { document.documentElement.dataset.ready = "1"; }));
  }

  unpack("data").then((data) => { if (data.label.length && data.columns.length) start(data); else document.documentElement.dataset.ready = "1"; });
})();
