/* SPDX-License-Identifier: Apache-2.0 */
/* define.h - boards: a definition on its way to the log.
 *
 *     rung_define_put(&service, from, board, &def, &is_new, answer, ctx, &err);
 *
 * Whether the sender may is asked before (access.h). Thread: the owner of the state. */
#ifndef RUNG_SERVICE_DEFINE_H
#define RUNG_SERVICE_DEFINE_H

#include "service/service.h"

/* Propose a definition: rung_hub_define() behind what the state would take but nobody can mean. RUNG_EINVAL names the
 * field; a board that has it already may be sent back as it was read. RUNG_EABSENT: no such zone. `is_new_out` may be
 * NULL. */
RUNG_NODISCARD rung_status rung_define_put(const rung_service *s, rung_hub_sender from,
                                           rung_slice board, const rung_board_def *def,
                                           bool *is_new_out, rung_hub_answer *answer, void *ctx,
                                           rung_err *err);

/* What rung_define_put() refuses; `old` is the board's definition, NULL: it is new. */
RUNG_NODISCARD rung_status rung_define_check(const rung_board_def *def, const rung_board_def *old,
                                             rung_err *err);

#endif
