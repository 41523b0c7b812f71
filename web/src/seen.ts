/* Tells the server that a person looks at a request, so that it does not also ring their phone. It counts only
 * when this window has the focus and somebody touches something while the request is shown; else nothing is told. */
import { useEffect } from "preact/hooks";
import { call } from "./api";
import { offers, type Item } from "./store";

const TOUCHES = ["pointerdown", "pointermove", "keydown", "wheel"];
const AGAIN_MS = 60000;

export function useSeen(item: Item, shown: boolean): void {
  const { sessionId, toolCallId } = item.p;
  useEffect(() => {
    if (!shown || !offers("/api/approvals/seen")) return;
    let told = 0;
    const tell = () => {
      if (!document.hasFocus() || Date.now() - told < AGAIN_MS) return;
      told = Date.now();
      void call("POST", "/api/approvals/seen", { calls: [{ sessionId, toolCallId }] }).catch(() => { /* then it rings */ });
    };
    for (const kind of TOUCHES) addEventListener(kind, tell, { passive: true, capture: true });
    return () => { for (const kind of TOUCHES) removeEventListener(kind, tell, { capture: true }); };
  }, [shown, sessionId, toolCallId]);
}
