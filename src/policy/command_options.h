/* Options that several rows of command_table.c share, in the language of that file. */
#ifndef POLICY_COMMAND_OPTIONS_H
#define POLICY_COMMAND_OPTIONS_H

#define NODE_OPTIONS \
    "G F --test --enable-source-maps --no-warnings --trace-warnings --expose-gc R -e -p -r --eval --print " \
    "--require --import --loader --experimental-loader T --env-file " \
    "--experimental-default-config-file --config W --redirect-warnings --diagnostic-dir --report-dir " \
    "--cpu-prof-dir --heap-prof-dir --trace-event-file-pattern X -i --interactive --inspect " \
    "--inspect-brk --watch --test-reporter"
#define GO_OPTIONS \
    "G R -exec -toolexec -vettool -ldflags -gcflags -asmflags -gccgoflags T -C -overlay -modfile " \
    "-pkgdir --overlay --modfile W -o -coverprofile -cpuprofile -memprofile -blockprofile " \
    "-mutexprofile -trace -outputdir --exec --toolexec --vettool --coverprofile --cpuprofile " \
    "--memprofile --outputdir --blockprofile --mutexprofile --trace -test.coverprofile " \
    "-test.cpuprofile -test.memprofile -test.outputdir -test.trace"
#define PYTEST_OPTIONS \
    "G T -p -c -o --rootdir --confcutdir --override-ini --config-file --cov-config R --pdbcls W " \
    "--basetemp --junitxml --junit-xml --log-file --resultlog --report-log --html " \
    "--self-contained-html P --cov-report X --pastebin --debug S --cov --co --pdb"
#define PIP_OPTIONS \
    "T -i -f --index-url --extra-index-url --find-links --trusted-host --cert --client-cert --proxy R " \
    "--python --editor --global-option --install-option --build-option --config-settings W -t -d " \
    "--target --root --prefix --src --log --log-file --report --cache-dir --dest --no-clean S --pre " \
    "--no-cache-dir --user"
#define NPM_OPTIONS \
    "G R --script-shell --node-options --shell --editor --viewer --git --browser --init-module T " \
    "--prefix --userconfig --globalconfig --registry --cwd --dir -C --rcfile --cafile --node-gyp " \
    "--local-prefix --global-dir V -w --workspace --loglevel --filter S --silent -s --quiet --global"
#define SSH_OPTIONS \
    "F -q -T -t -v -4 -6 -n -C -a -k -x T -F -o -S -I -i -J -O -w R -e W -E X -L -R -D -W -A -f -g -N " \
    "-M -Y -X"
#define CC_OPTIONS \
    "E R @ -wrapper --config T --specs B -fplugin -specs -B -fpass-plugin -Xclang -load"
#define TEX_OPTIONS \
    "R \\ X -shell-escape --shell-escape -enable-write18 W -output-directory --output-directory"
#define MYSQL_OPTIONS \
    "Y R -e --execute --pager --init-command W --tee T --defaults-file --defaults-extra-file " \
    "--plugin-dir --default-auth"
#define RPM_OPTIONS \
    "R -E --eval --pipe -D --define --predefine T --root --dbpath --macros --rcfile --load"
#define UGREP_OPTIONS \
    "E R --filter --filter-magic-label --pager --view --query X -Q T --config --- --from W --save-config"
#define CURL_OPTIONS \
    "U W -o -c -D --output --cookie-jar --dump-header --trace --trace-ascii --libcurl --stderr --hsts " \
    "--alt-svc --etag-save --output-dir X -O -J --remote-name --remote-name-all --create-dirs " \
    "--remote-header-name D -d -w -H --data --data-binary --data-ascii --json --write-out --header " \
    "--proxy-header V --data-raw T -K -T -F -b -E -n -x --config --upload-file --form " \
    "--data-urlencode --cookie --cert --key --netrc --netrc-file --netrc-optional --proxy --preproxy " \
    "--socks5 --socks5-hostname --socks4 --unix-socket --abstract-unix-socket --cacert --capath " \
    "--variable --resolve --connect-to --interface --dns-servers --doh-url --url-query --quote -Q " \
    "--egd-file --random-file --form-string --mail-from --telnet-option -t R --engine --login-options"

#endif
