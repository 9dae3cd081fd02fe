// Buttons with example questions; if no key is set, buttons for recorded examples.
import { button } from "./dom.js";

const list = document.querySelector("#examples");
const inside = document.querySelector("#empty");
const outside = document.querySelector("#recorded");
const about = document.querySelector("#empty p");

const usual = about.textContent;
const RECORDED = "These answers are recorded. For live ones set PERPLEXITY_API_KEY in the file .env.";
const QUESTIONS = [
  ["ask", "What is new in Python 3.14?"],
  ["@", "What changed this week in open source databases?"],
  ["ask", "How do I connect an app to a Slack workspace?"],
];

export function createExamples({ state, onPrompt }) {
  function fill() {
    const questions = QUESTIONS.map(([where, label]) => ({ label, line: lineOf(where, label) }));
    const prompts = state.prompts.length ? state.prompts : questions.filter(({ line }) => line);
    list.replaceChildren(...prompts.map(({ label, line }) => button(label, () => onPrompt(line), { title: line })));
    about.textContent = state.prompts.length ? RECORDED : usual;
  }

  // The name of a command may have a prefix, so commands are compared by the end of the name.
  function lineOf(where, question) {
    const name = where === "@" ? `@${state.app}` : state.commands.find(({ name }) => name.endsWith(where))?.name;
    return name && `${name} ${question}`;
  }

  // Shows the buttons in an empty channel; above the composer if the newest question failed and examples are recorded.
  function place({ empty, failed }) {
    outside.hidden = empty || !failed || !state.prompts.length;
    (outside.hidden ? inside : outside).append(list);
  }

  return { fill, place };
}
