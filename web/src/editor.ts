/* The editor component, loaded when somebody edits: colours, undo, find. It is the only file that knows CodeMirror. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting, type StreamParser } from "@codemirror/language";
import { c, cpp, java } from "@codemirror/legacy-modes/mode/clike";
import { css } from "@codemirror/legacy-modes/mode/css";
import { go } from "@codemirror/legacy-modes/mode/go";
import { javascript, json, typescript } from "@codemirror/legacy-modes/mode/javascript";
import { python } from "@codemirror/legacy-modes/mode/python";
import { rust } from "@codemirror/legacy-modes/mode/rust";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { yaml } from "@codemirror/legacy-modes/mode/yaml";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const MODES: Record<string, StreamParser<unknown>> = {
  sh: shell, bash: shell, py: python, js: javascript, jsx: javascript, mjs: javascript, ts: typescript, tsx: typescript, json, c, h: c, cc: cpp, cpp, hpp: cpp, java,
  go, rs: rust, css, yml: yaml, yaml,
} as Record<string, StreamParser<unknown>>;

const colours = HighlightStyle.define([
  { tag: [tags.comment], color: "var(--t-c)" }, { tag: [tags.string, tags.special(tags.string)], color: "var(--t-s)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--t-n)" }, { tag: [tags.keyword, tags.operatorKeyword, tags.definitionKeyword], color: "var(--t-k)" },
]);
const look = EditorView.theme({
  "&": { boxSizing: "border-box", backgroundColor: "var(--code)", color: "var(--text)", height: "100%", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--dim)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--accent-soft)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--good-mark)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)" },
  ".cm-specialChar": { color: "var(--warn)" },
});

export interface Editing { text: string; path: string; label: string; change: (text: string) => void; send: () => void; leave: () => void }

/* Puts an editor into the element; what comes back takes it out again. It lives in a shadow root, because there its styles
 * are constructed sheets, which the page's policy lets pass; a style element would not. */
export function edit(into: HTMLElement, { text, path, label, change, send, leave }: Editing): () => void {
  const mode = MODES[path.split(".").pop()!.toLowerCase()];
  const root = into.shadowRoot ?? into.attachShadow({ mode: "open" });
  const view = new EditorView({ root, parent: root, state: EditorState.create({ doc: text, extensions: [
    lineNumbers(), highlightSpecialChars(), history(), drawSelection(), highlightActiveLine(), bracketMatching(), highlightSelectionMatches(), EditorView.lineWrapping,
    mode ? StreamLanguage.define(mode) : [], syntaxHighlighting(colours), look, EditorView.contentAttributes.of({ "aria-label": label }),
    keymap.of([{ key: "Mod-Enter", run: () => { send(); return true; } }, { key: "Escape", run: () => { leave(); return true; } }, ...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
    EditorView.updateListener.of((update) => { if (update.docChanged) change(update.state.doc.toString()); }),
  ] }) });
  view.focus();
  return () => view.destroy();
}
