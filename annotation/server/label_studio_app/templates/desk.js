// The desk: one page for all that an annotator does. What it shows is what POST /desk/step answers; texts of the data go in by
// textContent alone; consent and guidelines are HTML that the study leader's Markdown was made to, without HTML of its own.
"use strict";

const CHOICES = { valid: ["1", "8"], invalid: ["2", "9"], unsure: ["3", "0"] };
const REASONS = { "missing object": ["q", "i"], "wrong attribute": ["w", "o"], "wrong relation": ["e", "p"],
  "no valid answer": ["a", "j"], "underspecified": ["s", "k"], "unclear image": ["d", "l"] };
const NAMES = ["first", "second"];
const TITLES = { training: "Training", test: "Test", task: "Task", feedback: "Training" };
const HALF_HOUR = 30 * 60, IDLE = 5 * 60;  // seconds
const MOST = 6;  // times the image can be enlarged

const $ = id => document.getElementById(id);
let state = {}, busy = false, shownAt = 0, worked = 0, lastSubmit = 0;

/* ---- talking to the server: one request at a time; what could not be sent is sent again ---- */

async function step(body, tried = 0) {
  if (busy && !tried) return;
  busy = true;
  lock();
  let fault = "No connection";
  try {
    const reply = await fetch("/desk/step", { method: "POST", credentials: "same-origin", redirect: "manual",
      headers: { "Content-Type": "application/json", "X-CSRFToken": document.body.dataset.csrf }, body: JSON.stringify(body) });
    if (reply.type === "opaqueredirect" || reply.status === 401 || reply.status === 403) return stop("You are logged out here. Open your own link again; what you chose is kept.", "Load again", () => location.assign("/desk/"));
    if (reply.status >= 500) throw new Error(fault = `The server has a fault (${reply.status})`);
    const told = await reply.json();
    if (!reply.ok) return stop(told.detail || "The server did not take this.", "Load again", () => location.reload());
    say("");
    busy = false;
    if (body.answer) { draft(null); work(body.answer.seconds); }
    show(told);
  } catch {
    const wait = Math.min(2 ** tried, 20);
    say(`${fault}. What you chose is kept; trying again in ${wait} s.`, "Try now", () => { clearTimeout(timer); step(body, tried + 1); });
    const timer = setTimeout(() => step(body, tried + 1), wait * 1000);
  }
}

function stop(text, label, act) {
  busy = false;
  say(text, label, act);
  lock();
}

function say(text, label, act) {
  const line = $("message");
  line.replaceChildren(text);
  line.hidden = !text;
  if (label) line.append(button(label, act));
}

const element = (tag, text, more) => Object.assign(document.createElement(tag), { textContent: text, ...more });
const button = (label, act, kind = "") => element("button", label, { type: "button", className: kind, onclick: act });

function lock() {
  for (const one of document.querySelectorAll("main button:not(.zoom button)")) one.disabled = busy;
  for (const card of cards) card.inert = busy;  // what is chosen while an answer is sent would be lost
  if (!busy) $("back").disabled = state.back == null;
}

/* ---- what is shown ---- */

function show(told) {
  const { guide, contact, number, of } = state;
  state = { guide, contact, ...(told.show === "feedback" && { number, of }), ...told };
  const asks = NAMES.every(name => typeof state[name] === "string") && state.show in TITLES;
  $("consent").hidden = state.show !== "consent";
  $("task").hidden = !asks;
  $("words").hidden = asks || state.show === "consent";
  $("whom").textContent = $("ask").textContent = state.contact ? `Questions: ${state.contact}` : "";
  $("guidelines").hidden = !state.guide;
  $("progress").hidden = !state.of;
  if (state.of) Object.assign($("progress"), { max: state.of, value: state.number - 1 });
  $("where").textContent = asks ? `${TITLES[state.show]} ${state.number} of ${state.of}` : "";
  if (state.show === "consent") { $("promise").innerHTML = state.html; $("promise").focus(); scrollTo(0, 0); }
  else if (asks) task(); else words();
  lock();
  pause();
}

const many = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

function words() {
  const title = { thanks: "Thank you", wait: "Nothing to do just now", failed: "The test" }[state.show] || "The desk";
  const home = $("words"), lines = [state.words];
  if (state.asked) lines.push(`Of ${state.asked} questions whose answers we know you answered ${state.right} as known.`);
  if (state.judged) lines.push(`You judged ${many(state.judged, "task")} in ${many(Math.max(1, Math.round(state.minutes || 0)), "minute")}.`);
  if (state.contact) lines.push(`Questions: ${state.contact}`);
  home.replaceChildren(element("h1", title), ...lines.filter(Boolean).map(line => element("p", line)));
  if (state.again) home.append(button("Try again", () => step({ again: true }), "act"));
  if (state.show === "wait") home.append(button("Look again", () => step({}), "act"));
  if (state.back != null) home.append(button("Back to the last task", () => step({ open: state.back })));
  home.focus();
}

function task() {
  const told = state.show === "feedback", given = state.given || (told ? {} : draft()) || {};
  shownAt = performance.now();
  $("task").classList.toggle("told", told);
  $("skip").hidden = state.show !== "task" || Boolean(state.given);
  $("back").hidden = state.show !== "task";
  document.querySelector("#answers .act span").textContent = told ? "Next" : state.given ? "Correct" : "Submit";
  const image = $("image");
  if (image.getAttribute("src") !== state.image) {
    image.classList.add("away");
    image.src = state.image;
  }
  zoom(1);
  NAMES.forEach((name, place) => {
    const card = cards[place];
    card.querySelector(".text").textContent = state[name];
    card.classList.remove("missing");
    for (const input of card.querySelectorAll("input")) {
      input.checked = given[input.name] === input.value;
      input.disabled = told;
    }
    const line = card.querySelector(".known");
    line.hidden = !told;
    if (told) {
      const right = state.right[name];
      line.replaceChildren(element("b", `${right ? "✓ Right" : "✗ Not so"}: it is ${state.known[name]}.`), state.why[name] || "");
      line.classList.toggle("wrong", !right);
    }
  });
  reasons();
  scrollTo(0, 0);
  $("answers").scrollTo(0, 0);
  if (told) document.querySelector("#answers .act").focus();
  else if (document.activeElement?.matches("#answers input, #words, #answers button")) document.activeElement.blur();
  $("said").textContent = told ? NAMES.map((name, place) => `${ORDINAL[place]} question: ${cards[place].querySelector(".known").textContent}`).join(" ")
    : `${$("where").textContent}. First question: ${state.first} Second question: ${state.second}`;
}

/* ---- the two questions ---- */

const ORDINAL = ["First", "Second"];
const cards = NAMES.map((name, place) => {
  const card = $("question").content.cloneNode(true).firstElementChild;
  card.querySelector("legend").textContent = `${ORDINAL[place]} question`;
  for (const [box, options, field, what] of [[".choices", CHOICES, name, "verdict"], [".reasons", REASONS, `${name}_reason`, "why it is invalid, if you like"]]) {
    const group = card.querySelector(box);
    group.setAttribute("aria-label", `${ORDINAL[place]} question: ${what}`);
    for (const [value, keys] of Object.entries(options)) {
      const label = $("choice").content.cloneNode(true).firstElementChild, input = label.querySelector("input");
      Object.assign(input, { name: field, value });
      input.setAttribute("aria-keyshortcuts", keys[place]);
      label.querySelector("span").textContent = value;
      label.querySelector("kbd").textContent = keys[place];
      group.append(label);
    }
  }
  $("answers").lastElementChild.before(card);
  return card;
});

function chosen() {
  const given = Object.fromEntries(new FormData($("answers")));
  for (const name of NAMES) if (given[name] !== "invalid") delete given[`${name}_reason`];
  return given;
}

function reasons() {
  for (const [place, name] of NAMES.entries()) {
    const card = cards[place], off = card.querySelector(`input[name=${name}]:checked`)?.value !== "invalid";
    card.querySelector(".reasons").classList.toggle("off", off);
    for (const input of card.querySelectorAll(".reasons input")) input.disabled = off || state.show === "feedback";
  }
}

function press(key) {
  for (const options of [CHOICES, REASONS]) for (const [value, keys] of Object.entries(options)) {
    const place = keys.indexOf(key);
    if (place < 0) continue;
    const input = cards[place].querySelector(`input[value="${value}"]`);
    if (input.disabled) return true;
    input.checked = !(input.checked && options === REASONS);
    changed(place);
    return true;
  }
  return false;
}

function changed(place) {
  cards[place].classList.remove("missing");
  reasons();
  draft(chosen());
}

function submit() {
  if (busy) return;
  if (state.show === "feedback") return step({});
  const given = chosen(), missing = NAMES.filter(name => !given[name]);
  NAMES.forEach((name, place) => cards[place].classList.toggle("missing", !given[name]));
  if (missing.length) {
    cards[NAMES.indexOf(missing[0])].scrollIntoView({ block: "nearest" });
    return say(`Please judge the ${missing.join(" and the ")} question.`);
  }
  step({ answer: { place: state.place, ...given, seconds: Math.min(86400, Math.round(performance.now() - shownAt) / 1000) } });
}

/* ---- drafts: in this browser alone, until they are submitted ---- */

// What is chosen of the task that is shown: kept if it is given, forgotten if it is null; and what is kept.
function draft(given) {
  const name = `rgqa draft ${state.place}`, of = state.image + state.first + state.second;
  try {
    if (given) localStorage.setItem(name, JSON.stringify({ of, given }));
    if (given === null) localStorage.removeItem(name);
    const kept = JSON.parse(localStorage.getItem(name));
    return kept?.of === of ? kept.given : null;
  } catch { return null; }  // a browser that keeps nothing
}

/* ---- a pause ---- */

function work(seconds) {
  const now = performance.now() / 1000, gap = lastSubmit ? now - lastSubmit : seconds;
  worked = gap > IDLE ? 0 : worked + gap;  // whoever was away has had a pause
  lastSubmit = now;
}

function pause() {
  if (worked < HALF_HOUR || $("pause").open) return;
  worked = 0;
  $("pause").showModal();
}

/* ---- zoom: buttons, wheel, two fingers; drag or arrows move ---- */

let scale = 1, left = 0, top_ = 0, reach = 0;
const fingers = new Map();

function zoom(to, x = $("frame").clientWidth / 2, y = $("frame").clientHeight / 2) {
  const next = Math.min(MOST, Math.max(1, to));
  left = x - (x - left) * next / scale;
  top_ = y - (y - top_) * next / scale;
  scale = next;
  place();
}

function place() {
  const frame = $("frame"), image = $("image");
  left = Math.min(0, Math.max(left, frame.clientWidth - frame.clientWidth * scale));
  top_ = Math.min(0, Math.max(top_, frame.clientHeight - frame.clientHeight * scale));
  image.style.transform = `translate(${left}px, ${top_}px) scale(${scale})`;
  frame.classList.toggle("zoomed", scale > 1);
  $("whole").textContent = `${Math.round(scale * 100)} %`;
  $("out").disabled = scale <= 1;
  $("in").disabled = scale >= MOST;
}

function inside(event) {
  const box = $("frame").getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

$("in").onclick = () => zoom(scale * 1.5);
$("out").onclick = () => zoom(scale / 1.5);
$("whole").onclick = () => zoom(1);
$("frame").addEventListener("wheel", event => { event.preventDefault(); zoom(scale * Math.exp(-event.deltaY / 400), ...inside(event)); }, { passive: false });
$("frame").addEventListener("pointerdown", event => { fingers.set(event.pointerId, inside(event)); reach = 0; if (scale > 1) $("frame").setPointerCapture(event.pointerId); });
$("frame").addEventListener("pointermove", event => {
  const before = fingers.get(event.pointerId), now = inside(event);
  if (!before) return;
  fingers.set(event.pointerId, now);
  if (fingers.size === 2) {
    const [a, b] = [...fingers.values()], far = Math.hypot(a[0] - b[0], a[1] - b[1]);
    if (reach) zoom(scale * far / reach, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
    reach = far;
  } else if (scale > 1) { left += now[0] - before[0]; top_ += now[1] - before[1]; place(); }
});
for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, event => { fingers.delete(event.pointerId); reach = 0; });
$("frame").addEventListener("touchstart", event => { if (event.touches.length > 1) event.preventDefault(); }, { passive: false });
$("image").addEventListener("load", () => { $("image").classList.remove("away"); place(); });
$("image").addEventListener("error", () => say("The image does not show.", "Load it again", () => { $("image").src = `${state.image}?${Date.now()}`; say(""); }));
addEventListener("resize", place);

/* ---- hands ---- */

$("answers").addEventListener("change", event => changed(cards.findIndex(card => card.contains(event.target))));
$("answers").addEventListener("submit", event => { event.preventDefault(); submit(); });
$("agree").onclick = () => step({ consent: state.hash });
$("decline").onclick = () => step({ decline: true });
$("back").onclick = () => step({ open: state.back });
$("skip").onclick = () => step({ skip: { place: state.place } });
$("guidelines").onclick = () => { $("rules").innerHTML = state.guide || ""; $("guide").showModal(); $("guide").scrollTo(0, 0); };
$("guide").addEventListener("close", () => $("guidelines").blur());  // else Enter would open it again instead of submitting

addEventListener("keydown", event => {
  if ($("task").hidden || document.querySelector("dialog[open]") || event.altKey) return;
  const key = event.key, on = event.target;
  if (key === "Enter" && !on.matches("button:not(.act):not(.zoom *), a")) { event.preventDefault(); if (!event.repeat) submit(); return; }
  if (event.ctrlKey || event.metaKey) return;
  const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[key];
  if (moves && scale > 1 && on === $("frame")) { left += moves[0]; top_ += moves[1]; place(); event.preventDefault(); return; }
  if (key === "Backspace" || (key === "ArrowLeft" && !on.matches("input"))) { if (!busy && !$("back").hidden && state.back != null) step({ open: state.back }); }
  else if (key === "+" || key === "=") zoom(scale * 1.5);
  else if (key === "-") zoom(scale / 1.5);
  else if (busy || state.show === "feedback" || !press(key.toLowerCase())) return;
  event.preventDefault();
});

addEventListener("beforeunload", event => { if (busy && state.place) event.preventDefault(); });
step({});
