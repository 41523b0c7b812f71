/* A picture inside an input, as models and MCP servers send them: shown as the picture that it is, with its kind and size. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Item } from "../store";
import { bytes, Shown } from "../text";
import { RawNumber, type Json } from "../types";
import { placeOf, readPicture } from "./whole";

const BASE64 = /^[A-Za-z0-9+/]+=*$/;
const BYTES_MAX = 8 << 20;

/* How base64 of each kind begins. SVG is not among them: it may contain scripts. */
const HEADS: [string, string][] = [["iVBORw0KGgo", "image/png"], ["/9j/", "image/jpeg"], ["R0lGOD", "image/gif"], ["UklGR", "image/webp"]];

interface Found { kind: string; data: string }

function find(value: Json): Found | null {
  if (typeof value === "string") {
    if (value.length < 64 || value.length > BYTES_MAX) return null;
    const data = value.startsWith("data:image/") ? value.slice(value.indexOf(",") + 1) : value;
    const head = HEADS.find(([begins]) => data.startsWith(begins));
    return head && BASE64.test(data) ? { kind: head[1], data } : null;
  }
  if (value === null || typeof value !== "object" || Array.isArray(value) || !("type" in value) || value.type !== "image") return null;
  const source = "source" in value ? value.source : value;
  return source !== null && typeof source === "object" && !Array.isArray(source) && "data" in source ? find(source.data as Json) : null;
}

function first(value: Json): Found | null {
  const own = find(value);
  if (own || value === null || typeof value !== "object" || value instanceof RawNumber) return own;
  for (const part of Object.values(value)) { const inner = first(part); if (inner) return inner; }
  return null;
}

function Picture({ kind, data, name }: Found & { name?: string }) {
  const [size, setSize] = useState("");
  const measure = (event: Event) => { const img = event.currentTarget as HTMLImageElement; setSize(`${img.naturalWidth} × ${img.naturalHeight}, `); };
  return <figure class="picture">{name && <b class="small">{name}</b>}
    <img src={`data:${kind};base64,${data}`} alt={`${name ?? "A picture"}, ${kind}`} onLoad={measure} /><figcaption class="dim small">{kind}, {size}{bytes(Math.floor(data.replace(/=+$/, "").length * 3 / 4))}</figcaption></figure>;
}

export function pictureOf(value: Json) {
  const found = find(value);
  return found && <Picture {...found} />;
}

/* The picture that a file holds now beside the one that takes its place; nothing where the call writes none. */
export function PicturePair({ item }: { item: Item }) {
  const found = useMemo(() => first(item.p.toolCall.input), [item.p.toolCall.input]);
  useEffect(() => { if (found) void readPicture(item); }, [item.p.digest, found !== null]);
  const place = found && placeOf(item);
  if (!found || !place) return null;
  return <section class="diff pictures" aria-label={`Picture ${place.path}`}>
    <header><span class="path mono"><Shown text={place.path} line /></span><span class={`tag state-${place.fresh ? "new" : "replaced"}`}>{place.fresh ? "new file" : "replaced"}</span></header>
    <div>{place.before?.data && <Picture name="Before" kind={place.before.type} data={place.before.data} />}
      {place.before && !place.before.data && <p class="dim small">Before: {place.before.type}, {bytes(place.before.bytes)}</p>}
      <Picture name="After" {...found} /></div>
  </section>;
}
