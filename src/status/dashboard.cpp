#include "status/dashboard_detail.hpp"

namespace grapevine {

namespace {

// Text from peers is only ever set as textContent, so that a name cannot become markup.
constexpr std::string_view page = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Grapevine</title>
<style>
:root { color-scheme: light dark; --ink: #1d2420; --dim: #66706a; --page: #f7f8f5; --card: #fff;
  --rule: #dfe4de; --train: #5b2a86; --held: #2e7d4f; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebe7; --dim: #98a39c; --page: #141815;
  --card: #1d2320; --rule: #323a35; --train: #c39bea; --held: #7fd1a0; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 68rem; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.25rem; margin: 0; } h2 { font-size: 1rem; margin: 0 0 .5rem; }
header { display: flex; gap: .75rem; align-items: baseline; flex-wrap: wrap; }
.dim { color: var(--dim); } code { font-size: .85em; overflow-wrap: anywhere; }
section { background: var(--card); border: 1px solid var(--rule); border-radius: .6rem;
  padding: 1rem; margin-top: 1rem; overflow-x: auto; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 1rem; }
.tiles b { display: block; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--rule); }
th { color: var(--dim); font-weight: 500; } th:first-child, td:first-child { text-align: left; }
svg { width: 100%; height: 220px; display: block; } polyline { fill: none; stroke-width: 2; }
svg text { fill: var(--dim); font-size: 11px; } svg line { stroke: var(--rule); }
.bad { color: var(--bad); }
</style>
</head>
<body>
<header><h1>Grapevine</h1><span id="who" class="dim"></span><b id="state"></b></header>
<section class="tiles" id="tiles"></section>
<section><h2>Loss <span class="dim">(nats per token:
  <span style="color:var(--train)">training</span>,
  <span style="color:var(--held)">held out</span>)</span></h2>
  <svg id="chart" viewBox="0 0 800 220" preserveAspectRatio="none" role="img"
    aria-label="Loss by round"></svg></section>
<section><h2>Peers</h2><table><thead><tr><th>peer</th><th>state</th><th>round</th><th>loss</th>
  <th>tokens/s</th><th>rtt</th><th>in</th><th>out</th></tr></thead>
  <tbody id="peers"></tbody></table></section>
<section id="missing" hidden><h2>Missing from the last mix</h2><div></div></section>
<section id="errors" hidden><h2>Problems</h2><div></div></section>
<section><h2>Join this run</h2><code id="join"></code></section>
<script>
"use strict";
const $ = id => document.getElementById(id);
const rounds = []; let next = 0;
const bytes = n => { for (const u of ["B", "kB", "MB", "GB"]) { if (n < 1000 || u === "GB")
  return (u === "B" ? n : n.toFixed(1)) + " " + u; n /= 1000; } };
const digits = (x, n) => x === null || x === undefined ? "–" : x.toFixed(n);
const add = (parent, tag, text, name) => { const e = document.createElement(tag);
  e.textContent = text; if (name) e.className = name; parent.append(e); return e; };
function allowance(caps, quiet_hours) {
  const items = [];
  if (caps.up_bytes_per_s) items.push(["sends at most", bytes(caps.up_bytes_per_s) + "/s"]);
  if (caps.down_bytes_per_s) items.push(["receives at most", bytes(caps.down_bytes_per_s) + "/s"]);
  if (caps.month_bytes_max) items.push(["this month",
    bytes(caps.month_bytes) + " of " + bytes(caps.month_bytes_max)]);
  if (quiet_hours) items.push(["quiet hours", quiet_hours]);
  return items;
}
function state(s) {
  if (!s.pause) return s.state;
  const until = s.pause.until_unix_s === null ? "somebody resumes it"
    : new Date(1000 * s.pause.until_unix_s).toLocaleString();
  return (s.state === "paused" ? "paused until " : "pauses after this round, until ") + until +
    " (" + s.pause.reason + ")";
}
function tiles(s) {
  const t = s.training, items = [
    ["round", s.round.current + (s.run && s.run.rounds ? " of " + s.run.rounds : "")],
    ["step", s.round.inner_step + " / " + s.round.inner_steps],
    ["loss", digits(t.loss, 3)], ["held-out loss", digits(t.eval_loss, 3)],
    ["tokens/s", Math.round(t.tokens_per_s)], ["mixed with", s.round.mix2.participants.length],
    ["received", bytes(s.network.bytes_in)], ["sent", bytes(s.network.bytes_out)],
    ...allowance(s.network.caps, s.config.quiet_hours)];
  $("tiles").replaceChildren();
  for (const [name, value] of items) {
    const tile = add($("tiles"), "div", "");
    add(tile, "span", name, "dim"); add(tile, "b", value);
  }
}
function peers(s) {
  $("peers").replaceChildren();
  for (const p of s.peers) {
    const row = add($("peers"), "tr", "");
    for (const cell of [p.name || p.id.slice(-6), p.connected ? p.state : "not connected", p.round,
      digits(p.loss, 3), Math.round(p.tokens_per_s), digits(p.rtt_ms, 1) + " ms",
      bytes(p.bytes_in), bytes(p.bytes_out)]) add(row, "td", cell);
  }
}
function list(id, lines) {
  const box = $(id); box.hidden = lines.length === 0;
  const into = box.querySelector("div"); into.replaceChildren();
  for (const line of lines) add(into, "div", line, id === "errors" ? "bad" : "");
}
function chart() {
  const svg = $("chart"), ns = "http://www.w3.org/2000/svg";
  const shown = rounds.filter(r => r.loss !== null);
  svg.replaceChildren();
  if (shown.length === 0) return;
  const all = shown.flatMap(r => [r.loss, r.eval_loss]).filter(x => x !== null);
  const low = Math.min(...all), high = Math.max(...all), first = shown[0].round;
  const last = shown[shown.length - 1].round;
  const x = r => 45 + 740 * (r - first) / Math.max(1, last - first);
  const y = v => 195 - 180 * (v - low) / Math.max(1e-6, high - low);
  const put = (tag, set, text) => { const e = document.createElementNS(ns, tag);
    for (const k in set) e.setAttribute(k, set[k]);
    if (text !== undefined) e.textContent = text; svg.append(e); };
  for (const v of [low, (low + high) / 2, high]) {
    put("line", {x1: 45, x2: 785, y1: y(v), y2: y(v)});
    put("text", {x: 4, y: y(v) + 4}, v.toFixed(2));
  }
  put("text", {x: 45, y: 214}, "round " + first);
  put("text", {x: 785, y: 214, "text-anchor": "end"}, last);
  for (const [key, color] of [["loss", "--train"], ["eval_loss", "--held"]]) {
    const points = shown.filter(r => r[key] !== null).map(r => x(r.round) + "," + y(r[key]));
    put("polyline", {points: points.join(" "), style: "stroke:var(" + color + ")"});
  }
}
async function refresh() {
  try {
    const s = await (await fetch("/status")).json();
    $("who").textContent = s.peer.name + " · " + s.peer.id +
      (s.run ? " · run " + s.run.name + " · " + s.run.model.preset : "");
    $("state").textContent = state(s); $("state").className = "";
    tiles(s); peers(s);
    list("missing", s.round.mix2.missing.map(m =>
      (m.peer === s.peer.id ? "this peer's own part" : m.peer.slice(-6)) + ": " + m.reason));
    list("errors", s.errors.map(e => e.code + " (" + e.count + "×) " + e.text + " — " + e.hint));
    $("join").textContent = "grapevine up --bootstrap " + (s.peer.addrs[0] || "") + " --data YOUR_TEXT";
    const h = await (await fetch("/history?since=" + next)).json();
    rounds.push(...h.rounds); next = h.next; if (h.rounds.length) chart();
  } catch { $("state").textContent = "not answering"; $("state").className = "bad"; }
  setTimeout(refresh, 1000);
}
refresh();
</script>
</body>
</html>
)html";

}  // namespace

std::string_view dashboard_html() { return page; }

}  // namespace grapevine
