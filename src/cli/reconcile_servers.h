/* SPDX-License-Identifier: Apache-2.0 */
/* reconcile_servers.h - compare the rankings of two servers of one log by digests. Changes nothing; one thread. */
#ifndef RUNG_CLI_RECONCILE_SERVERS_H
#define RUNG_CLI_RECONCILE_SERVERS_H

#include "cli/ask.h"

/* Print the first difference between the servers at `urls`. Returns the exit code. */
int rung_reconcile_servers(const rung_command *self, const char *const urls[2],
                           const rung_ask_args *args);

#endif
