/* Signatures by passkey (see src/sign/sign.h): the server issues a statement of what is about to be sent, the
 * authenticator signs it after it has recognized the person, and the signature goes with the request. */
import { call, get, Refused } from "./api";

export interface PersonKey {
  id: string; person: string; name?: string; kind: string; credential?: string; rpId?: string; addedAt: string; validFrom?: string; revokedAt?: string;
}
interface Issued { statement: string; challenge: string; nonce: string; until: string }
export interface Signature { key: string; nonce: string; until: string; client: string; auth: string; sig: string }

const OWN = "nod.passkey"; // the credential that was made on this device

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
const textOf = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
async function sha256(bytes: BufferSource): Promise<string> {
  return [...new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))].map((b) => b.toString(16).padStart(2, "0")).join("");
}

/* Passkeys need a host name, and either TLS or this machine itself. */
export const canSign = (): boolean =>
  window.isSecureContext && typeof PublicKeyCredential !== "undefined" && !/^[\d.:[\]]+$/.test(location.hostname);

export async function keys(): Promise<{ signed: string; keys: PersonKey[] }> { return get("/api/keys"); }

const usable = (key: PersonKey): boolean => key.kind === "webauthn" && !key.revokedAt && key.rpId === location.hostname;

/* The passkey made on this device, else the newest for this address. */
async function ownKey(): Promise<PersonKey> {
  if (!canSign()) throw new Error(`passkeys need a name: open ${location.protocol}//localhost:${location.port}/ on this machine, or the address with TLS`);
  const all = (await keys()).keys.filter(usable);
  const key = all.find((k) => k.credential === localStorage.getItem(OWN)) ?? all[0];
  if (!key) throw new Error("you have no passkey for this address: add one in Settings, or answer with `nod approve`");
  return key;
}

async function sign(issued: Issued, key: { id: string; credential?: string }): Promise<Signature> {
  const made = await navigator.credentials.get({ publicKey: {
    challenge: bytesOf(issued.challenge), rpId: location.hostname, userVerification: "required", timeout: 120_000,
    allowCredentials: [{ type: "public-key", id: bytesOf(key.credential ?? "") }],
  } }).catch((error: Error) => { throw new Error(error.name === "NotAllowedError" ? "nobody signed with the passkey" : error.message); });
  const said = (made as PublicKeyCredential).response as AuthenticatorAssertionResponse;
  return {
    key: key.id, nonce: issued.nonce, until: issued.until,
    client: textOf(said.clientDataJSON), auth: textOf(said.authenticatorData), sig: textOf(said.signature),
  };
}

const member = (text: string, more: object): string => text.replace(/\s*\}$/, "") + "," + JSON.stringify(more).slice(1);

/* Sends an answer to a call; with a signature when the server wants one. */
export async function answerSigned(path: string, session: string, id: string, body: string): Promise<any> {
  try {
    return await call("POST", path, body);
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== "signature_required") throw error;
  }
  const key = await ownKey();
  const issued: Issued = await call("POST", "/api/statements", member(body, { for: "decision", sessionId: session, toolCallId: id, key: key.id }));
  return call("POST", path, member(body, { signature: await sign(issued, key) }));
}

async function signRequest(method: string, path: string, text: string, key: { id: string; credential?: string }): Promise<Signature> {
  const digest = await sha256(new TextEncoder().encode(text));
  return sign(await call("POST", "/api/statements", { for: "request", method, path, body: digest, key: key.id }), key);
}

/* Sends a change of who may do what; with a signature when the server wants one. */
export async function changeSigned(method: string, path: string, body: object): Promise<any> {
  try {
    return await call(method, path, body);
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== "signature_required") throw error;
  }
  const signature = await signRequest(method, path.replace(/\?.*/, ""), JSON.stringify(body), await ownKey());
  return call(method, path, { ...body, signature });
}

/* Makes a passkey on this device and tells the server of it. Where there are keys already, one of them vouches, or a
 * recovery code stands in for the one that was lost. */
export async function addPasskey(person: string, name: string, recovery = ""): Promise<PersonKey> {
  const { signed } = await keys();
  const vouching = signed === "off" || recovery ? null : await ownKey()
    .catch(() => { throw new Error("none of your passkeys is for this address: add this one with a recovery code, or in a terminal with `nod key create`"); });
  const made = await navigator.credentials.create({ publicKey: {
    rp: { id: location.hostname, name: "Nod" }, challenge: crypto.getRandomValues(new Uint8Array(32)), attestation: "none",
    user: { id: crypto.getRandomValues(new Uint8Array(16)), name: person, displayName: person },
    pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: "public-key", alg })),
    authenticatorSelection: { userVerification: "required", residentKey: "preferred" }, timeout: 120_000,
  } }) as PublicKeyCredential;
  const spki = (made.response as AuthenticatorAttestationResponse).getPublicKey();
  if (!spki) throw new Error("this authenticator makes keys of a kind that is not accepted here");
  const body = { kind: "webauthn", name, spki: textOf(spki), credential: textOf(made.rawId), rpId: location.hostname, origin: location.origin, ...(recovery ? { recovery } : {}) };
  const text = JSON.stringify(body), key = { id: (await sha256(spki)).slice(0, 32), credential: body.credential };
  const proof = await signRequest("POST", "/api/keys", text, key);
  const signature = vouching && await signRequest("POST", "/api/keys", text, vouching);
  const known: PersonKey = await call("POST", "/api/keys", { ...body, proof, ...(signature ? { signature } : {}) });
  localStorage.setItem(OWN, body.credential);
  return known;
}
