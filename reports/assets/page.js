// The moving parts of the report: the Gantt on a canvas of its own and the
// time series by uPlot. Everything here is an extra: without it the page shows
// the same data as tables and still figures.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const grouped = (n) => Math.round(n).toLocaleString("en-US");

  async function unpack(id) {
    const bytes = Uint8Array.from(atob(JSON.parse($(id).textContent)), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(plain).arrayBuffer();
  }

  const two = (n) => String(n).padStart(2, "0");
  function span(sec) {
    const s = Math.round(sec), d = Math.floor(s / 86400);
    return (d ? d + "d " : "") + two(Math.floor(s / 3600) % 24) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
  }

  // A clock labels seconds since the trace's epoch.
  function makeClock(meta) {
    const date = (sec) => new Date(meta.epoch * 1000 + sec * 1000);
    const day = 86400, dates = [1, 2, 4, 7, 14], counts = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
    const steps = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 10800, 21600, 43200].concat((meta.known ? dates : counts).map((n) => n * day));
    // Spans too long for days are labelled at the first of a month.
    function months(lo, hi, most) {
      const month = 30.44 * day, by = [1, 2, 3, 6, 12, 24, 60, 120, 240].find((m) => (hi - lo) / (m * month) <= most) || 1200, out = [];
      for (let m = 0; ; m += by) {
        const at = Date.UTC(date(lo).getUTCFullYear(), m, 1), v = at / 1000 - meta.epoch;
        if (v > hi) return out;
        if (v >= lo) out.push({ v, text: new Date(at).toISOString().slice(0, by < 12 ? 7 : 4) });
      }
    }
    return {
      full: (sec) => meta.known ? date(sec).toISOString().slice(0, 19).replace("T", " ") + " UTC" : "day " + Math.floor(sec / 86400) + " " + span(((sec % 86400) + 86400) % 86400),
      ticks(lo, hi, most) {
        const fits = steps.find((s) => (hi - lo) / s <= most);
        if (meta.known && !fits) return months(lo, hi, most);
        const step = fits || (hi - lo) / most;
        const shift = meta.known ? meta.epoch % step : 0;
        const out = [];
        for (let v = Math.ceil((lo + shift) / step) * step - shift; v <= hi; v += step) {
          let text;
          if (meta.known) {
            const iso = date(v).toISOString();
            text = step < 60 ? iso.slice(11, 19) : step < 86400 ? iso.slice(11, 16) : iso.slice(0, 10);
            if (step < 86400 && (out.length === 0 || iso.slice(11, 16) === "00:00")) text = iso.slice(5, 10) + " " + text;
          } else {
            text = step < 86400 ? "d" + Math.floor(v / 86400) + " " + span(((v % 86400) + 86400) % 86400).slice(0, step < 60 ? 8 : 5) : "day " + Math.round(v / 86400);
          }
          out.push({ v, text });
        }
        return out;
      },
    };
  }

  // Columns are stored as differences, in planes of one byte each.
  function readColumns(buffer, layout) {
    const bytes = new Uint8Array(buffer), cols = {};
    let at = 0;
    for (const c of layout) {
      const out = new Int32Array(c.n);
      for (let p = 0; p < 4; p++, at += c.n) for (let i = 0; i < c.n; i++) out[i] |= bytes[at + i] << (8 * p);
      if (c.delta) for (let i = 1; i < c.n; i++) out[i] += out[i - 1];
      cols[c.name] = out;
    }
    return cols;
  }

  // What nodes are called: their numbers, or the names of a list like n[1-8],m1.
  function namer(list) {
    const runs = [];
    let at = 0;
    for (const [, head, inside, tail] of (list || "").matchAll(/([^,[\]]+)?(?:\[([^\]]*)\])?([^,[\]]*)(?:,|$)/g)) {
      if (head === undefined && inside === undefined) continue;
      for (const part of inside === undefined ? [""] : inside.split(",")) {
        const [lo, hi] = part.split("-"), n = hi === undefined ? 1 : Number(hi) - Number(lo) + 1;
        runs.push({ at, head: head || "", lo, tail });
        at += n;
      }
    }
    return (node) => {
      if (node < 0 || node >= at) return String(node);
      let a = 0, b = runs.length;
      while (b - a > 1) { const m = (a + b) >> 1; if (runs[m].at <= node) a = m; else b = m; }
      const r = runs[a];
      return r.head + (r.lo === "" ? "" : String(Number(r.lo) + node - r.at).padStart(r.lo.length, "0")) + r.tail;
    };
  }

  // Jobs is the source of a Gantt that knows every allocation.
  function jobSource(meta, cols, clock) {
    const n = cols.start.length, first = new Int32Array(n + 1);
    for (let i = 0; i < n; i++) first[i + 1] = first[i] + cols.ranges[i];
    let longest = 0;
    for (let i = 0; i < n; i++) longest = Math.max(longest, cols.dur[i]);
    // The rows are ascending by start: those that can show begin after t0-longest.
    const lower = (t) => { let a = 0, b = n; while (a < b) { const m = (a + b) >> 1; if (cols.start[m] < t) a = m + 1; else b = m; } return a; };
    const visible = (v) => [lower(v.t0 - longest), lower(v.t1)];
    const word = ["PENDING", "RUNNING", "COMPLETED", "TIMEOUT", "CANCELLED", "REJECTED", "CHECKPOINTING", "SUSPENDED", "FAILED"];
    return {
      paint(px, w, h, v, colors) {
        const [a, b] = visible(v), sx = w / (v.t1 - v.t0), sy = h / (v.n1 - v.n0);
        if (b - a > 3000) return shade(px, w, h, v, colors, a, b, sx, sy);
        for (let i = a; i < b; i++) {
          const xa = (cols.start[i] - v.t0) * sx, xb = xa + cols.dur[i] * sx;
          if (xb < 0) continue;
          const x0 = Math.max(0, Math.floor(xa)), x1 = Math.min(w, Math.max(Math.floor(xa) + 1, Math.floor(xb) - (xb - xa > 4 ? 1 : 0)));
          const color = colors.jobs[cols.id[i] % colors.jobs.length] || colors.jobs[0];
          for (let k = first[i]; k < first[i + 1]; k++) {
            const y0 = Math.max(0, Math.floor((cols.lo[k] - v.n0) * sy)), y1 = Math.min(h, Math.max(y0 + 1, Math.floor((cols.lo[k] + cols.len[k] - v.n0) * sy)));
            for (let y = y0; y < y1; y++) px.fill(color, (h - 1 - y) * w + x0, (h - 1 - y) * w + x1);
          }
        }
        return "each colour is one job";
      },
      at(t, node) {
        const [a, b] = [lower(t - longest), lower(t + 1e-9)];
        for (let i = b - 1; i >= a; i--) {
          if (cols.start[i] > t || cols.start[i] + cols.dur[i] <= t) continue;
          for (let k = first[i]; k < first[i + 1]; k++) {
            if (node >= cols.lo[k] && node < cols.lo[k] + cols.len[k]) {
              const user = meta.users[cols.user[i]];
              return "job " + cols.id[i] + (user ? ", user " + user : "") + ", " + cols.procs[i] + " processors, " + word[cols.state[i]] +
                ": waited " + (cols.wait[i] < 0 ? "-" : span(cols.wait[i])) + ", ran " + span(cols.dur[i]) + ", from " + clock.full(cols.start[i]) + " to " + clock.full(cols.start[i] + cols.dur[i]);
            }
          }
        }
        return "idle";
      },
    };
    function shade(px, w, h, v, colors, a, b, sx, sy) {
      const sum = new Float32Array(w * h);
      for (let i = a; i < b; i++) {
        const xa = Math.max(0, (cols.start[i] - v.t0) * sx), xb = Math.min(w, (cols.start[i] + cols.dur[i] - v.t0) * sx);
        if (xb <= xa) continue;
        for (let k = first[i]; k < first[i + 1]; k++) {
          const ya = Math.max(0, (cols.lo[k] - v.n0) * sy), yb = Math.min(h, (cols.lo[k] + cols.len[k] - v.n0) * sy);
          for (let y = Math.floor(ya); y < yb; y++) {
            const part = Math.min(yb, y + 1) - Math.max(ya, y);
            for (let x = Math.floor(xa); x < xb; x++) sum[(h - 1 - y) * w + x] += part * (Math.min(xb, x + 1) - Math.max(xa, x));
          }
        }
      }
      for (let i = 0; i < sum.length; i++) if (sum[i] > 0) px[i] = colors.shades[Math.max(1, Math.min(32, Math.round(sum[i] * 32)))];
      return "too many jobs to tell apart: the fuller the colour, the more was allocated; zoom in for single jobs";
    }
  }

  // gpuNamer names a row of a GPU by its node and its number there.
  function gpuNamer(name, runs) {
    return (row) => {
      let node = 0, first = 0;
      for (const [nodes, each] of runs) {
        if (row < first + nodes * each) return name(node + Math.floor((row - first) / each)) + ":" + (row - first) % each;
        node += nodes;
        first += nodes * each;
      }
      return "";
    };
  }

  // Cells is the source of a Gantt summed up beforehand.
  function cellSource(meta, bytes, clock) {
    return {
      paint(px, w, h, v, colors) {
        for (let y = 0; y < h; y++) {
          const row = Math.floor((v.n0 + (h - 1 - y + 0.5) / h * (v.n1 - v.n0)) / meta.rowNodes);
          for (let x = 0; x < w; x++) {
            const col = Math.floor((v.t0 + (x + 0.5) / w * (v.t1 - v.t0) - meta.t0) / meta.colSec);
            if (row < 0 || col < 0 || row >= meta.rows || col >= meta.cols) continue;
            const k = bytes[row * meta.cols + col];
            if (k) px[y * w + x] = colors.shades[Math.max(1, Math.round(k * 32 / 255))];
          }
        }
        return meta.most ? "summed up: the fuller the colour, the more jobs on a node, " + meta.most.toFixed(1) + " at most" : "summed up: the fuller the colour, the more was allocated";
      },
      at(t, node) {
        const row = Math.floor(node / meta.rowNodes), col = Math.floor((t - meta.t0) / meta.colSec);
        if (row < 0 || col < 0 || row >= meta.rows || col >= meta.cols) return "";
        const lo = row * meta.rowNodes, hi = Math.min(meta.nodes, lo + meta.rowNodes) - 1;
        return (lo === hi ? "node " + meta.name(lo) : "nodes " + meta.name(lo) + " to " + meta.name(hi)) + ", " + span(meta.colSec) + " from " + clock.full(meta.t0 + col * meta.colSec) + ": " + (meta.most ? (bytes[row * meta.cols + col] / 255 * meta.most).toFixed(1) + " jobs on a node" : Math.round(bytes[row * meta.cols + col] / 2.55) + " % allocated");
      },
    };
  }

  const abgr = (hex, alpha) => ((alpha << 24) | (parseInt(hex.slice(5, 7), 16) << 16) | (parseInt(hex.slice(3, 5), 16) << 8) | parseInt(hex.slice(1, 3), 16)) >>> 0;
  function palette() {
    const shades = new Uint32Array(33);
    for (let i = 1; i <= 32; i++) shades[i] = abgr(css("--blue"), Math.round(20 + 235 * i / 32));
    return { shades, jobs: ["--sky", "--orange", "--green", "--purple", "--blue", "--vermilion", "--yellow", "--muted"].map((n) => abgr(css(n), 255)) };
  }

  function gantt(meta, source, clock, shown) {
    const canvas = $("gantt-canvas"), g = canvas.getContext("2d"), says = $("gantt-says"), mode = $("gantt-mode");
    const left = 56 + 6 * Math.max(0, Math.min(16, meta.name(meta.nodes - 1).length) - 5), bottom = 26, whole = { t0: meta.t0, t1: meta.t1, n0: 0, n1: meta.nodes };
    let view = { ...whole, t1: Math.min(whole.t1, shown) }, colors = palette(), queued = false, hover = null;
    const size = () => ({ w: canvas.clientWidth - left, h: canvas.clientHeight - bottom });

    function clamp(v) {
      const dt = Math.min(Math.max(v.t1 - v.t0, 10), whole.t1 - whole.t0), dn = Math.min(Math.max(v.n1 - v.n0, Math.min(4, meta.nodes)), meta.nodes);
      const t0 = Math.min(Math.max(v.t0, whole.t0), whole.t1 - dt), n0 = Math.min(Math.max(v.n0, 0), meta.nodes - dn);
      return { t0, t1: t0 + dt, n0, n1: n0 + dn };
    }
    function zoom(f, fx = 0.5, fy = 0.5, nodesToo = false) {
      const dt = (view.t1 - view.t0) * f, t = view.t0 + (view.t1 - view.t0) * fx, dn = (view.n1 - view.n0) * (nodesToo ? f : 1), n = view.n0 + (view.n1 - view.n0) * fy;
      show({ t0: t - dt * fx, t1: t + dt * (1 - fx), n0: n - dn * fy, n1: n + dn * (1 - fy) });
    }
    const pan = (fx, fy) => show({ t0: view.t0 + fx * (view.t1 - view.t0), t1: view.t1 + fx * (view.t1 - view.t0), n0: view.n0 + fy * (view.n1 - view.n0), n1: view.n1 + fy * (view.n1 - view.n0) });
    function show(v) { view = clamp(v); if (!queued) { queued = true; requestAnimationFrame(draw); } }

    function draw() {
      queued = false;
      const dpr = Math.min(window.devicePixelRatio || 1, 2), { w, h } = size();
      if (w < 20) return;
      canvas.width = Math.round((w + left) * dpr);
      canvas.height = Math.round((h + bottom) * dpr);
      const pw = Math.round(w * dpr), ph = Math.round(h * dpr);
      const img = new ImageData(pw, ph);
      mode.textContent = source.paint(new Uint32Array(img.data.buffer), pw, ph, view, colors);
      g.putImageData(img, Math.round(left * dpr), 0);
      g.setTransform(dpr, 0, 0, dpr, 0, 0);
      g.strokeStyle = css("--muted");
      g.fillStyle = css("--muted");
      g.font = "11px system-ui, sans-serif";
      g.strokeRect(left + 0.5, 0.5, w - 1, h - 1);
      g.textAlign = "center";
      for (const t of clock.ticks(view.t0, view.t1, Math.max(2, Math.floor(w / 110)))) {
        const x = left + (t.v - view.t0) / (view.t1 - view.t0) * w;
        g.fillRect(x, h, 1, 4);
        g.fillText(t.text, Math.min(Math.max(x, left + 20), left + w - 32), h + 17);
      }
      g.textAlign = "right";
      const step = Math.max(1, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000].find((s) => (view.n1 - view.n0) / s <= 8) || 100000);
      for (let n = Math.ceil(view.n0 / step) * step; n < view.n1; n += step) {
        const y = h - (n - view.n0) / (view.n1 - view.n0) * h;
        g.fillRect(left - 4, y, 4, 1);
        g.fillText(meta.name(n), left - 7, Math.max(10, y + 3));
      }
      g.save();
      g.translate(11, h / 2);
      g.rotate(-Math.PI / 2);
      g.textAlign = "center";
      g.fillText(meta.what, 0, 0);
      g.restore();
      canvas.dataset.drawn = String(Number(canvas.dataset.drawn || 0) + 1);
    }

    const place = (e) => { const r = canvas.getBoundingClientRect(), { w, h } = size(); return { fx: (e.clientX - r.left - left) / w, fy: 1 - (e.clientY - r.top) / h }; };
    let drag = null;
    canvas.addEventListener("pointerdown", (e) => { drag = { ...place(e), view: { ...view } }; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener("pointerup", () => { drag = null; });
    canvas.addEventListener("pointermove", (e) => {
      const p = place(e);
      if (drag) {
        const v = drag.view, dt = (drag.fx - p.fx) * (v.t1 - v.t0), dn = (drag.fy - p.fy) * (v.n1 - v.n0);
        show({ t0: v.t0 + dt, t1: v.t1 + dt, n0: v.n0 + dn, n1: v.n1 + dn });
        return;
      }
      hover = p;
      const t = view.t0 + p.fx * (view.t1 - view.t0), n = Math.floor(view.n0 + p.fy * (view.n1 - view.n0));
      says.textContent = p.fx < 0 || p.fx > 1 || p.fy < 0 || p.fy > 1 ? "" : clock.full(t) + ", " + meta.what + " " + meta.name(n) + ": " + source.at(t, n);
    });
    canvas.addEventListener("wheel", (e) => {
      if (document.activeElement !== canvas && !e.ctrlKey) return;
      e.preventDefault();
      const p = place(e);
      zoom(Math.exp(e.deltaY * 0.0015), p.fx, p.fy, e.shiftKey);
    }, { passive: false });
    canvas.addEventListener("dblclick", (e) => { const p = place(e); zoom(0.4, p.fx, p.fy); });
    canvas.addEventListener("keydown", (e) => {
      const act = { ArrowLeft: () => pan(-0.2, 0), ArrowRight: () => pan(0.2, 0), ArrowUp: () => pan(0, 0.2), ArrowDown: () => pan(0, -0.2), "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), 0: () => show(whole) }[e.key];
      if (act) { e.preventDefault(); act(); }
    });
    $("gantt-in").onclick = () => zoom(0.5);
    $("gantt-out").onclick = () => zoom(2);
    $("gantt-taller").onclick = () => zoom(0.5, hover ? hover.fx : 0.5, 0.5, true);
    $("gantt-all").onclick = () => show(whole);
    new ResizeObserver(() => show(view)).observe(canvas);
    draw();
    dark.addEventListener("change", () => { colors = palette(); show(view); });
  }

  // Bins are of equal width; neighbours are joined so far that a curve has about
  // one point for two pixels, whatever the zoom.
  function joined(s, by) {
    const n = Math.ceil(s.t.length / by), out = { t: new Array(n), busy: new Array(n), queued: new Array(n), queuedMax: new Array(n) };
    const drawn = s.power ? ["powerLow", "power", "powerHigh"] : [];
    for (const key of drawn) out[key] = new Array(n);
    if (s.power) out.cap = new Array(n);
    for (let i = 0; i < n; i++) {
      const a = i * by, b = Math.min(s.t.length, a + by);
      let busy = 0, queued = 0, most = 0;
      for (let k = a; k < b; k++) { busy += s.busy[k]; queued += s.queued[k]; most = Math.max(most, s.queuedMax[k]); }
      out.t[i] = s.t[a]; out.busy[i] = busy / (b - a); out.queued[i] = queued / (b - a); out.queuedMax[i] = most;
      for (const key of drawn) { let sum = 0; for (let k = a; k < b; k++) sum += s[key][k]; out[key][i] = sum / (b - a); }
      if (s.power) out.cap[i] = s.cap.slice(a, b).reduce((least, v) => v === null ? least : least === null ? v : Math.min(least, v), null);
    }
    return out;
  }

  function series(meta, s, clock) {
    const charts = [], sync = { key: "time" }, total = s.t.length;
    const axis = (extra) => ({ stroke: () => css("--muted"), grid: { stroke: () => css("--line"), width: 1 }, ticks: { stroke: () => css("--line"), width: 1 }, ...extra });
    const places = (u, lo, hi) => clock.ticks(lo, hi, Math.max(2, Math.floor(u.bbox.width / devicePixelRatio / 110)));
    const time = axis({
      space: 110,
      splits: (u, i, lo, hi) => places(u, lo, hi).map((t) => t.v),
      values: (u, splits) => { const text = new Map(places(u, u.scales.x.min, u.scales.x.max).map((t) => [t.v, t.text])); return splits.map((v) => text.get(v)); },
    });
    const end = total ? s.t[total - 1] : 0, first = (u) => { if (meta.shown < end) u.setScale("x", { min: s.t[0], max: meta.shown }); };
    const stepped = uPlot.paths.stepped({ align: 1 });
    const chart = (id, label, range, lines, format, bands) => {
      const el = $(id), height = 220;
      let by = 0;
      const data = (of) => { const d = joined(s, of); return [d.t].concat(lines.map((l) => d[l.data])); };
      const fit = (u) => {
        const lo = u.scales.x.min, hi = u.scales.x.max, all = s.t[total - 1] - s.t[0] || 1;
        const want = Math.max(1, Math.floor(total * Math.min(1, (hi - lo) / all) / Math.max(100, el.clientWidth / 2)));
        if (want !== by) { by = want; queueMicrotask(() => u.setData(data(by), false)); }
      };
      const u = new uPlot({
        width: el.clientWidth, height, padding: [10, 44, 0, 0], bands, scales: { x: { time: false }, y: { range } }, cursor: { sync, y: false },
        hooks: { setScale: [(u, key) => { if (key === "x") { fit(u); el.dataset.span = Math.round(u.scales.x.min) + " " + Math.round(u.scales.x.max); } }] },
        axes: [time, axis({ label, labelSize: 18, size: 60, values: (_, v) => v.map(format) })],
        series: [{ label: "time", value: (_, v) => v == null ? "-" : clock.full(v) }].concat(lines.map((l) => ({
          label: l.label, paths: stepped, width: 1.2, points: { show: false }, stroke: () => css(l.color), fill: l.fill ? () => css(l.color) + "44" : undefined, value: (_, v) => v == null ? "-" : format(v),
        }))),
      }, data(Math.max(1, Math.floor(total / Math.max(100, el.clientWidth / 2)))), el);
      charts.push([u, el, height]);
      first(u);
      el.tabIndex = 0;
      el.setAttribute("role", "img");
      el.setAttribute("aria-label", label + " over time; arrow keys move, plus and minus zoom, 0 shows the whole run");
      el.addEventListener("keydown", (e) => {
        const { min, max } = u.scales.x, by = max - min, mid = (min + max) / 2, [lo, hi] = [s.t[0], end];
        const act = { ArrowLeft: [min - by / 5, max - by / 5], ArrowRight: [min + by / 5, max + by / 5], "+": [mid - by * 0.3, mid + by * 0.3], "=": [mid - by * 0.3, mid + by * 0.3], "-": [mid - by / 1.2, mid + by / 1.2], 0: [lo, hi] }[e.key];
        if (!act) return;
        e.preventDefault();
        let [a, b] = act;
        const wide = Math.min(Math.max(b - a, 10), hi - lo);
        a = Math.min(Math.max(a, lo), hi - wide);
        for (const [c] of charts) c.setScale("x", { min: a, max: a + wide });
      });
    };
    chart("series-busy", "% of " + meta.unit + " allocated", () => [0, 100], [{ label: "allocated (mean)", data: "busy", color: "--blue", fill: true }], (v) => (Math.round(v * 10) / 10) + " %");
    chart("series-queue", "jobs waiting", (_, lo, hi) => [0, Math.max(1, hi * 1.05)], [{ label: "waiting (most)", data: "queuedMax", color: "--orange", fill: true }, { label: "waiting (mean)", data: "queued", color: "--vermilion" }], (v) => v >= 100 ? grouped(v) : String(Math.round(v * 10) / 10));
    if (s.power) chart("series-power", "power of the nodes (kW)", (_, lo, hi) => [0, hi * 1.05], [{ label: "at most", data: "powerHigh", color: "--sky" }, { label: "at least", data: "powerLow", color: "--sky" }, { label: "most likely", data: "power", color: "--blue" }, { label: "cap", data: "cap", color: "--vermilion" }], (v) => grouped(v), [{ series: [1, 2], fill: () => css("--sky") + "55" }]);
    new ResizeObserver(() => { for (const [u, el, height] of charts) if (el.clientWidth && el.clientWidth !== u.width) u.setSize({ width: el.clientWidth, height }); }).observe($("series-panel"));
    dark.addEventListener("change", () => { for (const [u] of charts) u.redraw(false, true); });
  }

  async function main() {
    if (typeof DecompressionStream === "undefined") return;
    const meta = JSON.parse($("meta").textContent), clock = makeClock(meta);
    for (const [part, start] of [
      ["series", async () => series(meta, JSON.parse(new TextDecoder().decode(await unpack("series-data"))), clock)],
      ["gantt", async () => {
        const data = await unpack("gantt-data");
        meta.gantt.name = meta.gantt.gpus ? gpuNamer(namer(meta.gantt.names), meta.gantt.gpus) : namer(meta.gantt.names);
        meta.gantt.what = meta.gantt.gpus ? "GPU" : "node";
        gantt(meta.gantt, meta.gantt.layout ? jobSource(meta.gantt, readColumns(data, meta.gantt.layout), clock) : cellSource(meta.gantt, new Uint8Array(data), clock), clock, meta.shown);
      }],
    ]) {
      const panel = $(part + "-panel"), still = $(part + "-static");
      panel.hidden = false;
      await start();
      still.open = false;
    }
    document.documentElement.dataset.ready = "1";
  }
  addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details.static")) d.open = true; });
  main();
})();
