/* Commands by which people begin, scripts ask and people answer: a part of the table in
 * commands.h, which names the columns. */
#ifndef CLI_COMMANDS_DAILY_H
#define CLI_COMMANDS_DAILY_H

#define DAILY_COMMANDS(X)                                                                                  \
    X(serve, "serve", SERVES | KEEPS, "", "run the server",                                                \
      "The first start makes the data folder and in it an admin token, which every other command finds "   \
      "by itself. Ctrl-C or SIGTERM stops the server when all that was accepted is kept.",                 \
      OPTION(0, "routes", NULL, "print method and path of every route, and end"))                          \
    X(setup, "setup", TALKS | SERVES | KEEPS, "", "from nothing to protected: server, hooks, first rules",         \
      "Says what it will do and asks once: starts the server (a user unit of systemd where that runs, else a " \
      "process in the background), installs the hooks of the agents it finds, adds starter rules for tests "  \
      "(they hold in every folder), sends a test call through each hook, and prints a link to the page. Called " \
      "again it changes only what is missing. --remove takes out exactly what it put in; the events stay.", \
      OPTION('y', "yes", NULL, "do it without asking")                                                     \
      OPTION('n', "dry-run", NULL, "only say what would be done")                                          \
      OPTION(0, "no-rules", NULL, "add no starter rules")                                                  \
      OPTION(0, "background", NULL, "start the server in the background, without systemd")                 \
      OPTION(0, "remove", NULL, "take out what setup put in"))                                             \
    X(setup_system, "setup system", TALKS | SERVES, "", "the server under a user of its own, on a machine of several", \
      "As root. Makes the user and the group, a socket for people (the group) and one for agents (everyone, asking " \
      "only), a service, an identity for the agents of each developer and a token for each person. Called again it " \
      "changes only what is missing. --remove takes out exactly what it put in; the events stay.",          \
      OPTION(0, "developer", "USER", "whose agents ask; may be repeated")                                  \
      OPTION(0, "person", "USER", "who answers; may be repeated")                                          \
      OPTION(0, "user", "NAME", "of the server; else nod")                                                 \
      OPTION(0, "group", "NAME", "of people; else nod-people")                                             \
      OPTION(0, "root", "DIR", "put before every path, for images")                                        \
      OPTION('y', "yes", NULL, "do it")                                                                    \
      OPTION('n', "dry-run", NULL, "only say what would be done")                                          \
      OPTION(0, "background", NULL, "start the server in the background, without systemd")                 \
      OPTION(0, "remove", NULL, "take out what it put in"))                                                \
    X(session_create, "session create", TALKS, "", "start a session", "Prints the new session's id.",      \
      OPTION(0, "title", "WORDS", "what people see; else the folder's name")                               \
      OPTION(0, "cwd", "DIR", "where its calls would run; else this folder")                               \
      OPTION(0, "mode", "MODE", MODE_WORDS)                                                                \
      OPTION(0, "timeout", "TIME", "how long a call waits for a person; 0: for ever")                      \
      OPTION(0, "policy", "TOOL=EFFECT", "allow, deny or ask for a whole tool; may be repeated"))          \
    X(session_list, "session list", TALKS, "", "list sessions, the latest first", "", )                    \
    X(session_show, "session show", TALKS, "SESSION", "show a session and its threads", "", )              \
    X(session_set, "session set", TALKS, "SESSION", "change a session",                                    \
      "A change holds from the next call on.",                                                             \
      OPTION(0, "title", "WORDS", "what people see")                                                       \
      OPTION(0, "cwd", "DIR", "where its calls would run")                                                 \
      OPTION(0, "mode", "MODE", MODE_WORDS)                                                                \
      OPTION(0, "timeout", "TIME", "how long a call waits for a person; 0: for ever")                      \
      OPTION(0, "policy", "TOOL=EFFECT", "allow, deny, ask, or none to forget it; may be repeated"))       \
    X(session_prompt, "session prompt", TALKS, "SESSION WORDS", "tell a wrapped agent what to do next",    \
      "For a session that nod claude runs.", )                                                             \
    X(session_interrupt, "session interrupt", TALKS, "SESSION", "stop a wrapped agent's turn",             \
      "For a session that nod claude runs: it stops what it is doing, and what waits is withdrawn.", )     \
    X(call, "call", TALKS | SITS, "TOOL INPUT", "ask whether a tool may be used",                          \
      "INPUT is the tool's input, a JSON object; - reads it from standard input. Without --session, "      \
      "--thread and NOD_SESSION a new session is made for the call. With --wait the command outlives "     \
      "restarts of the server; Ctrl-C takes the question back.",                                           \
      OPTION('w', "wait", "[SECONDS]", "wait for a person's answer, for ever or at most so long")          \
      OPTION('s', "session", "ID", "ask in this session")                                                  \
      OPTION('t', "thread", "ID", "ask in this thread")                                                    \
      OPTION(0, "id", "ID", "the call's id: asking again with it, in the same session, asks about the same call") \
      OPTION(0, "cwd", "DIR", "where the tool would run; else this folder"))                               \
    X(pending, "pending", TALKS, "", "list calls that wait for a person",                                  \
      "A single one is shown in full.",                                                                    \
      OPTION('s', "session", "ID", "only of this session")                                                 \
      OPTION(0, "watch", NULL, "go on and show every change"))                                             \
    X(watch, "watch", TALKS, "", "answer calls in the terminal",                                           \
      "The inbox with keys: j and k move, y allows once, n denies with words, ? shows the others.", )      \
    X(desktop, "desktop", TALKS, "", "show waiting calls as notifications of this desktop",                \
      "With buttons that answer, where the desktop has them. A call that is risky, or not whole in the "   \
      "notification, can be denied there and not allowed. Runs until it is ended.",                        \
      OPTION(0, "after", "TIME", "only calls that have waited so long"))                                   \
    X(login, "login", TALKS, "", "make a link that logs a browser in",                                     \
      "The link works once, within ten minutes. Whoever opens it may do what its role may.",               \
      OPTION(0, "name", "NAME", "whose it is; decisions are recorded under it")                            \
      OPTION(0, "role", "ROLE", "admin, approver or viewer; else admin"))                                  \
    X(pending_show, "show", TALKS, "CALL", "show everything about one call",                               \
      "CALL is an id, or the beginning or end of the id of a waiting call.",                               \
      OPTION(0, "full", NULL, "all of a long input or result; else its beginning is shown"))               \
    X(decide_approve, "approve", TALKS, "[CALL...]", "let waiting calls go ahead",                         \
      "CALL is an id, its beginning or its end; without one, the only waiting call is meant.",             \
      OPTION(0, "session-wide", NULL, "allow this tool for the rest of the session")                       \
      OPTION(0, "always", NULL, "allow it from now on, by the narrowest rule for it; see nod policy list")  \
      OPTION(0, "scope", "SCOPE", "with --always: where: session, project (if not given) or everywhere")    \
      OPTION(0, "for", "TIME", "with --always: how long the rule is valid")                                 \
      OPTION(0, "uses", "N", "with --always: for how many calls the rule is valid")                         \
      OPTION('m', "message", "WORDS", "tell the agent something")                                          \
      OPTION(0, "input", "JSON", "run with this input instead; - reads it from standard input")            \
      OPTION(0, "mode", "MODE", "switch the session to this permission mode as well")                      \
      OPTION('s', "session", "ID", "only look at calls of this session")                                   \
      OPTION(0, "all", NULL, "every waiting call but risky and large ones; needs --yes")                   \
      OPTION(0, "agent", "NAME", "with --all: only calls of this agent")                                   \
      OPTION('y', "yes", NULL, "with --all: do it without asking"))                                        \
    X(decide_deny, "deny", TALKS, "[CALL...]", "refuse waiting calls",                                     \
      "CALL is an id, its beginning or its end; without one, the only waiting call is meant.",             \
      OPTION('m', "message", "WORDS", "tell the agent why, or what to do instead")                         \
      OPTION(0, "abort", NULL, "stop the agent's run as well")                                             \
      OPTION('s', "session", "ID", "only look at calls of this session")                                   \
      OPTION(0, "all", NULL, "every waiting call")                                                         \
      OPTION(0, "agent", "NAME", "with --all: only calls of this agent"))                                  \
    X(mark_snooze, "snooze", TALKS, "CALL TIME", "put a waiting call off",                                 \
      "Nobody is reminded of it until then; its deadline holds, and it can still be answered. TIME is seconds, or "\
      "90s, 30m, 2h, 1d; 0 ends it.",                                                                      \
      OPTION('s', "session", "ID", "only look at calls of this session"))                                  \
    X(mark_assign, "assign", TALKS, "CALL [PERSON]", "ask a person to answer a waiting call",              \
      "PERSON is the name of a token that may answer. They are told on their channels, and others are not "\
      "reminded any more; anybody who may answer still may. Without PERSON it is for anybody again.",      \
      OPTION('s', "session", "ID", "only look at calls of this session"))                                  \
    X(answer, "answer", TALKS, "[CALL]", "answer an agent's questions",                                    \
      "Shows what an agent asks (AskUserQuestion, forms of MCP servers) and asks it here. CALL is an id, its "\
      "beginning or its end; without one, the only call that asks is meant. An answer is the number or the "\
      "words of an option, or words of your own.",                                                         \
      OPTION('a', "answer", "ANSWER", "answer without asking; repeat it, in the order of the questions")   \
      OPTION('s', "session", "ID", "only look at calls of this session"))

#endif
