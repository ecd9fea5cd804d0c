/* SPDX-License-Identifier: Apache-2.0 */
/* replay_helper.h - the other side of replay_port.h. */
#ifndef RUNG_APP_REPLAY_HELPER_H
#define RUNG_APP_REPLAY_HELPER_H

#include "app/server.h"

/* Answer on the standard input until it is closed. Returns an exit code. */
int rung__replay_helper_run(rung__server *s);

#endif
