// The confirmation dialog that an element can show before its action.
import { render } from "./renderer.js";

const dialog = document.querySelector("#confirm");
const [deny, confirm] = dialog.querySelectorAll("footer button");

// Resolves to whether the person confirms; to true if the element has no question.
export function confirmed(question) {
  if (!question) return Promise.resolve(true);
  dialog.querySelector("h2").textContent = question.title.text;
  render(dialog.querySelector(".text"), [{ type: "section", text: question.text }]);
  deny.textContent = question.deny.text;
  confirm.textContent = question.confirm.text;
  confirm.classList.toggle("danger", question.style === "danger");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
