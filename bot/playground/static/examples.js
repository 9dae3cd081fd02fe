// What a newcomer can press: lines to try, or, where no key is set, recorded examples, which stay within reach.
const list = document.querySelector("#examples");
const inside = document.querySelector("#empty");
const outside = document.querySelector("#recorded");
const about = document.querySelector("#empty p");

const usual = about.textContent;

const LINES = [
  ["search", "python 3.14 free threading"],
  ["ask", "What is new in Python 3.14?"],
  ["ask", "How do I connect this app to a Slack workspace?"],
  ["@", "What changed this week in open source databases?"],
];
const NO_KEY =
  "No key is set here, so these replay recorded examples. Other questions are answered with passages by DuckDuckGo, " +
  "if there is a network. For answers by a model set PERPLEXITY_API_KEY and start the app again.";

export function createExamples({ state, onExample, onPrompt }) {
  function fill() {
    const prompts = state.prompts.map(({ label, line }) => button(label, line, () => onPrompt(line)));
    const lines = LINES.map(([word, text]) => lineFor(word, text)).filter(Boolean);
    list.replaceChildren(...(prompts.length ? prompts : lines.map((line) => button(line, "", () => onExample(line)))));
    about.textContent = prompts.length ? NO_KEY : usual;
  }

  // A command's name may carry a prefix, so its end says which it is.
  function lineFor(word, text) {
    if (word === "@") return `@${state.app} ${text}`;
    const command = state.commands.find(({ name }) => name.endsWith(word));
    return command && `${command.name} ${text}`;
  }

  function place({ empty }) {
    outside.hidden = empty || !state.prompts.length;
    const place = empty || !state.prompts.length ? inside : outside;
    if (list.parentElement !== place) place.append(list);
  }

  return { fill, place };
}

function button(label, title, onClick) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.title = title;
  made.addEventListener("click", onClick);
  return made;
}
