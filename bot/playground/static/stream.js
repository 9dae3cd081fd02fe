// The server's events. After a lost connection, EventSource connects again and names the last event that it has
// received. It gives up only if the server answers with an error; then `follow` makes a new one.
const RETRY_MS = 1500;

// `on` maps the name of each event to a function that gets the event's data.
export function follow(on, onLost) {
  const source = new EventSource("/playground/events");
  for (const [name, hear] of Object.entries(on)) {
    source.addEventListener(name, ({ data }) => hear(JSON.parse(data)));
  }
  source.addEventListener("error", () => {
    onLost();
    if (source.readyState === EventSource.CLOSED) setTimeout(() => follow(on, onLost), RETRY_MS);
  });
}
