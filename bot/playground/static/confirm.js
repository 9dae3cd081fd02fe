// The question whether a person is sure, which an element can ask before it does anything.
import { render } from "./renderer.js";

const dialog = document.querySelector("#confirm");
const [deny, confirm] = dialog.querySelectorAll("footer button");

// Resolves to whether to go on; an element without a question always does.
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
