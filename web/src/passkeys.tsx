/* Keys of people: what they are for, which there are, a new one. */
import { useEffect, useState } from "preact/hooks";
import { addPasskey, canSign, changeSigned, keys, type PersonKey } from "./sign";
import { toast, useNow, useStore } from "./store";
import { ago, clock, Shown } from "./text";

const KINDS: Record<string, string> = { webauthn: "Passkey", ed25519: "Key file", sshsig: "Security key of SSH" };

export function Passkeys() {
  const { me, connection } = useStore();
  const now = useNow();
  const [known, setKnown] = useState<{ signed: string; keys: PersonKey[] } | null>(null);
  const [name, setName] = useState(""), [sending, setSending] = useState(false), [codes, setCodes] = useState<string[]>([]);
  const load = () => keys().then(setKnown, () => setKnown(null));
  useEffect(() => void load(), []);
  if (!known) return null;
  const busy = sending || connection !== "live", active = known.keys.filter((key) => !key.revokedAt);
  const act = (what: Promise<unknown>, done: string) => {
    setSending(true);
    what.then(() => { toast(done, "good"); setName(""); }, (error: Error) => toast(error.message, "bad")).finally(() => { setSending(false); void load(); });
  };
  const recover = () => {
    const code = prompt("One of your recovery codes. The new passkey signs after a while; until then any key can revoke it.");
    if (code) act(addPasskey(me?.name ?? "", name || "this device", code), "Passkey added");
  };
  const revoke = (key: PersonKey) => {
    if (confirm("Revoke this key? What it signed before stays proven.")) act(changeSigned("DELETE", `/api/keys/${key.id}`, {}), "Revoked");
  };
  return (
    <section class="card" id="passkeys"><h2>Signatures</h2>
      <p class="dim">{active.length === 0
        ? "Nobody has a key. With one, risky calls are allowed only after your finger, face or PIN: a token alone, which a program could borrow, is not enough."
        : known.signed === "all" ? "Every allow needs a signature." : "Risky calls, lasting permissions and changed inputs are allowed only with a signature."}
        {active.length === 1 && " Add a second key: without one, a lost key locks you out."}</p>
      {active.length > 0 && <div class="table-box" tabIndex={0} role="region" aria-label="Keys"><table>
        <thead><tr><th>Name</th><th>Kind</th><th>Person</th><th>Made</th><th></th></tr></thead>
        <tbody>{active.map((key) => <tr>
          <td><Shown text={key.name ?? ""} line /></td><td>{KINDS[key.kind] ?? key.kind}</td><td><Shown text={key.person} line /></td>
          <td class="nowrap" title={clock(key.addedAt)}>{ago(key.addedAt, now)} ago{key.validFrom && Date.parse(key.validFrom) > now && `, signs from ${clock(key.validFrom)}`}</td>
          <td class="right"><button type="button" class="danger small" disabled={busy} onClick={() => revoke(key)}>Revoke</button></td></tr>)}</tbody>
      </table></div>}
      {active.length > 0 && <p><button type="button" class="small" disabled={busy} onClick={() => act(changeSigned("POST", "/api/keys/recovery", {})
        .then((made: { codes: string[] }) => setCodes(made.codes)), "Recovery codes made")}>Make recovery codes</button>{" "}
        <span class="dim">{codes.length > 0 ? "Keep them on paper: they are not shown again, and older ones are no longer valid." : "With a recovery code you can add a key when all your keys are lost."}</span></p>}
      {codes.length > 0 && <pre id="recovery-codes">{codes.join("\n")}</pre>}
      {canSign()
        ? <form class="fields" onSubmit={(event) => { event.preventDefault(); act(addPasskey(me?.name ?? "", name || "this device"), "Passkey added"); }}>
          <label>Name<input value={name} onInput={(event) => setName(event.currentTarget.value)} placeholder="this device" maxLength={60} /></label>
          <button type="submit" disabled={busy}>Add a passkey</button>
          {active.length > 0 && <button type="button" class="quiet" disabled={busy} onClick={recover}>I lost my keys: use a recovery code</button>}</form>
        : <p class="dim">Passkeys need a name instead of a number: on this machine open{" "}
          <a href={`http://localhost:${location.port}/${location.hash}`}>http://localhost:{location.port}</a>, elsewhere an address with TLS.</p>}
    </section>
  );
}
