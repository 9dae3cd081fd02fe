// The files of a message, each a link that downloads it.
import { make } from "./dom.js";

export function showFiles(list, files) {
  list.hidden = !files.length;
  list.replaceChildren(...files.map(entry));
}

function entry({ id, name, title, size }) {
  const link = make("a", { href: `/playground/files/${id}`, download: name }, title);
  const about = title === name ? sizeOf(size) : `${name} · ${sizeOf(size)}`;
  return make("li", {}, link, " ", make("small", {}, about));
}

function sizeOf(bytes) {
  return bytes < 1000 ? `${bytes} bytes` : `${Math.round(bytes / 1000)} kB`;
}
