// The field in which a person writes: Enter sends, arrow keys go through the suggestions or the lines sent before.
import { attachMenu } from "./menu.js";
import { createSuggestions } from "./suggestions.js";

const form = document.querySelector("#composer");
const input = document.querySelector("#input");
const send = document.querySelector("#send");
const shortcuts = document.querySelector("#shortcuts");
const threading = document.querySelector("#threading");

export function createComposer({ state, onSend, onShortcut }) {
  const sent = [];
  let place = 0;
  let thread = null;
  const suggestions = createSuggestions({ state, onPick: (name) => fill(`${name} `) });

  function fill(line) {
    input.value = line;
    input.focus();
    input.setSelectionRange(line.length, line.length);
    grow();
  }

  function grow() {
    input.style.height = "auto";
    input.style.height = `${input.scrollHeight}px`;
    send.disabled = !input.value.trim();
    suggestions.update(input.value);
  }

  async function submit() {
    const line = input.value.trim();
    if (!line) return;
    sent.push(line);
    place = sent.length;
    fill("");
    if (!(await onSend(line, thread)) && !input.value) fill(line);
  }

  function enterThread(message) {
    thread = message.thread_ts ?? message.ts;
    threading.querySelector("span").textContent = `Replying in a thread of ${state.here.title}`;
    threading.hidden = false;
    input.placeholder = "Reply…";
    input.focus();
  }

  function leaveThread() {
    thread = null;
    threading.hidden = true;
    input.placeholder = `Message ${state.here.title}${state.here.is_im ? "" : ", or / for commands"}`;
  }

  // Fills in an earlier line: in an empty or recalled line, Up goes to the line before it, Down to the line after it.
  function recall(step) {
    const next = place + step;
    if (next < 0 || next > sent.length) return;
    place = next;
    fill(sent[place] ?? "");
    suggestions.hide();
  }

  input.addEventListener("keydown", (event) => {
    if (event.isComposing || suggestions.key(event)) return;
    if (event.key === "Escape") leaveThread();
    const isRecalled = !input.value || input.value === sent[place];
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      submit();
    } else if ((event.key === "ArrowUp" || event.key === "ArrowDown") && isRecalled) {
      event.preventDefault();
      recall(event.key === "ArrowUp" ? -1 : 1);
    }
  });
  input.addEventListener("input", grow);
  threading.querySelector("button").addEventListener("click", () => {
    leaveThread();
    input.focus();
  });
  attachMenu(shortcuts, () => state.entries("global", onShortcut));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });

  return {
    fill,
    enterThread,
    show() {
      shortcuts.hidden = state.entries("global").length === 0;
      leaveThread();
      input.focus();
    },
  };
}
