/* The result of a call as text: its first lines, and the rest when a person asks for it. */
import { useState } from "preact/hooks";
import { print } from "./api";
import { Shown } from "./text";
import type { Json } from "./types";

const LINES = 12, CHARACTERS = 4000;

export function resultText(value: Json | undefined): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) {
    const texts = value.map((part) => part && typeof part === "object" && !Array.isArray(part) && "text" in part ? String(part.text) : null);
    if (texts.every((text) => text !== null)) return texts.join("\n");
  }
  return print(value);
}

export function Output({ content, bad = false }: { content: Json | undefined; bad?: boolean }) {
  const [all, setAll] = useState(false);
  const text = resultText(content), lines = text.split("\n");
  const short = lines.length <= LINES + 2 && text.length <= CHARACTERS;
  const shown = all || short ? text : lines.slice(0, LINES).join("\n").slice(0, CHARACTERS);
  return <>
    <pre class={`mono output ${bad ? "bad" : ""}`}><Shown text={shown || "(empty)"} /></pre>
    {!short && !all && <button type="button" class="quiet small" onClick={() => setAll(true)}>{lines.length > LINES ? `Show ${lines.length - LINES} more lines` : "Show the rest"}</button>}
  </>;
}
