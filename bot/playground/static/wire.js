// Sends requests to the server, and shows notices, such as when the server is unavailable.
const line = document.querySelector("#notice");
let timer;

export function notice(text, { seconds } = {}) {
  clearTimeout(timer);
  line.textContent = text;
  line.hidden = !text;
  if (text && seconds) timer = setTimeout(() => notice(""), seconds * 1000);
}

// Resolves to whether the server accepted the request.
export async function post(what, body) {
  try {
    const response = await fetch(`/playground/${what}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (response.ok) return true;
    notice(await response.text(), { seconds: 6 });
  } catch {
    notice("The app cannot be reached, so this was not sent.", { seconds: 6 });
  }
  return false;
}
