// The list of channels, with a dot next to each channel that has new messages.
import { button, make } from "./dom.js";

const list = document.querySelector("#channels");

export function createSidebar({ state, onOpen }) {
  const unread = new Set();

  function show() {
    unread.delete(state.channel);
    list.replaceChildren(...state.channels.map(entry));
  }

  function entry({ id, label, is_im: direct }) {
    const opener = button(direct ? label : `# ${label}`, () => onOpen(id), {
      className: direct ? "direct" : "channel",
      "data-channel": id,
      "aria-current": String(id === state.channel),
    });
    if (unread.has(id)) opener.append(make("span", { className: "unread", role: "img", "aria-label": "new messages" }));
    return make("li", {}, opener);
  }

  return {
    show,
    mark(channelId) {
      unread.add(channelId);
      show();
    },
  };
}
