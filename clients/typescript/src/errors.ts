import type { Verdict } from "./gate.js";

/** The tool must not run. */
export class GateError extends Error {
  override name = this.constructor.name;
}

/** No server answers at the address. */
export class NoServer extends GateError {}

/** There is no token of an agent to ask with. */
export class NoToken extends GateError {}

/** The server does not take the request; the same again is refused again. */
export class Refused extends GateError {
  constructor(message: string, readonly status = 0, readonly code = "") {
    super(message);
  }
}

/** The id is known already, with another tool, input or thread. */
export class CallDiffers extends Refused {}

/** The call was judged, and is not to run. `words` are for the model or the person who reads the log. */
export class NotAllowed extends GateError {
  constructor(readonly verdict: Verdict, readonly result?: unknown) {
    super(verdict.words);
  }
  get words(): string {
    return this.verdict.words;
  }
}

/** A person or a rule said no; the agent may go on with something else. */
export class Denied extends NotAllowed {}
/** A person said no and wants the agent to stop. */
export class Aborted extends NotAllowed {}
/** Nobody answered in time. */
export class TimedOut extends NotAllowed {}
/** The call was taken back. */
export class Cancelled extends NotAllowed {}
/** The id is of a call that ran before; `result` is what was reported of it. */
export class AlreadyRan extends NotAllowed {}

/** Text for a model, in the place of the tool's result. */
export function denialText(error: NotAllowed): string {
  const who = error.verdict.actor ? ` by ${error.verdict.actor}` : "";
  const stop = error instanceof Aborted ? " Stop here and tell the person." : "";
  return `Not run: ${error.verdict.status}${who}. ${error.words}${stop}`;
}
