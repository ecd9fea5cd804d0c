/* SPDX-License-Identifier: Apache-2.0 */
/* importer.h - many submissions to a server, in batches, each counted once however often it is sent.
 *
 *     rung_importer_begin(&im);                        // a submission: its members are written to im.lines
 *     ...
 *     rung_importer_end(&im, line_number);
 *     if (rung_importer_is_full(&im)) code = rung_importer_send(&im);
 *
 * What makes an import resumable: a submission carries an id, its own or one made from the run's name and its place
 * in the input; and after every answered batch the state file says how far it is. A run that is broken off and begun
 * again sends at most one batch twice, and the server answers that with "duplicate". One thread. */
#ifndef RUNG_CLI_IMPORTER_H
#define RUNG_CLI_IMPORTER_H

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "codec/json_writer.h"

#include <stdbool.h>
#include <stdint.h>

enum { RUNG_IMPORT_BATCH_MAX = 4096, RUNG_IMPORT_BYTES_MAX = 768 << 10 };

/* How far an import is; what the state file holds. */
typedef struct rung_import_state {
    uint64_t run;                  /* the name of the run, in ids */
    uint64_t head_size, head_hash; /* of the input's first bytes: is it still the same? */
    uint64_t offset;               /* bytes of the input that are done; a cursor of Redis */
    uint64_t line;                 /* lines that are done */
    uint64_t accepted, duplicate, refused;
    bool is_done;
} rung_import_state;

/* RUNG_OK, RUNG_NOT_FOUND: there is none; RUNG_ECORRUPT: no state file of ours. */
RUNG_NODISCARD rung_status rung_import_state_read(const char *path, rung_import_state *out,
                                                  rung_err *err);
RUNG_NODISCARD rung_status rung_import_state_write(const char *path, const rung_import_state *s,
                                                   rung_err *err);

typedef struct rung_importer {
    const rung_command *self;
    rung_client *client;
    const char *board;      /* for submissions that name none; NULL: each must */
    const char *state_path; /* NULL: no state is kept */
    rung_import_state state;
    rung_json_writer lines; /* the batch */
    uint32_t count, batch_max;
    uint64_t places[RUNG_IMPORT_BATCH_MAX];
    uint32_t complaints; /* refusals that were told one by one */
    rung_progress progress;
    int64_t began_ms;
    uint64_t sent, unsendable; /* in this run */
} rung_importer;

void rung_importer_begin(rung_importer *im);
void rung_importer_end(rung_importer *im, uint64_t place);
bool rung_importer_is_full(const rung_importer *im);
/* A submission that cannot even be sent. */
void rung_importer_refuse(rung_importer *im, uint64_t place, const char *why);
/* The id of a submission that has none of its own; `place` is unlike that of all others. */
void rung_importer_write_id(rung_importer *im, uint64_t place);

/* Send the batch, wait for its answers, write the state with `offset` and `line` as done. An exit code: RUNG_EXIT_OK
 * also when submissions were refused. A server that has no room just now is asked again for a while. */
int rung_importer_send(rung_importer *im, uint64_t offset, uint64_t line);

#endif
