/* Colours for code, one line at a time: comments, strings, numbers, words of the language. A glance's help, no parser. */
export type Token = [text: string, kind: "" | "c" | "s" | "n" | "k"];

const C_LIKE = "abstract any as async await auto bool boolean break case catch char class const continue default defer delete do double else enum export extends extern false finally float fn for from func function go goto if impl implements import in inline int interface let long match mod mut namespace new nil null nullptr number package private protected pub public return self short signed sizeof static string struct super switch template this throw true try type typedef typeof undefined union unsigned use using var void volatile where while yield";
const PYTHON = "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield self begin end then unless module require";
const SHELL = "if then else elif fi for do done while until case esac function";
const KEYWORDS: Record<string, Set<string>> = {
  c: new Set(C_LIKE.split(" ")), py: new Set(PYTHON.split(" ")), sh: new Set(SHELL.split(" ")), "": new Set(),
};
const FAMILIES: Record<string, string> = {};
for (const ending of "c h cc cpp hpp cs java js mjs cjs jsx ts tsx go rs swift kt scala php dart zig proto css scss json".split(" ")) FAMILIES[ending] = "c";
for (const ending of "py pyi rb".split(" ")) FAMILIES[ending] = "py";
for (const ending of "sh bash zsh mk yml yaml toml ini cfg conf dockerfile makefile cmake txt".split(" ")) FAMILIES[ending] = "sh";

export function familyOf(path: string): string {
  const name = path.split("/").pop()!.toLowerCase();
  return FAMILIES[name] ?? FAMILIES[name.includes(".") ? name.split(".").pop()! : ""] ?? "";
}

const STRING = String.raw`"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|` + "`(?:[^`\\\\]|\\\\.)*`?";
const SCANNERS: Record<string, RegExp> = {
  c: new RegExp(String.raw`(\/\/.*|\/\*.*?(?:\*\/|$)|^\s*\*\s.*)|(${STRING})|\b(\d[\w.]*)|([A-Za-z_$][\w$]*)`, "g"),
  py: new RegExp(String.raw`(#.*)|(${STRING})|\b(\d[\w.]*)|([A-Za-z_][\w]*)`, "g"),
  sh: new RegExp(String.raw`((?:^|(?<=\s))#.*)|(${STRING})|(\$\{?\w+\}?)|(?<![\w./-])([a-z]+)(?![\w./-])`, "g"),
};
const LONG = 2000; // a line longer than this stays plain

export function colour(line: string, family: string): Token[] {
  const scanner = SCANNERS[family];
  if (!scanner || line.length > LONG) return [[line, ""]];
  const words = KEYWORDS[family], out: Token[] = [];
  let at = 0;
  scanner.lastIndex = 0;
  for (let found = scanner.exec(line); found; found = scanner.exec(line)) {
    const kind = found[1] !== undefined ? "c" : found[2] !== undefined ? "s" : found[3] !== undefined ? "n" : words.has(found[4]) ? "k" : "";
    if (!kind) continue;
    if (found.index > at) out.push([line.slice(at, found.index), ""]);
    out.push([found[0], kind]);
    at = found.index + found[0].length;
  }
  if (at < line.length) out.push([line.slice(at), ""]);
  return out;
}
