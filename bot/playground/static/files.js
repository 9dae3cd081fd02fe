// The files of a message, each a link that downloads it.
export function showFiles(list, files) {
  list.hidden = !files.length;
  list.replaceChildren(...files.map(entry));
}

function entry({ id, name, title, size }) {
  const item = document.createElement("li");
  const link = Object.assign(document.createElement("a"), { href: `/playground/files/${id}`, download: name });
  link.textContent = title;
  const about = document.createElement("small");
  about.textContent = title === name ? sizeOf(size) : `${name} · ${sizeOf(size)}`;
  item.append(link, " ", about);
  return item;
}

function sizeOf(bytes) {
  return bytes < 1000 ? `${bytes} bytes` : `${Math.round(bytes / 1000)} kB`;
}
