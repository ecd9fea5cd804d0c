/* SPDX-License-Identifier: Apache-2.0 */
/* An answer lets the next pipelined request of its connection in, and rung_net_flush() is where that one is read. What
 * it puts came too late for the flush before: without another one it would wait for the loop's next event, often a
 * timer. No more is read from sockets meanwhile, so the requests that are there bound the rounds. */
#include "app/turn.h"

void rung_app_turn_end(rung_hub *hub, rung_net *net, bool is_woken) {
    rung_hub_flush(hub);
    if (is_woken)
        rung_hub_turn(hub);
    rung_net_flush(net);
    while (rung_hub_has_new(hub)) {
        rung_hub_flush(hub);
        rung_net_flush(net);
    }
}
