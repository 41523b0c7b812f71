"""Links in the words of commands: a deny on what a link leads to, and commands that follow links by themselves."""
import os

from world import must


def begun(world, files, links):
    """A server, and a project folder with these files and links in it; `~` is its home."""
    admin = world.server("--read-only-commands", "allow").admin()
    project = os.path.join(world.environment["HOME"], "work")
    place = lambda name: name.replace("~", world.environment["HOME"]) if name.startswith("~") else os.path.join(project, name)
    for name in files:
        os.makedirs(os.path.dirname(place(name)), exist_ok=True)
        with open(place(name), "w", encoding="utf-8") as file:
            file.write("x\n")
    for name, target in links.items():
        os.makedirs(os.path.dirname(place(name)), exist_ok=True)
        os.symlink(target, place(name))
    return admin, project


def session(admin, project, *, programs=(), against=(), mode="default"):
    made = admin.session(cwd=project, permissionMode=mode)
    rules = [("allow", f"Bash({name}:*)") for name in programs] + [("deny", rule) for rule in against]
    for effect, rule in rules:
        admin.ok("POST", "/api/policy/rules", {"effect": effect, "rule": rule, "layer": "session", "sessionId": made["id"]})
    return lambda line: admin.call(made["threadId"], "Bash", {"command": line})["status"]


def test_a_deny_holds_below_a_linked_folder(world):
    """By a pattern and by a whole tree, too; what a brace or a loop makes of a link's name counts as the name."""
    admin, project = begun(world, ("txt", "plain/x", "denied/x", "denied/deep/x"),
                           {"dl": "denied", "l": "denied/x", "docs/d": "../denied", "near": "plain"})
    programs = ("cat", "cp", "tar", "grep", "find", "cd", "diff")
    against = ("Read(/denied/**)",)
    judges = {"rules": session(admin, project, programs=programs, against=against), "none": session(admin, project, against=against),
              "bypass": session(admin, project, against=against, mode="bypassPermissions")}
    for line in ("cat dl/*", "cat dl/?", "cat docs/d/x*", "cat {d,}l", "cd dl && cat *", "cd docs/d && cat ?", "cd dl && for f in *; do cat $f; done",
                 "grep -r x dl", "grep -r x dl/", "cd dl && grep -r x .", "cd dl && grep -r x", "find dl/ -type f -exec cat {} +",
                 "cd dl && find . -type f -exec cat {} +", "tar chf - dl", "cp -r dl/ copy", "for f in l; do cat $f; done",
                 "diff denied plain", "diff plain dl", "diff -q plain .", "for f in dl; do cat $f/x; done", "f=l; cat $f", "f=dl; cat $f/x", "f='txt l'; cat $f"):
        for name, judged in judges.items():
            must(judged(line) in ("denied", "awaiting"), f"{line}, {name}: {judged(line)}")
    for line in ("cat near/*", "diff plain near", "diff txt plain", "cat {p,}txt", "cd near && cat *", "grep -r x near", "cd near && grep -r x .", "for f in txt; do cat $f; done",
                 "f=txt; cat $f", "cd near && for f in *; do cat $f; done"):
        for name, judged in judges.items():
            must(judged(line) == "allowed", f"{line}, {name}: {judged(line)}")


def test_a_deny_holds_for_a_link_that_a_pattern_finds(world):
    admin, project = begun(world, ("txt", "plain/x", "denied/x", "denied/deep/x", "~/other/key"),
                           {"dl": "denied", "l": "denied/x", "deepdown": "denied/deep", "docs/d": "../denied", "zz": "../other/key"})
    programs, against = ("cat", "rm", "ls"), ("Read(/denied/**)", "Edit(~/other/key)")
    judges = {"rules": session(admin, project, programs=programs, against=against),
              "bypass": session(admin, project, against=against, mode="bypassPermissions")}
    for line in ("cat [l]", "cat ?", "cat l*", "cat deep*/x", "cat docs/*/x", "cat d?/x", "cat */x", "cd docs && cat */x", "for f in ?; do cat $f; done",
                 "cat < [l]", "rm z*", "rm [z]z"):
        for name, judged in judges.items():
            must(judged(line) in ("denied", "awaiting"), f"{line}, {name}: {judged(line)}")
    for line in ("cat t*", "cat pl*/x", "cat p*/?", "ls l*", "rm t*"):
        for name, judged in judges.items():
            must(judged(line) == "allowed", f"{line}, {name}: {judged(line)}")
    for line in ("cat z*", "cat [z]z"):  # a rule against changing it
        must(judges["bypass"](line) == "allowed", f"{line}: {judges['bypass'](line)}")


def test_a_search_through_links_is_asked_about_where_one_leads_away(world):
    """`grep -R` goes through the links that it meets, `grep -r` does not. Without a rule, with one, and against a deny."""
    admin, project = begun(world, ("txt", "plain/x", "plain/in/x", "~/other/x", "docs/x", "here/x", "here/below/x"),
                           {"docs/out": "../../other", "here/near": "below", "here/file": "below/x"})
    programs = ("xargs", "echo", "grep", "rg", "ag", "find", "cp", "diff", "tar", "zip", "rsync", "cd", "cat", "colordiff", "egrep")
    judges = {"rules": session(admin, project, programs=programs), "none": session(admin, project),
              "bypass": session(admin, project, against=("Read(~/other/**)",), mode="bypassPermissions")}
    reads = ("grep -R x {}", "grep -nR x {}", "cd {} && grep -R x", "cd {} && grep -R x .", "grep --dereference-recursive x {}", "grep -Rn x plain {}",
             "egrep -R x {}", "rg -L x {}", "rg --follow x {}", "rg -nL x {}", "find -L {} -type f -exec cat {{}} +", "find {} -follow -type f -exec cat {{}} +",
             "diff -r plain {}", "diff -qr {} plain", "ag -f x {}", "grep -R x {}/*", "grep -R x d*c*/ h*")
    writes = ("cp -rL {} copy", "cp -r --dereference {} copy", "cp -aL {} copy", "tar chf x.tar {}", "tar -chf x.tar {}", "tar -cf x.tar --dereference {}",
              "zip -r x.zip {}", "rsync -rL {} copy/")
    for line in reads + writes:
        for name, judged in judges.items():
            if name != "none" or line in reads:
                must(judged(line.format("docs")) == "awaiting", f"{line.format('docs')}, {name}: {judged(line.format('docs'))}")
                if "d*c*" not in line:
                    must(judged(line.format("here")) == "allowed", f"{line.format('here')}, {name}: {judged(line.format('here'))}")
    for line in ("cd docs; grep -R x .", "cd plain; cd ../docs; grep -R x .", "echo docs | xargs grep -R x"):
        must(judges["rules"](line) == "awaiting", f"{line}: {judges['rules'](line)}")
    for line in ("grep -r x docs", "grep -rn x .", "rg x docs", "find docs -type f -exec cat {} +", "find -L docs -name x", "grep -R x plain", "grep -R x docs/x"):
        for name, judged in judges.items():
            must(judged(line) == "allowed", f"{line}, {name}: {judged(line)}")


def test_what_only_bash_knows_is_no_way_around_a_link(world):
    """A variable that may be empty, the values of a loop, and a folder of which nobody knows whether `cd` went there."""
    admin, project = begun(world, ("txt", "plain/txt", "plain/x", "denied/x", "~/other/txt", "~/other/in/txt"),
                           {"link": "../other/in", "plain/out": "../../other", "l": "denied/x", "dl": "denied"})
    ruled = session(admin, project, programs=("cat", "cd", "wc"))
    denied = {"rules": session(admin, project, programs=("cat", "cd", "wc"), against=("Read(/denied/**)", "Read(~/other/txt)")),
              "bypass": session(admin, project, against=("Read(/denied/**)", "Read(~/other/txt)"), mode="bypassPermissions")}
    for line in ("cat link$x/../txt", 'cat "link$x/../txt"', "cat link$x/txt", "cat plain/out$x/txt", "for f in l*; do cat $f/txt; done",
                 'for f in *; do cat "$f"; done', 'for f in */; do wc "$f"txt; done', "cd nosuch && cat txt; cat link/../txt", "cd plain; cat link/txt",
                 "cd plain; cat out/txt", "cd nosuch || cat txt; cat link/txt"):
        must(ruled(line) == "awaiting", f"{line}: {ruled(line)}")
    for line in ("cat ${x:-link}/txt", "cat ${x:-link}/../txt", 'cat "${x-link}"/txt', "cat ${x:+link}/txt", "cat ${x:-l*}/txt", "cat ${x:-li}nk/txt",
                 "cat ${x}${y:-link}/txt", "wc < ${x:-link}/txt", "cat plain/${x:-out}/txt"):
        must(ruled(line) == "awaiting", f"{line}: {ruled(line)}")
    for line in ("cat ${x:-plain}/txt", "cat ${x:-plain}/../txt", 'cat "${x:-txt}"', "cat plain/${x:-t*}",
                 "cat plain$x/txt", "cat plain$x/../txt", "cat pl$x/txt", "for f in p*; do cat $f/txt; done", "cd plain; cat txt", "cd plain; cat x", "cd plain && cat x"):
        must(ruled(line) == "allowed", f"{line}: {ruled(line)}")
    for line in ("cat dl$x/x", "cat l$x", "pushd link && cat ../txt", "pushd link; cat ../txt", "command cd link && cat ../txt",
                 "cd nosuch || cd link; cat ../txt"):
        for name, judged in denied.items():
            must(judged(line) in ("awaiting", "denied"), f"{line}, {name}: {judged(line)}")


def test_cd_by_the_real_name_stays_in_a_folder_that_is_a_link(world):
    admin, project = begun(world, ("txt", "sub/txt", "sub/l1", "~/txt", "~/data/other/txt"), {"~/alias": "data/work", "sub/out": "../../other"})
    real = os.path.join(world.environment["HOME"], "data", "work")
    os.rename(project, real)
    judged = session(admin, os.path.join(world.environment["HOME"], "alias"), programs=())
    for line in ("cd -P sub && cat txt", "cd -P sub && cat ../txt", "cd -P sub && cat l*", "cd -P . && cat sub/txt", "cd -P sub && cd .. && cat txt",
                 "cd -P sub && grep -r x ."):
        must(judged(line) == "allowed", f"{line}: {judged(line)}")
    for line in ("cd -P sub && cat ../../txt", "cd -P sub && cd ../.. && cat txt", "cd -P sub && cd ../.. && cd alias && cat txt", "cd -P .. && cat txt",
                 "cd -P sub/out && cat txt", "cd -P sub && cat out/txt", "cd -P sub && cat o*/txt", "cd -P sub && cd .. && cd .. && cat other/txt"):
        must(judged(line) == "awaiting", f"{line}: {judged(line)}")


def test_a_cd_that_is_negated_or_in_a_function(world):
    """Behind `! cd x &&` bash is where it was. A function that was called may have gone anywhere."""
    admin, project = begun(world, ("txt", "sub/txt", "sub/deep/txt", "denied/x", "~/txt", "~/other/txt"), {"link": "../other"})
    ruled, plain = session(admin, project, programs=("cat", "cd", "ls", "grep")), session(admin, project)
    bypass = session(admin, project, against=("Read(/denied/**)", "Read(~/other/txt)"), mode="bypassPermissions")
    for line in ("! cd nosuch && cat ../txt", "! cd nosuch/a && cat ../../other/txt", "! cd nosuch && cat link/../txt", "{ ! cd nosuch/a; } && cat ../../txt",
                 "! { cd nosuch/a; } && cat ../../txt", "! ! cd nosuch && cat ../txt", "true && ! cd nosuch && cat ../txt",
                 "! cd nosuch && ls ..", "! cd sub/deep | cat && cat ../../../txt", "! (cd sub) && cat ../txt", "! cd nosuch && cd nosuch/a || cat ../../txt"):
        for name, judged in (("ruled", ruled), ("plain", plain)):
            must(judged(line) == "awaiting", f"{line}, {name}: {judged(line)}")
    for line in ("! grep -q z txt && cat txt", "cd sub && ! grep -q z txt && cat ../txt", "! cat txt", "cd sub/deep && cat ../../txt"):
        for name, judged in (("ruled", ruled), ("plain", plain)):
            must(judged(line) == "allowed", f"{line}, {name}: {judged(line)}")
    for line in ("f() { cd denied; }; f; cat x", "f() { cd denied; }; f && cat x", "f() { pushd denied; }; true; f; cat *", "function f { cd link; }; f; cat txt"):
        must(bypass(line) in ("awaiting", "denied"), f"{line}: {bypass(line)}")
    for line in ("f() { cat txt; }; f; cat sub/txt", "f() { ls; }; f && cat sub/deep/../txt"):
        must(bypass(line) == "allowed", f"{line}: {bypass(line)}")


def test_cd_goes_where_bash_goes(world):
    """Options may stand in one word, and without a folder cd goes home. Where the folder by the text of the path is missing, bash
    tries the path as the kernel takes it."""
    admin, project = begun(world, ("txt", "plain/txt", "plain/deep/txt", "-x/txt", "~/txt", "~/notes", "~/other/txt", "~/other/in/txt", "~/other/plain/txt"),
                           {"link": "../other/in", "near": "plain/deep"})
    judges = {"ruled": session(admin, project, programs=("cat", "cd", "grep")), "plain": session(admin, project)}
    for line in ("cd -LP && cat txt", "cd -PL && cat txt", "cd -eP && cat notes", "cd -e && cat notes", "cd -x && cat txt", "cd -PP && cat ../txt",
                 "cd -LP; cat txt", "cd -- -PL && cat ../../txt", "cd link/../in && cat txt", "cd link/../in/ && cat txt", "cd link && cd ../in && cat txt",
                 "cd link/../in && cat ../txt", "cd link/../in && grep -r x .", "cd -LP link/.. && cat txt", "cd -P -e link/.. && cat txt",
                 "cd -Pe link/../in && cat txt", "cd nosuch; cd link; cat txt", "cd nosuch; cd link/../in; cat txt", "cd nosuch; cd link && cat ../txt"):
        for name, judged in judges.items():
            must(judged(line) == "awaiting", f"{line}, {name}: {judged(line)}")
    for line in ("cd -P plain && cat txt", "cd -LP plain && cat txt", "cd -PL link/.. && cat txt", "cd -Pe -- plain && cat txt", "cd -- -x && cat txt", "cd -e plain && cat txt",
                 "cd link/../plain && cat txt", "cd near/.. && cat txt", "cd plain/deep/../../plain && cat txt", "cd near && cd ../plain && cat txt",
                 "cd plain/../nosuch && cat txt"):
        for name, judged in judges.items():
            must(judged(line) == "allowed", f"{line}, {name}: {judged(line)}")


def test_links_among_the_names_of_a_listing(world):
    """What a listing names is read through links. A listing of plain files alone has none in it."""
    admin, project = begun(world, ("txt", "src/a.py", "src/x", "~/other/x"), {"out": "../other/x"})
    programs = ("cat", "cd", "ls", "find", "xargs", "wc", "touch", "rm", "fd", "timeout")
    judges = {"ruled": session(admin, project, programs=programs), "plain": session(admin, project)}
    lines = ("ls | xargs cat", "cat $(ls)", "for f in $(ls); do cat $f; done", "x=$(ls); cat $x", "find . | xargs cat", "find . -type l | xargs cat",
             "find . -type l -exec cat {} +", "timeout 5 find . -exec cat {} +", "find . -type f -o -type l | xargs cat", "find . ! -type f | xargs cat", "find -L . -type f | xargs cat", "find . -follow -type f | xargs cat", "cat $(find .)", "fd | xargs cat")
    plain = ("find . -type f | xargs cat", "find . -type f -not -path './src/*' | xargs cat", "find . -name '*.py' -o -name '*.c' | xargs cat", "find . -name '*.py' | xargs wc -l", "find . -type f -exec cat {} +", "ls | wc -l", "cat $(find src -type f)",
             "find . -name '*.py' -exec cat {} +", "find . -type l")
    for line in lines + plain:
        for name, judged in judges.items():
            status = judged(line)
            must(status == ("awaiting" if line in lines else "allowed"), f"{line}, {name}: {status}")
    for line in ("touch o*", "touch [o]ut", "rm o*"):
        must(judges["ruled"](line) == "awaiting", line)
    os.remove(os.path.join(project, "out"))
    os.symlink("src/x", os.path.join(project, "out"))
    for line in lines + plain + ("touch o*", "rm o*"):
        must(judges["ruled"](line) == "allowed", f"{line} with a link inside the folder")


def test_a_search_by_a_tool_in_a_denied_folder(world):
    """Grep shows lines of the files below its folder; where a rule denies all of them, it is denied, by the name of a link, too. Its
    filter is read as rg reads it."""
    admin, project = begun(world, ("txt", "plain/x", "denied/x", "denied/deep/x"), {"dl": "denied"})
    for mode in ("default", "bypassPermissions"):
        made = admin.session(cwd=project, permissionMode=mode)
        admin.ok("POST", "/api/policy/rules", {"effect": "deny", "rule": "Read(/denied/**)", "layer": "session", "sessionId": made["id"]})
        judged = lambda tool, given: admin.call(made["threadId"], tool, given)["status"]
        for path, wanted in (("denied", "denied"), ("denied/", "denied"), ("denied/deep", "denied"), ("dl", "denied"), ("dl/deep", "denied"),
                             ("plain", "allowed"), (".", "allowed"), (project, "allowed")):
            must(judged("Grep", {"pattern": "x", "path": path}) == wanted, f"Grep in {path}, {mode}")
        must(judged("Glob", {"pattern": "*", "path": "denied"}) == "allowed", "names alone")
        status = admin.call(made["threadId"], "Grep", {"pattern": "x"}, cwd=os.path.join(project, "denied"))["status"]
        must(status == "denied", f"Grep from there: {status}")
    made = admin.session(cwd=project)
    for glob, wanted in (("*.pem", "awaiting"), ("{a,*.pem}", "awaiting"), ("*.{ts,pem}", "awaiting"), ("*.p[e]m", "awaiting"), ("**/{x,.env}", "awaiting"),
                         ("*.{ts,tsx}", "allowed"), ("*.[ch]", "allowed"), ("src/**/*.{js,mjs}", "allowed"), ("a,b", "allowed"), ("**", "allowed")):
        status = admin.call(made["threadId"], "Grep", {"pattern": "x", "glob": glob})["status"]
        must(status == wanted, f"a filter {glob}: {status}")


def test_a_pattern_goes_through_links_and_into_folders_of_tools(world):
    """A link that leads to a folder of the project may hold another, which leads out. A link with the name of a tool's folder is
    left out as that is, but where names below it are found, or a rule denies them."""
    admin, project = begun(world, ("txt", "src/x", "plain/x", "denied/x", "docs/x", "~/other/x", "target/CACHEDIR.TAG", "near/x"),
                           {"two/t": "../docs", "docs/out": "../../other", "venv": "../other", "node_modules/ext": "../../other", "node_modules/d": "../denied",
                            "node_modules/near": "../near", "target/o": "../../other", "src/venv": "../denied", "plain/t": "../near", "plain/self": "."})
    programs = ("cat", "grep", "cp", "wc")
    judges = {"rules": session(admin, project, programs=programs), "none": session(admin, project),
              "bypass": session(admin, project, against=("Read(~/other/**)",), mode="bypassPermissions")}
    denied = {"rules": session(admin, project, programs=programs, against=("Read(/denied/**)",)),
              "bypass": session(admin, project, against=("Read(/denied/**)",), mode="bypassPermissions")}
    for line in ("cat two/*/out/x", "cat two/?/out/x", "cat two/*/o??/x", "for d in two/*; do cat $d/out/x; done", "grep -r x two/*/out/", "wc -l < two/*/out/x",
                 "cat ven?/x", "cat v*/x", "cat */x", "cat n*/ext/x", "cat node_mod*/*/x", "cat t*t/o/x"):
        for name, judged in judges.items():
            must(judged(line) in ("awaiting", "denied"), f"{line}, {name}: {judged(line)}")
    for line in ("cat src/*/x", "cat src/v*/x", "cd src && cat */x", "cat n*/d/x", "grep -R x src"):
        for name, judged in denied.items():
            must(judged(line) in ("awaiting", "denied"), f"{line}, deny, {name}: {judged(line)}")
    for line in ("cat plain/*/x", "cat plain/*/*/x", "cat n*s/near/x", "cat pl*/t/x", "cat plain/self/*/x"):
        for name, judged in judges.items():
            must(judged(line) == "allowed", f"{line}, {name}: {judged(line)}")
    for line in ("cat v*", "grep x ve*"):
        must(judges["none"](line) == "allowed" and judges["bypass"](line) == "awaiting", line)


def test_a_deny_by_name_stops_no_comparison_and_no_link_in_the_project(world):
    """`diff` of two files is no search. Behind a link to a folder a name at any depth is the same name."""
    admin, project = begun(world, ("txt", "AGENTS.md", "src/a.c", "src/b.c", "src/x", "keys/k.pem", "keys/x", "denied/x"),
                           {"CLAUDE.md": "AGENTS.md", "latest": "src", "src/near": "../keys", "more/z.md": "../keys/k.pem", "more/e": "../.env", "more/l": "../denied/x"})
    programs, against = ("cat", "diff", "grep", "cd", "head"), ("Read(.env)", "Read(**/*.pem)", "Read(k.pem)", "Read(/denied/**)")
    judges = {"rules": session(admin, project, programs=programs, against=against),
              "bypass": session(admin, project, against=against, mode="bypassPermissions")}
    for line in ("diff src/a.c src/b.c", "diff -u txt AGENTS.md", "cd src && diff a.c b.c", "diff txt nosuch",
                 "cat C*.md", "head -1 [C]*", "grep foo [AC]*.md"):
        for name, judged in judges.items():
            must(judged(line) == "allowed", f"{line}, {name}: {judged(line)}")
    for line in ("cat src/n*/x", "cat late*/a.c"):
        must(judges["rules"](line) == "allowed", line)
    for line in ("diff keys src", "diff src txt", "diff . keys", "diff more/l txt", "diff txt denied/x", "cd keys; diff . ../src", "diff s* txt", "cat more/z*", "cat */*.md", "cat more/[e]",
                 "cat more/?", "cat late*/near/k.pem", "cat */near/k*", "diff keys/k.pem txt"):
        for name, judged in judges.items():
            must(judged(line) in ("awaiting", "denied"), f"{line}, {name}: {judged(line)}")


def test_many_patterns_share_one_look(world):
    """The server waits while it looks at the disk, so the names that it reads are bounded for the whole call."""
    files = tuple(f"many/{i}" for i in range(1500))
    admin, project = begun(world, ("txt",) + files, {f"many/l{i}": "../txt" for i in range(500)})
    judged = session(admin, project, programs=("cat",))
    must(judged("cat many/1* many/2* many/l*") == "allowed", "three patterns")
    must(judged("cat " + " ".join(f"many/{i}*" for i in range(10, 70))) == "awaiting", "sixty patterns in a folder of 2,000 names")
