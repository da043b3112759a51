// Facts: engine x version x subject, with sources and ages, and what differs between versions.
import { html } from "./vendor/htm-preact.js";
import { Page, Table, text, useDocument } from "./parts.js";

export function Engines() {
  const [found, error] = useDocument("/facts.json");
  return html`<${Page} title="Facts" document=${found} error=${error}>
    ${found && html`<ul class="engines">${found.engines.map((e) => html`<li><b>${e.engine}</b> ${e.versions.slice(0, 40).map((v) =>
      html`<a href=${`/facts/${encodeURIComponent(e.engine)}?version=${encodeURIComponent(v)}`}>${v}</a> `)}${e.versions.length ? "" : html`<a href=${`/facts/${encodeURIComponent(e.engine)}?version=`}>documented only</a>`}</li>`)}</ul>`}</${Page}>`;
}

export function Facts({ name, query }) {
  const [known] = useDocument("/facts.json");
  const [found, error] = useDocument(`/facts/${encodeURIComponent(name)}.json?${query}`);
  const entry = known && known.engines.find((e) => e.engine === name);
  const versions = entry ? entry.versions : [];
  return html`<${Page} title=${`${name} ${query.get("version") || ""}`} document=${found} error=${error}>
    ${found && html`<form class="row" onSubmit=${go}>
      <label>version <select name="version">${versions.map((v) => html`<option selected=${v === query.get("version")}>${v}</option>`)}</select></label>
      <label>against <select name="against"><option value="">–</option>${versions.map((v) => html`<option selected=${v === query.get("against")}>${v}</option>`)}</select></label>
      <label>predicate <select name="predicate"><option value="">all</option>${found.predicates.map((p) => html`<option selected=${p === query.get("predicate")}>${p}</option>`)}</select></label>
      <label>search <input name="q" type="search" value=${query.get("q") || ""} /></label><button>Show</button></form>
      ${found.outdated && html`<p class="soft">${found.outdated}</p>`}
      ${found.changes ? html`<${Changes} found=${found} />` : html`<${List} found=${found} />`}`}</${Page}>`;
}

function go(event) {
  event.preventDefault();
  const wanted = [...new FormData(event.target)].filter(([, v]) => v);
  location.search = new URLSearchParams(wanted).toString();
}

const claim = (v) => html`<code>${text(v)}</code>`;

function List({ found }) {
  const columns = [
    ["predicate", "predicate"], ["subject", "subject", claim], ["value", "value", claim],
    ["condition", "condition"], ["state", "state"],
    ["source", "source", (s) => (s ? [s.artefact, s.member, s.line].filter(Boolean).join(" · ") : "–")],
    ["verified_on", "read on"], ["expires", "again by"],
  ];
  return html`<p class="soft">${found.total} facts${found.total > found.facts.length ? `, the first ${found.facts.length} shown: narrow the search` : ""}.</p>
    <${Table} caption="Facts" columns=${columns} rows=${found.facts} empty="No fact matches." />`;
}

function Changes({ found }) {
  const columns = [
    ["kind", "change"], ["predicate", "predicate"], ["subject", "subject", claim], ["layer", "layer"],
    ["old", `in ${found.against}`, claim], ["new", `in ${found.version}`, claim],
  ];
  return html`<${Table} caption="Changes" columns=${columns} rows=${found.changes} empty="No difference." />`;
}
