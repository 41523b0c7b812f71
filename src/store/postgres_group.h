/* Groups and remembered facts, shared by the PostgreSQL files. */
#ifndef STORE_POSTGRES_GROUP_H
#define STORE_POSTGRES_GROUP_H

#include "store/group.h"
#include "store/postgres.h"

/* ---- postgres_read.c ---- */
/* Remembers events that any node stored: result rows `first` to before `end` with EVENT_COLUMNS, hash, chain. */
struct rc postgres_remember(struct postgres_handle *handle, const PGresult *rows, int first, int end, struct err *err);

/* ---- postgres_history.c ---- */
/* Checks that the store still has the event that `anchor` names: `hash` is the one stored under its seq, if `found`. */
struct rc postgres_check_history(struct postgres_handle *handle, const struct anchor *anchor, bool found,
                                 const struct digest *hash, struct err *err);

/* ---- postgres_write.c: a group, once ---- */
/* Sends the statements that take the lock; returns how many they are. */
int postgres_send_lock(struct postgres_handle *handle);
/* Ends the transaction that has the lock, without writing anything. */
struct rc postgres_unlock(struct postgres_handle *handle, struct err *err);
/* With the lock, if it is held already. *ret_in_doubt: the COMMIT was sent, and its outcome is not known. */
struct rc postgres_commit_once(struct postgres_handle *handle, struct append *group, bool *ret_in_doubt,
                               struct err *err);
/* Reads the answer to a COMMIT, and the end of the pipeline. */
struct rc postgres_take_commit(struct postgres_handle *handle, struct err *err);
/* Makes every event up to `seq`, which this connection has seen, survive a crash of the database. */
struct rc postgres_make_durable(struct postgres_handle *handle, uint64_t seq, struct err *err);

#endif
