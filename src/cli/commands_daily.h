/* Commands of agents and of people who answer them: a part of the table in commands.h, which names the columns. */
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
      OPTION('s', "session", "ID", "only look at calls of this session"))                                  \
    X(claude, "claude", TALKS | SITS | WRAPS, "[ARGUMENT...]", "run Claude Code; it asks here before it acts", \
      "Every ARGUMENT goes to Claude Code; put Nod's own options before the word claude. -p \"...\" runs one " \
      "prompt; without it a terminal is a conversation, and elsewhere every line of standard input is a prompt. " \
      "Rules answer each tool call, or a person: here, on the page or with nod approve. All of it is in the log. " \
      "Settings of the repository are not read unless --setting-sources says so. Ctrl-C interrupts the "   \
      "turn, a second one ends it all.", )                                                                 \
    X(once_codex, "codex", TALKS | WRAPS, "[ARGUMENT...]", "run Codex with Nod's hook, for this run alone", \
      "Every ARGUMENT goes to Codex; put Nod's own options before the word codex. Its settings stay as they " \
      "are: the hook, and that it is trusted, are options of this run. What would take the hook away is refused.", ) \
    X(codex_talk, "codex talk", TALKS | SITS | WRAPS, "[OPTION...]", "talk with Codex; it asks here before it acts", \
      "Every line of standard input is a prompt; -p is one, and then the end. Codex is run as its app-server, " \
      "so that each command, patch and tool of an MCP server that it asks about waits until a rule or a person " \
      "allows it, and the conversation goes into the log; each OPTION behind -- goes to Codex. --sandbox puts all " \
      "of it in a box.",                                                                                    \
      OPTION('p', "prompt", "WORDS", "one prompt, then the end")                                             \
      OPTION(0, "identity", "FILE", "who this program is; else one is made for this folder"))                \
    X(once_opencode, "opencode", TALKS | WRAPS, "[ARGUMENT...]", "run opencode with Nod's plugin, for this run alone", \
      "Every ARGUMENT goes to opencode; put Nod's own options before the word opencode. Its settings stay as "  \
      "they are: the plugin is named in a variable of this run. What would take it away is refused.", )     \
    X(mcp, "mcp", TALKS | SITS, "[install] [CLIENT]", "be an MCP server on standard input and output",              \
      "Its tools: approve (for Claude Code's --permission-prompt-tool mcp__nod__approve), ask_human, "      \
      "pending_calls. install makes an identity for the agents of this folder and prints the entry for "   \
      "an MCP client. install CLIENT puts nod mcp proxy in front of every server in that client's settings: " \
      "claude-desktop, claude, claude-project, codex, cursor, vscode, copilot, gemini, qwen, zed. The server itself " \
      "speaks the same over HTTP at /api/mcp.",                                                            \
      OPTION(0, "identity", "FILE", "who this program is and to which server it speaks; install makes it") \
      OPTION(0, "settings", "FILE", "install CLIENT: its settings; else where it keeps them")              \
      OPTION(0, "remove", NULL, "install CLIENT: restore its settings as they were")                       \
      OPTION('y', "yes", NULL, "install CLIENT: write it"))                                                \
    X(proxy, "mcp proxy", TALKS | SITS, "[PROGRAM...]", "stand in front of an MCP server; its tools ask here",       \
      "Everything passes as it is, but for calls of tools: each waits until a rule or a person allows it. A "    \
      "tool whose definition the server changes is asked about before it is used again. Write it into an MCP " \
      "client's settings in the server's place: nod mcp proxy --identity FILE --name NAME -- PROGRAM... For a " \
      "server on the web --url URL takes the place of the program.",                                         \
      OPTION(0, "identity", "FILE", "who this program is and to which server it speaks; nod mcp install makes it") \
      OPTION(0, "name", "NAME", "of the server: its tools are mcp__NAME__TOOL; else the program's")          \
      OPTION(0, "listen", "127.0.0.1:PORT", "speak HTTP there, with clients that send the identity's token")  \
      OPTION(0, "header-env", "NAME=VARIABLE", "with --url: a header with the variable's value; may be repeated")) \
    X(acp, "acp", TALKS | SITS | WRAPS, "AGENT...", "stand between an editor and an ACP agent; it asks here",         \
      "Name it in the editor's settings in the agent's place: nod acp -- gemini --acp. Everything passes as it " \
      "is, but for permissions, files that are written, terminals and switches of the mode: each waits until a " \
      "rule or a person allows it. The agent is started so that it asks about everything it can be made to ask " \
      "about; --sandbox puts all of it in a box. With -p there is no editor: one prompt, then the end; files and " \
      "terminals are served from this folder, each act asked about.",                                         \
      OPTION('p', "prompt", "WORDS", "be the client for one prompt")                                         \
      OPTION(0, "agent", "NAME", "one of" AGENT_WORDS "; else by the program's name") \
      OPTION(0, "auth", "METHOD", "with -p: how the agent is to log in")                                     \
      OPTION(0, "identity", "FILE", "who this program is; else one is made for this folder"))                \
    X(hook, "hook", TALKS, "[install|remove] [AGENT]", "answer an agent's hook, or install it",       \
      "AGENT is one of" AGENT_WORDS "; else claude. Without install and remove its message comes " \
      "from standard input and its answer goes to standard output; whatever goes wrong is a refusal. "     \
      "install and remove show the change and write it when you agree.",                                   \
      OPTION(0, "wait", "TIME", "how long a person may take (590s)")                                       \
      OPTION(0, "identity", "FILE", "who this hook is and to which server it speaks; install makes it")    \
      OPTION(0, "strict", NULL, "ask a person also what Claude Code's own rules allow")                    \
      OPTION(0, "settings", "FILE", "install, remove: the agent's settings; else the person's own")        \
      OPTION(0, "http", NULL, "install: let the agent call the server itself, with NOD_TOKEN")             \
      OPTION(0, "start", NULL, "install: start a server in the background when none runs")                 \
      OPTION('y', "yes", NULL, "install, remove: write without asking"))                                   \
    X(run, "run", TALKS, "[WORDS...]", "let Nod's own agent do something",                                 \
      "Shows what the agent says and does, and asks here before it changes anything: y yes, n no with "    \
      "words for the agent, s for the session, a always, e edit first, q end the run. Others may answer "  \
      "too. The run lives in the server: it goes on when this command ends. Ctrl-C cancels it. Exit "      \
      "status 0 when it completed, 1 when not. Without WORDS, at a terminal, it is a conversation: "       \
      "write what is to be done, answer questions in place, write again.",                                 \
      OPTION(0, "cwd", "DIR", "the folder to work in; else this one")                                      \
      OPTION(0, "model", "MODEL", "which model; else the server's")                                        \
      OPTION(0, "mode", "MODE", MODE_WORDS)                                                                \
      OPTION('s', "session", "ID", "go on in this session")                                                \
      OPTION(0, "iterations", "N", "answers of the model, at most (50)")                               \
      OPTION('d', "detach", NULL, "print the request's id and leave the asking to others")                 \
      OPTION(0, "resume", "ID", "show a request again, and ask what waits"))                               \
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
      OPTION('n', "limit", "N", "end after so many"))

#endif
