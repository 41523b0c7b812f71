/* The number waiting, wherever it can be seen: title, icon, notification, sound. */
import { callTitle } from "./words";
import { state, type Item } from "./store";
import { notify } from "./worker";

let shown = -1;

export function showCount(count: number): void {
  const lost = state.connection === "lost";
  const stamp = lost ? -2 : count;
  if (stamp === shown) return;
  shown = stamp;
  document.title = lost ? "Nod (disconnected)" : count ? `(${count}) Nod` : "Nod";
  const icon = document.getElementById("icon") as HTMLLinkElement | null;
  if (icon) icon.href = count || lost ? drawIcon(lost ? "!" : count > 99 ? "99" : String(count)) : "/icon.svg";
  const badge = navigator as Navigator & { setAppBadge?(n: number): Promise<void>; clearAppBadge?(): Promise<void> };
  if (count) void badge.setAppBadge?.(count).catch(() => {});
  else void badge.clearAppBadge?.().catch(() => {});
}

function drawIcon(text: string): string {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const pen = canvas.getContext("2d");
  if (!pen) return "/icon.svg";
  pen.fillStyle = text === "!" ? "#8a8f98" : "#c2410c";
  pen.beginPath();
  pen.roundRect(0, 0, 64, 64, 14);
  pen.fill();
  pen.fillStyle = "#fff";
  pen.font = `bold ${text.length > 1 ? 40 : 48}px sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(text, 32, 35);
  return canvas.toDataURL("image/png");
}

export function alertNew(came: Item[], count: number): void {
  if (state.prefs.sound) beep();
  if (!state.prefs.notify || typeof Notification === "undefined" || Notification.permission !== "granted" || !document.hidden) return;
  // The kind of act, not its content: a notification is read by whoever stands beside.
  const words = came.length > 1 ? `${came.length} new requests` : callTitle(came[0].p).kind;
  void notify(`Nod: ${count} waiting`, { body: words, tag: "nod", icon: "/icon-192.png" });
}

function beep(): void {
  try {
    const audio = new AudioContext();
    const tone = audio.createOscillator(), volume = audio.createGain();
    tone.frequency.value = 660;
    volume.gain.setValueAtTime(0.08, audio.currentTime);
    volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.25);
    tone.connect(volume).connect(audio.destination);
    tone.start();
    tone.stop(audio.currentTime + 0.25);
    tone.onended = () => void audio.close();
  } catch { /* no sound then */ }
}
