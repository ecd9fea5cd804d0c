/* SPDX-License-Identifier: Apache-2.0 */
/* server_status.h - the status of a running server, from /readyz and /metrics. One thread. */
#ifndef RUNG_CLI_SERVER_STATUS_H
#define RUNG_CLI_SERVER_STATUS_H

#include "cli/ask.h"

#include <stdbool.h>

/* Print it, unless `is_quiet`. Returns an exit code: RUNG_EXIT_PROBLEM when the server is not ready. */
int rung_server_status(const rung_command *self, const rung_ask_args *args, bool is_quiet);

/* The value of a metric in the text of /metrics: the sum over its labels. false: none. */
bool rung_metric_find(rung_slice text, const char *name, double *value_out);

#endif
