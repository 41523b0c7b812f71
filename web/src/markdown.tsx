/* Markdown of agents and people, as elements: never as markup. Links show where they lead and open nothing by themselves.
 * The library only reads; HTML in the text is shown as the text that it is. Numbers of a list are those that were
 * written, so that a person and an agent mean the same step. */
import { lexer, type Token, type Tokens } from "marked";
import { createContext, type ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import { Code } from "./preview/command";
import { familyOf } from "./preview/colour";
import { Shown } from "./text";

const READ_MAX = 64 * 1024; // characters; longer texts are shown as they are
const DEPTH_MAX = 24;
const STEP_DEPTH = 4; // lists in lists whose steps can be commented on

function inline(tokens: Token[] | undefined, depth: number): ComponentChildren[] {
  return (tokens ?? []).map((token) => {
    const inner = () => depth > DEPTH_MAX ? <Shown text={token.raw} /> : inline((token as Tokens.Generic).tokens, depth + 1);
    switch (token.type) {
      case "strong": return <b>{inner()}</b>;
      case "em": return <em>{inner()}</em>;
      case "del": return <del>{inner()}</del>;
      case "codespan": return <code><Shown text={token.text} /></code>;
      case "br": return <br />;
      case "link": case "image": return token.text === token.href ? <Shown text={token.href} line />
        : <>{token.type === "link" ? inner() : <Shown text={token.text} />} <span class="dim">(<Shown text={token.href} line />)</span></>;
      case "escape": return <Shown text={token.text} />;
      case "text": return (token as Tokens.Text).tokens ? <>{inner()}</> : <Shown text={token.raw} />;
      default: return <Shown text={token.raw} />;
    }
  });
}

/* Drawn beside each block and each step of a text that can be commented on. */
export const Beside = createContext<((raw: string) => ComponentChildren) | null>(null);
function Note({ raw, depth }: { raw: string; depth: number }) {
  const beside = useContext(Beside);
  return beside && depth <= STEP_DEPTH ? <>{beside(raw)}</> : null;
}

function Item({ item, ordered, depth }: { item: Tokens.ListItem; ordered: boolean; depth: number }) {
  const number = ordered ? /^\s*(\d{1,9})[.)]/.exec(item.raw) : null;
  return <li value={number ? Number(number[1]) : undefined} class={item.task ? "task" : undefined}>
    {item.task && <input type="checkbox" checked={item.checked} disabled aria-label={item.checked ? "done" : "open"} />}{blocks(item.tokens.slice(0, 1), depth + 1)}<Note raw={item.raw} depth={depth} />{blocks(item.tokens.slice(1), depth + 1)}</li>;
}

function Table({ token, depth }: { token: Tokens.Table; depth: number }) {
  return <div class="table-box"><table>
    <thead><tr>{token.header.map((cell) => <th>{inline(cell.tokens, depth)}</th>)}</tr></thead>
    <tbody>{token.rows.map((row) => <tr>{row.map((cell) => <td>{inline(cell.tokens, depth)}</td>)}</tr>)}</tbody>
  </table></div>;
}

function blocks(tokens: Token[], depth: number): ComponentChildren[] {
  return tokens.map((token) => {
    if (depth > DEPTH_MAX) return <pre><Shown text={token.raw} /></pre>;
    switch (token.type) {
      case "space": case "def": return null;
      case "heading": return <p class={`md-head md-head-${Math.min(token.depth, 4)}`} role="heading" aria-level={Math.min(6, token.depth + 1)}>{inline(token.tokens, depth)}{depth === 0 && <Note raw={token.raw} depth={depth} />}</p>;
      case "code": return <pre class="mono"><Code text={token.text} family={familyOf("x." + (token.lang ?? "").split(" ")[0])} /></pre>;
      case "blockquote": return <blockquote>{blocks(token.tokens ?? [], depth + 1)}</blockquote>;
      case "hr": return <hr />;
      case "list": {
        const Tag = token.ordered ? "ol" : "ul";
        return <Tag>{(token as Tokens.List).items.map((item) => <Item item={item} ordered={token.ordered} depth={depth} />)}</Tag>;
      }
      case "table": return <Table token={token as Tokens.Table} depth={depth} />;
      case "text": return <>{inline((token as Tokens.Text).tokens ?? [token], depth)}</>;
      case "paragraph": return <div class="paragraph"><p>{inline(token.tokens, depth)}</p>{depth === 0 && <Note raw={token.raw} depth={depth} />}</div>;
      default: return <p><Shown text={token.raw} /></p>;
    }
  });
}

function read(text: string): Token[] | null {
  if (text.length > READ_MAX) return null;
  try { return lexer(text, { gfm: true }); } catch { return null; }
}

export function Markdown({ text }: { text: string }) {
  const tokens = read(text);
  return <div class="markdown">{tokens ? blocks(tokens, 0) : <p><Shown text={text} /></p>}</div>;
}
