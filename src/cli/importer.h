/* SPDX-License-Identifier: Apache-2.0 */
/* importer.h - send many submissions to a server in batches; each counts once, however often it is sent.
 *
 *     rung_importer_begin(&im);                        // a submission: write its members to im.lines
 *     ...
 *     rung_importer_end(&im, line_number, has_board, has_id);
 *     if (rung_importer_is_full(&im)) code = rung_importer_send(&im, offset, line);
 *
 * Why an import can resume: every submission has an id, its own or one made from the run and its place in the input,
 * and after every answered batch the state file records the progress. So a resumed run sends at most one batch twice,
 * and the server recognises its ids. One thread. */
#ifndef RUNG_CLI_IMPORTER_H
#define RUNG_CLI_IMPORTER_H

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "codec/json_writer.h"

#include <stdbool.h>
#include <stdint.h>

enum { RUNG_IMPORT_BATCH_MAX = 4096, RUNG_IMPORT_BYTES_MAX = 768 << 10 };

/* The progress of an import: the contents of the state file. */
typedef struct rung_import_state {
    uint64_t run; /* identifies the run, in ids */
    uint64_t head_size,
        head_hash;   /* of the input's first bytes: tells whether it is the same input */
    uint64_t offset; /* bytes done, or a Redis cursor */
    uint64_t line;   /* lines that are done */
    uint64_t accepted, duplicate, refused;
    bool is_done;
} rung_import_state;

/* RUNG_OK, RUNG_NOT_FOUND, or RUNG_ECORRUPT: not a state file. */
RUNG_NODISCARD rung_status rung_import_state_read(const char *path, rung_import_state *out,
                                                  rung_err *err);
RUNG_NODISCARD rung_status rung_import_state_write(const char *path, const rung_import_state *s,
                                                   rung_err *err);

typedef struct rung_importer {
    const rung_command *self;
    rung_client *client;
    const char *board;      /* for submissions that name none; may be NULL */
    const char *state_path; /* NULL: no state is kept */
    rung_import_state state;
    rung_json_writer lines; /* the batch */
    uint32_t count, batch_max;
    uint64_t places[RUNG_IMPORT_BATCH_MAX];
    uint32_t complaints; /* refusals printed */
    rung_progress progress;
    int64_t began_ms;
    uint64_t sent, unsendable; /* in this run */
} rung_importer;

void rung_importer_begin(rung_importer *im);
/* Add the board and an id if the submission has none. `place` differs from that of all others. */
void rung_importer_end(rung_importer *im, uint64_t place, bool has_board, bool has_id);
bool rung_importer_is_full(const rung_importer *im);
/* Count a submission that cannot be sent. */
void rung_importer_refuse(rung_importer *im, uint64_t place, const char *why);
void rung_importer_show(rung_importer *im, uint64_t done, uint64_t total); /* the progress bar */

/* Send the batch, wait for its answers, and record `offset` and `line` as done. Retries for a while if the server is
 * overloaded. An exit code; RUNG_EXIT_OK even if submissions were refused. */
int rung_importer_send(rung_importer *im, uint64_t offset, uint64_t line);

/* Import a sorted set of a Redis server, from the cursor im->state.offset on. Returns an exit code. `address` is
 * HOST:PORT or unix:PATH; REDISCLI_AUTH may have the password. */
int rung_import_redis(rung_importer *im, const char *address, const char *key, uint64_t database);

#endif
