export * from "./errors.js";
export { type AskOptions, Gate, type GateOptions, type Input, type Verdict } from "./gate.js";
