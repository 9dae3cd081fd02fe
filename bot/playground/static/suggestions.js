// Suggests, above the composer, what a line can begin with: slash commands and the app's name.
import { make } from "./dom.js";

const list = document.querySelector("#suggestions");
const input = document.querySelector("#input");

export function createSuggestions({ state, onPick }) {
  let found = [];
  let at = 0;

  function update(line) {
    const app = { name: `@${state.app}`, usage_hint: "[options] QUESTION", description: "Ask it here, in a thread" };
    const choices = /^(\/|@)/.test(line) ? [...state.commands, app] : [];
    found = choices.filter(({ name }) => name.toLowerCase().startsWith(line.toLowerCase()));
    at = 0;
    draw();
  }

  function draw() {
    list.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(found.length > 0));
    list.replaceChildren(...found.map(option));
    if (found.length) input.setAttribute("aria-activedescendant", `suggestion-${at}`);
    else input.removeAttribute("aria-activedescendant");
    list.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }

  function option(command, index) {
    const parts = { b: command.name, span: command.usage_hint, small: command.description };
    const item = make("li", { id: `suggestion-${index}`, role: "option", "aria-selected": String(index === at) });
    item.append(...Object.entries(parts).map(([tag, text]) => make(tag, {}, text)));
    item.addEventListener("mousedown", (event) => {
      event.preventDefault();
      onPick(command.name);
    });
    return item;
  }

  const hide = () => update("");

  // Handles a key, and returns whether the list used it. If the name is complete, Enter is left to the composer.
  function key(event) {
    if (!found.length) return false;
    const complete = event.key === "Enter" && input.value === found[at].name;
    if (event.key === "Escape") hide();
    else if (event.key === "ArrowDown") at = (at + 1) % found.length;
    else if (event.key === "ArrowUp") at = (at + found.length - 1) % found.length;
    else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && !complete)) onPick(found[at].name);
    else return false;
    event.preventDefault();
    draw();
    return true;
  }

  return { update, hide, key };
}
