/* SPDX-License-Identifier: Apache-2.0 */
/* past_helper.h - the helpers of service/as_of.h as processes: this program again, as `rung serve --as-of` on private
 * unix sockets, read-only, with bounded memory and the lowest priority. It ends when this process does. */
#ifndef RUNG_APP_PAST_HELPER_H
#define RUNG_APP_PAST_HELPER_H

#include "app/config.h"
#include "service/as_of.h"

#include <stdint.h>
#include <sys/types.h>

typedef struct rung__past_helpers {
    const rung_settings *settings; /* of this server */
    uint64_t memory_max;           /* of one helper's state */
    rung_helper_port port;
} rung__past_helpers;

/* Fill in the port. */
void rung__past_helpers_init(rung__past_helpers *h, const rung_settings *settings,
                             uint64_t memory_max);

/* The same for a helper that listens nowhere and has `input` as its standard input (replay_helper.h). Returns 0 or an
 * errno. */
int rung__helper_spawn(const rung_settings *settings, uint64_t memory_max, int input,
                       pid_t *pid_out);

/* `rung reconcile` on this server's folder and archive, which writes one JSON object to `output`: the state had this
 * digest (32 hexadecimal digits) at `seq`. Returns 0 or an errno. */
int rung__helper_reconcile(const rung_settings *settings, uint64_t memory_max, uint64_t seq,
                           const char *digest, int output, pid_t *pid_out);

/* In the helper: yield to everybody, and end with the process `parent`. False: that one is gone. */
bool rung__past_helper_settle(uint64_t parent);

#endif
