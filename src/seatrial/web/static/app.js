// One shell for all pages: which page it is stands in the address, what it shows in its JSON twin.
import { html, render } from "./vendor/htm-preact.js";
import { Failure, keepToken } from "./parts.js";
import { Index, Trial, Compare, Fingerprint, Profile } from "./pages.js";
import { Engines, Facts } from "./facts.js";
import { New } from "./form.js";

const ROUTES = [
  [/^\/$/, Index, "Trials"],
  [/^\/trials\/([^/]+)$/, Trial, "Trial"],
  [/^\/compare$/, Compare, "Compare"],
  [/^\/facts$/, Engines, "Facts"],
  [/^\/facts\/([^/]+)$/, Facts, "Facts"],
  [/^\/fingerprint\/([^/]+)$/, Fingerprint, "Fingerprint"],
  [/^\/profile$/, Profile, "Fingerprint a trace"],
  [/^\/new$/, New, "A new workload"],
];

function start() {
  keepToken();
  const main = document.getElementById("main");
  main.textContent = "";
  for (const [pattern, Page, title] of ROUTES) {
    const found = location.pathname.match(pattern);
    if (found) {
      const name = found[1] ? decodeURIComponent(found[1]) : "";
      document.title = `${name || title} · seatrial`;
      render(html`<${Page} name=${name} query=${new URLSearchParams(location.search)} />`, main);
      return;
    }
  }
  render(html`<${Failure} error=${{ what: "There is no such page.", do: "Go to the list of trials." }} />`, main);
}

addEventListener("hashchange", () => location.hash && location.reload());
start();
