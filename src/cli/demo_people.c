/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/demo_people.h"

#include <stdio.h>

typedef struct given_name {
    const char *name, *country;
} given_name;

static const given_name given[] = {
    {"aino", "FI"},    {"eero", "FI"},   {"helmi", "FI"},   {"onni", "FI"},    {"venla", "FI"},
    {"oskari", "FI"},  {"astrid", "SE"}, {"elias", "SE"},   {"freja", "SE"},   {"gustav", "SE"},
    {"linnea", "SE"},  {"ingrid", "NO"}, {"sindre", "NO"},  {"solveig", "NO"}, {"magnus", "NO"},
    {"mads", "DK"},    {"signe", "DK"},  {"rasmus", "DK"},  {"kaarel", "EE"},  {"liis", "EE"},
    {"anna", "DE"},    {"emil", "DE"},   {"finn", "DE"},    {"greta", "DE"},   {"jonas", "DE"},
    {"lena", "DE"},    {"moritz", "DE"}, {"paula", "DE"},   {"camille", "FR"}, {"hugo", "FR"},
    {"jules", "FR"},   {"lea", "FR"},    {"manon", "FR"},   {"theo", "FR"},    {"amelia", "GB"},
    {"callum", "GB"},  {"harry", "GB"},  {"isla", "GB"},    {"poppy", "GB"},   {"rhys", "GB"},
    {"aoife", "IE"},   {"cian", "IE"},   {"niamh", "IE"},   {"alba", "ES"},    {"diego", "ES"},
    {"lucia", "ES"},   {"pablo", "ES"},  {"sofia", "ES"},   {"chiara", "IT"},  {"enzo", "IT"},
    {"giulia", "IT"},  {"luca", "IT"},   {"marta", "PL"},   {"kuba", "PL"},    {"zofia", "PL"},
    {"wojtek", "PL"},  {"olena", "UA"},  {"taras", "UA"},   {"ayse", "TR"},    {"emre", "TR"},
    {"zeynep", "TR"},  {"ava", "US"},    {"caleb", "US"},   {"dylan", "US"},   {"ella", "US"},
    {"grace", "US"},   {"hazel", "US"},  {"jayden", "US"},  {"logan", "US"},   {"mason", "US"},
    {"nora", "US"},    {"owen", "US"},   {"riley", "US"},   {"tyler", "US"},   {"zoe", "US"},
    {"beatriz", "BR"}, {"caio", "BR"},   {"joao", "BR"},    {"larissa", "BR"}, {"rafa", "BR"},
    {"thiago", "BR"},  {"camila", "MX"}, {"mateo", "MX"},   {"ximena", "MX"},  {"aarav", "IN"},
    {"diya", "IN"},    {"ishaan", "IN"}, {"kavya", "IN"},   {"rohan", "IN"},   {"tara", "IN"},
    {"haruto", "JP"},  {"hina", "JP"},   {"ren", "JP"},     {"sakura", "JP"},  {"yui", "JP"},
    {"jihoon", "KR"},  {"minseo", "KR"}, {"seoyeon", "KR"}, {"amara", "NG"},   {"chidi", "NG"},
    {"thandi", "ZA"},  {"sipho", "ZA"},
};
static const char *const nicknames[] = {
    "fox",   "owl",   "wolf",  "hawk",  "lynx",  "raven", "otter", "moth",  "storm", "ember",
    "frost", "comet", "pixel", "bolt",  "blaze", "ghost", "ninja", "viper", "nova",  "orbit",
    "quark", "delta", "sigma", "echo",  "turbo", "drift", "rider", "pilot", "chef",  "bard",
    "monk",  "rogue", "titan", "gizmo", "toast", "mango", "peach", "plum",  "berry", "basil",
    "mint",  "maple", "cedar", "reed",  "flint", "onyx",  "ruby",  "topaz",
};
enum {
    GIVEN_COUNT = sizeof given / sizeof given[0],
    NICKNAME_COUNT = sizeof nicknames / sizeof nicknames[0],
};

void rung_demo_name(uint32_t i, char out[RUNG_DEMO_NAME_MAX]) {
    uint32_t nickname = i / GIVEN_COUNT % NICKNAME_COUNT, turn = i / GIVEN_COUNT / NICKNAME_COUNT;
    if (turn == 0)
        snprintf(out, RUNG_DEMO_NAME_MAX, "%s.%s", given[i % GIVEN_COUNT].name,
                 nicknames[nickname]);
    else /* 37 and 100 have no divisor in common: each turn has a number of its own */
        snprintf(out, RUNG_DEMO_NAME_MAX, "%s.%s%02u", given[i % GIVEN_COUNT].name,
                 nicknames[nickname], turn * 37 % 100);
}

const char *rung_demo_country(uint32_t i) {
    return given[i % GIVEN_COUNT].country;
}
