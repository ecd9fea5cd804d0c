/* SPDX-License-Identifier: Apache-2.0 */
/* server_status.h - how a running server fares, from /readyz and /metrics. One thread. */
#ifndef RUNG_CLI_SERVER_STATUS_H
#define RUNG_CLI_SERVER_STATUS_H

#include "cli/ask.h"

#include <stdbool.h>

/* Print it; an exit code: RUNG_EXIT_PROBLEM when the server is not ready. With `is_quiet` nothing is printed. */
int rung_server_status(const rung_command *self, const rung_ask_args *args, bool is_quiet);

/* The value of a series without labels, or the sum of those with labels, in the text of /metrics; false: none. */
bool rung_metric_find(rung_slice text, const char *name, double *value_out);

#endif
