// The list of messages: what arrives takes its place by `ts`, a thread's replies below its first message; what changes
// changes in place.
import { discard, render } from "./renderer.js";
import { post } from "./wire.js";

const list = document.querySelector("#messages");
const empty = document.querySelector("#empty");
const template = document.querySelector("#message");
const NEAR_BOTTOM = 120;

export function createMessages({ state, onExample, onReply }) {
  const shown = new Map(); // "channel ts" -> {message, element}

  list.addEventListener("click", (event) => {
    const reply = event.target.closest("button.reply");
    if (reply) onReply(shown.get(reply.closest("article").dataset.key).message);
    else press(event.target.closest("button[id]"));
  });

  async function press(button) {
    const article = button?.closest("article");
    if (!article) return;
    const { message } = shown.get(article.dataset.key);
    const block = message.blocks.find((candidate) => holds(candidate, button.id) && encloses(candidate, button));
    if (!block) return;
    button.disabled = true;
    const { channel, ts, text, blocks, private: hidden } = message;
    await post("click", { channel, ts, text, blocks, private: hidden, block_id: block.block_id, action_id: button.id });
    button.disabled = false;
  }

  function change({ channel, ts, message }) {
    const key = `${channel} ${ts}`;
    const follows = atBottom();
    if (message) put(key, message);
    else drop(key);
    refresh();
    if (follows && channel === state.channel) list.scrollTop = list.scrollHeight;
  }

  function put(key, message) {
    const element = shown.get(key)?.element ?? frame(key, message);
    shown.set(key, { message, element });
    element.classList.toggle("private", message.private);
    element.classList.toggle("in-thread", isReply(message));
    render(element.querySelector(".body"), message.blocks.length ? message.blocks : [asBlock(message.text)]);
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
    element.dataset.place = `${message.thread_ts ?? message.ts} ${message.ts}`;
    element.dataset.channel = message.channel;
    element.dataset.author = message.author;
    element.querySelector(".name").textContent = nameOf(message.author, state);
    const time = element.querySelector("time");
    const date = new Date(Number(message.ts) * 1000);
    time.dateTime = date.toISOString();
    time.textContent = date.toLocaleTimeString([], { hour: "numeric", minute: "2-digit" });
    const articles = [...list.querySelectorAll("article")];
    list.insertBefore(element, articles.find((other) => other.dataset.place > element.dataset.place) ?? null);
    return element;
  }

  function refresh() {
    let any = false;
    for (const { message, element } of shown.values()) {
      element.hidden = message.channel !== state.channel;
      any ||= !element.hidden;
    }
    const direct = state.channels.find((channel) => channel.id === state.channel)?.is_im;
    empty.hidden = any || Boolean(direct);
  }

  function show() {
    fillExamples(state, onExample);
    refresh();
    list.scrollTop = list.scrollHeight;
  }

  return { change, show };
}

const EXAMPLES = [
  ["search", "python 3.14 free threading"],
  ["ask", "What is new in Python 3.14?"],
  ["ask", "How do I connect this app to a Slack workspace?"],
  ["@", "What changed this week in open source databases?"],
];

// A command's name may carry a prefix, so its end says which it is.
function fillExamples({ commands, app }, onExample) {
  const lines = EXAMPLES.map(([word, text]) => {
    if (word === "@") return `@${app} ${text}`;
    const command = commands.find(({ name }) => name.endsWith(word));
    return command && `${command.name} ${text}`;
  });
  document.querySelector("#examples").replaceChildren(
    ...lines.filter(Boolean).map((line) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = line;
      button.addEventListener("click", () => onExample(line));
      return button;
    }),
  );
}

function isReply({ ts, thread_ts: thread }) {
  return Boolean(thread) && thread !== ts;
}

function holds(block, actionId) {
  return [...(block.elements ?? []), block.accessory].some((element) => element?.action_id === actionId);
}

// Action ids repeat across blocks, so the block is the one whose element the button is in.
function encloses(block, button) {
  const element = button.closest("article").querySelector(`[id="${CSS.escape(block.block_id)}"]`);
  return element?.contains(button) ?? false;
}

function asBlock(text) {
  return { type: "section", text: { type: "mrkdwn", text } };
}

function nameOf(author, { app, you }) {
  return { app, you }[author] ?? "Slackbot";
}

function atBottom() {
  return list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_BOTTOM;
}
