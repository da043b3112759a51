// What pages are made of: asking, tables, verdicts, charts. Texts are set as text, never as HTML.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";

export function keepToken() {
  const found = location.hash.match(/^#token=([\w-]+)$/);
  if (found) {
    sessionStorage.setItem("seatrial-token", found[1]);
    history.replaceState(null, "", location.pathname + location.search);
  }
}

export function token() {
  return sessionStorage.getItem("seatrial-token");
}

export async function ask(path, options = {}) {
  const headers = options.method ? { "X-Seatrial-Token": token() || "" } : {};
  const answer = await fetch(path, { headers, ...options });
  const body = await answer.json();
  if (!answer.ok) throw body;
  return body;
}

// [document, error, again]: a document asked for when the page opens and whenever `again` is called.
export function useDocument(path) {
  const [state, setState] = useState([null, null]);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let current = true;
    if (path) {
      ask(path).then((d) => current && setState([d, null]), (e) => current && setState([null, e]));
    }
    return () => { current = false; };
  }, [path, turn]);
  return [state[0], state[1], () => setTurn((n) => n + 1)];
}

export function Failure({ error }) {
  return html`<div class="failure" role="alert"><p>${error.what || String(error)}</p>${error.where && html`<p class="soft">${error.where}</p>`}${error.do && html`<p class="soft">${error.do}</p>`}</div>`;
}

export function Page({ title, document, error, children }) {
  return html`<h1>${title}</h1>${error ? html`<${Failure} error=${error} />` : document ? children : html`<p class="soft" role="status">Reading…</p>`}`;
}

export function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 6 });
}

export function text(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return number(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

const KNOWN = new Set(["feasible", "degraded", "conditional", "unknown", "infeasible", "pass", "fail", "selected",
  "tie", "undecided", "none_feasible", "better", "worse", "equivalent", "not_worse", "running", "finished",
  "stopped", "damaged", "valid", "invalid"]);

export function Verdict({ is }) {
  return html`<span class=${"verdict v-" + (KNOWN.has(is) ? is : "unknown")}>${String(is).replace("_", " ")}</span>`;
}

// columns: [key, title, render?]; a click on a heading sorts.
export function Table({ columns, rows, caption, empty = "Nothing." }) {
  const [by, setBy] = useState([null, 1]);
  if (!rows.length) return html`<p class="soft">${empty}</p>`;
  const sorted = by[0] === null ? rows : [...rows].sort((a, b) => {
    const x = a[by[0]], y = b[by[0]];
    if (x === y) return 0;
    if (x === null || x === undefined) return 1;
    if (y === null || y === undefined) return -1;
    return (x < y ? -1 : 1) * by[1];
  });
  const order = (key) => (by[0] !== key ? undefined : by[1] > 0 ? "ascending" : "descending");
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}><table><thead><tr>${columns.map(([key, title]) =>
    html`<th aria-sort=${order(key)}><button class="sort" type="button" onClick=${() => setBy([key, by[0] === key ? -by[1] : 1])}>${title}</button></th>`)}</tr></thead>
    <tbody>${sorted.map((row) => html`<tr>${columns.map(([key, title, draw]) =>
      html`<td data-label=${title} class=${typeof row[key] === "number" ? "num" : ""}>${draw ? draw(row[key], row) : text(row[key])}</td>`)}</tr>`)}</tbody></table></div>`;
}

export function Pairs({ of }) {
  return html`<dl class="pairs">${flat(of).map(([k, v]) => html`<div><dt>${k}</dt><dd>${text(v)}</dd></div>`)}</dl>`;
}

export function flat(value, prefix = "") {
  if (value === null || typeof value !== "object") return [[prefix, value]];
  if (Array.isArray(value)) {
    if (value.every((v) => v === null || typeof v !== "object")) return [[prefix, value.slice(0, 24).map(text).join(", ") + (value.length > 24 ? " …" : "")]];
    return [[prefix, `${value.length} entries`]];
  }
  return Object.entries(value).flatMap(([k, v]) => flat(v, prefix ? `${prefix}.${k}` : k));
}

const COLOURS = ["--chart-1", "--chart-2", "--chart-3", "--chart-4", "--chart-5", "--chart-6", "--chart-7", "--chart-8"];
const DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [12, 3], [1, 4], [6, 2, 1, 2]];

// Series per candidate over one x, from the rows of a dossier's figure.
export function series(rows, x, y, order = []) {
  const seen = new Set(rows.map((r) => r.candidate));
  const names = [...order.filter((n) => seen.has(n)), ...[...seen].filter((n) => !order.includes(n))];
  const xs = [...new Set(rows.map((r) => r[x]))].sort((a, b) => a - b);
  const at = new Map(xs.map((v, i) => [v, i]));
  const data = names.map(() => xs.map(() => null));
  for (const row of rows) data[names.indexOf(row.candidate)][at.get(row[x])] = row[y];
  return { names, data: [xs, ...data] };
}

export function Chart({ figure, x, y, unit, label, order }) {
  const box = useRef(null);
  useEffect(() => {
    const { names, data } = series(figure.rows, x, y, order);
    const css = getComputedStyle(document.documentElement);
    const colour = (name) => css.getPropertyValue(name).trim();
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line") }, ticks: { stroke: colour("--line") } };
    const plot = new uPlot({
      width: box.current.clientWidth,
      height: 220,
      scales: { x: { time: false } },
      axes: [{ ...axis, label: "s" }, { ...axis, label: unit, size: 60 }],
      series: [{ label: "s" }, ...names.map((name, i) => ({ label: name, stroke: colour(COLOURS[i % 8]), dash: DASHES[i % 8], width: 2, spanGaps: true, value: (_u, v) => number(v) }))],
    }, data, box.current);
    const fit = new ResizeObserver(() => plot.setSize({ width: box.current.clientWidth, height: 220 }));
    fit.observe(box.current);
    return () => { fit.disconnect(); plot.destroy(); };
  }, [figure]);
  return html`<figure><figcaption>${label}</figcaption><div ref=${box} role="img" aria-label=${label}></div></figure>`;
}
