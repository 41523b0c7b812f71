/* One line per command. The options stand in groups behind a capital letter:
 *
 *   R  runs its value (a program, or code)      X  is an act by itself: deletes, edits in place, …
 *   W  writes the file that is its value        T  takes orders from its value: a configuration, a folder, …
 *   P  the same, when its value is a path       I  the same, when its value is no folder below this one
 *   B  is an act, and so is what begins with it
 *   V  takes a value and is harmless            S  is harmless, though it looks like the beginning of another
 *   F  (what runs its arguments) a known flag without value; others are not understood
 *   A  (a letter alone, first) what stands behind `--` is handed on and counts, too
 *   G  (a letter alone) a file name that looks like an option is unlikely enough
 *   N1 (the same) an operand stands before the command;  =  so may assignments
 *
 * Long names may be shortened by the caller, short ones clustered, values may follow behind `=`, in the same
 * word or in the next one: the scanner knows all that. It does not stop at operands.
 */
#include "policy/commands.h"

#include <stdlib.h>

#define NODE_OPTIONS "G F --enable-source-maps --no-warnings --trace-warnings --expose-gc R -e -p -r --eval --print --require --import --loader --experimental-loader T --env-file "\
                     "--experimental-default-config-file --config W --redirect-warnings --diagnostic-dir --report-dir "\
                     "--cpu-prof-dir --heap-prof-dir --trace-event-file-pattern X -i --interactive --inspect "\
                     "--inspect-brk --watch --test-reporter"
#define GO_OPTIONS "G R -exec -toolexec -vettool -ldflags -gcflags -asmflags -gccgoflags T -C -overlay -modfile -pkgdir "\
                   "--overlay --modfile W -o -coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile "\
                   "-trace -outputdir --exec --toolexec --vettool --coverprofile --cpuprofile --memprofile "\
                   "--outputdir --blockprofile --mutexprofile --trace -test.coverprofile -test.cpuprofile "\
                   "-test.memprofile -test.outputdir -test.trace"
#define PYTEST_OPTIONS "G T -p -c -o --rootdir --confcutdir --override-ini --config-file --cov-config R --pdbcls "\
                       "W --basetemp --junitxml --junit-xml --log-file --resultlog --report-log --html --cov-report "\
                       "--self-contained-html X --pastebin --debug S --cov --co --pdb"
#define PIP_OPTIONS "T -i -f --index-url --extra-index-url --find-links --trusted-host --cert "\
                    "--client-cert --proxy R --python --editor --global-option "\
                    "--install-option --build-option --config-settings W -t -d --target --root --prefix --src "\
                    "--log --log-file --report --cache-dir --dest --no-clean S --pre --no-cache-dir --user"
#define NPM_OPTIONS "G R --script-shell --node-options --shell --editor --viewer --git --browser --init-module "\
                    "T --prefix --userconfig --globalconfig --registry --cwd --dir -C --rcfile --cafile --node-gyp "\
                    "--local-prefix --global-dir V -w --workspace --loglevel --filter S --silent -s --quiet --global"
#define SSH_OPTIONS "F -q -T -t -v -4 -6 -n -C -a -k -x T -F -o -S -I -i -J -O -w R -e W -E X -L -R -D -W -A -f -g -N -M -Y -X"
#define CURL_OPTIONS "W -o -O -c -D --output --remote-name --remote-name-all --cookie-jar --dump-header --trace "\
                     "--trace-ascii --libcurl --stderr --hsts --alt-svc --etag-save --output-dir --create-dirs -J "\
                     "--remote-header-name T -K -T -F -d -b -E -w -n -x --config --upload-file --form --data "\
                     "--data-binary --data-raw --data-urlencode --data-ascii --json --cookie --cert --key --netrc "\
                     "--netrc-file --netrc-optional --write-out --proxy --preproxy --socks5 --socks5-hostname --socks4 "\
                     "--unix-socket --abstract-unix-socket --cacert --capath --variable --resolve --connect-to "\
                     "--interface --dns-servers --doh-url --url-query --quote -Q --egd-file --random-file "\
                     "--form-string --mail-from --telnet-option -t R --engine --login-options"

/* Sorted by name, which a test checks. */
static const struct command_row rows[] = {
    {".", WAY_NEVER, "", ""},
    {"7z", WAY_WRITES, "", "R -si"},
    {":", WAY_READS, "", ""},
    {"R", WAY_CODE, "", "R -e -f --file --args X --no-echo"},
    {"Rscript", WAY_CODE, "", "R -e F --vanilla --verbose"},
    {"[", WAY_TEST, "", ""},
    {"ack", WAY_READS, "ABCgm", "R --pager --output T --ackrc"},
    {"ag", WAY_READS, "ABCGgm", "R --pager"},
    {"aider", WAY_NEVER, "", ""},
    {"alias", WAY_STATE, "", ""},
    {"ansible", WAY_NEVER, "", ""},
    {"ant", WAY_PLAIN, "", "T -f -file -buildfile -lib -propertyfile R -listener -logger -inputhandler W -l -logfile"},
    {"apt", WAY_PLAIN, "t", "T -o -c --option --config-file"},
    {"apt-get", WAY_PLAIN, "t", "T -o -c --option --config-file"},
    {"arch", WAY_READS, "", ""},
    {"aria2c", WAY_WRITES, "", "R --on-download-complete --on-download-error --on-download-start --on-download-stop "
                               "--on-bt-download-complete T --conf-path -i --input-file W -o -d -l --out --dir --log"},
    {"arp", WAY_PLAIN, "", "T -f --file"},
    {"at", WAY_NEVER, "", ""},
    {"awk", WAY_AWK, "", ""},
    {"base64", WAY_READS, "w", ""},
    {"basename", WAY_READS, "", ""},
    {"bash", WAY_SHELL, "", ""},
    {"bat", WAY_READS, "lHr", "R --pager --config-file X cache"},
    {"batcat", WAY_READS, "lHr", "R --pager"},
    {"batch", WAY_NEVER, "", ""},
    {"bazel", WAY_SUBS, "", "R --run_under --shell_executable --workspace_status_command --python_path T --bazelrc "
                            "--output_base --output_user_root"},
    {"bazel run", WAY_NEVER, "", ""},
    {"bg", WAY_PLAIN, "", ""},
    {"bind", WAY_NEVER, "", ""},
    {"black", WAY_WRITES, "", "G T --config"},
    {"brew", WAY_SUBS, "", ""},
    {"brew sh", WAY_NEVER, "", ""},
    {"bsdtar", WAY_TAR, "", ""},
    {"builtin", WAY_RUNS, "", "F"},
    {"bun", WAY_SUBS, "", "R -e -p --eval --print -r --preload --import T -c --config --cwd --env-file W --outfile "
                          "--outdir"},
    {"bun exec", WAY_FIRST, "", ""},
    {"bun x", WAY_RUNS, "", "F --bun --silent"},
    {"bundle", WAY_SUBS, "", "T --gemfile --path"},
    {"bundle config", WAY_NEVER, "", ""},
    {"bundle exec", WAY_RUNS, "", "F --keep-file-descriptors"},
    {"bunx", WAY_RUNS, "p", "F --bun --silent V --package"},
    {"busybox", WAY_RUNS, "", "F"},
    {"bwrap", WAY_NEVER, "", ""},
    {"bzip2", WAY_WRITES, "", ""},
    {"bzless", WAY_READS, "", "R +"},
    {"caffeinate", WAY_RUNS, "tw", "F -d -i -m -s -u"},
    {"cal", WAY_READS, "", ""},
    {"cargo", WAY_SUBS, "jpF", "T --config -C -Z --manifest-path --lockfile-path W --target-dir --out-dir "
                               "--artifact-dir --root S --target V --color --package"},
    {"cargo install", WAY_PLAIN, "", "T --git --path --registry --index"},
    {"cargo run", WAY_PLAIN, "", ""},
    {"cat", WAY_READS, "", ""},
    {"cc", WAY_WRITES, "*", "R -wrapper --config T --specs B -fplugin -specs -B -fpass-plugin -Xclang -load"},
    {"cd", WAY_READS, "", ""},
    {"chattr", WAY_WRITES, "", ""},
    {"chcon", WAY_WRITES, "", ""},
    {"chgrp", WAY_WRITES, "", ""},
    {"chmod", WAY_WRITES, "", ""},
    {"chown", WAY_WRITES, "", ""},
    {"chroot", WAY_RUNS, "", "N1 F --skip-chdir"},
    {"chrt", WAY_RUNS, "TPD", "N1 F -a -b -d -f -i -m -o -r -R -v --batch --fifo --idle --other --rr"},
    {"cksum", WAY_READS, "", ""},
    {"clang", WAY_WRITES, "*", "R -wrapper --config T --specs B -fplugin -specs -B -fpass-plugin -Xclang -load"},
    {"claude", WAY_NEVER, "", ""},
    {"clear", WAY_READS, "", ""},
    {"cmake", WAY_PLAIN, "*", "R -E -P T --toolchain --preset W --trace-redirect --profiling-output --graphviz B -C "
                              "-DCMAKE_C_COMPILER -DCMAKE_CXX_COMPILER -DCMAKE_LINKER -DCMAKE_AR "
                              "-DCMAKE_MAKE_PROGRAM -DCMAKE_PROJECT -DCMAKE_TOOLCHAIN_FILE -DCMAKE_MODULE_PATH "
                              "-DCMAKE_USER_MAKE_RULES -DCMAKE_RULE -DCMAKE_CROSSCOMPILING_EMULATOR"},
    {"cmd.exe", WAY_NEVER, "", ""},
    {"cmp", WAY_READS, "in", ""},
    {"code", WAY_NEVER, "", ""},
    {"codex", WAY_NEVER, "", ""},
    {"column", WAY_READS, "", ""},
    {"comm", WAY_READS, "", ""},
    {"command", WAY_COMMAND, "", ""},
    {"compgen", WAY_NEVER, "", ""},
    {"complete", WAY_NEVER, "", ""},
    {"composer", WAY_SUBS, "", "T -d --working-dir"},
    {"composer config", WAY_NEVER, "", ""},
    {"composer exec", WAY_RUNS, "", "F -v"},
    {"concurrently", WAY_NEVER, "", ""},
    {"conda", WAY_SUBS, "", ""},
    {"conda run", WAY_RUNS, "np", "F --no-capture-output --live-stream V --name --prefix --cwd"},
    {"convert", WAY_WRITES, "", ""},
    {"coproc", WAY_RUNS, "", "F"},
    {"corepack", WAY_NEVER, "", ""},
    {"coverage", WAY_PLAIN, "", "T --rcfile --plugins"},
    {"cp", WAY_WRITES, "tS", ""},
    {"cpio", WAY_WRITES, "", "R --rsh-command W -O -F --file T -D --directory --no-absolute-filenames"},
    {"cpulimit", WAY_RUNS, "lpPec", "F -z -i -v"},
    {"crontab", WAY_NEVER, "", ""},
    {"cross-env", WAY_ENV, "", ""},
    {"csh", WAY_SHELL, "", ""},
    {"csplit", WAY_WRITES, "", ""},
    {"ctest", WAY_PLAIN, "*", "T -S -SP -T -D --build-and-test I --test-dir R --build-makeprogram --test-command W -O "
                              "--output-log --output-junit"},
    {"curl", WAY_PLAIN, "HAmuzCrYyPX", CURL_OPTIONS " S --url --request"},
    {"cursor", WAY_NEVER, "", ""},
    {"cut", WAY_READS, "bcdf", ""},
    {"cwebp", WAY_WRITES, "", ""},
    {"cypress", WAY_PLAIN, "", "T -C -P --config-file --project -c --config R --browser -b"},
    {"dash", WAY_SHELL, "", ""},
    {"date", WAY_READS, "dfrI", "X -s --set"},
    {"dbus-run-session", WAY_RUNS, "", "F"},
    {"dc", WAY_NEVER, "", ""},
    {"dd", WAY_DD, "", ""},
    {"declare", WAY_STATE, "", ""},
    {"delta", WAY_READS, "", "R --pager"},
    {"deno", WAY_SUBS, "", "R --eval T -c --config --import-map X -A --allow-all --allow-run --allow-write --allow-ffi"},
    {"deno eval", WAY_NEVER, "", ""},
    {"deno repl", WAY_NEVER, "", ""},
    {"df", WAY_READS, "BtTx", ""},
    {"diff", WAY_READS, "UCIFWDxX", ""},
    {"diff3", WAY_READS, "", "R --diff-program"},
    {"difft", WAY_READS, "", ""},
    {"dig", WAY_PLAIN, "", "T -f -k"},
    {"direnv", WAY_SUBS, "", ""},
    {"direnv allow", WAY_NEVER, "", ""},
    {"direnv exec", WAY_RUNS, "", "N1 F"},
    {"dirname", WAY_READS, "", ""},
    {"dirs", WAY_PLAIN, "", ""},
    {"disown", WAY_PLAIN, "", ""},
    {"dmesg", WAY_READS, "", "X -c -C -D -E --clear --read-clear"},
    {"doas", WAY_RUNS, "aCu", "F -n -L X -s"},
    {"docker", WAY_SUBS, "cHl", "T --config -c --context -H --host"},
    {"docker build", WAY_PLAIN, "", ""},
    {"docker buildx", WAY_PLAIN, "", ""},
    {"docker compose", WAY_NEVER, "", ""},
    {"docker container", WAY_NEVER, "", ""},
    {"docker cp", WAY_WRITES, "", ""},
    {"docker create", WAY_NEVER, "", ""},
    {"docker exec", WAY_REMOTE, "euw", "F -i -t -d V --env --user --workdir --env-file --detach-keys X --privileged"},
    {"docker plugin", WAY_NEVER, "", ""},
    {"docker run", WAY_NEVER, "", ""},
    {"docker-compose", WAY_SUBS, "fp", "T -f --file --project-directory --env-file -H --host"},
    {"docker-compose exec", WAY_REMOTE, "euw", "F -T -d V --env --user --workdir --index X --privileged"},
    {"docker-compose run", WAY_NEVER, "", ""},
    {"dot", WAY_WRITES, "", ""},
    {"dotenv", WAY_NEVER, "", ""},
    {"dotnet", WAY_SUBS, "", "T -s --settings --test-adapter-path --property B -p:"},
    {"dotnet exec", WAY_NEVER, "", ""},
    {"dotnet run", WAY_PLAIN, "", "T --project -p"},
    {"dotnet script", WAY_NEVER, "", ""},
    {"dpkg", WAY_PLAIN, "", "R --pre-invoke --post-invoke T --root --admindir --instdir"},
    {"du", WAY_READS, "BdtX", ""},
    {"duckdb", WAY_SQLITE, "*", ""},
    {"easy_install", WAY_NEVER, "", ""},
    {"echo", WAY_READS, "", ""},
    {"ed", WAY_NEVER, "", ""},
    {"egrep", WAY_READS, "ABCefm", ""},
    {"elixir", WAY_CODE, "", "R -e -r -S -pr -pa -pz --eval --rpc-eval --require T --erl --boot"},
    {"emacs", WAY_NEVER, "", ""},
    {"emacsclient", WAY_NEVER, "", ""},
    {"enable", WAY_NEVER, "", ""},
    {"entr", WAY_RUNS, "", "F -a -c -d -n -p -r -z X -s"},
    {"env", WAY_ENV, "", ""},
    {"envsubst", WAY_READS, "", ""},
    {"erl", WAY_NEVER, "", ""},
    {"eslint", WAY_PLAIN, "", "G T -c --config --rulesdir --plugin --parser --resolve-plugins-relative-to "
                              "--parser-options P -f --format W -o --output-file --cache-location --cache-file "
                              "S --cache --rule"},
    {"eval", WAY_EVAL, "", ""},
    {"ex", WAY_NEVER, "", ""},
    {"exec", WAY_RUNS, "a", "F -c -l"},
    {"exiftool", WAY_WRITES, "", "R -if -p -config -execute T -@ -stay_open"},
    {"exit", WAY_READS, "", ""},
    {"expand", WAY_READS, "", ""},
    {"expect", WAY_NEVER, "", ""},
    {"export", WAY_STATE, "", ""},
    {"fakeroot", WAY_RUNS, "lsibf", "F -u -v -h V --lib --faked"},
    {"false", WAY_READS, "", ""},
    {"fc", WAY_NEVER, "", ""},
    {"fd", WAY_READS, "dEetScjo", "R -x -X --exec --exec-batch T --base-directory --ignore-file -C S --exclude --exact-depth "
                                  "--extension"},
    {"fdfind", WAY_READS, "dEetScjo", "R -x -X --exec --exec-batch T --base-directory --ignore-file -C S --exclude "
                                      "--exact-depth --extension"},
    {"ffmpeg", WAY_WRITES, "*", ""},
    {"fg", WAY_PLAIN, "", ""},
    {"fgrep", WAY_READS, "ABCefm", ""},
    {"file", WAY_READS, "FfmPe", "X -C --compile"},
    {"find", WAY_FIND, "", ""},
    {"firejail", WAY_NEVER, "", ""},
    {"fish", WAY_SHELL, "", ""},
    {"flake8", WAY_READS, "", "G T --config --append-config W --output-file --tee"},
    {"flatpak-spawn", WAY_RUNS, "", "F --host"},
    {"flock", WAY_NEVER, "", ""},
    {"fmt", WAY_READS, "", ""},
    {"fold", WAY_READS, "", ""},
    {"ftp", WAY_NEVER, "", ""},
    {"fzf", WAY_NEVER, "", ""},
    {"g++", WAY_WRITES, "*", "R -wrapper --config T --specs B -fplugin -specs -B -fpass-plugin -Xclang -load"},
    {"gawk", WAY_AWK, "", ""},
    {"gcc", WAY_WRITES, "*", "R -wrapper --config T --specs B -fplugin -specs -B -fpass-plugin -Xclang -load"},
    {"gcloud", WAY_SUBS, "", "T --flags-file"},
    {"gcloud compute", WAY_PLAIN, "", "R --command --ssh-flag"},
    {"gdb", WAY_NEVER, "", ""},
    {"gem", WAY_PLAIN, "", "T --config-file -s --source -e --install-dir -i"},
    {"gemini", WAY_NEVER, "", ""},
    {"getopts", WAY_STATE, "", ""},
    {"gh", WAY_SUBS, "", "A R --upload-pack --editor --pager -u -c T --config --template"},
    {"gh alias", WAY_NEVER, "", ""},
    {"gh config", WAY_NEVER, "", ""},
    {"gh extension", WAY_NEVER, "", ""},
    {"ghc", WAY_NEVER, "", ""},
    {"git", WAY_GIT, "", ""},
    {"gmake", WAY_MAKE, "", ""},
    {"gnuplot", WAY_NEVER, "", ""},
    {"go", WAY_SUBS, "*", GO_OPTIONS},
    {"go build", WAY_PLAIN, "*", GO_OPTIONS},
    {"go env", WAY_PLAIN, "*", "X -w -u --w --u"},
    {"go generate", WAY_PLAIN, "*", GO_OPTIONS},
    {"go get", WAY_PLAIN, "*", GO_OPTIONS},
    {"go run", WAY_PLAIN, "*", GO_OPTIONS},
    {"go test", WAY_PLAIN, "*", GO_OPTIONS},
    {"go tool", WAY_NEVER, "", ""},
    {"go vet", WAY_PLAIN, "*", GO_OPTIONS},
    {"goose", WAY_NEVER, "", ""},
    {"gpg", WAY_PLAIN, "ru", "W -o --output --log-file R --photo-viewer --exec-path --agent-program --dirmngr-program "
                             "--pinentry-mode T --options --homedir --load-extension"},
    {"gradle", WAY_PLAIN, "x", "R -I --init-script T -b -c -p -D -P --build-file --settings-file --project-dir "
                               "--system-prop --project-prop --include-build --gradle-user-home -g"},
    {"grep", WAY_READS, "ABCefmdD", ""},
    {"groovy", WAY_CODE, "", "R -e -c T -cp --classpath"},
    {"gulp", WAY_PLAIN, "", "T -f --gulpfile --cwd --require"},
    {"gunzip", WAY_WRITES, "", ""},
    {"gzip", WAY_WRITES, "", ""},
    {"hash", WAY_STATE, "", ""},
    {"head", WAY_READS, "nc", ""},
    {"helm", WAY_PLAIN, "n", "R --post-renderer --post-renderer-args T --kubeconfig --repository-config --registry-config"},
    {"help", WAY_READS, "", ""},
    {"hexdump", WAY_READS, "", ""},
    {"hg", WAY_PLAIN, "rm", "T --config -R --repository --cwd R --tool --ssh -e --remotecmd -t W -o --output"},
    {"history", WAY_NEVER, "", ""},
    {"hostname", WAY_PLAIN, "", "T -F --file -b"},
    {"http", WAY_PLAIN, "", "W -o -d --output --download T --session --session-read-only --cert --proxy -A"},
    {"https", WAY_PLAIN, "", "W -o -d --output --download T --session --session-read-only --cert --proxy -A"},
    {"iconv", WAY_READS, "ft", "W -o --output"},
    {"id", WAY_READS, "", ""},
    {"info", WAY_READS, "", "R --restore W -o --output --dribble T --init-file"},
    {"install", WAY_WRITES, "gmotS", "R --strip-program"},
    {"invoke", WAY_PLAIN, "", "T -c -r -f --collection --search-root --config"},
    {"ionice", WAY_RUNS, "cnpPu", "F -t --ignore V --class --classdata"},
    {"ip", WAY_SUBS, "", "T -b -batch -force"},
    {"ip netns", WAY_NEVER, "", ""},
    {"ip vrf", WAY_NEVER, "", ""},
    {"ipython", WAY_NEVER, "", ""},
    {"irb", WAY_NEVER, "", ""},
    {"isort", WAY_WRITES, "", "G T --settings-path --settings-file --sp"},
    {"java", WAY_PLAIN, "*", "R -XX:OnError -XX:OnOutOfMemoryError -javaagent -agentlib -agentpath -Xrun T "
                             "-XX:Flags -XX:VMOptionsFile -Djava.security.manager"},
    {"jest", WAY_PLAIN, "it", "G T -c --config --rootDir --roots --projects --haste --globals --resolver --runner "
                              "--testRunner --transform --globalSetup --globalTeardown --setupFiles "
                              "--setupFilesAfterEnv --testResultsProcessor --preset --snapshotSerializers "
                              "--moduleNameMapper --filter --testSequencer P --env --testEnvironment --reporters "
                              "W --outputFile --coverageDirectory --cacheDirectory S --coverage --cache --ci"},
    {"jj", WAY_PLAIN, "rm", "T --config --config-file --config-toml -R --repository R --tool"},
    {"jobs", WAY_PLAIN, "", "R -x"},
    {"joe", WAY_NEVER, "", ""},
    {"join", WAY_READS, "", ""},
    {"journalctl", WAY_READS, "nopuSUt", "X --vacuum-size --vacuum-time --vacuum-files --rotate --flush W --cursor-file"},
    {"jq", WAY_READS, "", "T -L -f --from-file"},
    {"jshell", WAY_NEVER, "", ""},
    {"julia", WAY_CODE, "ptC", "R -e -E -L --eval --print --load -J --sysimage T --project"},
    {"just", WAY_PLAIN, "", "R -c --command --shell --shell-arg --chooser --edit -e T -f --justfile -d "
                            "--working-directory --dotenv-path -E"},
    {"kill", WAY_PLAIN, "", ""},
    {"ksh", WAY_SHELL, "", ""},
    {"kubectl", WAY_SUBS, "nsoflLc", "T --kubeconfig --cache-dir --as --token --server -s --insecure-skip-tls-verify "
                                    "S --output --all-namespaces V -n --namespace --context --cluster"},
    {"kubectl config", WAY_NEVER, "", ""},
    {"kubectl cp", WAY_WRITES, "", ""},
    {"kubectl debug", WAY_NEVER, "", ""},
    {"kubectl edit", WAY_NEVER, "", ""},
    {"kubectl exec", WAY_NEVER, "", ""},
    {"kubectl krew", WAY_NEVER, "", ""},
    {"kubectl plugin", WAY_NEVER, "", ""},
    {"kubectl proxy", WAY_NEVER, "", ""},
    {"kubectl run", WAY_NEVER, "", ""},
    {"latex", WAY_WRITES, "*", "X -shell-escape --shell-escape -enable-write18 W -output-directory --output-directory"},
    {"less", WAY_READS, "bhjpPtTxyz#", "W -o -O --log-file --LOG-FILE T -k --lesskey-file --lesskey-src "
                                       "--lesskey-content R +"},
    {"let", WAY_NEVER, "", ""},
    {"lftp", WAY_NEVER, "", ""},
    {"linux32", WAY_RUNS, "", "F"},
    {"linux64", WAY_RUNS, "", "F"},
    {"ln", WAY_WRITES, "tS", ""},
    {"local", WAY_STATE, "", ""},
    {"locate", WAY_READS, "", "T -d --database"},
    {"logger", WAY_PLAIN, "", "T -f --file"},
    {"ls", WAY_READS, "ITw", ""},
    {"lsof", WAY_READS, "", ""},
    {"ltrace", WAY_RUNS, "aADeFlnopsuwX", "F -c -C -f -i -L -r -S -t -T W -o --output"},
    {"lua", WAY_CODE, "", "R -e -l"},
    {"m4", WAY_NEVER, "", ""},
    {"mail", WAY_NEVER, "", ""},
    {"mailx", WAY_NEVER, "", ""},
    {"make", WAY_MAKE, "", ""},
    {"man", WAY_READS, "eLmsS", "R -P -H -p -X -T -t -Z --pager --html --preprocessor --gxditview --troff-device "
                                "--ditroff --troff T -C -M --config-file --manpath"},
    {"mapfile", WAY_NEVER, "", ""},
    {"mawk", WAY_AWK, "", ""},
    {"md5sum", WAY_READS, "", ""},
    {"mise", WAY_SUBS, "", ""},
    {"mise exec", WAY_NEVER, "", ""},
    {"mise x", WAY_NEVER, "", ""},
    {"mkdir", WAY_WRITES, "m", ""},
    {"mkfifo", WAY_WRITES, "", ""},
    {"mktemp", WAY_WRITES, "", ""},
    {"mocha", WAY_PLAIN, "gft", "G R -r --require T --config --package --file --opts P -R -u --reporter --ui"},
    {"mongo", WAY_NEVER, "", ""},
    {"mongosh", WAY_NEVER, "", ""},
    {"more", WAY_READS, "", "R +"},
    {"most", WAY_READS, "", ""},
    {"mv", WAY_WRITES, "tS", ""},
    {"mvn", WAY_PLAIN, "*", "B -D T -f -s -gs -gt -t --file --settings --global-settings --toolchains --define -b "
                            "--builder W -l --log-file S -Dtest -DskipTests -Dit.test -Dmaven.test.skip "
                            "-DfailIfNoTests"},
    {"mypy", WAY_READS, "mpc", "G T --config-file --python-executable --custom-typeshed-dir --custom-typing-module -c "
                               "--command W --any-exprs-report --cobertura-xml-report --html-report --junit-xml "
                               "--linecount-report --lineprecision-report --txt-report --xml-report --xslt-html-report "
                               "--cache-dir X --install-types --pdb"},
    {"mysql", WAY_PLAIN, "uhPDp", "R -e --execute --pager --init-command W --tee T --defaults-file "
                                  "--defaults-extra-file --plugin-dir --default-auth"},
    {"nano", WAY_NEVER, "", ""},
    {"nawk", WAY_AWK, "", ""},
    {"nc", WAY_PLAIN, "", "R -e -c --exec --sh-exec --lua-exec W -o --output -x X -l -k"},
    {"ncat", WAY_PLAIN, "", "R -e -c --exec --sh-exec --lua-exec W -o -x --output --hex-dump X -l -k --listen"},
    {"netcat", WAY_PLAIN, "", "R -e -c --exec W -o -x X -l -k"},
    {"nice", WAY_RUNS, "n", "F -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 V --adjustment"},
    {"ninja", WAY_PLAIN, "jklt", "I -C T -f -d"},
    {"nix", WAY_NEVER, "", ""},
    {"nix-shell", WAY_NEVER, "", ""},
    {"nl", WAY_READS, "", ""},
    {"nmap", WAY_PLAIN, "*", "R --script -sC -A --resume T --datadir --servicedb -iL W -oN -oX -oS -oG -oA"},
    {"nod", WAY_NEVER, "", ""},
    {"node", WAY_CODE, "C", NODE_OPTIONS},
    {"nodejs", WAY_CODE, "C", NODE_OPTIONS},
    {"nodemon", WAY_NEVER, "", ""},
    {"nohup", WAY_RUNS, "", "F"},
    {"nox", WAY_PLAIN, "", "T -f --noxfile"},
    {"npm", WAY_SUBS, "w", NPM_OPTIONS},
    {"npm config", WAY_CONFIG, "", ""},
    {"npm create", WAY_NEVER, "", ""},
    {"npm edit", WAY_NEVER, "", ""},
    {"npm exec", WAY_RUNS, "pcw", "F -y --yes --no -- --silent V --package --workspace X -c --call"},
    {"npm explore", WAY_NEVER, "", ""},
    {"npm init", WAY_NEVER, "", ""},
    {"npm set", WAY_NEVER, "", ""},
    {"npm set-script", WAY_NEVER, "", ""},
    {"npm x", WAY_RUNS, "pcw", "F -y --yes --no -- --silent V --package --workspace X -c --call"},
    {"npx", WAY_RUNS, "pw", "F -y --yes --no --no-install -q --quiet --silent --ignore-existing V --package "
                            "--workspace X -c --call -n --node-arg --shell --cache --userconfig"},
    {"nsenter", WAY_NEVER, "", ""},
    {"numactl", WAY_RUNS, "CNmpi", "F -l -a -s -H V --cpunodebind --physcpubind --membind --interleave --preferred"},
    {"nvim", WAY_NEVER, "", ""},
    {"nx", WAY_SUBS, "", ""},
    {"nx exec", WAY_NEVER, "", ""},
    {"octave", WAY_NEVER, "", ""},
    {"od", WAY_READS, "", ""},
    {"open", WAY_NEVER, "", ""},
    {"opencode", WAY_NEVER, "", ""},
    {"openssl", WAY_PLAIN, "*", "W -out -keyout -CAserial -writerand R -engine -provider -provider-path -passin "
                                "-passout T -config -extfile --provider -rand"},
    {"osascript", WAY_NEVER, "", ""},
    {"pandoc", WAY_PLAIN, "frtVMTHBA", "W -o --output --extract-media --log R -F -L --filter --lua-filter --pdf-engine "
                                      "--pdf-engine-opt T -d --defaults --data-dir --syntax-definition --template"},
    {"parallel", WAY_NEVER, "", ""},
    {"paste", WAY_READS, "", ""},
    {"patch", WAY_WRITES, "pFBYzV", "X -e --ed T -d --directory --set-utc W -o -r --output --reject-file"},
    {"pdflatex", WAY_WRITES, "*", "X -shell-escape --shell-escape -enable-write18 W -output-directory --output-directory"},
    {"perf", WAY_NEVER, "", ""},
    {"perl", WAY_CODE, "", "R -e -E -n -p -M -m -d -I -i -x -F -0 -D -C -S -T -U"},
    {"php", WAY_CODE, "", "R -r -B -R -F -E -a --run --process-begin --process-code --process-end T -c -d -z --php-ini "
                          "--define --zend-extension -S -t"},
    {"phpunit", WAY_PLAIN, "", "T -c --configuration R --bootstrap --prepend --loader --include-path -d W --log-junit "
                               "--coverage-html --coverage-clover --coverage-text --testdox-html --cache-result-file"},
    {"pidof", WAY_READS, "", ""},
    {"ping", WAY_PLAIN, "", ""},
    {"pip", WAY_SUBS, "", PIP_OPTIONS},
    {"pip config", WAY_NEVER, "", ""},
    {"pip3", WAY_SUBS, "", PIP_OPTIONS},
    {"pip3 config", WAY_NEVER, "", ""},
    {"pipenv", WAY_SUBS, "", "R --python"},
    {"pipenv run", WAY_RUNS, "", "F"},
    {"pipenv shell", WAY_NEVER, "", ""},
    {"pipx", WAY_SUBS, "", "T --index-url --pip-args"},
    {"pipx run", WAY_RUNS, "", "F --no-cache V --spec --python"},
    {"pkexec", WAY_RUNS, "", "F --disable-internal-agent V --user"},
    {"playwright", WAY_PLAIN, "gjx", "T -c --config P --reporter W --output"},
    {"pnpm", WAY_SUBS, "wF", NPM_OPTIONS},
    {"pnpm config", WAY_CONFIG, "", ""},
    {"pnpm create", WAY_NEVER, "", ""},
    {"pnpm dlx", WAY_RUNS, "", "F --silent V --package X -c --shell-mode"},
    {"pnpm exec", WAY_RUNS, "", "F -r --recursive --parallel V --filter X -c --shell-mode"},
    {"poetry", WAY_SUBS, "", "T -C -P --directory --project"},
    {"poetry config", WAY_NEVER, "", ""},
    {"poetry run", WAY_RUNS, "", "F"},
    {"poetry shell", WAY_NEVER, "", ""},
    {"popd", WAY_PLAIN, "", ""},
    {"powershell", WAY_NEVER, "", ""},
    {"powershell.exe", WAY_NEVER, "", ""},
    {"pr", WAY_READS, "", ""},
    {"prettier", WAY_WRITES, "", "G T --config --plugin --plugin-search-dir --config-path W --cache-location "
                                 "S --cache"},
    {"printenv", WAY_READS, "", ""},
    {"printf", WAY_TEST, "", ""},
    {"prlimit", WAY_NEVER, "", ""},
    {"prove", WAY_PLAIN, "j", "R -e --exec -P -M -I --harness --formatter --source -T T --rc --state"},
    {"proxychains", WAY_RUNS, "", "F -q T -f"},
    {"proxychains4", WAY_RUNS, "", "F -q T -f"},
    {"ps", WAY_READS, "", ""},
    {"psql", WAY_PLAIN, "dhpUPTRF", "R -c -v --command --set --variable T -f --file W -o -L --output --log-file"},
    {"pushd", WAY_PLAIN, "", ""},
    {"pv", WAY_READS, "", ""},
    {"pwd", WAY_READS, "", ""},
    {"pwsh", WAY_NEVER, "", ""},
    {"py.test", WAY_PLAIN, "kmrnW", PYTEST_OPTIONS},
    {"pylint", WAY_READS, "jdef", "G R --init-hook --load-plugins T --rcfile W --output"},
    {"pypy", WAY_CODE, "mWXQ", "R -c F -B -E -I -O -s -S -u -v -b -q -d"},
    {"pypy3", WAY_CODE, "mWXQ", "R -c F -B -E -I -O -s -S -u -v -b -q -d"},
    {"pytest", WAY_PLAIN, "kmrnW", PYTEST_OPTIONS},
    {"python", WAY_CODE, "mWXQ", "R -c F -B -E -I -O -s -S -u -v -b -q -d"},
    {"python2", WAY_CODE, "mWXQ", "R -c F -B -E -I -O -s -S -u -v -b -q -d"},
    {"python3", WAY_CODE, "mWXQ", "R -c F -B -E -I -O -s -S -u -v -b -q -d"},
    {"rails", WAY_SUBS, "", ""},
    {"rails console", WAY_NEVER, "", ""},
    {"rails r", WAY_NEVER, "", ""},
    {"rails runner", WAY_NEVER, "", ""},
    {"rake", WAY_PLAIN, "jT", "G R -e -E -p -r --execute --execute-print --execute-continue --require T -f -R -I -C "
                              "--rakefile --rakelibdir --libdir --directory"},
    {"read", WAY_STATE, "", ""},
    {"readarray", WAY_NEVER, "", ""},
    {"readlink", WAY_READS, "", ""},
    {"readonly", WAY_STATE, "", ""},
    {"realpath", WAY_READS, "", ""},
    {"redis-cli", WAY_PLAIN, "hpan", "R --eval T --pipe -x --rdb --functions-rdb"},
    {"rename", WAY_NEVER, "", ""},
    {"rev", WAY_READS, "", ""},
    {"rg", WAY_READS, "ABCEMTefgjmrtd", "R --pre --hostname-bin X -z --search-zip S --pre-glob --pretty"},
    {"rlwrap", WAY_RUNS, "", "F"},
    {"rm", WAY_WRITES, "", ""},
    {"rmdir", WAY_WRITES, "", ""},
    {"rspec", WAY_PLAIN, "et", "R -r --require -I --bisect T -O --options P -f --format W -o --out --profile-out"},
    {"rsync", WAY_WRITES, "fTB", "R -e --rsh --rsync-path --daemon --early-input T --config --password-file -M "
                                 "--remote-option --dparam --files-from W --log-file --write-batch "
                                 "--only-write-batch --read-batch --partial-dir --backup-dir --temp-dir S --exclude "
                                 "--exclude-from --backup --partial"},
    {"ruby", WAY_CODE, "", "R -e -n -p -r -I -x -i -C -S -s -F -0 -X"},
    {"ruff", WAY_WRITES, "", "G T --config W -o --output-file --cache-dir"},
    {"run-parts", WAY_NEVER, "", ""},
    {"runuser", WAY_NEVER, "", ""},
    {"rustup", WAY_SUBS, "", ""},
    {"rustup run", WAY_RUNS, "", "N1 F --install"},
    {"scons", WAY_PLAIN, "j", "T -f -C --file --makefile --sconstruct --directory -I --include-dir --site-dir"},
    {"scp", WAY_WRITES, "cJlPX", "R -S T -F -o -i -D"},
    {"screen", WAY_NEVER, "", ""},
    {"script", WAY_NEVER, "", ""},
    {"sdiff", WAY_READS, "wI", "W -o --output R --diff-program"},
    {"sed", WAY_SED, "", ""},
    {"sendmail", WAY_NEVER, "", ""},
    {"seq", WAY_READS, "fs", ""},
    {"service", WAY_PLAIN, "", ""},
    {"set", WAY_SET, "", ""},
    {"setarch", WAY_RUNS, "", "N1 F -R --addr-no-randomize"},
    {"setpriv", WAY_NEVER, "", ""},
    {"setsid", WAY_RUNS, "", "F -c -f -w --ctty --fork --wait"},
    {"sftp", WAY_NEVER, "", ""},
    {"sh", WAY_SHELL, "", ""},
    {"sha1sum", WAY_READS, "", ""},
    {"sha256sum", WAY_READS, "", ""},
    {"sha512sum", WAY_READS, "", ""},
    {"shellcheck", WAY_READS, "CefiopsSW", "G T --rcfile"},
    {"shopt", WAY_STATE, "", ""},
    {"shred", WAY_WRITES, "ns", "T --random-source"},
    {"shuf", WAY_READS, "in", "W -o --output T --random-source"},
    {"sleep", WAY_READS, "", ""},
    {"socat", WAY_NEVER, "", ""},
    {"sort", WAY_READS, "kSt", "W -o --output R --compress-program T -T --temporary-directory --files0-from "
                               "--random-source"},
    {"source", WAY_NEVER, "", ""},
    {"split", WAY_WRITES, "abClnt", "R --filter"},
    {"sponge", WAY_TEE, "", ""},
    {"sqlite3", WAY_SQLITE, "*", "R -cmd --cmd -init --init -A --A"},
    {"ssh", WAY_REMOTE, "BbcDEeFIiJLlmOopQRSWw", SSH_OPTIONS},
    {"ssh-add", WAY_PLAIN, "", "R -s -e"},
    {"ssh-agent", WAY_RUNS, "aEPt", "F -c -k -s -D -d"},
    {"ssh-copy-id", WAY_PLAIN, "", "T -o -F -i"},
    {"ssh-keygen", WAY_WRITES, "", "R -D -w -P"},
    {"sshpass", WAY_NEVER, "", ""},
    {"start-stop-daemon", WAY_NEVER, "", ""},
    {"stat", WAY_READS, "cft", ""},
    {"stdbuf", WAY_RUNS, "ioe", "F V --input --output --error"},
    {"strace", WAY_RUNS, "abEeIoOpPsSuUX", "F -c -C -d -D -f -F -h -i -k -n -N -q -qq -r -t -tt -ttt -T -v -V -w -x -xx -y -yy "
                                          "-z -Z W -o --output X -E --env"},
    {"strings", WAY_READS, "", ""},
    {"stty", WAY_PLAIN, "", ""},
    {"stylelint", WAY_PLAIN, "", "G T --config --config-basedir --custom-syntax --custom-formatter W -o --output-file "
                                 "--cache-location S --cache"},
    {"su", WAY_NEVER, "", ""},
    {"subl", WAY_NEVER, "", ""},
    {"sudo", WAY_RUNS, "CDghpRrTtUu", "= F -A -b -E -H -n -P -S -k -N --preserve-env --non-interactive --stdin --set-home "
                                      "--background --askpass V --user --group --host --prompt --close-from --role "
                                      "--type --command-timeout T -D -R --chdir --chroot X -e -i -s --edit --login "
                                      "--shell"},
    {"sudoedit", WAY_NEVER, "", ""},
    {"suspend", WAY_PLAIN, "", ""},
    {"svn", WAY_PLAIN, "rm", "R --editor-cmd --diff-cmd --diff3-cmd T --config-dir --config-option"},
    {"swift", WAY_SUBS, "", "R -e -load-plugin-library"},
    {"swift run", WAY_PLAIN, "", ""},
    {"systemctl", WAY_SUBS, "tpnoHM", "T -H -M --host --machine --root"},
    {"systemctl edit", WAY_NEVER, "", ""},
    {"systemctl link", WAY_NEVER, "", ""},
    {"systemctl set-environment", WAY_NEVER, "", ""},
    {"systemd-run", WAY_NEVER, "", ""},
    {"tac", WAY_READS, "s", ""},
    {"tail", WAY_READS, "cns", ""},
    {"tar", WAY_TAR, "", ""},
    {"task", WAY_PLAIN, "", "T -t -d --taskfile --dir -g --global"},
    {"taskset", WAY_RUNS, "", "N1 F -a -c -p --all-tasks --cpu-list"},
    {"tclsh", WAY_NEVER, "", ""},
    {"tcpdump", WAY_PLAIN, "BcCiIjMsTyDEV", "R -z W -w T -F -r"},
    {"tcsh", WAY_SHELL, "", ""},
    {"tee", WAY_TEE, "", ""},
    {"telnet", WAY_NEVER, "", ""},
    {"terraform", WAY_PLAIN, "*", "I -chdir T -plugin-dir -var-file -state -backend-config W -out -state-out "
                                  "-generate-config-out"},
    {"test", WAY_TEST, "", ""},
    {"tig", WAY_NEVER, "", ""},
    {"time", WAY_RUNS, "fo", "F -p -v -a -q V --format W -o --output"},
    {"timeout", WAY_RUNS, "ks", "N1 F -f -p -v --foreground --preserve-status --verbose V --kill-after --signal"},
    {"tmux", WAY_NEVER, "", ""},
    {"top", WAY_READS, "", ""},
    {"torsocks", WAY_RUNS, "", "F"},
    {"touch", WAY_WRITES, "drt", ""},
    {"tox", WAY_PLAIN, "e", "T -c --conf --workdir --root -x --override"},
    {"toybox", WAY_RUNS, "", "F"},
    {"tr", WAY_READS, "", ""},
    {"trap", WAY_FIRST, "", ""},
    {"tree", WAY_READS, "LPIHT", "W -o --output"},
    {"true", WAY_READS, "", ""},
    {"truncate", WAY_WRITES, "rs", ""},
    {"ts-node", WAY_CODE, "", "R -e -p -r --eval --print --require T -P --project --cwd --dir -C --compiler"},
    {"tsc", WAY_PLAIN, "*", "G W --outDir --outFile --out --declarationDir --tsBuildInfoFile --generateTrace "
                            "--generateCpuProfile --mapRoot -outDir -outFile -out T --plugins S --declaration"},
    {"tsx", WAY_CODE, "", "R -e -p -r --eval --print --require --import T --tsconfig"},
    {"type", WAY_READS, "", ""},
    {"typeset", WAY_STATE, "", ""},
    {"ulimit", WAY_STATE, "", ""},
    {"umask", WAY_STATE, "", ""},
    {"unalias", WAY_STATE, "", ""},
    {"uname", WAY_READS, "", ""},
    {"unbuffer", WAY_RUNS, "", "F -p"},
    {"unexpand", WAY_READS, "", ""},
    {"uniq", WAY_SECOND, "fsw", ""},
    {"unset", WAY_STATE, "", ""},
    {"unshare", WAY_NEVER, "", ""},
    {"unzip", WAY_WRITES, "", ""},
    {"uptime", WAY_READS, "", ""},
    {"users", WAY_READS, "", ""},
    {"uv", WAY_SUBS, "", "T --directory --project --config-file --index-url --index --default-index R --python"},
    {"uv run", WAY_RUNS, "pm", "F -q --quiet --no-sync --frozen --locked --isolated V --python --package --group --extra "
                               "--with --module -m T --with-requirements --env-file"},
    {"uv tool", WAY_NEVER, "", ""},
    {"uvx", WAY_RUNS, "p", "F -q --quiet --isolated V --from --with --python"},
    {"vagrant", WAY_SUBS, "", ""},
    {"vagrant ssh", WAY_NEVER, "", ""},
    {"valgrind", WAY_RUNS, "*", "F -q -v W --log-file --xml-file R --vgdb-prefix --db-command"},
    {"vi", WAY_NEVER, "", ""},
    {"view", WAY_NEVER, "", ""},
    {"vim", WAY_NEVER, "", ""},
    {"vimdiff", WAY_NEVER, "", ""},
    {"visudo", WAY_NEVER, "", ""},
    {"vitest", WAY_PLAIN, "t", "G T -c -r --config --root --dir --globalSetup --workspace --project --runner "
                               "P --environment --reporter W --outputFile --coverage.reportsDirectory S --coverage "
                               "--run --globals"},
    {"volta", WAY_SUBS, "", ""},
    {"volta run", WAY_NEVER, "", ""},
    {"w", WAY_READS, "", ""},
    {"wait", WAY_PLAIN, "", "X -p"},
    {"watch", WAY_EVAL, "", ""},
    {"watchexec", WAY_NEVER, "", ""},
    {"watchman", WAY_NEVER, "", ""},
    {"wc", WAY_READS, "", ""},
    {"webpack", WAY_PLAIN, "", "T -c --config --require -r W -o --output-path"},
    {"wget", WAY_WRITES, "eTtwQBUDARlI", "R --use-askpass -e --execute W -O -o -a -P --output-document --output-file "
                                        "--append-output --directory-prefix --save-cookies --warc-file --rejected-log "
                                        "--hsts-file --warc-tempdir T -i --input-file --config --post-file --body-file "
                                        "--post-data --body-data --method --load-cookies --ca-certificate "
                                        "--private-key --certificate --base --input-metalink"},
    {"whereis", WAY_READS, "", ""},
    {"which", WAY_READS, "", ""},
    {"who", WAY_READS, "", ""},
    {"whoami", WAY_READS, "", ""},
    {"wish", WAY_NEVER, "", ""},
    {"wsl.exe", WAY_NEVER, "", ""},
    {"xargs", WAY_XARGS, "", ""},
    {"xdg-open", WAY_NEVER, "", ""},
    {"xelatex", WAY_WRITES, "*", "X -shell-escape --shell-escape -enable-write18 W -output-directory --output-directory"},
    {"xmllint", WAY_READS, "", "W -o --output X --shell T --path --catalogs --load-trace"},
    {"xterm", WAY_NEVER, "", ""},
    {"xvfb-run", WAY_RUNS, "efnpsw", "F -a -l --auto-servernum --auto-display V --server-args --server-num W -e -f "
                                    "--error-file --auth-file"},
    {"xxd", WAY_SECOND, "clos", ""},
    {"xz", WAY_WRITES, "", ""},
    {"xzless", WAY_READS, "", "R +"},
    {"yarn", WAY_SUBS, "", NPM_OPTIONS " --use-yarnrc --modules-folder --cache-folder --mutex"},
    {"yarn config", WAY_CONFIG, "", ""},
    {"yarn create", WAY_NEVER, "", ""},
    {"yarn dlx", WAY_RUNS, "p", "F -q --quiet V --package"},
    {"yarn exec", WAY_RUNS, "", "F"},
    {"yarn node", WAY_CODE, "C", NODE_OPTIONS},
    {"yarn plugin", WAY_NEVER, "", ""},
    {"yarn policies", WAY_NEVER, "", ""},
    {"yarn set", WAY_NEVER, "", ""},
    {"yarn workspace", WAY_NEVER, "", ""},
    {"yq", WAY_READS, "opI", "X -i --inplace T --from-file -s --split-exp --split-exp-file"},
    {"yt-dlp", WAY_WRITES, "*", "R --exec --external-downloader --downloader --plugin-dirs --netrc-cmd T --config-location "
                                "--config-locations -a --batch-file --cookies W -o -P --output --paths"},
    {"zcat", WAY_READS, "", ""},
    {"zed", WAY_NEVER, "", ""},
    {"zgrep", WAY_READS, "", ""},
    {"zip", WAY_WRITES, "bntx", "R -TT --unzip-command T -@"},
    {"zless", WAY_READS, "", "R +"},
    {"zsh", WAY_SHELL, "", ""},
};

const struct command_row *command_rows(size_t *ret_count)
{
    *ret_count = sizeof rows / sizeof *rows;
    return rows;
}

static int by_name(const void *key, const void *row)
{
    return str_cmp(*(const struct str *)key, str_of(((const struct command_row *)row)->name));
}

const struct command_row *command_row_find(struct str name)
{
    return bsearch(&name, rows, sizeof rows / sizeof *rows, sizeof *rows, by_name);
}

const struct command_row *command_row_sub(struct str name, struct str sub)
{
    char both[64];
    if (name.n + 1 + sub.n > sizeof both)
        return NULL;
    memcpy(both, name.p, name.n);
    both[name.n] = ' ';
    if (sub.n)
        memcpy(both + name.n + 1, sub.p, sub.n);
    return command_row_find((struct str){both, name.n + 1 + sub.n});
}

bool command_is_door(struct str name)
{
    const struct command_row *row = command_row_find(program_name(name));
    if (!row)
        return false;
    switch (row->way) {
    case WAY_RUNS: case WAY_SHELL: case WAY_CODE: case WAY_EVAL: case WAY_FIRST: case WAY_REMOTE: case WAY_NEVER:
    case WAY_XARGS: case WAY_ENV: case WAY_COMMAND: case WAY_STATE:
        return true;
    case WAY_PLAIN: case WAY_READS: case WAY_WRITES: case WAY_SUBS: case WAY_FIND: case WAY_SED: case WAY_AWK:
    case WAY_GIT: case WAY_MAKE: case WAY_TAR: case WAY_TEE: case WAY_DD: case WAY_SET: case WAY_TEST:
    case WAY_SQLITE: case WAY_CONFIG: case WAY_SECOND:
        break;
    }
    return false;
}
