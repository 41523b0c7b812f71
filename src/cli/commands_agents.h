/* Commands that run an agent or speak with one: a part of the table in commands.h, which names the columns. */
#ifndef CLI_COMMANDS_AGENTS_H
#define CLI_COMMANDS_AGENTS_H

#define AGENT_COMMANDS(X)                                                                                  \
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
      OPTION(0, "resume", "ID", "show a request again, and ask what waits"))

#endif
