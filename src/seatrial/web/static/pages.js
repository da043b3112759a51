// Trials: the list, one of them (live while it runs), two of them side by side, fingerprints.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { ask, Chart, Failure, flat, number, Page, Pairs, Table, text, token, useDocument, Verdict } from "./parts.js";

const at = (name) => `/trials/${encodeURIComponent(name)}`;
const when = (ns) => new Date(ns / 1e6).toISOString().replace("T", " ").slice(0, 16) + " UTC";

export function Index() {
  const [found, error] = useDocument("/index.json");
  const columns = [
    ["name", "trial", (v) => html`<a href=${at(v)}><bdi>${v}</bdi></a>`],
    ["state", "state", (v) => html`<${Verdict} is=${v} />`],
    ["outcome", "outcome", (v) => (v ? html`<${Verdict} is=${v} />` : "–")],
    ["selected", "selected", (v) => (v ? html`<code>${v}</code>` : "–")],
    ["cells", "cells", (v, row) => (row.planned ? `${v} of ${row.planned}` : v)],
    ["changed_ns", "last change", when],
  ];
  return html`<${Page} title="Trials" document=${found} error=${error}>
    <${Table} caption="Trials" columns=${columns} rows=${found ? found.trials : []} empty="No trial in this folder yet: seatrial run WORKLOAD makes one." /></${Page}>`;
}

export function Trial({ name }) {
  const [found, error, again] = useDocument(`${at(name)}.json`);
  const [events, setEvents] = useState([]);
  const [log, setLog] = useState("");
  useEffect(() => {
    const source = new EventSource(`${at(name)}/events`);
    source.onmessage = (m) => setEvents((old) => [...old, JSON.parse(m.data)].slice(-400));
    source.addEventListener("cells", again);
    const tick = setInterval(() => ask(`${at(name)}/log`).then((d) => setLog(d.log), () => {}), 2000);
    return () => { source.close(); clearInterval(tick); };
  }, [name]);
  return html`<${Page} title=${html`<bdi>${name}</bdi>`} document=${found} error=${error}>
    ${found && html`<${Running} found=${found} events=${events} log=${log || found.log} again=${again} />`}</${Page}>`;
}

function Running({ found, events, log, again }) {
  const line = found.trial;
  const last = events[events.length - 1];
  return html`
    <p class="head"><${Verdict} is=${line.state} /> ${line.outcome && html`<${Verdict} is=${line.outcome} />`} ${line.selected && html`<code>${line.selected}</code>`}
      <a href="${at(line.name)}/dossier">Dossier</a> <a href="${at(line.name)}/predicted">Predicted</a> <a href="/fingerprint/${encodeURIComponent(line.name)}">Fingerprint</a> <a href="${at(line.name)}.json">JSON</a></p>
    ${line.planned ? html`<p><label>Cells <progress max=${line.planned} value=${Math.min(line.cells, line.planned)}></progress> ${line.cells} of ${line.planned} planned</label></p>` : ""}
    <p role="status" aria-live="polite" class="now">${last ? `${last.stage}: ${last.text}` : line.stage}</p>
    ${line.state === "running" && html`<${Stop} name=${line.name} again=${again} />`}
    <h2>Cells</h2><${Cells} rows=${found.cells} />
    ${found.cells.some((c) => c.valid) && html`<${Latency} name=${line.name} cells=${found.cells.length} />`}
    <h2>Events</h2><ol class="events" tabindex="0" aria-label="Events">${events.slice(-200).map((e) => html`<li><time>${when(e.t_ns).slice(11, 16)}</time> <b>${e.stage}</b> ${e.text}</li>`)}</ol>
    ${log && html`<h2>End of the engine's log</h2><pre tabindex="0" aria-label="Log">${log}</pre>`}
    <h2>Files</h2><details><summary>${found.files.length} files</summary><ul class="files">${found.files.map((f) =>
      html`<li><a href=${`${at(line.name)}/files/${f.split("/").map(encodeURIComponent).join("/")}`} download><bdi>${f}</bdi></a></li>`)}</ul></details>`;
}

function Cells({ rows }) {
  const columns = [
    ["candidate", "candidate", (v) => html`<code>${v}</code>`],
    ["start", "start"],
    ["valid", "validity", (v, row) => html`<${Verdict} is=${v ? "valid" : "invalid"} /> ${row.because && html`<span class="soft">${row.because}</span>`}`],
    ["offered", "offered"], ["completed", "completed"],
    ["ttft_p95_ms", "TTFT P95, ms", (v) => number(v)], ["tpot_p95_ms", "TPOT P95, ms", (v) => number(v)],
    ["goodput", "goodput", (v) => (v === null ? "–" : `${number(v * 100)} %`)], ["duration_s", "s", (v) => number(v, 3)],
  ];
  return html`<${Table} caption="Cells" columns=${columns} rows=${rows} empty="No cell is finished yet." />`;
}

function Latency({ name, cells }) {
  const [dossier, error] = useDocument(`${at(name)}/dossier.json?cells=${cells}`);
  if (error) return html`<${Failure} error=${error} />`;
  if (!dossier) return html`<p class="soft">Reading the requests…</p>`;
  const figure = (id) => dossier.figures.find((f) => f.id === id);
  const drawn = [["ttft_ms-over-time", "p95", "TTFT P95 over the run, ms"], ["tpot_ms-over-time", "p95", "TPOT P95 over the run, ms"], ["memory", "rss_mib", "Memory of the engine's processes, MiB"]];
  return html`<h2>So far</h2>${drawn.filter(([id]) => figure(id)).map(([id, y, label]) => html`<${Chart} key=${id} figure=${figure(id)} x="t_s" y=${y} unit=${label.split(", ")[1]} label=${label} order=${dossier.candidates.map((c) => c.candidate)} />`)}`;
}

function Stop({ name, again }) {
  const [said, setSaid] = useState("");
  const stop = () => {
    if (!confirm(`Stop the run of ${name}? What is finished stays; the same command resumes it.`)) return;
    ask(`${at(name)}/stop`, { method: "POST" }).then(() => { setSaid("Asked to stop."); again(); }, (e) => setSaid(e.what));
  };
  const why = token() ? "" : "Open the address that seatrial serve printed: it carries the token.";
  return html`<p><button type="button" disabled=${!token()} title=${why} onClick=${stop}>Stop this run</button> <span role="status">${said || why}</span></p>`;
}

export function Compare({ query }) {
  const [list, listError] = useDocument("/compare.json");
  const [chosen, setChosen] = useState({ old: query.get("old"), new: query.get("new") });
  const trials = list ? list.trials : [];
  const [old, fresh] = [query.get("old"), query.get("new")];
  const [found, error] = useDocument(old && fresh ? `/compare.json?${query}` : null);
  const within = (name) => (trials.find((t) => t.name === (name || (trials[0] || {}).name)) || { candidates: [] }).candidates;
  const side = (key, label) => html`<${Choice} name=${key} label=${label} names=${trials.map((t) => t.name)} value=${query.get(key)} onChange=${(v) => setChosen((c) => ({ ...c, [key]: v }))} />
    <label>its candidate <select name=${`${key}_candidate`}><option value="">the one selected</option>${within(chosen[key]).map((n) => html`<option selected=${n === query.get(`${key}_candidate`)}>${n}</option>`)}</select></label>`;
  return html`<${Page} title="Compare two trials" document=${list} error=${listError}>
    <form class="row" method="get" action="/compare" onSubmit=${go}>${side("old", "before")}${side("new", "after")}<button>Compare</button></form>
    ${error && html`<${Failure} error=${error} />`}${found && html`<${Difference} found=${found} />`}</${Page}>`;
}

function go(event) {
  event.preventDefault();
  location.search = new URLSearchParams([...new FormData(event.target)].filter(([, v]) => v)).toString();
}

function Choice({ name, label, names, value, onChange }) {
  return html`<label>${label} <select name=${name} required onChange=${(e) => onChange(e.target.value)}>${names.map((n) => html`<option selected=${n === value}>${n}</option>`)}</select></label>`;
}

function Difference({ found }) {
  const columns = [
    ["name", "metric"], ["old", "before", (v) => number(v)], ["new", "after", (v) => number(v)],
    ["ratio", "ratio", (v) => number(v)], ["interval", "interval", (v) => (v ? `[${number(v.low)}, ${number(v.high)}]` : "–")],
    ["outcome", "outcome", (v) => html`<${Verdict} is=${v} />`], ["causes", "likely causes", (v) => (v || []).join("; ")],
  ];
  const changed = Object.entries(found.changed || {});
  return html`<p class="head">${found.regression ? html`<${Verdict} is="worse" /> A regression beyond the margin.` : "No regression beyond the margin was shown."}</p>
    <${Table} caption="Metrics" columns=${columns} rows=${found.metrics || []} />
    ${changed.map(([what, entries]) => html`<h2>${what}</h2>${Array.isArray(entries)
      ? html`<ul>${entries.map((e) => html`<li>${typeof e === "string" ? e : flat(e).map(([k, v]) => `${k} ${text(v)}`).join("; ")}</li>`)}</ul>${entries.length ? "" : html`<p class="soft">nothing</p>`}`
      : html`<${Pairs} of=${entries} />`}`)}`;
}

export function Fingerprint({ name }) {
  const [found, error] = useDocument(`/fingerprint/${encodeURIComponent(name)}.json`);
  return html`<${Page} title=${html`Fingerprint of <bdi>${name}</bdi>`} document=${found} error=${error}>${found && html`<${Print} found=${found} />`}</${Page}>`;
}

function Print({ found }) {
  const { pressure, missing, ...rest } = found;
  return html`<p><b>${pressure && pressure.label}</b> ${pressure && pressure.because}</p>
    ${missing && missing.length ? html`<p class="soft">Not in the trace: ${missing.join(", ")}.</p>` : ""}<${Pairs} of=${rest} />`;
}

export function Profile({ query }) {
  const path = query.get("path");
  const [found, error] = useDocument(path ? `/profile.json?path=${encodeURIComponent(path)}` : null);
  const [known] = useDocument("/profile.json");
  return html`<h1>Fingerprint a trace</h1>
    <form class="row" onSubmit=${go}><label>path within the trials folder <input name="path" required value=${path || ""} size="40" list="known" /></label><datalist id="known">${(known ? known.traces : []).map((v) => html`<option value=${v} />`)}</datalist><button>Read</button></form>
    ${error && html`<${Failure} error=${error} />`}${path && !found && !error && html`<p class="soft" role="status">Reading…</p>`}${found && html`<${Print} found=${found} />`}`;
}
