// A workload file, written field by field, with the gate's answer beside it while it is written.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { ask, Failure, number, Table, token, useDocument, Verdict } from "./parts.js";

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
  ["minutes", "time for the trial, minutes", "30", "number"],
];
const LISTS = { model: "models", trace: "traces" };

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
  lines.push(`trial: {starts: ${Number(v.starts) || 5}, budget_minutes: ${Number(v.minutes) || 30}}`);
  return lines.join("\n") + "\n";
}

const filled = (values) => ({ values, text: yaml(values) });

export function New() {
  // One state: a start right after the last key must send the text of these values.
  const [{ values, text }, setForm] = useState(() => filled(Object.fromEntries(FIELDS.map(([key, , start]) => [key, start]))));
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  const [known, , again] = useDocument("/new.json");
  const set = (key, value) => setForm((old) => filled({ ...old.values, [key]: value }));
  const setText = (own) => setForm((old) => ({ ...old, text: own }));
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
    <p class="soft">While it is filled in nothing is started or written. Copy the text into a file for seatrial run FILE, or start the run below.</p>
    <div class="two"><form class="fields" onSubmit=${(e) => e.preventDefault()}>${FIELDS.map(([key, label, , type]) =>
      html`<label>${label} <input name=${key} type=${type} min="0" step="any" list=${LISTS[key] ? `known-${key}` : undefined} value=${values[key]} onInput=${(e) => set(key, e.target.value)} /></label>`)}${Object.entries(LISTS).map(([key, kind]) => html`<datalist id=${`known-${key}`}>${(known ? known.inputs[kind] : []).map((v) => html`<option value=${v} />`)}</datalist>`)}</form>
    <div><label>the file <textarea rows="12" spellcheck="false" value=${text} onInput=${(e) => setText(e.target.value)}></textarea></label></div></div>
    <h2>What the gate says</h2>
    ${!token() && html`<p class="soft">Open the address that seatrial serve printed: it carries the token.</p>`}
    ${!values.model && html`<p class="soft">Name a model to ask.</p>`}
    <div aria-live="polite">${error ? html`<${Failure} error=${error} />` : found && html`<${Answer} found=${found} />`}</div>
    <h2>The run</h2><${Start} values=${values} text=${text} again=${again} busy=${(known ? known.runs : []).some((r) => r.exit_code === null)} />
    <${Started} runs=${known ? known.runs : []} again=${again} />`;
}

function Start({ values, text, again, busy }) {
  const [said, setSaid] = useState(null);
  const start = () => {
    const minutes = Number(values.minutes) || 30;
    if (!confirm(`Start the trial ${values.name}? Engines are started on this machine and measured for up to about ${minutes} minutes; other work on it disturbs the figures.`)) return;
    setSaid(null);
    ask("/runs.json", { method: "POST", body: JSON.stringify({ name: values.name, workload: text }) }).then(again, setSaid);
  };
  const why = !token() ? "Open the address that seatrial serve printed: it carries the token." : !values.model ? "Name a model first." : busy ? "A run is working." : "";
  return html`<p><button type="button" id="start" disabled=${Boolean(why)} title=${why} onClick=${start}>Start the run</button> <span class="soft">${why}</span></p>${said && html`<${Failure} error=${said} />`}`;
}

const ENDS = { 0: "done", 1: "done: no candidate is feasible", 2: "bad input", 3: "undecided, or something to install first", 4: "an engine failed", 5: "measurement invalid", 6: "an artefact is damaged", 130: "stopped" };

function Started({ runs, again }) {
  const going = runs.some((r) => r.exit_code === null);
  useEffect(() => {
    if (!going) return undefined;
    const tick = setInterval(again, 1500);
    return () => clearInterval(tick);
  }, [going]);
  const columns = [
    ["name", "trial", (v) => html`<a href=${`/trials/${encodeURIComponent(v)}`}><bdi>${v}</bdi></a>`],
    ["exit_code", "state", (v) => (v === null ? html`<${Verdict} is="running" />` : html`<span role="status">${ENDS[v] || `ended with ${v}`}</span>`)],
    ["says", "its last lines", (v) => (v ? html`<pre tabindex="0">${v}</pre>` : "–")],
  ];
  return html`<div aria-live="polite"><${Table} caption="Runs started here" columns=${columns} rows=${runs} empty="No run was started from this page." /></div>`;
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
