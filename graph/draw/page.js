"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const detail = document.getElementById("detail");
const all = (selector) => [...document.querySelectorAll(selector)];
const MARKS = ["selected", "waited", "life"];

function clear() {
  document.body.classList.remove("selecting");
  for (const one of all(".selected, .waited, .life")) one.classList.remove(...MARKS);
  for (const one of all("[aria-pressed=true]")) one.setAttribute("aria-pressed", "false");
  detail.hidden = true;
}

function mark(name, test, selector) {
  for (const one of all(selector)) if (test(one)) one.classList.add(name);
}

function tell(title, lines) {
  const list = document.createElement("ul");
  for (const line of lines) list.appendChild(document.createElement("li")).textContent = line;
  const head = document.createElement("p");
  head.textContent = title;
  detail.replaceChildren(head, list);
  detail.hidden = false;
  document.body.classList.add("selecting");
}

/* In the schedules: the firing itself, or of a node one in the middle, and what it waits for. */
function markFirings(node, firing) {
  for (const drawing of all("[data-schedule]")) {
    const firings = data.firings[drawing.dataset.schedule];
    const own = [...drawing.querySelectorAll(".firing")].filter((one) => one.dataset.of === node);
    for (const one of own) one.classList.add("life");
    const chosen = own.find((one) => one.dataset.firing === firing) || own[Math.min(3, own.length - 1)];
    if (!chosen) continue;
    chosen.classList.remove("life");
    chosen.classList.add("selected");
    const waits = new Set(firings[chosen.dataset.firing].map((wait) => wait.firing));
    for (const one of drawing.querySelectorAll(".firing")) if (waits.has(one.dataset.firing)) one.classList.add("waited");
  }
}

function markNode(node) {
  const waits = data.nodes[node].waits;
  const sources = new Set(waits.map((wait) => wait.node));
  const buffers = new Set(waits.map((wait) => wait.buffer));
  mark("selected", (one) => one.dataset.node === node, ".node");
  mark("waited", (one) => sources.has(one.dataset.node) && one.dataset.node !== node, ".node");
  mark("waited", (one) => one.dataset.to === node, ".link");
  mark("waited", (one) => buffers.has(one.dataset.buffer), ".buffer");
  mark("waited", (one) => buffers.has(one.dataset.row), "tr[data-row]");
}

function selectNode(node) {
  markNode(node);
  markFirings(node, "");
  const waits = data.nodes[node].waits.map((wait) => wait.text);
  tell(`${node} of step k waits for`, waits.length ? waits : ["nothing but its step"]);
}

function selectFiring(firing, route) {
  const [node, step] = firing.split(":");
  markNode(node);
  markFirings(node, firing);
  const waits = data.firings[route][firing].map((wait) => wait.text);
  tell(`${node} of step ${step} waits for`, waits.length ? waits : ["nothing but its step"]);
}

function selectBuffer(name) {
  const nodes = new Set(data.buffers[name].nodes);
  mark("selected", (one) => one.dataset.buffer === name, ".buffer");
  mark("selected", (one) => one.dataset.row === name, "tr[data-row]");
  mark("selected", (one) => one.dataset.tenure === name, ".tenure");
  mark("life", (one) => nodes.has(one.dataset.node), ".node");
  mark("life", (one) => nodes.has(one.dataset.of), ".firing");
  mark("life", (one) => one.dataset.buffers.split(" ").includes(name), ".link");
  tell(`${name}: its life`, data.buffers[name].life);
}

function select(target) {
  const pressed = target.getAttribute("aria-pressed") === "true";
  clear();
  if (pressed) return;
  const { node, firing, buffer, choose, tenure } = target.dataset;
  if (node) selectNode(node);
  else if (firing) selectFiring(firing, target.closest("[data-schedule]").dataset.schedule);
  else selectBuffer(buffer || choose || tenure);
  target.setAttribute("aria-pressed", "true");
}

const TARGETS = "[data-node], [data-firing], [data-buffer], [data-choose], [data-tenure]";
for (const one of all(TARGETS)) {
  if (one.tagName === "g") {
    one.setAttribute("tabindex", "0");
    one.setAttribute("role", "button");
    const title = one.querySelector("title");
    if (title) one.setAttribute("aria-label", title.textContent);
  }
  one.setAttribute("aria-pressed", "false");
}
document.addEventListener("click", (event) => {
  const target = event.target.closest(TARGETS);
  if (target) select(target);
  else if (!detail.contains(event.target)) clear();
});
document.addEventListener("keydown", (event) => {
  const target = event.target.closest("g[tabindex]");
  if (event.key === "Escape") clear();
  else if (target && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    select(target);
  }
});
