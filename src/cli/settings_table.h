/* The rows of the settings' table: a new setting is one row. Included by settings.h, which has the rest. */
#ifndef CLI_SETTINGS_TABLE_H
#define CLI_SETTINGS_TABLE_H

#include "base/limits.h"

/* Which commands a setting means something to. */
enum audience {
    TALKS = 1,  /* the command connects to a server */
    SERVES = 2, /* the command is a server */
    KEEPS = 4,  /* the command opens the store itself */
    PRINTS = 8, /* it prints text for people */
    SITS = 16, WRAPS = 32, /* SITS: asks in the session that NOD_SESSION names; WRAPS: starts an agent */
};

/* Where else than in the environment a setting may stand. */
enum { IN_FLAGS = 1, IN_FILE = 2 };

/* In a default, DATA and SOCKET stand for the values of those settings.
 *
 *    field, kind, name, environment, where, for whom, default, value, words, … */
#define SETTINGS(X)                                                                                        \
    X(config, PATH, "config", "NOD_CONFIG", IN_FLAGS, TALKS | SERVES | KEEPS, "", "FILE",                  \
      "the configuration file; else $XDG_CONFIG_HOME/nod/config or ~/.config/nod/config")                  \
    X(data, PATH, "data", "NOD_DATA", IN_FLAGS | IN_FILE, TALKS | SERVES | KEEPS, "", "DIR",               \
      "the data folder; else $XDG_DATA_HOME/nod or ~/.local/share/nod")                                    \
    X(listen, TEXT, "listen", "NOD_LISTEN", IN_FLAGS | IN_FILE, SERVES, "127.0.0.1:7717", "HOST:PORT",     \
      "where the server listens; port 0 lets the system choose one")                                       \
    X(listen_tls, TEXT, "listen-tls", "NOD_LISTEN_TLS", IN_FLAGS | IN_FILE, SERVES, "127.0.0.1:7718", "HOST:PORT", \
      "where it listens with TLS, once there is a certificate: 0.0.0.0:7718 for phones")                   \
    X(tls_cert, PATH, "tls-cert", "NOD_TLS_CERT", IN_FLAGS | IN_FILE, SERVES, "DATA/tls/cert.pem", "FILE", \
      "the certificate, in PEM, those that vouch for it behind it; a change is noticed")                   \
    X(tls_key, PATH, "tls-key", "NOD_TLS_KEY", IN_FLAGS | IN_FILE, SERVES, "DATA/tls/key.pem", "FILE",     \
      "its key")                                                                                           \
    X(socket, PATH, "socket", "NOD_SOCKET", IN_FLAGS | IN_FILE, TALKS | SERVES, "DATA/nod.sock", "PATH",   \
      "the server's Unix socket")                                                                          \
    X(socket_group, TEXT, "socket-group", "NOD_SOCKET_GROUP", IN_FLAGS | IN_FILE, SERVES, "", "GROUP",     \
      "users of this group may connect to it, too")                                                        \
    X(agents_socket, PATH, "agents-socket", "NOD_AGENTS_SOCKET", IN_FLAGS | IN_FILE, SERVES, "", "PATH",   \
      "a second Unix socket that every user may connect to, and that takes tokens of agents only")         \
    X(executor, TEXT, "executor", "NOD_EXECUTOR", IN_FLAGS | IN_FILE, SERVES, "", "USER",                  \
      "tools of runs are done by the `nod executor` of this user, and not by the server")                  \
    X(executor_socket, PATH, "executor-socket", "NOD_EXECUTOR_SOCKET", IN_FLAGS | IN_FILE, SERVES,         \
      "", "PATH", "the Unix socket at which that executor connects")                                       \
    X(store, TEXT, "store", "NOD_STORE", IN_FLAGS | IN_FILE, SERVES | KEEPS, "sqlite:DATA/nod.db", "URL",  \
      "where events are kept")                                                                             \
    X(url, TEXT, "url", "NOD_URL", IN_FLAGS | IN_FILE, TALKS, "unix:SOCKET", "URL",                        \
      "the server to talk to: http://HOST:PORT or unix:PATH")                                              \
    X(token, SECRET, "token", "NOD_TOKEN", 0, TALKS, "", "TOKEN",                                          \
      "the token itself; comes before token-file, unless that is a flag")                                  \
    X(token_file, PATH, "token-file", "NOD_TOKEN_FILE", IN_FLAGS | IN_FILE, TALKS, "DATA/admin.token",     \
      "FILE", "the file that holds the token")                                                             \
    X(key, PATH, "key", "NOD_KEY", IN_FLAGS | IN_FILE, TALKS, "DATA/signing.key", "FILE",                  \
      "the file with your own key, which signs decisions")                                                 \
    X(session, TEXT, "session", "NOD_SESSION", 0, SITS, "", "ID", "the session to ask in when none is given") \
    X(claude, TEXT, "claude", "NOD_CLAUDE", IN_FLAGS | IN_FILE, WRAPS, "claude", "PROGRAM",                \
      "the Claude Code that `nod claude` starts")                                                          \
    X(codex, TEXT, "codex", "NOD_CODEX", IN_FLAGS | IN_FILE, WRAPS, "codex", "PROGRAM",                    \
      "the Codex that `nod codex` starts")                                                                 \
    X(opencode, TEXT, "opencode", "NOD_OPENCODE", IN_FLAGS | IN_FILE, WRAPS, "opencode", "PROGRAM",        \
      "the opencode that `nod opencode` starts")                                                           \
    X(claude_rules, FLAG, "claude-rules", NULL, IN_FLAGS | IN_FILE, WRAPS, "no", NULL,                     \
      "`nod claude`: what is always allowed also becomes a rule in the project's Claude Code settings")    \
    X(approval_timeout_s, DURATION, "approval-timeout", "NOD_APPROVAL_TIMEOUT", IN_FLAGS | IN_FILE,        \
      SERVES, "0", "TIME", "how long a call waits for a person in sessions that do not say; 0: for ever",  \
      .max = LIMIT_TIMEOUT_SECONDS)                                                                        \
    X(alert_after_s, DURATION, "alert-after", "NOD_ALERT_AFTER", IN_FLAGS | IN_FILE, SERVES, "5m", "TIME", \
      "remind people of a call that nobody has answered for so long; 0: never", .max = 366 * 86400)    \
    X(withdraw_after_s, DURATION, "withdraw-after", "NOD_WITHDRAW_AFTER", IN_FLAGS | IN_FILE, SERVES, "2m", "TIME", \
      "withdraw a call whose asker said that it waits, and has been gone for so long", .max = 366 * 86400) \
    X(archive_after_s, DURATION, "archive-after", "NOD_ARCHIVE_AFTER", IN_FLAGS | IN_FILE, SERVES, "0", "TIME", \
      "finished sessions in which nothing has happened for so long move into an archive; 0: never",      \
      .max = 36600 * 86400LL)                                                                              \
    X(heartbeat_s, DURATION, "heartbeat", "NOD_HEARTBEAT", IN_FLAGS | IN_FILE, SERVES, "15s", "TIME",      \
      "how often an idle stream shows that it is alive", .min = 1, .max = 3600)                            \
    X(waiting_per_token, NUMBER, "waiting-per-token", "NOD_WAITING_PER_TOKEN", IN_FLAGS | IN_FILE, SERVES, \
      "100", "N", "calls of one agent that may wait for a person; 0: any number", .max = 100000000)        \
    X(waiting_per_session, NUMBER, "waiting-per-session",                                                  \
      "NOD_WAITING_PER_SESSION", IN_FLAGS | IN_FILE, SERVES, "200", "N",                                   \
      "the same, of one session", .max = 100000000)                                                        \
    X(waiting_total, NUMBER, "waiting-total", "NOD_WAITING_TOTAL", IN_FLAGS | IN_FILE, SERVES,             \
      "20000", "N", "the same, of all", .max = 100000000)                                                  \
    X(waiting_bytes_per_token, NUMBER, "waiting-bytes-per-token",                                          \
      "NOD_WAITING_BYTES_PER_TOKEN", IN_FLAGS | IN_FILE, SERVES, "16777216", "N",                          \
      "bytes that waiting calls of one agent may hold; 0: any number", .max = 1LL << 40)                   \
    X(waiting_bytes_total, NUMBER, "waiting-bytes-total",                                                  \
      "NOD_WAITING_BYTES_TOTAL", IN_FLAGS | IN_FILE, SERVES, "268435456", "N",                             \
      "the same, of all", .max = 1LL << 40)                                                                \
    X(asks_per_second, NUMBER, "asks-per-second", "NOD_ASKS_PER_SECOND", IN_FLAGS | IN_FILE, SERVES,       \
      "20", "N",                                                                                           \
      "how often one agent may ask people, beside what rules answer; 0: any number",                       \
      .max = 1000000)                                                                                      \
    X(asks_burst, NUMBER, "asks-burst", "NOD_ASKS_BURST", IN_FLAGS | IN_FILE, SERVES,                      \
      "100", "N", "so many it may ask at once", .max = 1000000)                                            \
    X(connections, NUMBER, "max-connections", "NOD_MAX_CONNECTIONS", IN_FLAGS | IN_FILE, SERVES,           \
      "20000", "N", "TCP connections at once; further ones wait", .min = 1, .max = 1000000)                \
    X(strangers, NUMBER, "strangers", "NOD_STRANGERS", IN_FLAGS | IN_FILE, SERVES,                         \
      "512", "N", "of these, without a token; beyond it the oldest are closed", .min = 1, .max = 1000000)  \
    X(strangers_per_address, NUMBER, "strangers-per-address", "NOD_STRANGERS_PER_ADDRESS", IN_FLAGS | IN_FILE, SERVES, \
      "128", "N", "the same, of one address", .min = 1, .max = 1000000)                                    \
    X(allowed_hosts, LIST, "allowed-hosts", "NOD_ALLOWED_HOSTS", IN_FLAGS | IN_FILE, SERVES, "",           \
      "HOST,…", "further names under which the server may be reached, behind a proxy say")               \
    X(log_level, CHOICE, "log-level", "NOD_LOG_LEVEL", IN_FLAGS | IN_FILE, SERVES, "info", "LEVEL",        \
      "how much the server says on standard error", .choices = "error|warn|info|debug|trace")              \
    X(log_format, CHOICE, "log-format", "NOD_LOG_FORMAT", IN_FLAGS | IN_FILE, SERVES, "text", "FORMAT",    \
      "how it says it", .choices = "text|json")                                                            \
    X(notify, PATH, "notify", "NOD_NOTIFY", IN_FLAGS | IN_FILE, SERVES, "DATA/notify.json", "FILE",         \
      "channels and routes by which people are told that a call waits")                                    \
    X(public_url, TEXT, "public-url", "NOD_PUBLIC_URL", IN_FLAGS | IN_FILE, SERVES, "", "URL",             \
      "where people reach the page, for links in messages")                                                \
    X(managed_policy, PATH, "managed-policy", "NOD_MANAGED_POLICY", IN_FLAGS | IN_FILE, SERVES,            \
      "/etc/nod/policy.json", "FILE", "rules that nothing below can loosen; it must belong to root")        \
    X(providers, LIST, "providers", "NOD_PROVIDERS", IN_FLAGS | IN_FILE, SERVES, "anthropic,openai", "NAME,…", \
      "models for runs, in the order in which they are tried: anthropic, openai; those not set up are left out") \
    X(anthropic_url, TEXT, "anthropic-url", "ANTHROPIC_BASE_URL", IN_FLAGS | IN_FILE, SERVES,              \
      "https://api.anthropic.com", "URL", "where the Messages API is")                                     \
    X(anthropic_model, TEXT, "anthropic-model", "ANTHROPIC_MODEL", IN_FLAGS | IN_FILE, SERVES,             \
      "claude-sonnet-4-20250514", "MODEL", "the model for runs that name none")                            \
    X(anthropic_key, SECRET, "anthropic-key", "ANTHROPIC_API_KEY", 0, SERVES, "", "KEY", "its key")        \
    X(anthropic_key_file, PATH, "anthropic-key-file", "ANTHROPIC_API_KEY_FILE", IN_FLAGS | IN_FILE, SERVES, \
      "", "FILE", "the file that holds the key")                                                           \
    X(openai_url, TEXT, "openai-url", "OPENAI_BASE_URL", IN_FLAGS | IN_FILE, SERVES,                       \
      "https://api.openai.com/v1", "URL", "where /chat/completions is: OpenAI, or whoever speaks like it") \
    X(openai_model, TEXT, "openai-model", "OPENAI_MODEL", IN_FLAGS | IN_FILE, SERVES, "", "MODEL",         \
      "its model; without one it is not asked")                                                            \
    X(openai_key, SECRET, "openai-key", "OPENAI_API_KEY", 0, SERVES, "", "KEY", "its key")                 \
    X(openai_key_file, PATH, "openai-key-file", "OPENAI_API_KEY_FILE", IN_FLAGS | IN_FILE, SERVES, "",     \
      "FILE", "the file that holds the key")                                                               \
    X(prices, LIST, "prices", "NOD_PRICES", IN_FLAGS | IN_FILE, SERVES, "", "PRICE,…",                     \
      "what models cost, beside those that are known: MODEL=INPUT/OUTPUT/READ/WRITE, dollars per million tokens") \
    X(run_lease_s, DURATION, "run-lease", "NOD_RUN_LEASE", IN_FLAGS | IN_FILE, SERVES, "60s", "TIME",      \
      "a node that is silent for so long has lost its runs to the others", .min = 1, .max = 3600)          \
    X(max_iterations, NUMBER, "max-iterations", "NOD_MAX_ITERATIONS", IN_FLAGS | IN_FILE, SERVES, "5", "N", \
      "answers of the model to one prompt, for runs that do not say", .min = 1, .max = 1000)               \
    X(context_tokens, NUMBER, "context-tokens", "NOD_CONTEXT_TOKENS", IN_FLAGS | IN_FILE, SERVES, "150000", \
      "N", "a conversation that is longer is summed up", .min = 1000, .max = 10000000)                     \
    X(answer_tokens, NUMBER, "answer-tokens", "NOD_ANSWER_TOKENS", IN_FLAGS | IN_FILE, SERVES, "8192", "N", \
      "the most tokens in one answer of the model", .min = 16, .max = 1000000)                             \
    X(parallel_tools, FLAG, "parallel-tools", "NOD_PARALLEL_TOOLS", IN_FLAGS | IN_FILE, SERVES, "no", NULL, \
      "let a model use several tools in one answer")                                                       \
    X(read_only_commands, CHOICE, "read-only-commands", "NOD_READ_ONLY_COMMANDS", IN_FLAGS | IN_FILE, SERVES, "allow", \
      "WHAT", "commands that only read in the session's folder, without a rule (unset: ask in older installations)", \
      .choices = "allow|ask")                                                                              \
    X(signed_when, CHOICE, "signed", "NOD_SIGNED", IN_FLAGS | IN_FILE, SERVES, "risky",                    \
      "WHEN", "which allows need a signature, once somebody has a key (nod key, or the page)",            \
      .choices = "risky|all|off")                                                                          \
    X(recovery_delay_s, DURATION, "recovery-delay", "NOD_RECOVERY_DELAY", IN_FLAGS | IN_FILE, SERVES, "24h", "TIME", \
      "a key that a recovery code makes known signs only after this time; any key can revoke it until then", \
      .min = 0, .max = 30 * 86400)                                                                         \
    X(tripwire, FLAG, "tripwire", "NOD_TRIPWIRE", IN_FLAGS | IN_FILE, SERVES, "yes", NULL,                 \
      "at the Unix socket, refuse answers and changes of processes that an agent has started")             \
    X(sandbox, FLAG, "sandbox", "NOD_SANDBOX", IN_FLAGS | IN_FILE, SERVES | WRAPS, "no", NULL,             \
      "commands of runs in a box (unset: yes for new installations); `nod claude`, `nod acp`: the agent in one")      \
    X(web_search, FLAG, "web-search", "NOD_WEB_SEARCH", IN_FLAGS | IN_FILE, SERVES, "no", NULL,            \
      "where rules allow WebSearch, the model may search by its provider's own tool")                      \
    X(web_private, FLAG, "web-private", "NOD_WEB_PRIVATE", IN_FLAGS | IN_FILE, SERVES, "no", NULL,         \
      "runs may fetch pages of this machine and of the private networks around it")                        \
    X(mcp_servers, PATH, "mcp-servers", "NOD_MCP_SERVERS", IN_FLAGS | IN_FILE, SERVES, "DATA/mcp.json",    \
      "FILE", "MCP servers whose tools runs may use: {\"mcpServers\":{…}}")                              \
    X(mcp_projects, FLAG, "mcp-projects", "NOD_MCP_PROJECTS", IN_FLAGS | IN_FILE, SERVES, "no", NULL,      \
      "ask whether the MCP servers of a repository's own .mcp.json may be used")                           \
    X(demo, FLAG, "demo", NULL, IN_FLAGS, SERVES, "no", NULL, "play a small scripted agent through the gate") \
    X(json, FLAG, "json", NULL, IN_FLAGS, TALKS | PRINTS, "no", NULL, "print JSON, for programs")          \
    X(color, CHOICE, "color", "NOD_COLOR", IN_FLAGS | IN_FILE, TALKS | PRINTS, "auto", "WHEN",             \
      "colours; auto: on a terminal, unless NO_COLOR is set", .choices = "auto|always|never")

#endif
