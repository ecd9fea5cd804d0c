/* SPDX-License-Identifier: Apache-2.0 */
/* demo_people.h - names and countries for the players of `rung demo`. Player `i` is always the same person. */
#ifndef RUNG_CLI_DEMO_PEOPLE_H
#define RUNG_CLI_DEMO_PEOPLE_H

#include <stdint.h>

enum { RUNG_DEMO_NAME_MAX = 24 };

void rung_demo_name(uint32_t i, char out[RUNG_DEMO_NAME_MAX]); /* "aino.fox" */
const char *rung_demo_country(uint32_t i);                     /* "FI" */

#endif
