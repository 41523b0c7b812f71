// A second opinion on how commands are read: tree-sitter-bash.
//
//   node second_opinion.mjs JUDGE_LINES FOLDER [FILE]        (second_opinion.py does this)
//
// FOLDER has node_modules with tree-sitter-bash 0.23.3 and web-tree-sitter 0.24; FILE holds other lines, parted by
// NUL. For each command of tests/cases/shell.txt and corpus.tsv that we say we understand, tree-sitter must find no error and the
// same commands. It is made for editors and forgives much, so disagreements are looked at, and those in which we are
// right are written down, with the reason, in second_opinion.txt; any other is a failure.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [judge, folder, file] = process.argv.slice(2);
const here = import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const require = createRequire(join(folder, "x.js"));
const Parser = require("web-tree-sitter");

function caseLines() {
  return readFileSync(join(here, "../cases/shell.txt"), "utf8").split("\n\n")
    .map((block) => block.split("\n").filter((line) => line && !line.startsWith("# ")))
    .filter((lines) => lines.length === 3 && !lines[1].includes("<U+"))
    .map((lines) => lines[1].replaceAll("⏎", "\n").replaceAll("⇥", "\t"));
}

function corpusLines() {
  return readFileSync(join(here, "corpus.tsv"), "utf8").split("\n").slice(1).flatMap((row) => {
    try {
      const { command } = JSON.parse(row.split("\t")[3]);
      return typeof command === "string" && !command.includes("\0") && command.isWellFormed?.() !== false ? [command] : [];
    } catch {
      return [];
    }
  });
}

function commandsOf(node, found = []) {
  if (node.type === "command") found.push(node.childForFieldName("name")?.text ?? "");
  if (node.type === "test_command") found.push("[");
  if (/^(declaration|unset)_command$/.test(node.type)) found.push(node.children[0].text);
  for (const child of node.children) commandsOf(child, found);
  return found;
}

// The reasons stand above the lines they are about: `# reason`, then lines as JSON strings.
function known() {
  const reasons = new Map();
  let reason = "";
  for (const line of readFileSync(join(here, "second_opinion.txt"), "utf8").split("\n")) {
    if (line.startsWith("# ")) reason = line.slice(2);
    else if (line) reasons.set(JSON.parse(line), reason);
  }
  return reasons;
}

const texts = file ? readFileSync(file, "utf8").split("\0") : [...caseLines(), ...corpusLines()];
const lines = [...new Set(texts)].filter((line) => line.trim());
const ours = spawnSync(judge, ["--parse"], { input: lines.join("\0") + "\0", maxBuffer: 1 << 28 })
  .stdout.toString().split("\n").slice(0, -1);
if (ours.length !== lines.length) throw new Error(`${ours.length} answers for ${lines.length} lines`);
await Parser.init();
const parser = new Parser();
parser.setLanguage(await Parser.Language.load(join(folder, "node_modules/tree-sitter-bash/tree-sitter-bash.wasm")));

const reasons = known();
let agreed = 0, stricter = 0, explained = 0;
const open = [];
for (const [i, line] of lines.entries()) {
  const tree = parser.parse(line);
  if (ours[i] === "-") {
    stricter += !tree.rootNode.hasError;
    continue;
  }
  // A test is a test: tree-sitter has one node for `[ … ]` and `[[ … ]]`.
  const mine = JSON.parse(ours[i]).map((words) => (words[0] === "[[" ? "[" : words[0])).sort();
  const theirs = commandsOf(tree.rootNode).sort();
  if (!tree.rootNode.hasError && JSON.stringify(mine) === JSON.stringify(theirs)) agreed++;
  else if (reasons.has(line)) explained++;
  else open.push({ line, mine, theirs, error: tree.rootNode.hasError });
  tree.delete();
}
for (const { line, mine, theirs, error } of open.slice(0, 60))
  console.log(`${JSON.stringify(line)}\n    we: ${mine.join(" ")}\n    they: ${error ? "(error) " : ""}${theirs.join(" ")}`);
console.log(`${lines.length} lines: ${agreed} read alike, ${stricter} only by tree-sitter, ${explained} explained`);
console.log(`${agreed + explained} passed, ${open.length} failed`);
process.exit(open.length ? 1 : 0);
