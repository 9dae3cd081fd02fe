// The server's events. EventSource comes back by itself after a lost connection and says which event it saw last;
// it gives up only when the server answers with an error, so then a new one is made.
const RETRY_MS = 1500;

export function follow(on) {
  const source = new EventSource("/playground/events");
  source.addEventListener("hello", (event) => on.onHello(JSON.parse(event.data)));
  source.addEventListener("change", (event) => on.onChange(JSON.parse(event.data)));
  source.addEventListener("around", (event) => on.onAround(JSON.parse(event.data)));
  source.addEventListener("views", (event) => on.onViews(JSON.parse(event.data)));
  source.addEventListener("error", () => {
    on.onLost();
    if (source.readyState === EventSource.CLOSED) setTimeout(() => follow(on), RETRY_MS);
  });
}
