// The annotation page: one page for everything that an annotator does. It shows what POST /annotate/step returns. Texts of the data
// are inserted as textContent only. Consent and guidelines are HTML rendered from the study leader's Markdown, which allows no HTML.
"use strict";

const CHOICES = { valid: ["1", "8"], invalid: ["2", "9"], unsure: ["3", "0"] };
const REASONS = { "missing object": ["q", "i"], "wrong attribute": ["w", "o"], "wrong relation": ["e", "p"],
  "no valid answer": ["a", "j"], "underspecified": ["s", "k"], "unclear image": ["d", "l"] };
// How the choices are shown if annotators choose between yes and no.
const YES_NO = { valid: "yes", invalid: "no" };
const NAMES = ["first", "second"];
const ORDINALS = ["First", "Second"];
const TITLES = { training: "Training", test: "Test", task: "Task", feedback: "Training" };
const PARTS = { training: { title: "Training", button: "Start the training" }, test: { title: "Test", button: "Start the test" },
  task: { title: "Your tasks", button: "Start with the tasks" } };
// Seconds of work after which a break is suggested, and seconds without an answer that count as a break.
const HALF_HOUR = 30 * 60, BREAK = 5 * 60;
const MAX_SCALE = 6;

const $ = id => document.getElementById(id);
let state = {}, busy = false, shownAt = 0, worked = 0, lastSubmit = 0;

/* ---- Requests: one at a time. A request is repeated if there was no connection, or if the server may answer later. ---- */

// What to do about a request that will never succeed, by its status. 200 is an answer that is not from this server.
const REFUSALS = { 200: "Something between you and the server answered.", 404: "The page or the task was not found. Perhaps the study was replaced or closed.",
  409: "This does not fit to what is stored already.", 413: "The answer is too large.", 415: "The server did not understand the answer." };

function describeRefusal(status, detail) {
  const help = state.contact ? ` If that does not help, write to: ${state.contact}` : " If that does not help, ask the person who sent you the link.";
  const kept = state.assignment ? " Your choices are kept in this browser." : "";
  return `${detail || REFUSALS[status] || `The server did not accept this (${status}).`}${kept} Please load the page again.${help} `;
}

const mayAnswerLater = status => status >= 500 || status === 429 || status === 408;

async function sendStep(body, attempt = 0) {
  if (busy && !attempt) return;
  busy = true;
  updateControls();
  let problem = "No connection";
  try {
    const reply = await fetch("/annotate/step", { method: "POST", credentials: "same-origin", redirect: "manual",
      headers: { "Content-Type": "application/json", "X-CSRFToken": document.body.dataset.csrf }, body: JSON.stringify(body) });
    if (reply.type === "opaqueredirect" || reply.status === 401 || reply.status === 403) return stopWith("You are logged out. Open your personal link again. Your choices are kept.", "Reload", () => location.assign("/annotate/"));
    if (mayAnswerLater(reply.status)) throw new Error(problem = reply.status === 429 ? "The server is busy" : `Server error (${reply.status})`);
    // An error that is not from this server has no JSON. If the connection breaks off here, `text` fails, and the request is repeated.
    const text = await reply.text();
    let response = null;
    try { response = JSON.parse(text); } catch { /* is told below */ }
    if (!reply.ok || typeof response?.screen !== "string") return stopWith(describeRefusal(reply.status, response?.detail), "Reload", () => location.reload());
    showMessage("");
    busy = false;
    if (body.answer) { draft(null); trackWork(body.answer.seconds); }
    render(response);
    if (body.consent) openGuidelines();
  } catch {
    const wait = Math.min(2 ** attempt, 20);
    showMessage(`${problem}. Your choices are kept. Trying again in ${wait} s.`, "Try now", () => { clearTimeout(timer); sendStep(body, attempt + 1); });
    const timer = setTimeout(() => sendStep(body, attempt + 1), wait * 1000);
  }
}

function stopWith(text, label, action) {
  busy = false;
  showMessage(text, label, action);
  updateControls();
}

function showMessage(text, label, action) {
  const line = $("message");
  line.replaceChildren(text);
  line.hidden = !text;
  if (label) line.append(makeButton(label, action));
}

const makeElement = (tag, text, more) => Object.assign(document.createElement(tag), { textContent: text, ...more });
const makeButton = (label, action, kind = "") => makeElement("button", label, { type: "button", className: kind, onclick: action });

function updateControls() {
  for (const button of document.querySelectorAll("main button:not(.zoom-buttons button)")) button.disabled = busy;
  // Choices made while an answer is being sent would be lost.
  for (const card of cards) card.inert = busy;
  if (!busy) $("back").disabled = state.previous_assignment == null;
}

/* ---- Screens ---- */

function render(response) {
  const { guidelines, contact, choices, task_number, set_size, num_done_in_set } = state;
  state = { guidelines, contact, choices, ...(response.screen === "feedback" && { task_number, set_size, num_done_in_set }), ...response };
  const hasQuestions = NAMES.every(name => typeof state[name] === "string") && state.screen in TITLES;
  showChoiceNames();
  $("consent").hidden = state.screen !== "consent";
  $("task").hidden = !hasQuestions;
  $("message-screen").hidden = hasQuestions || state.screen === "consent";
  $("guidelines-contact").textContent = $("header-contact").textContent = state.contact ? `Questions: ${state.contact}` : "";
  $("open-guidelines").hidden = !state.guidelines;
  $("progress").hidden = !state.set_size;
  if (state.set_size) Object.assign($("progress"), { max: state.set_size, value: state.num_done_in_set });
  $("task-position").textContent = hasQuestions ? describePosition() : "";
  if (state.screen === "consent") { $("consent-text").innerHTML = state.html; $("consent-text").focus(); scrollTo(0, 0); }
  else if (hasQuestions) renderTask(); else renderMessageScreen();
  updateControls();
  suggestBreak();
}

// Tasks come in sets of a fixed size. How many are left depends on the answers of everybody, and is not shown.
function describePosition() {
  const inSet = state.num_done_in_set + 1, set = 1 + (state.task_number - inSet) / state.set_size;
  return `${TITLES[state.screen]} ${inSet} of ${state.set_size}${state.screen === "task" ? `, set ${set}` : ""}`;
}

const formatCount = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

function renderMessageScreen() {
  const title = { thanks: "Thank you", wait: "No tasks at the moment", test_failed: "Test not passed", announcement: PARTS[state.part]?.title }[state.screen] || "Annotation";
  const screen = $("message-screen"), lines = [state.message];
  if (state.num_judged) lines.push(`You judged ${formatCount(state.num_judged, "task")} in ${formatCount(Math.max(1, Math.round(state.minutes_worked || 0)), "minute")}.`);
  if (state.contact) lines.push(`Questions: ${state.contact}`);
  screen.replaceChildren(makeElement("h1", title), ...lines.filter(Boolean).map(line => makeElement("p", line)));
  if (state.screen === "announcement") screen.append(makeButton(PARTS[state.part].button, () => sendStep({ start: state.part }), "primary"));
  if (state.can_retake) screen.append(makeButton("Try again", () => sendStep({ retake_test: true }), "primary"));
  if (state.screen === "wait") screen.append(makeButton("Check again", () => sendStep({}), "primary"));
  if (state.previous_assignment != null) screen.append(makeButton("Back to the last task", () => sendStep({ reopen: state.previous_assignment })));
  screen.focus();
}

function renderTask() {
  const isFeedback = state.screen === "feedback", answer = state.answer || (isFeedback ? {} : draft()) || {};
  shownAt = performance.now();
  $("task").classList.toggle("feedback-shown", isFeedback);
  $("skip").hidden = state.screen !== "task" || Boolean(state.answer);
  $("back").hidden = state.screen !== "task";
  document.querySelector("#answers .primary span").textContent = isFeedback ? "Next" : state.answer ? "Correct" : "Submit";
  const image = $("image");
  if (image.getAttribute("src") !== state.image_url) {
    image.classList.add("loading");
    image.src = state.image_url;
  }
  zoomTo(1);
  NAMES.forEach((name, index) => {
    const card = cards[index];
    card.querySelector(".text").textContent = state[name];
    card.classList.remove("missing");
    for (const input of card.querySelectorAll("input")) {
      input.checked = answer[input.name] === input.value;
      input.disabled = isFeedback;
    }
    const line = card.querySelector(".feedback");
    line.hidden = !isFeedback;
    if (isFeedback) {
      const isCorrect = state.is_correct[name];
      line.replaceChildren(makeElement("b", `${isCorrect ? "✓ Correct" : "✗ Not correct"}: it is ${nameChoice(state.expected[name])}.`), state.explanation[name] || "");
      line.classList.toggle("wrong", !isCorrect);
    }
  });
  updateReasons();
  scrollTo(0, 0);
  $("answers").scrollTo(0, 0);
  if (isFeedback) document.querySelector("#answers .primary").focus();
  else if (document.activeElement?.matches("#answers input, #message-screen, #answers button")) document.activeElement.blur();
  $("announcement").textContent = isFeedback ? NAMES.map((name, index) => `${ORDINALS[index]} question: ${cards[index].querySelector(".feedback").textContent}`).join(" ")
    : `${$("task-position").textContent}. First question: ${state.first} Second question: ${state.second}`;
}

function openGuidelines() {
  if (!state.guidelines || $("guidelines").open) return;
  $("guidelines-text").innerHTML = state.guidelines;
  $("guidelines").showModal();
  $("guidelines").scrollTo(0, 0);
}

/* ---- The two questions ---- */

const cards = NAMES.map((name, index) => {
  const card = $("question-template").content.cloneNode(true).firstElementChild;
  card.querySelector("legend").textContent = `${ORDINALS[index]} question`;
  for (const [box, options, field, what] of [[".choices", CHOICES, name, "verdict"], [".reasons", REASONS, `${name}_reason`, "why it is invalid (optional)"]]) {
    const group = card.querySelector(box);
    group.setAttribute("aria-label", `${ORDINALS[index]} question: ${what}`);
    for (const [value, keys] of Object.entries(options)) {
      const label = $("choice-template").content.cloneNode(true).firstElementChild, input = label.querySelector("input");
      Object.assign(input, { name: field, value });
      input.setAttribute("aria-keyshortcuts", keys[index]);
      label.querySelector("span").textContent = value;
      label.querySelector("kbd").textContent = keys[index];
      group.append(label);
    }
  }
  $("answers").lastElementChild.before(card);
  return card;
});

const nameChoice = value => state.choices === "yes-no" && YES_NO[value] || value;

function showChoiceNames() {
  for (const input of document.querySelectorAll(".choices input")) input.nextElementSibling.textContent = nameChoice(input.value);
  $("choice-keys").textContent = Object.keys(CHOICES).map(nameChoice).join(", ");
  $("task").classList.toggle("without-reasons", state.choices === "yes-no");
  $("reason-keys").hidden = state.choices === "yes-no";
}

function readAnswer() {
  const answer = Object.fromEntries(new FormData($("answers")));
  for (const name of NAMES) if (answer[name] !== "invalid") delete answer[`${name}_reason`];
  return answer;
}

function updateReasons() {
  for (const [index, name] of NAMES.entries()) {
    const card = cards[index], isDisabled = state.choices === "yes-no" || card.querySelector(`input[name=${name}]:checked`)?.value !== "invalid";
    card.querySelector(".reasons").classList.toggle("disabled", isDisabled);
    for (const input of card.querySelectorAll(".reasons input")) input.disabled = isDisabled || state.screen === "feedback";
  }
}

function chooseByKey(key) {
  for (const options of [CHOICES, REASONS]) for (const [value, keys] of Object.entries(options)) {
    const index = keys.indexOf(key);
    if (index < 0) continue;
    const input = cards[index].querySelector(`input[value="${value}"]`);
    if (input.disabled) return true;
    input.checked = !(input.checked && options === REASONS);
    onChoice(index);
    return true;
  }
  return false;
}

function onChoice(index) {
  cards[index].classList.remove("missing");
  updateReasons();
  draft(readAnswer());
}

function submit() {
  if (busy) return;
  if (state.screen === "feedback") return sendStep({});
  const answer = readAnswer(), missing = NAMES.filter(name => !answer[name]);
  NAMES.forEach((name, index) => cards[index].classList.toggle("missing", !answer[name]));
  if (missing.length) {
    cards[NAMES.indexOf(missing[0])].scrollIntoView({ block: "nearest" });
    return showMessage(`Please judge the ${missing.join(" and the ")} question.`);
  }
  sendStep({ answer: { assignment: state.assignment, ...answer, seconds: Math.min(86400, Math.round(performance.now() - shownAt) / 1000) } });
}

/* ---- Drafts: stored in this browser only, until they are submitted ---- */

// Store the choices for the current task, or delete them (null). Return the stored choices.
function draft(answer) {
  const name = `rgqa draft ${state.assignment}`, content = state.image_url + state.first + state.second;
  try {
    if (answer) localStorage.setItem(name, JSON.stringify({ content, answer }));
    if (answer === null) localStorage.removeItem(name);
    const stored = JSON.parse(localStorage.getItem(name));
    return stored?.content === content ? stored.answer : null;
  } catch { return null; }  // The browser allows no storage.
}

/* ---- Breaks ---- */

function trackWork(seconds) {
  const now = performance.now() / 1000, gap = lastSubmit ? now - lastSubmit : seconds;
  // A long gap counts as a break.
  worked = gap > BREAK ? 0 : worked + gap;
  lastSubmit = now;
}

function suggestBreak() {
  if (worked < HALF_HOUR || $("pause").open) return;
  worked = 0;
  $("pause").showModal();
}

/* ---- Zoom: buttons, mouse wheel, two fingers. Drag or use arrow keys to move. ---- */

let scale = 1, left = 0, top_ = 0, fingerDistance = 0;
const fingers = new Map();

function zoomTo(target, x = $("image-frame").clientWidth / 2, y = $("image-frame").clientHeight / 2) {
  const next = Math.min(MAX_SCALE, Math.max(1, target));
  left = x - (x - left) * next / scale;
  top_ = y - (y - top_) * next / scale;
  scale = next;
  placeImage();
}

function placeImage() {
  const frame = $("image-frame"), image = $("image");
  left = Math.min(0, Math.max(left, frame.clientWidth - frame.clientWidth * scale));
  top_ = Math.min(0, Math.max(top_, frame.clientHeight - frame.clientHeight * scale));
  image.style.transform = `translate(${left}px, ${top_}px) scale(${scale})`;
  frame.classList.toggle("zoomed", scale > 1);
  $("zoom-reset").textContent = `${Math.round(scale * 100)} %`;
  $("zoom-out").disabled = scale <= 1;
  $("zoom-in").disabled = scale >= MAX_SCALE;
}

function pointInFrame(event) {
  const box = $("image-frame").getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

$("zoom-in").onclick = () => zoomTo(scale * 1.5);
$("zoom-out").onclick = () => zoomTo(scale / 1.5);
$("zoom-reset").onclick = () => zoomTo(1);
$("image-frame").addEventListener("wheel", event => { event.preventDefault(); zoomTo(scale * Math.exp(-event.deltaY / 400), ...pointInFrame(event)); }, { passive: false });
$("image-frame").addEventListener("pointerdown", event => { fingers.set(event.pointerId, pointInFrame(event)); fingerDistance = 0; if (scale > 1) $("image-frame").setPointerCapture(event.pointerId); });
$("image-frame").addEventListener("pointermove", event => {
  const before = fingers.get(event.pointerId), now = pointInFrame(event);
  if (!before) return;
  fingers.set(event.pointerId, now);
  if (fingers.size === 2) {
    const [a, b] = [...fingers.values()], distance = Math.hypot(a[0] - b[0], a[1] - b[1]);
    if (fingerDistance) zoomTo(scale * distance / fingerDistance, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
    fingerDistance = distance;
  } else if (scale > 1) { left += now[0] - before[0]; top_ += now[1] - before[1]; placeImage(); }
});
for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, event => { fingers.delete(event.pointerId); fingerDistance = 0; });
$("image-frame").addEventListener("touchstart", event => { if (event.touches.length > 1) event.preventDefault(); }, { passive: false });
$("image").addEventListener("load", () => { $("image").classList.remove("loading"); placeImage(); });
$("image").addEventListener("error", () => showMessage("The image could not be loaded.", "Load again", () => { $("image").src = `${state.image_url}?${Date.now()}`; showMessage(""); }));
addEventListener("resize", placeImage);

/* ---- Events ---- */

$("answers").addEventListener("change", event => onChoice(cards.findIndex(card => card.contains(event.target))));
$("answers").addEventListener("submit", event => { event.preventDefault(); submit(); });
$("agree").onclick = () => sendStep({ consent: state.hash });
$("decline").onclick = () => sendStep({ is_declined: true });
$("back").onclick = () => sendStep({ reopen: state.previous_assignment });
$("skip").onclick = () => sendStep({ skip: { assignment: state.assignment } });
$("open-guidelines").onclick = openGuidelines;
// Without focus, Enter submits the answer and does not open the guidelines again.
$("guidelines").addEventListener("close", () => $("open-guidelines").blur());

addEventListener("keydown", event => {
  if ($("task").hidden || document.querySelector("dialog[open]") || event.altKey) return;
  const key = event.key, target = event.target;
  if (key === "Enter" && !target.matches("button:not(.primary):not(.zoom-buttons *), a")) { event.preventDefault(); if (!event.repeat) submit(); return; }
  if (event.ctrlKey || event.metaKey) return;
  const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[key];
  if (moves && scale > 1 && target === $("image-frame")) { left += moves[0]; top_ += moves[1]; placeImage(); event.preventDefault(); return; }
  if (key === "Backspace" || (key === "ArrowLeft" && !target.matches("input"))) { if (!busy && !$("back").hidden && state.previous_assignment != null) sendStep({ reopen: state.previous_assignment }); }
  else if (key === "+" || key === "=") zoomTo(scale * 1.5);
  else if (key === "-") zoomTo(scale / 1.5);
  else if (busy || state.screen === "feedback" || !chooseByKey(key.toLowerCase())) return;
  event.preventDefault();
});

addEventListener("beforeunload", event => { if (busy && state.assignment) event.preventDefault(); });
sendStep({});
