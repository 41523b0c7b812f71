/* Markdown of agents and people, as elements: never as markup. Links show where they lead and open nothing by themselves. */
import type { ComponentChildren } from "preact";
import { Code } from "./preview/command";
import { familyOf } from "./preview/colour";
import { Shown } from "./text";

function inline(text: string): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  const marks = /(`[^`\n]+`)|\*\*([^*\n]+)\*\*|(?<![\w*])[*_]([^*_\n]+)[*_](?![\w*])|\[([^\]\n]*)\]\(([^)\s]+)\)/g;
  let at = 0;
  for (let found = marks.exec(text); found; found = marks.exec(text)) {
    if (found.index > at) out.push(<Shown text={text.slice(at, found.index)} />);
    if (found[1]) out.push(<code><Shown text={found[1].slice(1, -1)} /></code>);
    else if (found[2]) out.push(<b><Shown text={found[2]} /></b>);
    else if (found[3]) out.push(<em><Shown text={found[3]} /></em>);
    else out.push(<><Shown text={found[4]} /> <span class="dim">(<Shown text={found[5]} line />)</span></>);
    at = found.index + found[0].length;
  }
  if (at < text.length) out.push(<Shown text={text.slice(at)} />);
  return out;
}

export function Markdown({ text }: { text: string }) {
  const blocks: ComponentChildren[] = [];
  const lines = text.split("\n");
  for (let i = 0; i < lines.length;) {
    const fence = /^\s*(```+|~~~+)\s*(\S*)/.exec(lines[i]);
    if (fence) {
      let end = i + 1;
      while (end < lines.length && !lines[end].trim().startsWith(fence[1])) end++;
      blocks.push(<pre class="mono"><Code text={lines.slice(i + 1, end).join("\n")} family={familyOf("x." + fence[2])} /></pre>);
      i = end + 1;
      continue;
    }
    const head = /^(#{1,6})\s+(.*)/.exec(lines[i]);
    if (head) { blocks.push(<p class="md-head">{inline(head[2])}</p>); i++; continue; }
    const bullet = /^\s*([-*+]|\d+[.)])\s+/;
    if (bullet.test(lines[i])) {
      const items: string[] = [];
      const first = /^\s*(\d+)[.)]/.exec(lines[i]);
      while (i < lines.length && (bullet.test(lines[i]) || (/^\s+\S/.test(lines[i]) && items.length))) {
        if (bullet.test(lines[i])) items.push(lines[i].replace(bullet, "")); else items[items.length - 1] += "\n" + lines[i].trim();
        i++;
      }
      const made = items.map((item) => <li>{inline(item)}</li>);
      blocks.push(first ? <ol start={Number(first[1])}>{made}</ol> : <ul>{made}</ul>);
      continue;
    }
    if (!lines[i].trim()) { i++; continue; }
    let end = i;
    while (end < lines.length && lines[end].trim() && !/^\s*(```|~~~|#{1,6}\s)/.test(lines[end]) && !(end > i && bullet.test(lines[end]))) end++;
    blocks.push(<p>{inline(lines.slice(i, end).join("\n"))}</p>);
    i = end;
  }
  return <div class="markdown">{blocks}</div>;
}
