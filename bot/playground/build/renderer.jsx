// The functions that the page calls: `render` shows blocks in an element, first and after each change.
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { Message } from "slack-blocks-to-jsx";
import { Emoji } from "./emoji.jsx";
import { names, setNames } from "./names.js";

export { setNames };

const roots = new WeakMap();
const hooks = { emoji: ({ name }) => <Emoji name={name} /> };

export function render(element, blocks) {
  if (!roots.has(element)) roots.set(element, createRoot(element));
  flushSync(() => roots.get(element).render(<Message blocks={blocks} withoutWrapper hooks={hooks} data={names()} />));
}

export function discard(element) {
  roots.get(element)?.unmount();
  roots.delete(element);
}
