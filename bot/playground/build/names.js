// The names of channels and people, which Slack shows in place of their ids in a text.
let channels = [];
let users = [];

// `known` has two lists of {id, name}: `channels` and `users`.
export function setNames(known) {
  ({ channels, users } = known);
}

export function names() {
  return { channels, users };
}

export function nameOf(id) {
  return [...channels, ...users].find((one) => one.id === id)?.name ?? id;
}
