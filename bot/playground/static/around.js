// The display around the messages: the prompts that the app suggests, and the app's status in each thread, with Slack's
// own stop button.
import { button, make } from "./dom.js";

const prompts = document.querySelector("#prompts");
const title = document.querySelector("#prompts-title");
const buttons = prompts.querySelector("div");
const statuses = document.querySelector("#statuses");

export function createAround({ state, onPrompt, onStop }) {
  const channels = new Map(); // channel -> {title, prompts, statuses}
  let timer;

  function change(around) {
    channels.set(around.channel, around);
    if (around.channel === state.channel) show();
  }

  function clear() {
    channels.clear();
    show();
  }

  function show() {
    clearTimeout(timer);
    const around = channels.get(state.channel) ?? { title: "", prompts: [], statuses: {} };
    title.textContent = around.title || "Suggested prompts";
    prompts.hidden = around.prompts.length === 0;
    buttons.replaceChildren(...around.prompts.map((prompt) => button(prompt.title, () => onPrompt(prompt.message))));
    const left = Object.entries(around.statuses).filter(([, { until }]) => until * 1000 > Date.now());
    statuses.replaceChildren(...left.map(([thread, { text }]) => status(text, thread)));
    if (left.length) timer = setTimeout(show, Math.min(...left.map(([, { until }]) => until * 1000)) - Date.now());
  }

  function status(text, thread) {
    const stop = button("Stop", () => onStop({ channel: state.channel, thread }));
    return make("li", {}, `${state.app} ${text} `, stop);
  }

  return { change, clear, show };
}
