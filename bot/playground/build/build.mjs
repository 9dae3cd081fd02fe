// Bundles the renderer into ../static and gathers the licences of everything in the bundle.
import { readFileSync, readdirSync, writeFileSync, copyFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "static");
const gate = join(here, "jsx-runtime.js");

// All modules import our `jsx-runtime.js` in place of React's runtime; only that file itself imports React's.
const throughTheGate = {
  name: "through-the-gate",
  setup(builder) {
    builder.onResolve({ filter: /^react\/jsx-runtime$/ }, ({ importer }) =>
      importer === gate ? undefined : { path: gate },
    );
  },
};

const result = await build({
  absWorkingDir: here,
  entryPoints: ["renderer.jsx"],
  outfile: join(out, "renderer.js"),
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  define: { "process.env.NODE_ENV": '"production"' },
  legalComments: "none",
  metafile: true,
  plugins: [throughTheGate],
});

copyFileSync(join(here, "node_modules/slack-blocks-to-jsx/dist/style.css"), join(out, "renderer.css"));
writeFileSync(join(out, "THIRD_PARTY_LICENSES.txt"), licences(Object.keys(result.metafile.inputs)));

function licences(inputs) {
  const folders = new Set(inputs.map(packageFolder).filter(Boolean));
  const inlined = readFileSync(join(here, "inlined-licences.txt"), "utf8");
  return [...[...folders].sort().map(licence), inlined].join("\n" + "-".repeat(80) + "\n\n");
}

function packageFolder(input) {
  return input.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0];
}

function licence(folder) {
  const path = resolve(here, folder);
  const { name, version, license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
  const file = readdirSync(path).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file ? readFileSync(join(path, file), "utf8").trim() : "(the package names its licence and ships no text)";
  return `${name} ${version} (${license})\n\n${text}\n`;
}
