// A workload file, written field by field, with the gate's answer beside it while it is written.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { ask, Failure, number, Table, token, Verdict } from "./parts.js";

const FIELDS = [
  ["name", "name", "my-service", "text"],
  ["model", "model (path within the trials folder)", "", "text"],
  ["trace", "trace (path within the trials folder)", "", "text"],
  ["people", "or: number of people", "200", "number"],
  ["ttft", "TTFT P95, ms", "500", "number"],
  ["tpot", "TPOT P95, ms", "50", "number"],
  ["context", "context, tokens", "8192", "number"],
  ["gpu", "GPU (empty: this machine's processor)", "", "text"],
  ["count", "GPUs", "1", "number"],
  ["price", "budget, USD per hour", "", "number"],
  ["starts", "starts of each candidate", "5", "number"],
];

// JSON strings are YAML strings, so what a person types cannot become a key.
export function yaml(v) {
  const text = JSON.stringify;
  const lines = ["schema: seatrial/workload/1", `name: ${text(v.name)}`, `model: {path: ${text(v.model)}}`];
  lines.push(v.trace ? `traffic: {trace: ${text(v.trace)}}` : `traffic: {people: ${Number(v.people) || 1}}`);
  const slo = [v.ttft && `ttft_ms: {p95: ${Number(v.ttft)}}`, v.tpot && `tpot_ms: {p95: ${Number(v.tpot)}}`];
  lines.push(`slo: {${slo.filter(Boolean).join(", ")}}`);
  if (v.context) lines.push(`requires: {context_tokens: ${Number(v.context)}}`);
  lines.push(v.gpu ? `hardware: {gpu: ${text(v.gpu)}, count: ${Number(v.count) || 1}}` : "hardware: {cpu: auto}");
  if (v.price) lines.push(`budget: {usd_per_hour: ${Number(v.price)}}`);
  lines.push(`trial: {starts: ${Number(v.starts) || 5}}`);
  return lines.join("\n") + "\n";
}

export function New() {
  const [values, setValues] = useState(Object.fromEntries(FIELDS.map(([key, , start]) => [key, start])));
  const [text, setText] = useState(yaml(values));
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  const set = (key, value) => setValues((old) => ({ ...old, [key]: value }));
  useEffect(() => setText(yaml(values)), [values]);
  useEffect(() => {
    let current = true;
    const later = setTimeout(() => {
      if (!token() || !values.model) return;
      ask("/gate.json", { method: "POST", body: text }).then(
        (d) => current && (setFound(d), setError(null)), (e) => current && setError(e));
    }, 500);
    return () => { current = false; clearTimeout(later); };
  }, [text]);
  return html`<h1>A new workload</h1>
    <p class="soft">Nothing is started or written here: copy the text into a file and run seatrial run FILE.</p>
    <div class="two"><form class="fields" onSubmit=${(e) => e.preventDefault()}>${FIELDS.map(([key, label, , type]) =>
      html`<label>${label} <input name=${key} type=${type} min="0" step="any" value=${values[key]} onInput=${(e) => set(key, e.target.value)} /></label>`)}</form>
    <div><label>the file <textarea rows="12" spellcheck="false" value=${text} onInput=${(e) => setText(e.target.value)}></textarea></label></div></div>
    <h2>What the gate says</h2>
    ${!token() && html`<p class="soft">Open the address that seatrial serve printed: it carries the token.</p>`}
    ${!values.model && html`<p class="soft">Name a model to ask.</p>`}
    <div aria-live="polite">${error ? html`<${Failure} error=${error} />` : found && html`<${Answer} found=${found} />`}</div>`;
}

function Answer({ found }) {
  const p = found.people;
  const rows = found.gate.candidates.map((c) => ({ ...c, first: c.reasons[0] || {} }));
  const columns = [
    ["candidate", "candidate", (v) => html`<code>${v}</code>`],
    ["verdict", "verdict", (v) => html`<${Verdict} is=${v} />`],
    ["first", "what binds", (r) => html`${r.verdict === "feasible" ? html`<span class="soft">${r.constraint}</span>` : html`<b>${r.constraint}</b>`} ${r.says}${r.remedy && html`<br /><span class="soft">Cheapest remedy: ${r.remedy}</span>`}`],
  ];
  return html`${p && html`<p>${p.people} people ask for ${number(p.rate_per_s)} requests per second at their busiest (${number(p.low_per_s)} to ${number(p.high_per_s)}), about ${number(p.in_flight)} in flight. <span class="soft">${p.assumption}</span></p>`}
    <${Table} caption="Gate" columns=${columns} rows=${rows} />`;
}
