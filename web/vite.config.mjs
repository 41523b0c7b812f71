import { defineConfig } from "vite";

// One script, one style sheet, no inline anything: the page's policy allows only files of its own origin.
export default defineConfig({
  root: import.meta.dirname ?? new URL(".", import.meta.url).pathname,
  base: "/",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    target: "es2020",
    outDir: "dist/site",
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
  },
});
