"""Rules: what they let pass, what they stop, who may change them, and that every change holds at once."""
import json
import os

from world import eventually, must, must_match


def scene(world, *arguments):
    server = world.server(*arguments)
    admin = server.admin()
    folder = os.path.join(world.folder, "project")
    os.makedirs(os.path.join(folder, "src"), exist_ok=True)
    made = admin.session(cwd=folder)
    return server, admin, made["id"], made["threadId"], folder


def add(admin, effect, rule, **more):
    return admin.ok("POST", "/api/policy/rules", {"effect": effect, "rule": rule, **more})


def status(admin, thread, command, **more):
    return admin.call(thread, "Bash", {"command": command}, **more)["status"]


def test_every_part_of_a_line_must_be_covered(world):
    _, admin, _, thread, _ = scene(world)
    for rule in ("Bash(git diff:*)", "Bash(head:*)", "Bash(cd:*)"):
        add(admin, "allow", rule)
    must(status(admin, thread, "cd src && git diff --stat | head -5") == "allowed", "all parts are allowed")
    must(status(admin, thread, "cd src && git diff --stat | sh") == "awaiting", "one part is not")


def test_an_allowed_command_does_not_open_the_door(world):
    _, admin, _, thread, _ = scene(world)
    add(admin, "allow", "Bash(npm test:*)")
    must(status(admin, thread, "npm test") == "allowed", "npm test itself")
    must(status(admin, thread, "npm test -- --watch 'a && b'") == "allowed", "with arguments, quoted operators too")
    for line in ("npm test; make", "npm test $(make)", "npm test > x", "npm testevil", "FOO=1 npm test", "npm test\nmake"):
        must(status(admin, thread, line) == "awaiting", f"{line!r} must be asked about")


def test_a_deny_rule_sees_through_wrappers_and_modes(world):
    _, admin, session, thread, _ = scene(world)
    add(admin, "deny", "Bash(rm:*)", reason="nothing is deleted here")
    lines = ("rm x", "sudo rm x", "env rm x", "bash -c 'rm x'", "find . -exec rm {} +", "true && rm x")
    for mode in ("default", "bypassPermissions"):
        admin.ok("PATCH", f"/api/sessions/{session}", {"permissionMode": mode})
        for line in lines:
            answer = admin.call(thread, "Bash", {"command": line})
            must(answer["status"] == "denied", f"{line!r} under {mode}: {answer}")
            must_match({"decidedBy": {"kind": "policy", "rule": "Bash(rm:*)"}}, answer)


def test_revoking_holds_for_the_next_call(world):
    server, admin, _, thread, _ = scene(world)
    rule = add(admin, "allow", "Bash(make:*)")
    must(status(admin, thread, "make") == "allowed", "allowed")
    server.kill()
    server.start()
    must(status(admin, thread, "make all") == "allowed", "rules survive a restart")
    admin.ok("DELETE", f"/api/policy/rules/{rule['id']}")
    must(status(admin, thread, "make again") == "awaiting", "revoked")
    changes = [e["data"]["change"] for e in admin.events(types="RULE_CHANGED")]
    must(changes == ["added", "removed"], f"the log says {changes}")


def test_a_rule_may_be_good_for_some_calls_only(world):
    server, admin, session, thread, _ = scene(world)
    add(admin, "allow", "Bash(make:*)", uses=2)
    must([status(admin, thread, f"make {i}") for i in range(3)] == ["allowed", "allowed", "awaiting"], "two uses")
    server.kill()
    server.start()
    must(status(admin, thread, "make 9") == "awaiting", "uses are counted across restarts")
    add(admin, "allow", "Bash(touch x)", layer="session", sessionId=session, uses=1)
    must([status(admin, thread, "touch x", id=f"p{i}") for i in range(2)] == ["allowed", "awaiting"], "one use in a session")


def test_uses_are_counted_from_the_log(world):
    server, admin, _, thread, _ = scene(world)
    add(admin, "allow", "Bash(ls:*)")
    add(admin, "allow", "Bash(wc:*)")
    add(admin, "deny", "Bash(rm:*)")

    def used():
        return {r["rule"]: (r["used"], r.get("lastUsedAt")) for r in admin.ok("GET", "/api/policy")["user"]}

    # What an agent says in its input is never taken for a rule that decided.
    rule = admin.ok("GET", "/api/policy")["user"][0]["id"]
    admin.call(thread, "Bash", {"command": f'echo \'"rules":["{rule}"]}}}}\''})
    must([status(admin, thread, line) for line in ("ls", "ls -l | wc -l", "rm x", "make")] ==
         ["allowed", "allowed", "denied", "awaiting"], "the rules decide")
    counted = eventually(lambda: used() if used()["Bash(ls:*)"][0] == 2 else None, "the uses are counted")
    must([counts[0] for counts in counted.values()] == [2, 1, 1], f"each use counts once: {counted}")
    server.kill()
    server.start()
    eventually(lambda: used() == counted, "they are the same after a restart")
    must(status(admin, thread, "ls again") == "allowed", "and go on")
    eventually(lambda: used()["Bash(ls:*)"][0] == 3, "from where they were")


def test_git_is_asked_about_in_a_folder_that_is_a_repository(world):
    _, admin, _, thread, folder = scene(world, "--read-only-commands", "allow")
    for rule in ("Bash(git status:*)", "Bash(cd:*)", "Bash(ls:*)"):
        add(admin, "allow", rule)
    must(status(admin, thread, "cd src && git status") == "allowed", "an ordinary folder")
    os.makedirs(os.path.join(folder, "src", "refs"))
    with open(os.path.join(folder, "src", "HEAD"), "w", encoding="utf-8") as file:
        file.write("ref: refs/heads/main\n")
    must(status(admin, thread, "cd src && git status -s") == "awaiting", "git would obey what lies there")
    must(status(admin, thread, "cd src && ls") == "allowed", "others do not")
    must(status(admin, thread, "git status -b") == "allowed", "and outside it git does not, either")


def test_an_older_installation_is_offered_to_let_readers_pass(world):
    del world.environment["NOD_READ_ONLY_COMMANDS"]
    offer = "can pass without a rule now"
    server, admin, _, thread, _ = scene(world)
    must(status(admin, thread, "ls -l") == "allowed" and offer not in server.log(), "a new one has it, and is not told")
    server.stop()
    os.unlink(os.path.join(server.data, "read-only-commands"))  # as before there was such a default
    server.start()
    must(offer in server.log(), server.log())
    must(status(admin, thread, "ls -la") == "awaiting", "an older one asks as before")
    must("are asked about" in world.nod("doctor", exits=None).stdout, "the doctor says so")
    server.stop()
    server.start()
    must(offer not in server.log(), "it is told once")
    must(status(admin, thread, "ls -1") == "awaiting", "and remembers")
    server.stop()
    server.start("--read-only-commands", "allow")
    must(status(admin, thread, "ls -s") == "allowed", "a setting switches it on")


def test_a_rule_may_expire(world):
    _, admin, _, thread, _ = scene(world)
    add(admin, "allow", "Bash(make:*)", expiresAt="2020-01-01T00:00:00Z")
    must(status(admin, thread, "make") == "awaiting", "it is over")
    add(admin, "allow", "Bash(make:*)", expiresAt="2090-01-01T00:00:00Z")
    must(status(admin, thread, "make again") == "allowed", "it is not")


def test_malformed_rules_are_errors(world):
    _, admin, session, thread, _ = scene(world)
    for body in ({"rule": "Bash(", "effect": "allow"}, {"rule": "", "effect": "allow"}, {"effect": "allow"},
                 {"rule": "Bash(ls)", "effect": "maybe"}, {"rule": "Bash(ls)", "layer": "managed"},
                 {"rule": "Bash(ls:*)", "match": ["cat x"]}, {"rule": "Bash(ls:*)", "notMatch": ["ls -l"]},
                 {"rule": "Bash(ls)", "expiresAt": "soon"}, {"rule": "Bash(ls)", "uses": 0}, {"rule": 7}):
        reply = admin.post("/api/policy/rules", body)
        must(reply.status == 400 and reply.code == "invalid", f"{body}: {reply}")
    admin.call(thread, "Bash", {"command": "x"}, id="c")
    reply = admin.decide(session, "c", "allow_always", rules=["Bash("])
    must(reply.status == 400, f"{reply}")
    reply = admin.decide(session, "c", "allow_once", rules=["Bash(x)"])
    must(reply.status == 400, f"{reply}")
    must(admin.events(types="RULE_CHANGED") == [], "nothing of this was kept")


def test_always_makes_a_rule(world):
    _, admin, session, thread, _ = scene(world)
    person = admin.token_for("approver", "alice", scopes=["rules.user"])
    waiting = admin.call(thread, "Bash", {"command": "npm run build"}, id="c1")
    must(waiting["status"] == "awaiting", f"{waiting}")
    suggestions = admin.pending()[0]["suggestions"]
    must(suggestions and all(s["rules"] and s["label"] for s in suggestions) and len(suggestions) <= 5, f"{suggestions}")
    person.decided(session, "c1", "allow_always", rules=["Bash(npm run build:*)"], scope="everywhere")
    must(status(admin, thread, "npm run build --all") == "allowed", "the rule holds at once")
    other = admin.session()
    must(status(admin, other["threadId"], "npm run build") == "allowed", "and in every session")
    must(status(admin, thread, "npm run deploy") == "awaiting", "for what it names only")
    rules = admin.ok("GET", "/api/policy")["user"]
    must([(r["rule"], r["author"]) for r in rules] == [("Bash(npm run build:*)", "alice")], f"{rules}")


def test_always_without_saying_what_is_the_narrowest(world):
    _, admin, session, thread, _ = scene(world)
    admin.call(thread, "Bash", {"command": "npm run build"}, id="c1")
    admin.decided(session, "c1", "allow_always")
    admin.decided(session, "c1", "allow_always")
    reply = admin.decide(session, "c1", "allow_always", rules=["Bash(npm run build)"])
    must(reply.status == 409, f"naming rules is another decision: {reply}")
    must(status(admin, thread, "npm run build") == "allowed", "exactly this")
    must(status(admin, thread, "npm run build --all") == "awaiting", "and no more")


def test_an_answer_may_hold_for_some_calls_or_some_time(world):
    server, admin, session, thread, _ = scene(world)
    for number, more in enumerate(({"uses": 2}, {"uses": 2, "scope": "session"}, {"uses": 2, "rules": ["Bash(make 2:*)"]})):
        command, call = f"make {number}", f"c{number}"
        admin.call(thread, "Bash", {"command": command}, id=call)
        admin.decided(session, call, "allow_always", **more)
        must(admin.decide(session, call, "allow_always", **more).status == 200, "the same answer again")
        must(admin.decide(session, call, "allow_always", **{**more, "uses": 3}).status == 409, "another one")
        must([status(admin, thread, command) for _ in range(3)] == ["allowed", "allowed", "awaiting"], f"two uses: {more}")
        kept = admin.ok("GET", f"/api/sessions/{session}/calls/{call}")
        must(kept["answer"]["uses"] == 2, f"the answer says how many: {kept}")
    server.kill()
    server.start()
    must(status(admin, thread, "make 0") == "awaiting", "uses are counted across restarts")
    for number, (until, then) in enumerate((("2020-01-01T00:00:00Z", "awaiting"), ("2090-01-01T00:00:00Z", "allowed"))):
        call = admin.call(thread, "Bash", {"command": f"ninja {number}"}, id=f"t{number}")
        admin.decided(session, f"t{number}", "allow_session", rules=[f"Bash(ninja {number})"], expiresAt=until)
        must(status(admin, thread, f"ninja {number}") == then, f"until {until}")
    admin.call(thread, "Bash", {"command": "cargo build"}, id="by-hand")
    world.nod("approve", "by-hand", "--always", "--uses", "1", "--for", "2h")
    rule = [rule for rule in admin.ok("GET", "/api/policy")["user"] if rule["rule"] == "Bash(cargo build)"][0]
    must(rule["usesLeft"] == 1 and rule["expiresAt"] > "2026", f"{rule}")
    must([status(admin, thread, "cargo build") for _ in range(2)] == ["allowed", "awaiting"], "one use")


def test_an_answer_without_rules_has_no_end(world):
    _, admin, session, thread, _ = scene(world)
    admin.call(thread, "Bash", {"command": "make"}, id="c1")
    for decision in ("allow_once", "allow_session", "deny"):
        for more in ({"uses": 2}, {"expiresAt": "2090-01-01T00:00:00Z"}):
            must(admin.decide(session, "c1", decision, **more).status == 400, f"{decision} {more}")
    for more in ({"uses": 0}, {"uses": -1}, {"uses": "2"}, {"expiresAt": "soon"}, {"expiresAt": 7}):
        must(admin.decide(session, "c1", "allow_always", **more).status == 400, f"{more}")
    for words in (["--uses", "2"], ["--for", "2h"], ["--session-wide", "--uses", "2"]):
        must(world.nod("approve", "c1", *words, exits=None).process.returncode == 2, f"{words}")
    must(admin.pending()[0]["toolCallId"] == "c1", "it waits")


def test_for_this_session_with_rules(world):
    _, admin, session, thread, _ = scene(world)
    admin.call(thread, "Bash", {"command": "cargo test"}, id="c1")
    admin.decided(session, "c1", "allow_session", rules=["Bash(cargo test:*)"])
    must(status(admin, thread, "cargo test -q") == "allowed", "in this session")
    must(status(admin, thread, "cargo build") == "awaiting", "for what it names only")
    must(status(admin, admin.session()["threadId"], "cargo test") == "awaiting", "not in another")
    must([r["rule"] for r in admin.ok("GET", f"/api/policy?session={session}")["session"]] == ["Bash(cargo test:*)"], "listed")


def test_a_project_file_is_obeyed_only_when_trusted(world):
    _, admin, session, thread, folder = scene(world)
    os.mkdir(os.path.join(folder, ".nod"))
    path = os.path.join(folder, ".nod", "policy.json")

    def write(rules):
        with open(path, "w", encoding="utf-8") as file:
            file.write(rules)
    write(json.dumps({"allow": ["Bash(make:*)"], "deny": ["Bash(curl:*)"]}))
    must(status(admin, thread, "make") == "awaiting", "its allow does not count")
    must(status(admin, thread, "curl x") == "denied", "its deny does")
    project = admin.ok("GET", f"/api/policy?session={session}")["project"]
    must(project["trusted"] is False and len(project["rules"]) == 2, f"{project}")
    reply = admin.post("/api/policy/trust", {"sessionId": session, "hash": "0" * 64})
    must(reply.status == 409, f"trusted without looking: {reply}")
    admin.ok("POST", "/api/policy/trust", {"sessionId": session, "hash": project["hash"]})
    must(status(admin, thread, "make all") == "allowed", "trusted")
    write(json.dumps({"allow": ["Bash(make:*)"], "deny": ["Bash(curl:*)"]}) + " ")
    must(status(admin, thread, "make more") == "awaiting", "one byte changed")
    must(status(admin, thread, "curl y") == "denied", "and it still tightens")


def test_a_project_file_that_is_a_pipe_makes_nobody_wait(world):
    _, admin, session, thread, folder = scene(world)
    os.mkdir(os.path.join(folder, ".nod"))
    os.mkfifo(os.path.join(folder, ".nod", "policy.json"))
    must(status(admin, thread, "make") == "awaiting", "the server stands still")
    must("not a file" in admin.ok("GET", f"/api/policy?session={session}")["project"]["problem"], "it does not say why")


def test_a_policy_file_with_a_list_that_is_no_effect(world):
    _, admin, session, _, folder = scene(world)
    os.mkdir(os.path.join(folder, ".nod"))
    with open(os.path.join(folder, ".nod", "policy.json"), "w", encoding="utf-8") as file:
        json.dump({"denny": ["Bash(ssh:*)"]}, file)
    problem = admin.ok("GET", f"/api/policy?session={session}")["project"]["problem"]
    must('"denny" is not "deny"' in problem, problem)


def test_the_managed_file_is_above_all(world):
    if os.geteuid() != 0:
        return
    path = os.path.join(world.folder, "managed.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"deny": ["Bash(ssh:*)"], "allow": ["Bash(uptime)"]}, file)
    os.chmod(path, 0o644)
    _, admin, session, thread, _ = scene(world, "--managed-policy", path)
    add(admin, "allow", "Bash(ssh:*)")
    admin.ok("PATCH", f"/api/sessions/{session}", {"permissionMode": "bypassPermissions", "toolPolicies": {"Bash": "allow"}})
    must(status(admin, thread, "ssh host") == "denied", "nothing loosens it")
    admin.ok("PATCH", f"/api/sessions/{session}", {"permissionMode": "default", "toolPolicies": {"Bash": None}})
    must(status(admin, thread, "uptime") == "allowed", "its allow counts")
    os.chmod(path, 0o666)
    must(status(admin, thread, "uptime", id="u2") == "awaiting", "a file anyone may write to lets nothing pass")
    must("root" in admin.ok("GET", "/api/policy")["managed"]["problem"], "and says why")


def test_explaining_and_trying(world):
    _, admin, session, thread, _ = scene(world)
    add(admin, "allow", "Bash(git log:*)", reason="harmless")
    verdict = admin.ok("POST", "/api/policy/explain", {"name": "Bash", "input": {"command": "git log | sh"}, "sessionId": session})
    must(verdict["effect"] == "ask" and [p["effect"] for p in verdict["parts"]] == ["allow", "ask"], f"{verdict}")
    verdict = admin.ok("POST", "/api/policy/explain", {"name": "Bash", "input": {"command": "git log"}, "sessionId": session})
    must_match({"effect": "allow", "rule": "Bash(git log:*)", "source": "user"}, verdict)
    must(verdict["rules"][0]["author"] == "admin" and verdict["rules"][0]["reason"] == "harmless", f"{verdict}")
    for i, line in enumerate(["npm test", "npm test -- x", "npm run evil"]):
        admin.call(thread, "Bash", {"command": line}, id=f"n{i}")
    trial = admin.ok("POST", "/api/policy/try", {"rule": "Bash(npm test:*)"})
    must_match({"calls": 3, "covered": 2, "asked": 2}, trial)
    must(admin.ok("GET", "/api/policy")["user"][0]["rule"] == "Bash(git log:*)", "trying adds nothing")


def test_parts_that_need_no_rule_need_none_in_suggestions(world):
    _, admin, _, thread, _ = scene(world, "--read-only-commands", "allow")
    must(status(admin, thread, "make test | tail -3") == "awaiting", "one part needs a rule")
    rules = [s["rules"] for s in admin.pending()[0]["suggestions"]]
    must(rules and all(all(r.startswith("Bash(make") for r in one) for one in rules), f"{rules}")


def test_a_write_that_the_mode_accepts_says_so(world):
    """A redirection under acceptEdits passes by the mode: the log must not call it reading."""
    admin = world.server("--read-only-commands", "allow").admin()
    folder = os.path.join(world.folder, "shop")
    os.makedirs(folder)
    session = admin.session(cwd=folder, permissionMode="acceptEdits")["id"]
    for command, source in (("echo x > notes.txt", "mode"), ("ls", "built-in")):
        verdict = admin.ok("POST", "/api/policy/explain", {"name": "Bash", "input": {"command": command},
                                                           "sessionId": session})
        must((verdict["effect"], verdict["source"]) == ("allow", source), f"{command}: {verdict}")


def test_agents_and_viewers_cannot_change_rules(world):
    _, admin, _, _, _ = scene(world)
    rule = add(admin, "deny", "Bash(rm:*)")
    for role in ("agent", "viewer"):
        client = admin.token_for(role, role)
        for method, path, body in (("POST", "/api/policy/rules", {"rule": "Bash", "effect": "allow"}),
                                   ("PUT", "/api/policy", {"rules": []}),
                                   ("DELETE", f"/api/policy/rules/{rule['id']}", None)):
            reply = client.request(method, path, body)
            must(reply.status == 403, f"{role} {method} {path}: {reply}")
    must(len(admin.ok("GET", "/api/policy")["user"]) == 1, "nothing changed")


def test_the_users_layer_can_be_put_as_a_whole(world):
    _, admin, _, thread, _ = scene(world)
    add(admin, "allow", "Bash(make:*)")
    admin.ok("PUT", "/api/policy", {"rules": [{"rule": "Bash(pwd)"}, {"rule": "Bash(rm:*)", "effect": "deny"}]})
    rules = admin.ok("GET", "/api/policy")["user"]
    must([(r["effect"], r["rule"]) for r in rules] == [("allow", "Bash(pwd)"), ("deny", "Bash(rm:*)")], f"{rules}")
    must(status(admin, thread, "make") == "awaiting", "what is gone is gone")
    reply = admin.request("PUT", "/api/policy", {"rules": [{"rule": "Bash(id)"}, {"rule": "Bash("}]})
    must(reply.status == 400 and len(admin.ok("GET", "/api/policy")["user"]) == 2, "all of it or nothing")


def test_protected_places_always_ask(world):
    server, admin, session, thread, folder = scene(world)
    add(admin, "allow", "Edit(//**)")
    admin.ok("PATCH", f"/api/sessions/{session}", {"permissionMode": "acceptEdits"})
    for path in (f"{folder}/.git/hooks/pre-commit", f"{folder}/.claude/settings.json", f"{world.folder}/home/.ssh/authorized_keys",
                 f"{world.folder}/home/.bashrc", f"{server.data}/nod.db"):
        answer = admin.call(thread, "Write", {"file_path": path, "content": "x"})
        must(answer["status"] == "awaiting", f"{path}: {answer}")
    must(admin.call(thread, "Write", {"file_path": f"{folder}/src/a.c", "content": "x"})["status"] == "allowed", "a plain file")


def test_a_deny_with_a_typo_is_not_added_by_accident(world):
    _, admin, _, thread, _ = scene(world)
    for rule in ("Bsh(rm:*)", "Bash(git psuh:*)", "Bash(ls && rm x)", "Read(/etc/passwd)"):
        answer = admin.post("/api/policy/rules", {"effect": "deny", "rule": rule})
        must(answer.status == 400 and "force" in answer.json["error"]["message"], f"{rule}: {answer.status} {answer.json}")
        said = world.nod("policy", "add", "deny", rule, exits=2)
        must("did you mean" in said.stderr, f"{rule}: {said.stderr}")
    must(admin.ok("GET", "/api/policy")["user"] == [], "none was added")
    world.nod("policy", "add", "deny", "Bsh(rm:*)", "--force")
    lint = admin.ok("GET", "/api/policy?lint=true")["lint"]
    must_match([{"rule": "Bsh(rm:*)", "level": "error", "instead": "Bash(rm:*)"}], lint)
    said = world.nod("policy", "lint", exits=1)
    must("did you mean Bash(rm:*)?" in said.stdout, said.stdout)
    must("deny Bsh(rm:*)" in world.nod("doctor", exits=None).stdout, "the doctor names it")
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "deploy"})
    must(admin.call(thread, "deploy", {})["status"] == "allowed", "an agent's own tool may be allowed")


def test_an_import_that_would_lose_a_deny_fails(world):
    _, admin, _, _, _ = scene(world)
    file = os.path.join(world.folder, "settings.json")
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"permissions": {"allow": ["Bash(npm test:*)"], "deny": ["WebFetch(example.com)", "Bash(rm:*)"]}}, out)
    said = world.nod("policy", "import", "claude-code", file, exits=2)
    must("would be lost" in said.stderr and "WebFetch(example.com)" in said.stderr, said.stderr)
    must(admin.ok("GET", "/api/policy")["user"] == [], "nothing was added")
    world.nod("policy", "import", "claude-code", file, "--force")
    must([rule["rule"] for rule in admin.ok("GET", "/api/policy")["user"]] == ["Bash(npm test:*)", "Bash(rm:*)"], "the rest")


def test_rules_are_suggested_for_git_in_a_repository(world):
    """Each suggestion is tried by a judgement of its own, which looks up the repository's files as the first one did."""
    admin = world.server().admin()
    made = admin.session(cwd=world.folder)
    os.makedirs(os.path.join(world.folder, ".git", "hooks"))
    for number, command in enumerate(("git status", "git add -A", "git commit -m x", "git log --oneline -3")):
        admin.call(made["threadId"], "Bash", {"command": command}, id=f"g{number}")
    listed = admin.pending()
    must(len(listed) == 4 and all(one["suggestions"] for one in listed), [(one["summary"], one["suggestions"]) for one in listed])
