/* SPDX-License-Identifier: Apache-2.0 */
/* rung import: scores from a CSV or NDJSON file, or a sorted set of a Redis server. */
#include "cli/csv.h"
#include "cli/importer.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct import_args {
    rung_ask_args ask;
    const char *file, *board, *format, *state, *redis, *redis_key;
    uint64_t redis_db, batch;
    bool restart, again, create;
} import_args;

static const rung_option import_options[] = {
    RUNG_OPERAND_OPTIONAL(import_args, file, "FILE", "the file; - is standard input"),
    RUNG_OPTION_TEXT(import_args, board, "--board", "BOARD", "for scores that name no board"),
    RUNG_OPTION_TEXT(import_args, format, "--format", "csv|ndjson",
                     "default: by the file name's extension"),
    RUNG_OPTION_TEXT(import_args, redis, "--redis", "HOST:PORT",
                     "read from a Redis server (password: REDISCLI_AUTH)"),
    RUNG_OPTION_TEXT(import_args, redis_key, "--redis-key", "KEY", "the sorted set"),
    RUNG_OPTION_NUMBER(import_args, redis_db, "--redis-db", "N", "the database (default 0)"),
    RUNG_OPTION_FLAG(import_args, create, "--create",
                     "create the board: real scores, the last one counts"),
    RUNG_OPTION_NUMBER(import_args, batch, "--batch", "N",
                       "scores per request (default and maximum 4096)"),
    RUNG_OPTION_TEXT(import_args, state, "--state", "FILE",
                     "where to record the progress (default: FILE.rung-import)"),
    RUNG_OPTION_FLAG(import_args, again, "--again",
                     "send everything again after correcting lines; nothing counts twice"),
    RUNG_OPTION_FLAG(import_args, restart, "--restart",
                     "forget the progress and count everything again"),
    RUNG_ASK_OPTIONS,
};

/* ---- a line as a submission ---- */

typedef enum column {
    COLUMN_EXTRA,   /* a further column of the board */
    COLUMN_TEXT,    /* player, board, id, meta */
    COLUMN_NUMBER,  /* score, delta, at */
    COLUMN_IGNORED, /* in an export, but not in a submission */
} column;

static column column_of(rung_slice name) {
    static const struct {
        const char *name;
        column is;
    } known[] = {
        {"player", COLUMN_TEXT},        {"board", COLUMN_TEXT},   {"id", COLUMN_TEXT},
        {"meta", COLUMN_TEXT},          {"score", COLUMN_NUMBER}, {"delta", COLUMN_NUMBER},
        {"at", COLUMN_NUMBER},          {"rank", COLUMN_IGNORED}, {"name", COLUMN_IGNORED},
        {"percentile", COLUMN_IGNORED},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (rung_slice_eq(name, rung_slice_str(known[i].name)))
            return known[i].is;
    return COLUMN_EXTRA;
}

typedef struct csv_head {
    uint32_t count;
    column columns[RUNG_CSV_FIELDS_MAX];
    char names[RUNG_CSV_FIELDS_MAX][RUNG_JSON_KEY_MAX + 1];
} csv_head;

static rung_status read_head(rung_csv *csv, csv_head *head, rung_err *err) {
    bool has_player = false;
    rung_status st = rung_csv_next(csv, false, err);
    if (st == RUNG_NOT_FOUND)
        return RUNG_FAIL(err, RUNG_EINVAL, "the file is empty");
    if (st < 0)
        return st;
    head->count = csv->count;
    for (uint32_t i = 0; i < csv->count; i++) {
        if (csv->fields[i].len == 0 || csv->fields[i].len > RUNG_JSON_KEY_MAX)
            return RUNG_FAIL(err, RUNG_EINVAL, "line 1: field %u has no name", i + 1);
        head->columns[i] = column_of(csv->fields[i]);
        memcpy(head->names[i], csv->fields[i].ptr, csv->fields[i].len);
        head->names[i][csv->fields[i].len] = '\0';
        has_player |= strcmp(head->names[i], "player") == 0;
    }
    if (!has_player)
        return RUNG_FAIL(err, RUNG_EINVAL,
                         "line 1: expected the names of the fields, such as player,score");
    return RUNG_OK;
}

static void write_extras(rung_json_writer *w, const rung_csv *csv, const csv_head *head) {
    bool is_begun = false;
    for (uint32_t i = 0; i < csv->count; i++) {
        if (head->columns[i] != COLUMN_EXTRA)
            continue;
        if (!is_begun)
            RUNG_JSON_OPEN(w, "columns", object);
        is_begun = true;
        rung_json_write_key(w, rung_slice_str(head->names[i]));
        rung_value_write(w, csv->fields[i]);
    }
    if (is_begun)
        rung_json_close_object(w);
}

static void add_record(rung_importer *im, const rung_csv *csv, const csv_head *head) {
    bool has_board = false, has_id = false;
    if (csv->count != head->count) {
        rung_importer_refuse(im, csv->line, "a different number of fields than the first line");
        return;
    }
    rung_json_writer *w = &im->lines;
    rung_importer_begin(im);
    for (uint32_t i = 0; i < csv->count; i++) {
        column is = head->columns[i];
        if (is == COLUMN_IGNORED || is == COLUMN_EXTRA || csv->fields[i].len == 0)
            continue;
        rung_json_write_key(w, rung_slice_str(head->names[i]));
        if (is == COLUMN_NUMBER)
            rung_value_write(w, csv->fields[i]);
        else
            rung_json_write_string(w, csv->fields[i]);
        has_board |= strcmp(head->names[i], "board") == 0;
        has_id |= strcmp(head->names[i], "id") == 0;
    }
    write_extras(w, csv, head);
    rung_importer_end(im, csv->line, has_board, has_id);
}

/* Check a line of NDJSON, and copy it with the members that it lacks. */
static void add_object(rung_importer *im, rung_csv *csv) {
    static rung_answer_items it;
    rung_json check;
    rung_err err = {0};
    rung_slice line = csv->fields[0], raw;
    bool has_board = false, has_id = false;
    rung_json_init_at(&check, line, NULL, 0, &err);
    if (rung_json_peek(&check) != RUNG_JSON_OBJECT || rung_json_skip(&check, NULL) < 0 ||
        rung_json_end(&check) < 0) {
        rung_importer_refuse(im, csv->line,
                             err.message[0] ? err.message : "expected a JSON object");
        return;
    }
    rung_json_writer *w = &im->lines;
    rung_importer_begin(im);
    for (rung_answer_begin(&it, line); rung_answer_next(&it, &raw);) {
        if (column_of(rung_slice_str(it.key)) == COLUMN_IGNORED)
            continue;
        rung_json_write_key(w, rung_slice_str(it.key));
        rung_json_write_raw(w, raw);
        has_board |= strcmp(it.key, "board") == 0;
        has_id |= strcmp(it.key, "id") == 0;
    }
    rung_importer_end(im, csv->line, has_board, has_id);
}

/* ---- a file ---- */

enum { HEAD_MAX = 16384 };

static uint64_t hash_head(FILE *f, uint64_t size) {
    static const rung_hash_key head_key = {0x68656164, 0x72756e67};
    char bytes[HEAD_MAX];
    size_t got = fread(bytes, 1, size < sizeof bytes ? size : sizeof bytes, f);
    rewind(f);
    return rung_hash_keyed(&head_key, bytes, got);
}

/* Find out where to resume. RUNG_UNCHANGED: everything is done. The file may have grown at its end. */
static rung_status resume(rung_importer *im, FILE *f, uint64_t size, const import_args *args,
                          rung_err *err) {
    rung_import_state *s = &im->state;
    rung_status st =
        args->restart ? RUNG_NOT_FOUND : rung_import_state_read(im->state_path, s, err);
    if (st < 0)
        return st;
    if (st == RUNG_NOT_FOUND || args->again) {
        uint64_t run = s->run, head_size = size < HEAD_MAX ? size : HEAD_MAX;
        *s = (rung_import_state){.head_size = head_size, .head_hash = hash_head(f, head_size)};
        if (st == RUNG_OK)
            s->run = run; /* the ids of its lines stay the same */
        else
            s->run = s->head_hash ^
                     (args->restart ? (uint64_t)rung_elapsed_ms() * 0x9e3779b97f4a7c15u : 0);
        return RUNG_OK;
    }
    if (size < s->offset || hash_head(f, s->head_size) != s->head_hash)
        return RUNG_FAIL(err, RUNG_ECONFLICT,
                         "%.100s belongs to another file; use --again if you only corrected "
                         "lines, --restart to begin anew",
                         im->state_path);
    return s->offset == size ? RUNG_UNCHANGED : RUNG_OK;
}

static rung_status skip_done(rung_csv *csv, bool is_lines, uint64_t offset, rung_err *err) {
    while (csv->offset < offset) {
        rung_status st = rung_csv_next(csv, is_lines, err);
        if (st != RUNG_OK)
            return st;
    }
    return RUNG_OK;
}

static int import_lines(rung_importer *im, rung_csv *csv, bool is_lines, const csv_head *head,
                        uint64_t size) {
    rung_err err = {0};
    for (;;) {
        rung_status st = rung_csv_next(csv, is_lines, &err);
        if (st == RUNG_OK && is_lines)
            add_object(im, csv);
        else if (st == RUNG_OK)
            add_record(im, csv, head);
        if (st == RUNG_OK && !rung_importer_is_full(im))
            continue;
        int code = rung_importer_send(im, csv->offset, csv->lines_read);
        rung_importer_show(im, csv->offset, size);
        if (code)
            return code;
        if (st == RUNG_NOT_FOUND)
            return RUNG_EXIT_OK;
        if (st < 0)
            return rung_command_fail(im->self, &err);
    }
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* false: unknown. */
static bool choose_format(const import_args *args, bool *is_lines_out) {
    const char *f = args->format;
    *is_lines_out = f ? strcmp(f, "ndjson") == 0
                      : ends_with(args->file, ".ndjson") || ends_with(args->file, ".jsonl") ||
                            ends_with(args->file, ".json");
    return *is_lines_out || (f ? strcmp(f, "csv") == 0 : ends_with(args->file, ".csv"));
}

static int import_open_file(rung_importer *im, const import_args *args, FILE *f, bool is_lines) {
    static rung_csv csv;
    static csv_head head;
    struct stat about;
    rung_err err = {0};
    bool is_file =
        fstat(fileno(f), &about) == 0 && S_ISREG(about.st_mode) && strcmp(args->file, "-") != 0;
    uint64_t size = is_file ? (uint64_t)about.st_size : 0;
    char state_path[4096];
    snprintf(state_path, sizeof state_path, "%s.rung-import", args->file);
    im->state_path = args->state ? args->state : is_file ? state_path : NULL;
    rung_status st = RUNG_OK;
    if (im->state_path)
        st = resume(im, f, size, args, &err);
    csv = (rung_csv){.in = f};
    if (st == RUNG_OK && !is_lines)
        st = read_head(&csv, &head, &err);
    if (st == RUNG_OK)
        st = skip_done(&csv, is_lines, im->state.offset, &err);
    if (st < 0)
        return rung_command_fail(im->self, &err);
    return st == RUNG_OK ? import_lines(im, &csv, is_lines, &head, size) : RUNG_EXIT_OK;
}

static int import_file(rung_importer *im, const import_args *args) {
    bool is_lines;
    if (!choose_format(args, &is_lines))
        return rung_command_refuse(im->self, RUNG_EXIT_USAGE, "--format: expected csv or ndjson");
    FILE *f = strcmp(args->file, "-") == 0 ? stdin : fopen(args->file, "re");
    if (!f)
        return rung_command_refuse(im->self, RUNG_EXIT_PROBLEM, "cannot open %.120s: %s",
                                   args->file, strerror(errno));
    int code = import_open_file(im, args, f, is_lines);
    if (f != stdin)
        fclose(f);
    return code;
}

/* ---- the command ---- */

/* As the Redis protocol does: members are players, scores are doubles, ties are ordered by name. */
static int create_board(const rung_command *self, rung_client *client, const import_args *args) {
    rung_path path = {0};
    rung_reply reply;
    rung_ask_path(self, "/v1/boards/{--board}", args, &path);
    int code = rung_ask_status(self, client, "GET", &path, &reply);
    if (code || reply.status == 200)
        return code;
    return rung_ask_for(
        self, client, "PUT", &path,
        RUNG_SLICE("{\"score\":{\"type\":\"real\"},\"update\":\"last\",\"tie\":\"player\"}"),
        &reply);
}

static void print_report(const rung_importer *im, bool is_json) {
    char a[RUNG_COUNT_TEXT_MAX], b[RUNG_COUNT_TEXT_MAX], c[RUNG_COUNT_TEXT_MAX],
        d[RUNG_COUNT_TEXT_MAX];
    const rung_import_state *s = &im->state;
    double seconds = (double)(rung_elapsed_ms() - im->began_ms + 1) / 1000;
    uint64_t read = im->sent + im->unsendable;
    if (is_json) {
        printf("{\"read\":%" PRIu64 ",\"sent\":%" PRIu64 ",\"accepted\":%" PRIu64
               ",\"duplicate\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"seconds\":%.3f}\n",
               read, im->sent, s->accepted, s->duplicate, s->refused, seconds);
        return;
    }
    if (read == 0 && s->line > 0 && s->refused > 0)
        printf("nothing to do: the whole file was read before, %s scores counted, %s were refused; "
               "correct them in place and use --again\n",
               rung_count_text(s->accepted + s->duplicate, a), rung_count_text(s->refused, b));
    else if (read == 0 && s->line > 0)
        printf("nothing to do: the whole file was imported before (%s scores); --restart imports "
               "it again\n",
               rung_count_text(s->accepted + s->duplicate, a));
    else
        printf("%s scores in %.1f s, %s per second; in total %s accepted, %s known before, %s "
               "refused\n",
               rung_count_text(read, a), seconds,
               rung_count_text((uint64_t)((double)read / seconds), b),
               rung_count_text(s->accepted, c), rung_count_text(s->duplicate, d),
               rung_count_text(s->refused, (char[RUNG_COUNT_TEXT_MAX]){0}));
}

/* An interrupted run resumes if its state was recorded. A finished one starts again: the set may have changed. */
static int import_redis(rung_importer *im, const import_args *args) {
    rung_err err = {0};
    rung_import_state state = {0};
    if (im->state_path && !args->restart) {
        if (rung_import_state_read(im->state_path, &state, &err) < 0)
            return rung_command_fail(im->self, &err);
        if (!state.is_done)
            im->state = state;
    }
    int code = rung_import_redis(im, args->redis, args->redis_key, args->redis_db);
    im->state.is_done = code == RUNG_EXIT_OK;
    if (code == RUNG_EXIT_OK && im->state_path &&
        rung_import_state_write(im->state_path, &im->state, &err) < 0)
        return rung_command_fail(im->self, &err);
    return code;
}

/* NULL: the options fit together. */
static const char *check_args(const import_args *args) {
    return !args->file == !args->redis           ? "expected either FILE or --redis"
           : args->redis && !args->redis_key     ? "--redis needs --redis-key"
           : args->redis && !args->board         ? "--redis needs --board"
           : args->again && args->restart        ? "use either --again or --restart"
           : args->create && !args->board        ? "--create needs --board"
           : args->batch > RUNG_IMPORT_BATCH_MAX ? "--batch: at most 4096"
                                                 : NULL;
}

static int import(const rung_command *self, rung_client *client, void *arguments) {
    static rung_importer im;
    const import_args *args = arguments;
    const char *why = check_args(args);
    if (why)
        return rung_command_refuse(self, RUNG_EXIT_USAGE, "%s", why);
    im = (rung_importer){.self = self,
                         .client = client,
                         .board = args->board,
                         .lines = {.alloc = rung_alloc_heap()},
                         .batch_max = args->batch ? (uint32_t)args->batch : RUNG_IMPORT_BATCH_MAX,
                         .state_path = args->state,
                         .began_ms = rung_elapsed_ms()};
    int code = args->create ? create_board(self, client, args) : RUNG_EXIT_OK;
    if (code == RUNG_EXIT_OK)
        code = args->redis ? import_redis(&im, args) : import_file(&im, args);
    rung_progress_end(&im.progress);
    if (code == RUNG_EXIT_OK)
        print_report(&im, args->ask.json);
    rung_json_writer_deinit(&im.lines);
    return code == RUNG_EXIT_OK && im.state.refused ? RUNG_EXIT_PROBLEM : code;
}

const rung_command rung_command_import = {
    .name = "import",
    .summary = "import scores from CSV, NDJSON or a Redis sorted set",
    .details =
        "The first line of a CSV file names its fields: player, score (or delta), and as\n"
        "needed board, at, id, meta; other names are further columns of the board. NDJSON\n"
        "has one submission per line, as for POST /v1/scores.\n"
        "\n"
        "Run the command again to resume an interrupted import: nothing counts twice.\n"
        "FILE.rung-import records the progress. If scores are refused, the exit code is 1\n"
        "and the first ten are listed. Correct these lines in place, add no lines, and use\n"
        "--again within a day: only the scores that did not count before count then.\n"
        "\n"
        "  rung import scores.csv --board race\n"
        "  rung import --redis 127.0.0.1:6379 --redis-key leaderboard --board race --create\n",
    RUNG_OPTIONS(import_args, import_options),
    .ask = import,
};
