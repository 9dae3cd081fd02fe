// The list of messages, in the order of their `ts`, with the replies of a thread below its first message. A message
// that changes keeps its place.
import { createExamples } from "./examples.js";
import { attachMenus, rated } from "./choices.js";
import { createFollowing } from "./following.js";
import { showFiles } from "./files.js";
import { gatherCitations } from "./citations.js";
import { confirmed } from "./confirm.js";
import { attachMenu } from "./menu.js";
import { discard, render } from "./renderer.js";
import { TABLES } from "./surface.js";
import { post } from "./wire.js";

const list = document.querySelector("#messages");
const empty = document.querySelector("#empty");
const template = document.querySelector("#message");
const CALM_MS = 4000; // the app edits a message that shows its progress every three seconds

export function createMessages({ state, onPrompt, onReply, onStop, onShortcut }) {
  const following = createFollowing(list);
  const examples = createExamples({ state, onPrompt });
  let linked = null; // the key of the message to reveal when it arrives
  const shown = new Map(); // "channel ts" -> {message, element}

  list.addEventListener("click", (event) => {
    const ours = event.target.closest("button.reply, button.stop");
    const rating = rated(event.target);
    const message = ours && shown.get(ours.closest("article").dataset.key).message;
    if (ours?.matches(".reply")) onReply(message);
    else if (ours) onStop({ channel: message.channel, thread: message.thread_ts });
    else if (rating) send(...rating);
    else press(event.target.closest("button[id]"));
  });

  async function press(node, at) {
    const found = node && !node.ariaDisabled && elementOf(node);
    if (!found || !(await confirmed(found.element.confirm))) return;
    node.ariaDisabled = "true"; // a `disabled` button would lose the focus
    await send(node, at);
    node.ariaDisabled = null;
  }

  // `at` is the index of the choice, if the element has several.
  async function send(node, at) {
    const { message, block, element } = elementOf(node);
    const { channel, ts, text, blocks, private: hidden } = message;
    const place = { channel, ts, text, blocks, private: hidden, block_id: block.block_id, action_id: node.id };
    following.acted();
    await post("click", { ...place, choice: choiceOf(element, at) });
  }

  function elementOf(node) {
    const message = shown.get(node.closest("article")?.dataset.key)?.message;
    const block = message?.blocks.find((candidate) => holding(candidate, node.id) && encloses(candidate, node));
    return block && { message, block, element: holding(block, node.id) };
  }

  // Shows a change; returns whether its message is new: not shown before, and written after the page was opened.
  function change({ channel, ts, message }) {
    const key = `${channel} ${ts}`;
    const isNew = !shown.has(key) && Number(ts) * 1000 > performance.timeOrigin;
    const hadFocus = list.contains(document.activeElement);
    following.keep(() => {
      if (message) put(key, message);
      else drop(key);
      refresh();
      if (isNew && message && channel === state.channel) following.arrived(shown.get(key).element);
    });
    if (key === linked) reveal({ channel, ts });
    // The change may have removed the pressed button.
    if (hadFocus && !list.contains(document.activeElement)) list.focus({ preventScroll: true });
    if (isNew && message?.author === "you" && channel === state.channel) following.follow(shown.get(key).element);
    return isNew;
  }

  function put(key, message) {
    const known = shown.get(key);
    const element = known?.element ?? frame(key, message);
    shown.set(key, { message, element, calmAt: known && !isLive(known.message) ? Date.now() + CALM_MS : 0 });
    element.classList.toggle("private", message.private);
    element.classList.toggle("in-thread", isReply(message));
    element.setAttribute("aria-label", labelOf(element, message));
    element.querySelector(".more").hidden = message.private || !state.entries("message").length;
    showLive(key);
    const body = element.querySelector(".body");
    const text = { type: "section", text: { type: "mrkdwn", text: message.text } };
    render(body, message.blocks.length || !message.text ? message.blocks : [text]);
    body.querySelectorAll(TABLES).forEach((table) => (table.tabIndex = 0));
    gatherCitations(body);
    attachMenus(body, { optionsOf: (menu) => elementOf(menu).element.options, onChoose: press });
  }

  // Screen readers read a stream aloud when it ends, and an edited message when it has not changed for `CALM_MS`.
  function showLive(key) {
    const { message, element, calmAt } = shown.get(key);
    const line = element.querySelector(".live");
    const live = isLive(message);
    if (!live && line.contains(document.activeElement)) list.focus({ preventScroll: true });
    line.hidden = !live;
    const left = Math.max(live ? endOf(message) : 0, calmAt) - Date.now();
    element.setAttribute("aria-busy", String(left > 0));
    if (left > 0) setTimeout(() => shown.get(key)?.element === element && showLive(key), left);
  }

  function drop(key) {
    const gone = shown.get(key);
    if (!gone) return;
    discard(gone.element.querySelector(".body"));
    gone.element.remove();
    shown.delete(key);
  }

  function frame(key, message) {
    const element = template.content.firstElementChild.cloneNode(true);
    element.dataset.key = key;
    element.dataset.thread = message.thread_ts ?? message.ts;
    element.dataset.place = `${message.thread_ts ?? message.ts} ${message.ts}`;
    element.dataset.author = message.author;
    element.querySelector(".name").textContent = state[message.author] ?? "Slackbot";
    const time = element.querySelector("time");
    const date = new Date(Number(message.ts) * 1000);
    time.dateTime = date.toISOString();
    time.textContent = date.toLocaleTimeString([], { hour: "numeric", minute: "2-digit" });
    time.title = date.toLocaleString([], { dateStyle: "full", timeStyle: "long" });
    showFiles(element.querySelector(".files"), message.files);
    const use = (id) => onShortcut(shown.get(key).message, id);
    attachMenu(element.querySelector(".more"), () => state.entries("message", use));
    const articles = [...list.querySelectorAll("article")];
    list.insertBefore(element, articles.find((other) => other.dataset.place > element.dataset.place) ?? null);
    return element;
  }

  function refresh() {
    for (const { message, element } of shown.values()) element.hidden = message.channel !== state.channel;
    const last = [...list.querySelectorAll("article:not([hidden])")].at(-1);
    empty.hidden = Boolean(last || state.here?.is_im);
    examples.place({ empty: !empty.hidden, failed: Boolean(last?.querySelector("#retry")) });
  }

  function show() {
    examples.fill();
    refresh();
    following.followEnd();
  }

  // Shows a message and gives it the focus, now or when it arrives.
  function reveal({ channel, ts }) {
    linked = `${channel} ${ts}`;
    const element = shown.get(linked)?.element;
    if (!element) return;
    linked = null;
    element.tabIndex = -1;
    element.focus();
    element.scrollIntoView({ block: "center" });
    following.stay();
  }

  return { change, show, reveal, followEnd: following.followEnd, acted: following.acted };
}

function labelOf(element, { private: hidden, ...message }) {
  const parts = [element.querySelector(".name").textContent, element.querySelector("time").textContent];
  if (isReply(message)) parts.push("reply in a thread");
  if (hidden) parts.push("only visible to you");
  return parts.join(", ");
}

function endOf(message) {
  return (message.live_until ?? 0) * 1000;
}

function isLive(message) {
  return endOf(message) > Date.now();
}

function isReply({ ts, thread_ts: thread }) {
  return Boolean(thread) && thread !== ts;
}

function holding(block, actionId) {
  return [...(block.elements ?? []), block.accessory].find((element) => element?.action_id === actionId);
}

function choiceOf({ positive_button: positive, negative_button: negative, options }, at) {
  return (positive ? [positive, negative] : options)?.[at]?.value;
}

// Returns whether a block contains a button. Blocks may use the same action ids, so the ids alone do not tell.
function encloses(block, button) {
  const element = button.closest("article").querySelector(`[id="${CSS.escape(block.block_id)}"]`);
  return element?.contains(button) ?? false;
}
