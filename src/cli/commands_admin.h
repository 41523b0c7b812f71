/* The log, and commands of whoever looks after an installation: a part of the table in commands.h, which names the
 * columns. */
#ifndef CLI_COMMANDS_ADMIN_H
#define CLI_COMMANDS_ADMIN_H

#define ADMIN_COMMANDS(X)                                                                                  \
    X(log, "log", TALKS, "", "print events, oldest first",                                                 \
      "Following begins 20 events before the last one, unless told otherwise, and goes on after restarts " \
      "of the server, without gap or repeat. With --json each event is one line.",                         \
      OPTION('f', "follow", NULL, "go on with what happens")                                               \
      OPTION(0, "format", "FORMAT", "text, jsonl, csv, or cloudevents (CloudEvents 1.0, one a line)")      \
      OPTION('s', "session", "ID", "only of this session")                                                 \
      OPTION('t', "thread", "ID", "only of this thread")                                                   \
      OPTION(0, "type", "TYPE,...", "only events of these types")                                          \
      OPTION(0, "text", "WORDS", "only events that hold these words")                                      \
      OPTION(0, "archive", "FILE", "from an archive; needs no server")                                     \
      OPTION(0, "after", "SEQ", "only after this event")                                                   \
      OPTION(0, "last", "N", "only of the last so many events")                                            \
      OPTION('n', "limit", "N", "end after so many"))                                                \
    X(otlp, "otlp", TALKS, "URL", "send calls as traces and events as logs to an OpenTelemetry collector", \
      "OTLP over HTTP, in JSON, to URL/v1/traces and URL/v1/logs, until it is ended. What the collector does not " \
      "take is sent again. Inputs, results and words stay here without --content.",                         \
      OPTION(0, "state", "FILE", "where the last event that was taken is kept, to go on from after a restart") \
      OPTION(0, "after", "SEQ", "begin after this event; else where FILE says, else with what happens from now on") \
      OPTION(0, "once", NULL, "send what there is, and end")                                               \
      OPTION(0, "content", NULL, "send inputs, results and words, too")                                    \
      OPTION(0, "header-env", "NAME=VARIABLE", "a header with the variable's value; may be repeated")) \
    X(policy_list, "policy list", TALKS, "", "list rules by layer", "",                                    \
      OPTION('s', "session", "ID", "with the project's and the session's own"))                            \
    X(policy_add, "policy add", TALKS, "EFFECT RULE", "add a rule: allow, ask or deny",                    \
      "For example: nod policy add allow 'Bash(npm test:*)'. Prints the rule's id.",                        \
      OPTION('s', "session", "ID", "for this session only")                                                \
      OPTION(0, "project", "DIR", "holds in sessions of this project only")                                 \
      OPTION(0, "reason", "WORDS", "why")                                                                   \
      OPTION(0, "force", NULL, "also a deny or ask that would stop nothing")                                \
      OPTION(0, "uses", "N", "for how many calls the rule is valid")                                        \
      OPTION(0, "people", "N", "of ask: how many persons must allow it")                                    \
      OPTION(0, "for", "TIME", "how long the rule is valid")                                                \
      OPTION(0, "match", "TEXT", "an example that it must fit; may be repeated")                            \
      OPTION(0, "not-match", "TEXT", "an example that it must not fit; may be repeated"))                   \
    X(policy_lint, "policy lint", TALKS, "[FILE]", "name rules that do not do what they say",              \
      "Without FILE, of the running server. FILE is a policy file, settings with `permissions`, or lines " \
      "of `allow RULE`, `ask RULE` and `deny RULE`. Exit status 1 when something was found.", )            \
    X(policy_remove, "policy remove", TALKS, "ID", "revoke a rule, at once", "",                           \
      OPTION('s', "session", "ID", "a rule of this session"))                                              \
    X(policy_explain, "policy explain", TALKS, "TOOL INPUT", "say which rule decides a call, and why",     \
      "INPUT is the tool's input, a JSON object; - reads it from standard input.",                         \
      OPTION('s', "session", "ID", "as a call of this session")                                            \
      OPTION(0, "cwd", "DIR", "where it would run; else this folder")                                      \
      OPTION(0, "mode", "MODE", "under this permission mode"))                                             \
    X(policy_try, "policy try", TALKS, "RULE", "say what a rule would have done to the last calls", "",    \
      OPTION(0, "on-history", NULL, "test it on the calls recorded so far (the default)"))        \
    X(policy_trust, "policy trust", TALKS, "SESSION", "trust the policy file of a session's folder",       \
      "Its rules are shown. It is trusted as it is now: one byte changed, and it only tightens again.",    \
      OPTION(0, "forget", NULL, "trust it no longer"))                                                     \
    X(policy_bind, "policy bind", TALKS, "[ID...]", "say where rules hold: in a project, or everywhere",   \
      "Without an ID, lists those that ask until a person has said so.",                                   \
      OPTION(0, "project", "DIR", "in sessions of this project only")                                       \
      OPTION(0, "everywhere", NULL, "in every session"))                                                    \
    X(policy_test, "policy test", PRINTS, "RULE TOOL INPUT", "say whether a rule names a call",            \
      "Needs no server. Exit status 0: yes, 1: no.",                                                       \
      OPTION(0, "cwd", "DIR", "where the call would run; else this folder")                                 \
      OPTION(0, "home", "DIR", "the home folder; else yours"))                                              \
    X(policy_show, "policy show", PRINTS, "[GROUP]", "list the groups that rules may name, or one's commands", \
      "A rule `@git-read` means each command of that group.", )                                             \
    X(policy_import, "policy import", TALKS, "KIND FILE", "take over rules of another program",            \
      "KIND is claude-code or gemini (settings.json), codex (.rules, config.toml) or opencode. Says line by " \
      "line what could not be taken over.",                                                                \
      OPTION('n', "dry-run", NULL, "only show what would be added")                                        \
      OPTION(0, "force", NULL, "also when a deny or ask would be lost, or would stop nothing")) \
    X(policy_check, "policy check", PRINTS, "FILE", "judge a table of calls, each by its one rule",        \
      "FILE has the columns id, rule, tool, input, expected, why, with tabs between them. Exit status 1 "  \
      "when a call passes that should not.",                                                               \
      OPTION(0, "cwd", "DIR", "the project's folder")                                                      \
      OPTION(0, "home", "DIR", "the home folder"))                                                         \
    X(token_create, "token create", TALKS, "", "make a token", "Prints the token, which is shown only now.", \
      OPTION(0, "role", "ROLE", "admin, approver, agent or viewer")                                        \
      OPTION(0, "name", "NAME", "who it is for; decisions are recorded under it")                          \
      OPTION(0, "scope", "SCOPE", "a right beyond the role's: rules.user, trust, run, …; may be repeated") \
      OPTION(0, "folder", "DIR", "an agent's: where it may start sessions unasked; may be repeated")       \
      OPTION('s', "session", "ID", "good for this session only"))                                          \
    X(token_list, "token list", TALKS, "", "list tokens", "", )                                            \
    X(token_revoke, "token revoke", TALKS, "ID", "make a token worthless, at once", "", )                  \
    X(key_create, "key create", TALKS, "", "make a key with which you sign decisions",                     \
      "A passphrase protects its file. As soon as a key is known, risky calls are allowed only with a "    \
      "signature: on the page with a passkey, here with this key.",                                        \
      OPTION(0, "name", "NAME", "what to call it in lists; else terminal")                                 \
      OPTION(0, "with", "FILE", "the key of yours that vouches for it, when there is one already")         \
      OPTION(0, "recovery", NULL, "all keys are lost: a recovery code vouches for it, and it counts later")) \
    X(key_list, "key list", TALKS, "", "list the keys of people", "", )                                    \
    X(key_revoke, "key revoke", TALKS, "ID", "revoke a key: it no longer signs",                           \
      "Needs a signature, unless the server was started with --signed off.", )                             \
    X(key_recovery, "key recovery", TALKS, "", "make ten recovery codes, for when all your keys are lost", \
      "Each is good for one `nod key create --recovery`. The new key signs after a day (recovery-delay), " \
      "and any key can revoke it until then. Older codes are no longer valid.       ", )                   \
    X(key_reset, "key reset", TALKS, "[PERSON]", "revoke all keys, or a person's, without a signature",    \
      "For root, on the machine of a server that runs under a user of its own. The events keep that nobody " \
      "signed it, and `nod verify --signatures` says so.", )                                               \
    X(executor, "executor", SERVES, "", "do the tools of runs as this user, for another user's server", \
      "Connects to `executor-socket` of a server whose setting `executor` names this user, and goes on until it is " \
      "ended. `nod setup system --developer` starts it.", )                                                \
    X(store_copy, "store copy", PRINTS, "FROM TO", "copy all events into another store, and verify them",  \
      "FROM and TO are urls: sqlite:PATH or postgres://USER@HOST/DATABASE. No server may run on either. "  \
      "Interrupted, it goes on where it was when it is started again.", )                                  \
    X(archive, "archive", TALKS | KEEPS, "", "move finished sessions into a file of their own",            \
      "The file, in the folder archive of the data folder, is verified before anything leaves the store. " \
      "Interrupted, it goes on where it was. To look into it: nod log --archive, nod verify.",             \
      OPTION(0, "older-than", "TIME", "how long nothing has happened, for example 30d"))                   \
    X(verify, "verify", KEEPS | PRINTS, "[FILE...]", "check that no kept event was changed",               \
      "Of the store and its archives, or of these. Exit status 1, and the first bad event, when it was.",  \
      OPTION(0, "signatures", NULL, "also prove who allowed each call, by the keys that the store knows")  \
      OPTION(0, "trust", "FILE", "the same by the keys whose ids are in FILE, one in a line"))             \
    X(doctor, "doctor", TALKS | SERVES | KEEPS | SITS | WRAPS, "", "say what is wrong with this installation", \
      "Exit status 1 when something is bad.", )                                                            \
    X(notify_channels, "notify channels", TALKS, "", "show the channels for messages, and whether they work", \
      "Channels and routes are in notify.json in the data folder; docs/NOTIFY.md has examples.", )         \
    X(notify_list, "notify list", TALKS, "", "list the messages about calls that wait", "", )              \
    X(notify_test, "notify test", TALKS, "CHANNEL", "send a test message",                                 \
      "Prints the receiver's answer when it refuses the message.", )                                       \
    X(pair, "pair", TALKS, "", "log a phone in, by a picture that its camera reads",                       \
      "Draws a QR code of a link that works once, within ten minutes, and prints a code that can be typed instead. " \
      "The phone must reach the server: --public-url and a certificate (nod tls init).",                   \
      OPTION(0, "name", "NAME", "whose phone it is; decisions are recorded under it")                      \
      OPTION(0, "role", "ROLE", "approver (if not given), admin or viewer"))                               \
    X(tls_init, "tls init", KEEPS, "", "make a certificate for this machine, and its authority", \
      "Both are written to the folder tls of the data folder, where `nod serve` finds them. Prints how to make " \
      "each system trust the authority. Run it again for a new certificate of the same authority.",        \
      OPTION(0, "name", "NAME", "a host name or address of this machine; may be repeated; without it: all of them") \
      OPTION(0, "new", NULL, "also a new authority, which each device must be told to trust"))              \
    X(demo, "demo", TALKS, "", "let a small scripted agent ask the running server",                        \
      "Answer it from another terminal with `nod approve` and `nod deny`.", )                              \
    X(config, "config", TALKS | SERVES | KEEPS | SITS | WRAPS, "", "print each setting and where it comes from", "", \
      OPTION(0, "example", NULL, "print an example of the configuration file"))                            \
    X(completion, "completion", PRINTS, "SHELL", "print completions for bash, zsh or fish",                \
      "For bash: source <(nod completion bash)", )                                                         \
    X(man, "man", PRINTS, "", "print the manual page", "To read it: nod man | man -l -", )                 \
    X(help, "help", PRINTS, "[COMMAND...]", "explain a command, or the settings: nod help settings", "", )  \
    X(help_version, "version", PRINTS, "", "print the version", "", )

#endif
