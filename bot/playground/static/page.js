// The page: its state, the stream of events that changes the state, and the parts that show it.
import { createAround } from "./around.js";
import { createComposer } from "./composer.js";
import { createMessages } from "./messages.js";
import { createSidebar } from "./sidebar.js";
import { createTabs } from "./tabs.js";
import { createViews } from "./views.js";
import { setNames } from "./renderer.js";
import { follow } from "./stream.js";
import { notice, post } from "./wire.js";

const state = {
  boot: null, channel: null, channels: [], commands: [], prompts: [], app: "", you: "",
  people: [], shortcuts: [], home_tab: false,
  get here() {
    return this.channels.find(({ id }) => id === this.channel);
  },
  // Returns the entries of a menu with the shortcuts of one type, "global" or "message".
  entries(type, onPick) {
    const offered = this.shortcuts.filter((shortcut) => shortcut.type === type);
    return offered.map(({ name, callback_id: id }) => ({ label: name, onPick: () => onPick(id) }));
  },
};

const messages = createMessages({
  state,
  onPrompt: (line) => say(line, null),
  onReply: (message) => composer.enterThread(message),
  onStop: stop,
  onShortcut: ({ channel, ts }, shortcut) => post("shortcut", { channel, ts, callback_id: shortcut }),
});
const around = createAround({ state, onPrompt: (line) => say(line, null), onStop: stop });
const composer = createComposer({
  state,
  onSend: (text, thread) => say(text, thread),
  onShortcut: (shortcut) => post("shortcut", { channel: state.channel, callback_id: shortcut }),
});
const views = createViews({ state, onSubmit: messages.acted });
const tabs = createTabs({ state });
const sidebar = createSidebar({
  state,
  onOpen: (channelId) => {
    open(channelId);
    post("open", { channel: channelId });
  },
});

const heard = {
  hello(hello) {
    if (state.boot && state.boot !== hello.boot) {
      notice("The app was restarted. What it wrote before is kept here; you can go on.", { seconds: 8 });
      around.clear();
      views.change({ stack: [], home: null });
    } else {
      notice("");
    }
    Object.assign(state, hello);
    for (const channel of state.channels) channel.title = channel.is_im ? state.app : `#${channel.label}`;
    setNames({ channels: hello.channels.map(({ id, label }) => ({ id, name: label })), users: hello.people });
    const place = linkedPlace();
    open(place?.channel ?? state.channel ?? hello.channels[0].id);
    if (place) messages.reveal(place);
    document.body.dataset.ready = "yes";
  },
  change(change) {
    const isNew = messages.change(change); // after a restart, the server sends every message again
    if (isNew && change.channel !== state.channel && change.message) sidebar.mark(change.channel);
  },
  around: around.change,
  views: views.change,
};
follow(heard, () => notice("The app cannot be reached. Trying again …"));

// Returns the place of the message that the address names, and removes it from the address; null if there is none.
function linkedPlace() {
  const [, channel, seconds, rest] = /^#(\w+)-p(\d+)(\d{6})$/.exec(location.hash) ?? [];
  if (!state.channels.some(({ id }) => id === channel)) return null;
  history.replaceState(null, "", location.pathname);
  return { channel, ts: `${seconds}.${rest}` };
}

function say(text, thread) {
  if (!thread) messages.followEnd({ asking: true });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return post("say", { channel: state.channel, text, thread_ts: thread, zone });
}

function stop({ channel, thread }) {
  return post("stop", { channel, thread_ts: thread });
}

function open(channelId) {
  state.channel = channelId;
  const { label, title, is_im: direct } = state.here;
  document.querySelector("#title").textContent = direct ? title : `# ${label}`;
  document.title = direct ? title : `${title} · ${state.app}`;
  sidebar.show();
  tabs.show();
  messages.show();
  around.show();
  composer.show();
}
