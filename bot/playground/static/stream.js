// The server's events. EventSource comes back by itself after a lost connection and says which event it saw last;
// it gives up only when the server answers with an error, so then a new one is made.
const RETRY_MS = 1500;

// `on` has a function for the data of each event, by the event's name.
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
