/* A picture inside an input, as models and MCP servers send them: shown as the picture that it is, with its kind and size. */
import { bytes } from "../text";
import type { Json } from "../types";

const KINDS = /^image\/(png|jpeg|gif|webp)$/; // no SVG: it is a document that can do things
const BYTES_MAX = 8 << 20;

function show(kind: string, data: string) {
  if (!KINDS.test(kind) || data.length > BYTES_MAX || !/^[A-Za-z0-9+/]+=*$/.test(data.slice(0, 4096))) return null;
  return <figure class="picture"><img src={`data:${kind};base64,${data}`} alt={`A picture, ${kind}`} /><figcaption class="dim small">{kind}, {bytes(Math.floor(data.length * 3 / 4))}</figcaption></figure>;
}

export function pictureOf(value: Json) {
  if (typeof value === "string") {
    const url = value.length < BYTES_MAX && value.startsWith("data:image/") ? /^data:(image\/[a-z]+);base64,(.+)$/s.exec(value) : null;
    return url ? show(url[1], url[2]) : null;
  }
  if (value === null || typeof value !== "object" || Array.isArray(value) || !("type" in value) || value.type !== "image") return null;
  const source = "source" in value ? value.source : value;
  if (source === null || typeof source !== "object" || Array.isArray(source)) return null;
  const { media_type, mimeType, data } = source as { [key: string]: Json };
  const kind = typeof media_type === "string" ? media_type : mimeType;
  return typeof kind === "string" && typeof data === "string" ? show(kind, data) : null;
}
