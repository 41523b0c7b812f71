"""What may be read without a word, and what is protected whichever way leads to it."""
import os

from world import must

# Read by tools that only read, without any rule: each must be asked about, wherever it lies.
SECRETS = ("~/.kube/config", "~/.pgpass", "~/.claude/.credentials.json", "~/.npmrc", "~/.docker/config.json", "~/.config/gh/hosts.yml",
           "~/.ssh/id_ed25519", "~/.bash_history", "~/.aws/credentials", "~/.netrc", "~/.codex/auth.json", "~/.git-credentials",
           "/proc/1/environ", "/proc/self/environ", "/etc/ssh/ssh_host_ed25519_key", "{project}/.env", "{project}/.env.local", "{project}/sub/.env")


def begun(world):
    server = world.server()
    project = os.path.join(world.environment["HOME"], "work", "project")
    os.makedirs(os.path.join(project, "sub"))
    for name in ("plain.txt", ".env", "sub/.env"):
        with open(os.path.join(project, name), "w", encoding="utf-8") as file:
            file.write("KEY=TOPSECRET\n")
    admin = server.admin()
    return server, admin, project, admin.session(cwd=project)


def named(world, project, path):
    return path.replace("~", world.environment["HOME"]).format(project=project)


def test_secrets_are_asked_about_everywhere(world):
    _, admin, project, made = begun(world)
    must(admin.call(made["threadId"], "Read", {"file_path": f"{project}/plain.txt"})["status"] == "allowed", "inside, and no secret")
    must(admin.call(made["threadId"], "Read", {"file_path": "/etc/hostname"})["status"] == "awaiting", "no secret, but outside")
    for path in SECRETS:
        full = named(world, project, path)
        for tool, given in (("Read", {"file_path": full}), ("read_file", {"file_path": full}), ("Grep", {"pattern": "x", "path": full}),
                            ("Bash", {"command": f"cat {full}"})):
            status = admin.call(made["threadId"], tool, given)["status"]
            must(status == "awaiting", f"{tool} of {path}: {status}")


def test_protected_places_hold_for_every_way_to_them(world):
    """Rules allow the programs; what leads to Nod's own folder, from above, by a pattern or by a link, is asked about all the same."""
    server, admin, project, made = begun(world)
    for rule in ("cat:*", "grep:*", "cp:*", "diff:*", "find:*", "tar:*", "curl:*", "wget:*", "nc:*", "rsync:*", "zip:*", "ln:*"):
        admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": f"Bash({rule})", "layer": "session", "sessionId": made["id"]})
    for line in ("cat plain.txt", "grep -r x sub/other", "curl https://example.com"):
        must(admin.call(made["threadId"], "Bash", {"command": line})["status"] == "allowed", f"the rules do not hold: {line}")
    folder, parent = server.data, os.path.dirname(server.data)
    last = os.path.basename(folder)
    os.symlink(folder, os.path.join(project, "link"))
    os.link(os.path.join(folder, "admin.token"), os.path.join(project, "second.txt"))
    lines = [f"cat {folder}/admin.token", f"cat {parent}/{last[0]}*/admin.token", f"cat {parent}/*/admin.token", f"cat {folder}/*",
             f"grep -r nod_ {parent}", f"cp -r {parent} /tmp/copy", f"diff -r {parent} .", f"find {parent} -name admin.token -exec cat {{}} +",
             f"tar cf - {parent}", f"rsync -a {parent}/ copy/", f"zip -r x.zip {parent}", "cat link/admin.token", "grep -r x link",
             f"cat /proc/self/root{folder}/admin.token", f"cd {parent} && cat {last}/admin.token", "cat $(printf x)",
             f"curl http://127.0.0.1:{server.port}/api/approvals/pending", f"curl localhost:{server.port}", f"curl --unix-socket {folder}/nod.sock http://x/",
             f"wget http://127.0.0.1:{server.port}/", f"nc 127.0.0.1 {server.port}", f"cat < /dev/tcp/127.0.0.1/{server.port}"]
    for line in lines:
        status = admin.call(made["threadId"], "Bash", {"command": line})["status"]
        must(status == "awaiting", f"{line}: {status}")
    for tool, given in (("Read", {"file_path": f"{folder}/admin.token"}), ("Read", {"file_path": f"{project}/link/admin.token"}),
                        ("Grep", {"pattern": "nod_", "path": parent}), ("Glob", {"pattern": "**/admin.token", "path": parent}),
                        ("Write", {"file_path": f"{folder}/x", "content": "x"}),
                        ("WebFetch", {"url": f"http://127.0.0.1:{server.port}/api/policy", "prompt": "x"})):
        status = admin.call(made["threadId"], tool, given)["status"]
        must(status == "awaiting", f"{tool} {given}: {status}")
    admin.ok("PATCH", f"/api/sessions/{made['id']}", {"permissionMode": "acceptEdits"})
    for name, wanted in (("plain.txt", "allowed"), ("second.txt", "awaiting")):
        status = admin.call(made["threadId"], "Write", {"file_path": f"{project}/{name}", "content": "x"})["status"]
        must(status == wanted, f"edits are accepted, and {name} is {status}")


def test_recursion_from_above_asks_under_a_rule_for_everywhere(world):
    server, admin, project, _ = begun(world)
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Grep"})
    made = admin.session(cwd=os.path.dirname(server.data))
    for tool, given in (("Grep", {"pattern": "nod_", "path": os.path.dirname(server.data)}), ("Grep", {"pattern": "nod_", "path": "/"})):
        status = admin.call(made["threadId"], tool, given)["status"]
        must(status == "awaiting", f"{tool} {given} above {project}: {status}")


# Reads every file below a folder, and none of them by name.
SWEEPS = ("grep -r KEY .", "grep -rn KEY", "grep -rl KEY . | xargs cat", "grep -R KEY . sub", "rg --hidden KEY", "git diff --no-index . /dev/null", "git grep --no-index KEY", "rg -uu KEY", "rg -nu KEY", "find . -exec cat {} +",
          "find . -type f | xargs cat", "ls -A | xargs cat", "cat $(find . -type f)", "diff -r . sub", "for f in $(find . -type f); do cat $f; done",
          "x=$(find . -type f); cat $x", "git ls-files -co | xargs cat", "cat $(git ls-files -zo)", "rg -g '*' KEY", "rg -n --iglob='.E*' -g '*.{py,pem}' KEY",
          "rg --type-add 'x:.e*' -tx KEY", "rg --files -g '*' | xargs cat", "ack KEY", "ag --hid KEY", "git diff . /usr/include", "git diff sub .",
          "grep -r --exclude=foo --include='*.py' KEY .", "grep -r --include='*.[ep]*' KEY .", "grep -r --include='*.py' --inc='*' KEY .", "colordiff -r . sub",
          "rg -uu -e --files .", "rg -uu -r --files KEY .", "rg -uu -- --files", "grep -r -e '' -e --include='*.py' .", "grep -r '' . -- --include='*.py'",
          "rg -tsh KEY", "rg -n --type all KEY", "grep -d recurse KEY .", "grep -nd recurse KEY", "egrep --dir=recurse KEY .", "rgrep KEY",
          "find . -print -name '*.py' | xargs cat", "find . -exec cat {} \\; -name '*.py'", "find . -name '*.py' -exec cat {} + -o -exec cat {} +",
          "rg --files -g '*.py' --glob='*' | xargs cat")
# Leaves hidden files out, names a kind of file, or tells names only.
PLAIN = ("grep -rn KEY --include='*.py' .", "grep -rn --include='*.py' --exclude-dir=x --exclude='x*' KEY .", "rg KEY", "rg -l KEY | xargs wc -l", "find . -name '*.py'", "find . -type f | wc -l", "ls -R", "git ls-files | xargs wc -l",
         "cat plain.txt", "grep KEY plain.txt", "rg -g '*.py' KEY", "rg -tpy -g '!*.md' -g '*.{ts,tsx}' -g 'sub/*.py' KEY", "timeout 5 rg --files -g '*'",
         "git ls-files '*.py' | xargs wc -l")


def test_a_search_of_everything_is_asked_about_where_secrets_are(world):
    server = world.server("--read-only-commands", "allow")
    admin = server.admin()
    project = os.path.join(world.environment["HOME"], "work")
    os.makedirs(os.path.join(project, "sub"))
    for name in ("plain.txt", "sub/code.py"):
        with open(os.path.join(project, name), "w", encoding="utf-8") as file:
            file.write("KEY=1\n")
    made = admin.session(cwd=project)
    judged = lambda line: admin.call(made["threadId"], "Bash", {"command": line})["status"]
    asked = [line for line in SWEEPS if judged(line) == "awaiting"]
    must(len(asked) <= 2, f"there is nothing secret yet, and yet: {asked}")
    for secret in (".env", "sub/.env.local", "sub/deploy.pem"):
        path = os.path.join(project, secret)
        with open(path, "w", encoding="utf-8") as file:
            file.write("KEY=TOPSECRET\n")
        for line in SWEEPS:
            must(judged(line) == "awaiting", f"{line} with {secret}")
        for line in PLAIN:
            hidden = os.path.basename(secret).startswith(".")
            shown = not hidden and line.startswith(("rg", "git")) and "ls-files '*.py'" not in line
            must(judged(line) == ("awaiting" if shown else "allowed"), f"{line} with {secret}")
        os.remove(path)
    # Names with an ending: only such files are looked for, and what lies below a folder that is called so.
    for line, secret in (("grep -r --include='*.local' KEY .", ".env.local"), ("grep -r --include=*.{py,json} KEY .", "sub/credentials.json"),
                         ("rg -g '*.local' KEY", ".env.local"), ("find . -name '*.JSON' | xargs cat", "secrets.json"),
                         ("find . -name '*.d' -exec grep -r KEY {} +", "conf.d/.env"),
                         ("find . -exec head -- -name '*.py' {} +", ".env"), ("git ls-files '*.json' | xargs cat", "credentials.json")):
        must(judged(line) == "allowed", f"{line}: nothing secret")
        path = os.path.join(project, secret)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "wb").close()
        must(judged(line) == "awaiting", f"{line} with {secret}")
        for other in ("grep -rn KEY --include=*.{py,ts} .", "find . \\( -name '*.py' -o -name '*.ts' \\) ! -path '*/x/*' | xargs grep KEY",
                      "find . -name '*.py' -exec cat {} +", "git ls-files '*.py' | xargs wc -l"):
            must(judged(other) == "allowed", f"{other} with {secret}")
        os.remove(path)
    os.symlink(".env", os.path.join(project, "link.py"))
    open(os.path.join(project, ".env"), "wb").close()
    must(judged("find . -name '*.py' | xargs cat") == "awaiting", "a link with that ending")
    os.remove(os.path.join(project, ".env"))
    os.remove(os.path.join(project, "link.py"))
    must(judged("rg --files -g '*.py' deploy.pem | xargs cat") == "awaiting", "a file that rg is given, whatever -g says")
    for line, secret in (("cat < [s]ub/d*", "sub/deploy.pem"),):
        must(judged(line) == "allowed", f"{line}: nothing secret")
        open(os.path.join(project, secret), "wb").close()
        must(judged(line) == "awaiting", f"{line} with {secret}")
        os.remove(os.path.join(project, secret))
    for line in ("diff -N . sub", "diff sub .", "colordiff . sub"):
        must(judged(line) == "allowed", f"{line}: nothing secret")
        for name in (".env", "sub/.env"):
            path = os.path.join(project, name)
            open(path, "wb").close()
            must(judged(line) == "awaiting", f"{line} with {name}")
            os.remove(path)
    for line in ("cat *.md", "for f in *.md; do cat $f; done"):
        must(judged(line) == "allowed", f"{line} without a link")
        os.symlink(os.path.join(world.environment["HOME"], ".ssh", "id_ed25519"), os.path.join(project, "notes.md"))
        must(judged(line) == "awaiting", f"{line} with a link to a key")
        os.remove(os.path.join(project, "notes.md"))
    for line in ("cat notes", "wc -l < notes", "for f in a notes; do cat $f; done"):
        must(judged(line) == "allowed", f"{line} without a link")
        os.symlink("sub/.env", os.path.join(project, "notes"))
        must(judged(line) == "awaiting", f"{line} with a link to a secret of the same folder")
        os.remove(os.path.join(project, "notes"))


def test_a_link_to_settings_is_no_way_around_a_rule_on_a_program(world):
    """`Bash(cat:*)` does not open .env: neither by its name nor by that of a link to it, and no more where everything passes."""
    _, admin, project, made = begun(world)
    for rule in ("cat:*", "xargs:*", "cp:*", "base64:*", "echo:*", "cd:*"):
        admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": f"Bash({rule})", "layer": "session", "sessionId": made["id"]})
    judged = lambda line: admin.call(made["threadId"], "Bash", {"command": line})["status"]
    lines = ("cat {}", "echo {} | xargs cat", "cp {} copy", "base64 {}", "cat sub/../{}", "cd sub && cat ../{}")
    os.symlink("plain.txt", os.path.join(project, "other"))
    os.symlink("sub/.env", os.path.join(project, "notes"))
    os.symlink("notes", os.path.join(project, "twice"))
    for line in lines:
        must(judged(line.format("other")) == "allowed", f"{line} of a link to a plain file")
        for name in ("notes", "twice"):
            must(judged(line.format(name)) == "awaiting", f"{line} of {name}, which leads to .env")
    admin.ok("PATCH", f"/api/sessions/{made['id']}", {"permissionMode": "bypassPermissions"})
    must(judged("cat notes") == "awaiting", "cat notes where everything passes")
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Read(/sub/.env)", "layer": "session", "sessionId": made["id"]})
    must(judged("cat notes") == "awaiting", "the rule names the file, not the link")
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Read(/**)", "layer": "session", "sessionId": made["id"]})
    must(judged("cat notes") == "allowed", "a rule on both")


def test_a_folder_that_is_not_here_is_not_taken_for_one_without_secrets(world):
    """An agent on another machine: its folder cannot be looked at from the server, so nothing says that it holds no keys."""
    admin = world.server("--read-only-commands", "allow").admin()
    project = os.path.join(world.environment["HOME"], "work")
    made = admin.session(cwd=project)
    lines = SWEEPS + LISTED + ("rg KEY", "cat *", "cat *.md", "grep -r KEY sub", "cd sub && grep -r KEY .")
    for why, make in ((f"the folder {project} is not on the server's machine", lambda: None),
                      (f"the folder {project} cannot be looked at", lambda: open(project, "wb").close()),
                      ("outside the session's folder", lambda: os.symlink("work", project))):
        make()
        for line in lines:
            call = admin.call(made["threadId"], "Bash", {"command": line})
            must(call["status"] == "awaiting", f"{line} where {why}: {call['status']}")
        told = admin.ok("POST", "/api/policy/explain", {"name": "Bash", "input": {"command": "grep -r KEY ."}, "cwd": project})
        must(why in told["why"], f"why it asks: {told}")
        if os.path.lexists(project):
            os.remove(project)
    for line in ("cat plain.txt", "ls -R", "git log"):  # names alone: nothing to look for
        must(admin.call(made["threadId"], "Bash", {"command": line})["status"] == "allowed", line)
    os.mkdir(project)
    for line in ("grep -r KEY .", "grep -r KEY nosuch", "find . -name '*.py' | xargs grep KEY"):
        must(admin.call(made["threadId"], "Bash", {"command": line})["status"] == "allowed", f"{line} where the folder is here")


def test_a_search_is_looked_at_as_deep_as_it_goes_and_no_wider(world):
    admin = world.server("--read-only-commands", "allow").admin()
    project = os.path.join(world.environment["HOME"], "work")
    deep = os.path.join(project, "a", "b", "c", "d", "e")
    os.makedirs(deep)
    os.makedirs(os.path.join(project, "sub"))
    made = admin.session(cwd=project)
    judged = lambda line: admin.call(made["threadId"], "Bash", {"command": line})["status"]
    wide, narrow = ("grep -r KEY .", "grep -r KEY a/b", "cat a/b/c/d/e/*"), ("grep -r KEY sub", "cat sub/*", "cat a/*")
    for line in wide + narrow:
        must(judged(line) == "allowed", f"{line}: there is nothing secret yet")
    open(os.path.join(deep, "server.pem"), "wb").close()
    for line in wide:
        must(judged(line) == "awaiting", f"{line} reads a key five levels deep")
    for line in narrow:
        must(judged(line) == "allowed", f"{line} does not read the key")
    os.remove(os.path.join(deep, "server.pem"))
    for i in range(16385):
        open(os.path.join(deep, str(i)), "wb").close()
    must(judged(wide[0]) == "awaiting", f"{wide[0]} reads more files than are looked at")
    must(judged(narrow[0]) == "allowed", f"{narrow[0]} reads few")


LISTED = ("git ls-files | xargs wc -l", "cat $(git ls-files)", "find . -name '*.py' | xargs grep KEY", "for f in $(git ls-files); do cat $f; done")


def test_names_with_blanks_make_a_listing_asked_about(world):
    """`x /etc/passwd` is one file of a listing, and two names for the shell and for xargs."""
    admin = world.server("--read-only-commands", "allow").admin()
    project = os.path.join(world.environment["HOME"], "work")
    deep = os.path.join(project, "a", "b", "c", "d", "e x")
    os.makedirs(os.path.dirname(deep))
    made = admin.session(cwd=project)
    judged = lambda line: admin.call(made["threadId"], "Bash", {"command": line})["status"]
    for name in (deep, os.path.join(project, "it's"), os.path.join(project, 'a"b')):
        must([judged(line) for line in LISTED] == ["allowed"] * len(LISTED), "no name is cut in two")
        open(name, "wb").close()
        for line in LISTED:
            must(judged(line) == "awaiting", f"{line} with {name}")
        must(judged("git ls-files") == "allowed", "the listing alone reads nothing")
        os.remove(name)


def test_links_in_a_circle_are_asked_about(world):
    """Where they lead nobody can say. What looks at files before it answers must not fall over them."""
    world.environment.pop("NOD_READ_ONLY_COMMANDS")
    _, admin, project, made = begun(world)
    for name in (".env", "sub/.env"):
        os.remove(os.path.join(project, name))
    os.symlink("circle", os.path.join(project, "circle"))
    for tool, given in (("Edit", {"file_path": "circle/x", "old_string": "a", "new_string": "b"}), ("Write", {"file_path": "circle", "content": "a"}),
                        ("Read", {"file_path": "circle"}), *(("Bash", {"command": line}) for line in (
                            "cat circle", "cat *", "grep -r x .", "cat $(git ls-files)", "find . | xargs cat", "cd circle && cat x", "echo x > circle/y"))):
        status = admin.call(made["threadId"], tool, given)["status"]
        must(status == "awaiting", f"{tool} {given}: {status}")
    os.remove(os.path.join(project, "circle"))
    must(admin.call(made["threadId"], "Bash", {"command": "grep -r x ."})["status"] == "allowed", "without them it passes")


FOUND = (("link", ".env", ("cat l*", "cat [l]ink", "cat l*k", "cat {l,x}*", "cat *", "env cat l*")),
         ("docs/key", "../.env", ("cat docs/k*", "cat d*/k*", "cd docs && cat k*")),
         ("docs/key", "../../other/plain", ("cat docs/k*", "cat */key")), ("link", "../id_rsa", ("cat l*",)),
         ("link", "../other", ("cat link/p*", "cat link/*", "cd docs && cat ../link/p*", "cat l*/plain", "cat l*/*")))


def test_a_pattern_that_finds_a_link_is_asked_about_as_the_link_is(world):
    """With a rule on the program and without one. Under the rule a pattern that can only find other names passes."""
    admin = world.server("--read-only-commands", "allow").admin()
    home = world.environment["HOME"]
    project = os.path.join(home, "work")
    for folder in ("work/docs", "other"):
        os.makedirs(os.path.join(home, folder))
    for name in ("work/.env", "work/plain", "work/deploy.pem", "work/docs/plain", "other/plain", "id_rsa"):
        with open(os.path.join(home, name), "w", encoding="utf-8") as file:
            file.write("KEY=1\n")
    ruled, plain = admin.session(cwd=project), admin.session(cwd=project)
    for rule in ("Bash(cat:*)", "Bash(env cat:*)"):
        admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": rule, "layer": "session", "sessionId": ruled["id"]})
    judged = lambda made, line: admin.call(made["threadId"], "Bash", {"command": line})["status"]
    for link, target, lines in FOUND:
        for line in lines:
            must(judged(ruled, line) == "allowed", f"{line} without a link")
        os.symlink(target, os.path.join(project, link))
        for line in lines:
            for made in (ruled, plain):
                must(judged(made, line) == "awaiting", f"{line} with a link to {target}, {'a' if made is ruled else 'no'} rule")
        for line in ("cat pl*", "cat docs/p*", "cat doc*/plain", "cat *.pem"):
            must(judged(ruled, line) == "allowed", f"{line} beside a link to {target}")
        os.remove(os.path.join(project, link))


def test_a_dotdot_behind_a_link_is_where_the_kernel_goes(world):
    """`link/../x` is beside what the link leads to, not beside the link. With a rule on the programs and without one."""
    admin = world.server("--read-only-commands", "allow").admin()
    home = world.environment["HOME"]
    project = os.path.join(home, "work")
    for folder in ("work/plain/deep", "other/in"):
        os.makedirs(os.path.join(home, folder))
    for name in ("work/txt", "work/plain/txt", "other/txt"):
        with open(os.path.join(home, name), "w", encoding="utf-8") as file:
            file.write("x\n")
    os.symlink("../other/in", os.path.join(project, "link"))
    os.symlink("plain/deep", os.path.join(project, "near"))
    ruled, plain = admin.session(cwd=project), admin.session(cwd=project)
    for rule in ("cat:*", "cp:*", "rm:*", "tee:*"):
        admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": f"Bash({rule})", "layer": "session", "sessionId": ruled["id"]})
    judged = lambda made, tool, given: admin.call(made["threadId"], tool, given)["status"]
    for line in ("cat link/../txt", "cat link/../t*", "cat ./link/.././txt", "cat {link,plain}/../txt", "cat near/../../link/../txt",
                 "cat $PWD/link/../txt", f"cat {project}/link/../txt", "cat l*/../txt", "cat < link/../txt", "cd link && cat ../txt",
                 "cd -P link/.. && cat txt", "cd -P link && cd .. && cat txt", "cd -L -P -- link/.. && cat txt"):
        for made in (ruled, plain):
            must(judged(made, "Bash", {"command": line}) == "awaiting", f"{line}, {'a' if made is ruled else 'no'} rule")
    for line in ("rm link/../txt", "cp txt link/../txt", "tee link/../txt", "echo x > link/../txt"):
        must(judged(ruled, "Bash", {"command": line}) == "awaiting", line)
    for line in ("cat plain/../txt", "cat plain/../t*", "cat nosuch/../txt", "cat near/../txt", "cat plain/deep/../../txt", "cd plain && cat ../txt",
                 "cd link/.. && cat txt", "cd -P -L link/.. && cat txt", "cd -P plain/.. && cat txt"):
        for made in (ruled, plain):
            must(judged(made, "Bash", {"command": line}) == "allowed", f"{line}, {'a' if made is ruled else 'no'} rule")
    for tool in ("Read", "Write", "Edit"):
        admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": f"{tool}(/**)", "layer": "session", "sessionId": ruled["id"]})
    for tool, more in (("Read", {}), ("Write", {"content": "x"}), ("Edit", {"old_string": "x", "new_string": "y"})):
        for path, status in (("link/../txt", "awaiting"), ("plain/../txt", "allowed")):
            must(judged(ruled, tool, {"file_path": f"{project}/{path}", **more}) == status, f"{tool} of {path}")
    os.symlink("work", os.path.join(home, "alias"))
    named = admin.session(cwd=os.path.join(home, "alias"))
    for line, status in (("cat plain/../txt", "allowed"), ("cat near/../../txt", "awaiting"), ("cat link/../txt", "awaiting")):
        must(judged(named, "Bash", {"command": line}) == status, f"{line} in a folder that is a link")
    admin.ok("POST", "/api/policy/rules", {"effect": "deny", "rule": "Read(~/other/txt)", "layer": "session", "sessionId": ruled["id"]})
    for line, status in (("cat link/../txt", "denied"), ("cat link/../t*", "denied"), ("cat l*/../txt", "denied"), ("cat plain/../txt", "allowed")):
        must(judged(ruled, "Bash", {"command": line}) == status, f"{line} with a deny on the file")
