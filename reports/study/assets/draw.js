// What the explorer of a study draws on its canvases, and how it spells
// numbers. It knows nothing of the page around it.
const Draw = (() => {
  "use strict";
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // By standing: breaks a bound, tried, on the front, baseline, current, recommended.
  const standings = [
    { says: "breaks a bound or failed", color: "--muted", width: 0.7, size: 3, mark: "ring" },
    { says: "tried", color: "--sky", width: 0.8, size: 3, mark: "disc" },
    { says: "on the front", color: "--blue", width: 1.5, size: 4.5, mark: "disc" },
    { says: "baseline", color: "--orange", width: 1.8, size: 6, mark: "diamond", dashes: [5, 3] },
    { says: "current", color: "--vermilion", width: 3, size: 6.5, mark: "square" },
    { says: "recommended", color: "--green", width: 3, size: 8, mark: "star" },
  ];
  const palette = () => ({ ink: css("--ink"), muted: css("--muted"), line: css("--line"), paper: css("--paper"), blue: css("--blue"), by: standings.map((s) => css(s.color)) });

  // What rounds to 0 has no sign.
  const fixed = (v, digits) => { const s = v.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }); return /^-[0.]*$/.test(s) ? s.slice(1) : s; };
  const two = (v, more) => fixed(v, (Math.abs(v) >= 9.95 ? 0 : 1) + more);
  const spans = [[86400, "d"], [3600, "h"], [60, "min"]];
  // A span is written in its own unit, or in that of its column.
  function span(sec, more = 0, unitOf = sec) {
    for (const [by, unit] of spans) if (Math.abs(unitOf) >= 1.5 * by && sec !== 0) return two(sec / by, more) + " " + unit;
    return sec === 0 ? "0" : two(sec, more) + " s";
  }
  function short(v, more = 0) {
    const a = Math.abs(v);
    if (a >= 1e15) return v.toPrecision(3 + more);
    if (Number.isInteger(v)) return v.toLocaleString("en-US");
    return a >= 0.0005 ? fixed(v, (a >= 100 ? 0 : a >= 10 ? 1 : a >= 0.095 ? 2 : 3) + more) : v.toPrecision(2 + more);
  }
  // middle is the span that gives a column its unit: half of those in it are shorter.
  function middle(col) {
    const all = col.values.filter((v) => v).map(Math.abs).sort((a, b) => a - b);
    return all.length ? all[Math.floor(all.length / 2)] : 0;
  }
  function spell(col, v, more) {
    if (col.unit === "s" && col.middle === undefined) col.middle = middle(col);
    return col.unit === "s" ? span(v, more, col.middle) : col.share ? fixed(100 * v, 1 + more) + " %" : short(v, more);
  }
  // digits is how many more are written so that values of a column that differ look
  // different: three at most.
  function digits(col) {
    const values = [...new Set(col.values.filter((v) => v !== null))];
    for (let more = 0; more < 3; more++) if (new Set(values.map((v) => spell(col, v, more))).size === values.length) return more;
    return values.length > 400 ? 1 : 3;
  }
  function say(col, v) {
    if (v === null || v === undefined) return "-";
    if (col.choices) return col.choices[v] ?? "-";
    if (col.digits === undefined) col.digits = digits(col);
    return spell(col, v, col.digits);
  }

  const clip = (p) => Math.min(1, Math.max(0, p));

  // The scale of a column: place gives 0 to 1 from the bottom, value is its
  // inverse. The worst fiftieth of the rows without a standing lies beyond the
  // end, where it would otherwise press all others together.
  function scale(col, flip, standing) {
    let lo = Infinity, hi = -Infinity, plain = [], least = Infinity, most = -Infinity;
    col.values.forEach((v, i) => {
      if (v === null) return;
      least = Math.min(least, v);
      most = Math.max(most, v);
      if (standing[i] < 2) plain.push(v); else { lo = Math.min(lo, v); hi = Math.max(hi, v); }
    });
    plain.sort((a, b) => a - b);
    const cut = plain.length > 20 ? Math.floor(plain.length / 50) : 0;
    if (col.better < 0) plain = plain.slice(0, plain.length - cut); else if (col.better > 0) plain = plain.slice(cut);
    if (plain.length) { lo = Math.min(lo, plain[0]); hi = Math.max(hi, plain[plain.length - 1]); }
    if (col.choices) { lo = -0.25; hi = col.choices.length - 0.75; } else if (col.to > col.from) { lo = Math.min(lo, col.from); hi = Math.max(hi, col.to); }
    if (lo > hi) { lo = 0; hi = 1; }
    if (hi - lo <= 1e-9 * Math.max(Math.abs(lo), Math.abs(hi))) { const pad = Math.abs(lo) * 0.05 || 1; if (!(col.log && lo - pad <= 0)) lo -= pad; hi += pad; }
    const log = col.log && lo > 0, f = log ? Math.log : (v) => v, g = log ? Math.exp : (v) => v, a = f(lo), b = f(hi);
    const at = (v) => { const p = (f(v) - a) / (b - a); return flip ? 1 - p : p; };
    // An end of the scale stands for all that lies beyond it.
    const value = (p) => { const q = flip ? 1 - p : p; return q <= 0 ? Math.min(lo, least) : q >= 1 ? Math.max(hi, most) : g(a + q * (b - a)); };
    return { lo, hi, below: least < lo, above: most > hi, flip, place: at, value };
  }

  function ticks(col, sc, most) {
    if (col.choices) return col.choices.map((c, i) => ({ v: i, text: c }));
    let by = 1, unit = "";
    const reach = Math.max(Math.abs(sc.lo), Math.abs(sc.hi));
    if (col.unit === "s") [by, unit] = [[86400, " d"], [3600, " h"], [60, " min"], [1, " s"]].find(([n]) => reach >= 3 * n || n === 1);
    else if (col.share) [by, unit] = [0.01, " %"];
    const lo = sc.lo / by, hi = sc.hi / by;
    let step = 10 ** Math.floor(Math.log10((hi - lo) / most));
    step *= [1, 2, 5, 10].find((m) => (hi - lo) / (step * m) <= most) || 10;
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), out = [];
    for (let i = Math.ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9; i++) out.push({ v: i * step * by, text: fixed(i * step, digits) + unit });
    return out;
  }

  // sized fits a canvas to its box; coordinates are those of the page.
  function sized(canvas) {
    const r = canvas.getBoundingClientRect(), k = devicePixelRatio || 1, w = Math.round(r.width * k), h = Math.round(r.height * k);
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    const g = canvas.getContext("2d");
    g.setTransform(k, 0, 0, k, 0, 0);
    g.clearRect(0, 0, r.width, r.height);
    g.font = '12px "Liberation Sans", Arial, Helvetica, sans-serif';
    return { g, w: r.width, h: r.height };
  }

  function fitted(g, s, room) {
    if (g.measureText(s).width <= room) return s;
    while (s.length > 1 && g.measureText(s + "…").width > room) s = s.slice(0, -1);
    return s + "…";
  }
  // broken parts a name into at most three lines after a dot, blank or underscore.
  function broken(g, s, room) {
    const lines = [];
    for (const w of s.match(/[^._ -]*[._ -]?/g).filter(Boolean)) {
      const last = lines.length - 1;
      if (last >= 0 && (last === 2 || g.measureText(lines[last] + w).width <= room)) lines[last] += w; else lines.push(w);
    }
    return lines.map((l) => fitted(g, l.trim(), room));
  }

  function stamp(g, mark, x, y, r, color) {
    g.fillStyle = g.strokeStyle = color;
    g.beginPath();
    if (mark === "square") g.rect(x - r, y - r, 2 * r, 2 * r);
    else if (mark === "diamond") { g.moveTo(x, y - r); g.lineTo(x + r, y); g.lineTo(x, y + r); g.lineTo(x - r, y); g.closePath(); }
    else if (mark === "star") {
      for (let i = 0; i < 10; i++) { const d = r * (i % 2 ? 0.5 : 1.15), t = i * Math.PI / 5; g.lineTo(x + d * Math.sin(t), y - d * Math.cos(t)); }
      g.closePath();
    } else g.arc(x, y, r, 0, 2 * Math.PI);
    if (mark === "ring") { g.lineWidth = 1; g.stroke(); } else g.fill();
  }

  // The frame of parallel coordinates: where each axis stands.
  function parallelFrame(w, h, n) {
    const side = Math.min(84, w / (2 * n)), top = 62, bottom = h - 22;
    return { top, bottom, side, width: w, room: n > 1 ? (w - 2 * side) / (n - 1) : w - 2 * side, x: (i) => n > 1 ? side + (w - 2 * side) * i / (n - 1) : w / 2, y: (p) => bottom - (bottom - top) * p };
  }

  function trace(g, f, axes, i) {
    let on = false;
    g.beginPath();
    axes.forEach((a, k) => {
      const v = a.col.values[i];
      if (v === null) { on = false; return; }
      const x = f.x(k), y = f.y(clip(a.scale.place(v)));
      if (on) g.lineTo(x, y); else g.moveTo(x, y);
      on = true;
    });
    g.stroke();
  }

  function parallel(canvas, axes, rows, active, brushes, colors) {
    const { g, w, h } = sized(canvas), f = parallelFrame(w, h, axes.length);
    let many = 0;
    for (const i of rows.order) if (active[i]) many++;
    g.globalAlpha = 0.25;
    g.strokeStyle = colors.line;
    g.lineWidth = 0.6;
    if (many < rows.order.length) for (const i of rows.order) if (!active[i]) trace(g, f, axes, i);
    for (const i of rows.order) {
      if (!active[i]) continue;
      const s = standings[rows.standing[i]];
      g.globalAlpha = rows.standing[i] < 2 ? Math.min(0.75, Math.max(0.05, 90 / many)) : 1;
      g.strokeStyle = colors.by[rows.standing[i]];
      g.lineWidth = s.width;
      g.setLineDash(s.dashes || []);
      trace(g, f, axes, i);
    }
    g.globalAlpha = 1;
    g.setLineDash([]);
    axes.forEach((a, k) => axis(g, f, a, k, brushes.get(a.col), colors));
    stand(g, f, axes, rows, active, colors);
    return f;
  }

  // stand marks baselines, what is current and what is recommended on every axis on which
  // they have a value, for a line needs two, and names them beside the last.
  function stand(g, f, axes, rows, active, colors) {
    const named = [];
    for (const i of rows.order) {
      if (!active[i] || rows.standing[i] < 3) continue;
      const s = standings[rows.standing[i]];
      let last = null;
      axes.forEach((a, k) => {
        const v = a.col.values[i];
        if (v === null) return;
        last = [f.x(k), f.y(clip(a.scale.place(v)))];
        stamp(g, s.mark, last[0], last[1], 0.7 * s.size, colors.by[rows.standing[i]]);
      });
      if (last) named.push([i, last[0], last[1], 1]);
    }
    tags(g, { left: 0, right: f.width, top: f.top - 4, bottom: f.bottom + 8 }, named, rows.label, colors);
  }

  function axis(g, f, a, k, brush, colors) {
    const x = f.x(k);
    g.strokeStyle = colors.ink;
    g.lineWidth = 1.2;
    g.beginPath(); g.moveTo(x, f.top); g.lineTo(x, f.bottom); g.stroke();
    if (brush) {
      const y0 = f.y(clip(a.scale.place(brush[0]))), y1 = f.y(clip(a.scale.place(brush[1])));
      g.fillStyle = colors.blue;
      g.globalAlpha = 0.28;
      g.fillRect(x - 9, Math.min(y0, y1), 18, Math.max(2, Math.abs(y1 - y0)));
      g.globalAlpha = 1;
      g.strokeStyle = colors.blue;
      g.strokeRect(x - 9, Math.min(y0, y1), 18, Math.max(2, Math.abs(y1 - y0)));
    }
    g.textAlign = "center";
    g.fillStyle = colors.ink;
    const lines = broken(g, (a.col.better ? "▲ " : "") + a.col.name, Math.min(f.room, x < f.side + 1 || x > f.width - f.side - 1 ? 2 * f.side : f.room) - 4);
    lines.forEach((l, i) => g.fillText(l, x, f.top - 20 - 13 * (lines.length - 1 - i)));
    g.fillStyle = colors.muted;
    if (a.col.choices) { choices(g, f, a, x, colors); return; }
    const s = a.scale, ends = [spell(a.col, s.hi, 0) + (s.above ? " and more" : ""), spell(a.col, s.lo, 0) + (s.below ? " and less" : "")].map((t) => fitted(g, t, f.room - 4));
    if (s.flip) ends.reverse();
    g.fillText(ends[0], x, f.top - 5);
    g.fillText(ends[1], x, f.bottom + 15);
  }

  function choices(g, f, a, x, colors) {
    g.textAlign = "left";
    a.col.choices.forEach((c, i) => {
      const y = f.y(a.scale.place(i)), text = fitted(g, c, f.room * 0.6);
      g.globalAlpha = 0.8;
      g.fillStyle = colors.paper;
      g.fillRect(x + 4, y - 8, g.measureText(text).width + 6, 16);
      g.globalAlpha = 1;
      g.fillStyle = colors.ink;
      g.fillText(text, x + 7, y + 4);
    });
  }

  // The plane of two columns.
  const planeFrame = (w, h) => ({ left: 74, right: w - 14, top: 12, bottom: h - 42, x(p) { return this.left + (this.right - this.left) * p; }, y(p) { return this.bottom - (this.bottom - this.top) * p; } });

  function plane(canvas, X, Y, rows, active, brushes, colors) {
    const { g, w, h } = sized(canvas), f = planeFrame(w, h);
    g.strokeStyle = colors.line;
    g.fillStyle = colors.muted;
    g.lineWidth = 1;
    g.textAlign = "center";
    for (const t of ticks(X.col, X.scale, 9)) {
      const x = f.x(X.scale.place(t.v));
      g.beginPath(); g.moveTo(x, f.top); g.lineTo(x, f.bottom); g.stroke();
      g.fillText(t.text, x, f.bottom + 15);
    }
    g.textAlign = "right";
    for (const t of ticks(Y.col, Y.scale, 7)) {
      const y = f.y(Y.scale.place(t.v));
      g.beginPath(); g.moveTo(f.left, y); g.lineTo(f.right, y); g.stroke();
      g.fillText(fitted(g, t.text, f.left - 24), f.left - 6, y + 4);
    }
    const wish = (c) => c.name + (c.better ? c.better > 0 ? ", more is better" : ", less is better" : "");
    g.fillStyle = colors.ink;
    g.textAlign = "center";
    g.fillText(wish(X.col), (f.left + f.right) / 2, h - 8);
    g.save(); g.translate(13, (f.top + f.bottom) / 2); g.rotate(-Math.PI / 2); g.fillText(wish(Y.col), 0, 0); g.restore();
    const put = (i, color, alpha) => {
      const a = X.col.values[i], b = Y.col.values[i], s = standings[rows.standing[i]];
      if (a === null || b === null) return;
      g.globalAlpha = alpha;
      const x = f.x(clip(X.scale.place(a))), y = f.y(clip(Y.scale.place(b)));
      stamp(g, s.mark, x, y, s.size, color);
      if (rows.standing[i] >= 3 || rows.order.length <= 16) named.push([i, x, y, alpha]);
    };
    const named = [];
    for (const i of rows.order) if (!active[i]) put(i, colors.line, 0.6);
    for (const i of rows.order) if (active[i]) put(i, colors.by[rows.standing[i]], rows.standing[i] < 2 ? 0.7 : 1);
    g.globalAlpha = 1;
    tags(g, { left: f.left, right: f.right + 12, top: 1, bottom: f.bottom }, named, rows.label, colors);
    rectangle(g, f, X, Y, brushes, colors);
    return f;
  }

  // tags writes the names of baselines and of what is recommended beside their
  // points, where there is room; a line leads to a name that is not right beside its point.
  function tags(g, f, named, labels, colors) {
    const taken = named.map(([, x, y]) => [x - 6, y - 6, 12, 12]);
    g.textAlign = "left";
    for (const [i, x, y, alpha] of named.reverse()) {
      const text = fitted(g, labels[i], 180), w = g.measureText(text).width + 4;
      for (const [dx, dy] of [[10, 4], [-10 - w, 4], [10, -12], [10, 20], [-10 - w, -12], [-10 - w, 20], [-w / 2, -14], [-w / 2, 24], [10, -28], [10, 36], [-10 - w, -28], [-10 - w, 36]]) {
        const box = [x + dx, y + dy - 11, w, 14];
        if (box[0] < f.left || box[0] + w > f.right || box[1] < f.top || box[1] + 14 > f.bottom) continue;
        if (taken.some((t) => box[0] < t[0] + t[2] && t[0] < box[0] + w && box[1] < t[1] + 14 && t[1] < box[1] + 14)) continue;
        taken.push(box);
        if (Math.abs(dy - 4) > 1) {
          g.globalAlpha = alpha; g.strokeStyle = colors.muted; g.lineWidth = 0.8;
          g.beginPath(); g.moveTo(x, y); g.lineTo(Math.min(Math.max(x, box[0]), box[0] + w), dy > 4 ? box[1] + 2 : box[1] + 12); g.stroke();
        }
        g.globalAlpha = 0.75; g.fillStyle = colors.paper; g.fillRect(...box);
        g.globalAlpha = alpha; g.fillStyle = colors.ink; g.fillText(text, x + dx + 2, y + dy);
        break;
      }
    }
    g.globalAlpha = 1;
  }

  function rectangle(g, f, X, Y, brushes, colors) {
    const bx = brushes.get(X.col), by = brushes.get(Y.col);
    if (!bx && !by) return;
    const xs = bx ? bx.map((v) => f.x(clip(X.scale.place(v)))) : [f.left, f.right], ys = by ? by.map((v) => f.y(clip(Y.scale.place(v)))) : [f.top, f.bottom];
    g.fillStyle = g.strokeStyle = colors.blue;
    const box = [Math.min(...xs), Math.min(...ys), Math.abs(xs[1] - xs[0]), Math.abs(ys[1] - ys[0])];
    g.globalAlpha = 0.1; g.fillRect(...box);
    g.globalAlpha = 0.9; g.strokeRect(...box);
    g.globalAlpha = 1;
  }

  return { clip, standings, palette, say, span, short, scale, sized, stamp, parallel, parallelFrame, trace, spell, plane, planeFrame, css };
})();
