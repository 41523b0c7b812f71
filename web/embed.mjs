// Gzips what Vite built and writes the table that src/api/page.c puts into the binary. Deterministic: the same
// sources give the same bytes.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = fileURLToPath(new URL(".", import.meta.url));
const site = join(here, "dist/site");
const packed = join(here, "dist/packed");
const SCRIPT_BYTES_MAX = 150 * 1024; // of the first screen; what is loaded later is counted apart
const TYPES = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  webmanifest: "application/manifest+json",
};

function files(folder) {
  return readdirSync(folder).sort().flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });
}

rmSync(packed, { recursive: true, force: true });
mkdirSync(packed, { recursive: true });
let scripts = 0, later = 0;
const lines = files(site).map((path, number) => {
  const name = "/" + relative(site, path);
  const ending = name.split(".").pop();
  const bytes = gzipSync(readFileSync(path), { level: 9 });
  if (!TYPES[ending]) throw new Error(`no content type for ${name}`);
  if (ending === "js" && !/^\/assets\/(?!index-)/.test(name)) scripts += bytes.length;
  else if (ending === "js") later += bytes.length;
  const file = `packed/${number}.gz`;
  writeFileSync(join(here, "dist", file), bytes);
  const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 32);
  const shown = name === "/index.html" ? "/" : name;
  return `    X(${number}, "${shown}", "${TYPES[ending]}", "${digest}", "${file}", ${name.startsWith("/assets/")})`;
});
if (scripts > SCRIPT_BYTES_MAX) throw new Error(`${scripts} bytes of script, the limit is ${SCRIPT_BYTES_MAX}`);
writeFileSync(join(here, "dist/page_files.h"),
  `/* Made by web/embed.mjs. */\n#define PAGE_FILES(X) \\\n${lines.join(" \\\n")}\n`);
console.log(`page: ${lines.length} files, ${(scripts / 1024).toFixed(1)} KB of script, ${(later / 1024).toFixed(1)} KB later (gzipped)`);
