// Microseconds, as a median, that Cedar takes for a verdict about a command; policies are read beforehand.
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";

const cedar = createRequire(import.meta.url)("@cedar-policy/cedar-wasm/nodejs");
const {rules, commands} = JSON.parse(readFileSync(process.argv[2], "utf8"));
const BUDGET_MS = 3000, ROUNDS_MAX = 500, ROUNDS_MIN = 20;

const policies = rules.map((words) =>
    `permit(principal, action == Action::"Bash", resource) when { context.command == ${JSON.stringify(words.join(" "))} || ` +
    `context.command like ${JSON.stringify(words.join(" ") + " *")} };`);
const read = cedar.preparsePolicySet("rules", {staticPolicies: policies.join("\n")});
if (read.type !== "success") {
    console.error(JSON.stringify(read).slice(0, 300));
    process.exit(1);
}
const took = [];
const until = performance.now() + BUDGET_MS;
for (let i = 0; i < ROUNDS_MAX && (i < ROUNDS_MIN || performance.now() < until); i++) {
    const call = {
        principal: {type: "Agent", id: "a"}, action: {type: "Action", id: "Bash"}, resource: {type: "Tool", id: "t"},
        context: {command: commands[i % commands.length]}, preparsedPolicySetId: "rules", entities: [],
    };
    const began = process.hrtime.bigint();
    const answer = cedar.statefulIsAuthorized(call);
    took.push(Number(process.hrtime.bigint() - began) / 1000);
    if (answer.type !== "success" || answer.response.decision !== "allow") {
        console.error(JSON.stringify(answer).slice(0, 300), call.context.command);
        process.exit(1);
    }
}
console.log(took.sort((a, b) => a - b)[took.length >> 1]);
