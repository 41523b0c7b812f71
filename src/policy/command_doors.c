/* Programs, and sub-commands of programs, whose words do not tell what they do: editors, debuggers,
 * consoles, other shells, what runs a command in another place or later. A rule that names one of them covers
 * it; a rule on the program that it is a sub-command of does not. */
#include "policy/commands.h"

/* Sorted by name, which a test checks. */
#define COMMAND_DOORS(X)                                                                                  \
    X(".") X("aa-exec") X("abduco") X("acr") X("agetty") X("aider") X("air") X("alpine") X("ansible")     \
    X("ansible-playbook") X("ansible-test") X("aoss") X("apport-cli") X("arch-nspawn") X("ascii-xfr")     \
    X("asdf exec") X("ash") X("aspell") X("asterisk") X("at") X("aws configure") X("bashbug") X("batch")  \
    X("bazel run") X("bconsole") X("bee") X("bind") X("bpftrace") X("bpython") X("brew sh")               \
    X("bun create") X("bundle config") X("bundle console") X("busctl") X("bwrap") X("byebug") X("byobu")  \
    X("cabal exec") X("cabal repl") X("capsh") X("cargo rustc") X("catchsegv") X("ccache") X("cdist")     \
    X("certbot") X("cgexec") X("choom") X("chpst") X("chronic") X("claude") X("clisp") X("cmd")           \
    X("cmd.exe") X("cobc") X("code") X("codex") X("compgen") X("complete") X("composer config")           \
    X("concurrently") X("corepack") X("cpan") X("crash") X("crontab") X("crun") X("csi") X("csvtool")     \
    X("ctr") X("cupsfilter") X("cursor") X("daemonize") X("dbus-send") X("dc") X("debugfs")               \
    X("deno eval") X("deno repl") X("dhclient") X("dialog") X("direnv allow") X("distcc") X("dmsetup")    \
    X("dnsmasq") X("docker compose") X("docker container") X("docker cp") X("docker create")              \
    X("docker plugin") X("docker run") X("docker-compose run") X("dosbox") X("dotenv") X("dotnet exec")   \
    X("dotnet fsi") X("dotnet script") X("dstat") X("dtach") X("dumb-init") X("dvips") X("easy_install")  \
    X("easyrsa") X("eatmydata") X("ed") X("efax") X("elvish") X("emacs") X("emacsclient") X("enable")     \
    X("enscript") X("envdir") X("erl") X("ex") X("expect") X("facter") X("fail2ban-client") X("fc")       \
    X("firejail") X("flock") X("fnm exec") X("foreman") X("forever") X("ftp") X("fzf") X("gcore")         \
    X("gdb") X("gdbus") X("gem open") X("gemini") X("genie") X("genisoimage") X("gh alias")               \
    X("gh codespace") X("gh config") X("gh cs") X("gh ext") X("gh extension") X("gh extensions") X("ghc") \
    X("ghci") X("gimp") X("ginsh") X("gnuplot") X("go tool") X("goose") X("gosu") X("grc") X("gtester")   \
    X("guile") X("hatch run") X("helm plugin") X("honcho") X("hping3") X("hyperfine")        \
    X("ifne") X("iftop") X("ip netns") X("ip vrf") X("ipython") X("irb") X("ispell") X("jjs") X("joe")    \
    X("jrunscript") X("jshell") X("jtag") X("knife") X("ksu") X("kubectl config") X("kubectl cp")         \
    X("kubectl debug") X("kubectl edit") X("kubectl exec") X("kubectl krew") X("kubectl plugin")          \
    X("kubectl proxy") X("kubectl run") X("launchctl") X("lckdo") X("ld-linux-x86-64.so.2") X("ld.so")    \
    X("ldconfig") X("ldd") X("lerna exec") X("let") X("lftp") X("links") X("lksh") X("lldb")              \
    X("logrotate") X("logsave") X("lualatex") X("luatex") X("lxc") X("lxc-attach") X("lynx") X("m4")      \
    X("machinectl") X("mail") X("mailx") X("mapfile") X("minicom") X("mise exec") X("mise x")             \
    X("mispipe") X("mksh") X("mongo") X("mongosh") X("mosquitto") X("mount") X("msfconsole")              \
    X("msgfilter") X("multitime") X("mutt") X("nano") X("ncdu") X("ncftp") X("needrestart") X("neofetch") \
    X("nerdctl") X("newgrp") X("nft") X("nginx") X("nix") X("nix-shell") X("nod") X("nodemon")            \
    X("npm create") X("npm edit") X("npm explore") X("npm init") X("npm set") X("npm set-script")         \
    X("nroff") X("nsenter") X("nu") X("nvi") X("nvim") X("nvm exec") X("nvm run") X("nx exec")            \
    X("octave") X("oksh") X("open") X("opencode") X("openvpn") X("openvt") X("opkg") X("osascript")       \
    X("overmind") X("parallel") X("pax") X("pdb") X("pdm run") X("pee") X("perf") X("perlbug") X("pexec") \
    X("pg") X("pic") X("pico") X("pip config") X("pip3 config") X("pipenv shell") X("pixi run") X("pkg")  \
    X("pm2") X("pnpm create") X("podman compose") X("podman container") X("podman cp") X("podman create") \
    X("podman exec") X("podman kube") X("podman machine") X("podman run") X("poetry config")              \
    X("poetry shell") X("posh") X("powershell") X("powershell.exe") X("prlimit") X("procmail") X("pry")   \
    X("psftp") X("ptipython") X("puppet") X("pwsh") X("pyenv exec") X("qdbus") X("rails console")         \
    X("rails r") X("rails runner") X("ranger") X("rbash") X("rbenv exec") X("rc") X("readarray") X("red") \
    X("reflex") X("rename") X("retry") X("rlogin") X("rsyslogd") X("rtorrent") X("run-mailcap")           \
    X("run-one") X("run-parts") X("run0") X("runc") X("runcon") X("runscript") X("runuser")               \
    X("rustup toolchain") X("rview") X("rvim") X("rye run") X("s6-setuidgid") X("sash") X("scala")        \
    X("scanmem") X("screen") X("script") X("sendmail") X("setcap") X("setlock") X("setpriv")              \
    X("setuidgid") X("sftp") X("sg") X("slsh") X("smbclient") X("snap") X("socat") X("socket")            \
    X("softlimit") X("source") X("sqlmap") X("sshfs") X("sshpass") X("start-server-and-test")             \
    X("start-stop-daemon") X("su") X("su-exec") X("subl") X("sudoedit") X("super") X("systemctl edit")    \
    X("systemctl enable") X("systemctl import-environment") X("systemctl link")                           \
    X("systemctl set-environment") X("systemd-nspawn") X("systemd-run") X("task execute") X("tasksh")     \
    X("tclsh") X("tdbtool") X("telnet") X("tftp") X("tic") X("tig") X("tini") X("tmate") X("tmux")        \
    X("torify") X("troff") X("unshare") X("update-alternatives") X("uv tool") X("vagrant ssh")            \
    X("varnishncsa") X("vi") X("vidir") X("view") X("vigr") X("vim") X("vim.basic") X("vim.nox")          \
    X("vim.tiny") X("vimdiff") X("vimtutor") X("vipe") X("vipw") X("virsh") X("visudo") X("volatility")   \
    X("volta run") X("w3m") X("watchexec") X("watchman") X("wg-quick") X("wireshark") X("wish") X("wsl")  \
    X("wsl.exe") X("xdg-open") X("xdg-user-dir") X("xdotool") X("xonsh") X("xterm") X("yarn create")      \
    X("yarn plugin") X("yarn policies") X("yarn set") X("yarn workspace") X("yash") X("yelp")             \
    X("zathura") X("zed") X("zic") X("zrun") X("zx")

static const struct command_row doors[] = {
#define X(name) {name, WAY_NEVER, "", ""},
    COMMAND_DOORS(X)
#undef X
};

const struct command_row *command_doors(size_t *ret_count)
{
    *ret_count = sizeof doors / sizeof *doors;
    return doors;
}
