// The channels, with a dot next to one that has something new.
const list = document.querySelector("#channels");

export function createSidebar({ state, onOpen }) {
  const unread = new Set();

  function show() {
    unread.delete(state.channel);
    list.replaceChildren(...state.channels.map(entry));
  }

  function entry(channel) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.channel = channel.id;
    button.className = channel.is_im ? "direct" : "channel";
    button.append(channel.is_im ? channel.label : `# ${channel.label}`);
    button.setAttribute("aria-current", String(channel.id === state.channel));
    if (unread.has(channel.id)) button.append(dot());
    button.addEventListener("click", () => onOpen(channel.id));
    const item = document.createElement("li");
    item.append(button);
    return item;
  }

  return {
    show,
    mark(channelId) {
      unread.add(channelId);
      show();
    },
  };
}

function dot() {
  const mark = document.createElement("span");
  mark.className = "unread";
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", "new messages");
  return mark;
}
