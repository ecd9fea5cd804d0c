/* SPDX-License-Identifier: Apache-2.0 */
/* turn.h - the end of a turn of the server's loop, just before it waits.
 *
 *     static void on_before_wait(uv_prepare_t *prepare) { rung_app_turn_end(hub, net, is_woken); }
 *
 * What all connections put becomes one batch of the hub; what became durable is applied and answered while the disk
 * works on that batch; the answers leave. Loop's thread. */
#ifndef RUNG_APP_TURN_H
#define RUNG_APP_TURN_H

#include "front/net/net.h"
#include "service/hub.h"

#include <stdbool.h>

/* `is_woken`: the hub has called `wake` since the last turn. When this returns, nothing that was put waits for the next
 * event of the loop. */
void rung_app_turn_end(rung_hub *hub, rung_net *net, bool is_woken);

#endif
