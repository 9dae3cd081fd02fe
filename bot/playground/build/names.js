// What channels and people are called: where a text has their ids, Slack shows their names.
let channels = [];
let users = [];

// Both are lists of {id, name}.
export function setNames(known) {
  ({ channels, users } = known);
}

export function names() {
  return { channels, users };
}

export function nameOf(id) {
  return [...channels, ...users].find((one) => one.id === id)?.name ?? id;
}
