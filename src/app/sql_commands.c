/* SPDX-License-Identifier: Apache-2.0 */
/* rung sql: SQL on an archive file, with the table of packed events. Only reads, and can run while a server writes.
 *
 * The connection is read-only, and its authorizer refuses what could reach other files (ATTACH). */
#include "archive/attach.h"
#include "archive/sqlite/event_table.h"
#include "archive/sqlite/schema.h"
#include "base/buffer.h"
#include "cli/command.h"
#include "cli/csv.h"
#include "cli/terminal.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, LINE_SIZE = 1 << 16, STATEMENT_MAX = 1 << 20, SHOWN_ROWS_MAX = 10000 };

typedef struct sql_args {
    const char *path, *query;
    bool json, csv;
} sql_args;

static const rung_option sql_options[] = {
    RUNG_OPERAND(sql_args, path, "FILE", "an archive, or the data folder that it is in"),
    RUNG_OPERAND_OPTIONAL(sql_args, query, "QUERY",
                          "SQL; not given: read statements from the input"),
    RUNG_OPTION_FLAG(sql_args, json, "--json", "one JSON object per row"),
    RUNG_OPTION_FLAG(sql_args, csv, "--csv", "CSV with a line of names"),
};

typedef struct sql {
    sqlite3 *db;
    const sql_args *args;
    const rung_command *command;
} sql;

/* ---- rows ---- */

static rung_slice text_at(sqlite3_stmt *stmt, int i) {
    const void *bytes = sqlite3_column_type(stmt, i) == SQLITE_BLOB
                            ? sqlite3_column_blob(stmt, i)
                            : (const void *)sqlite3_column_text(stmt, i);
    return rung_slice_of(bytes, (size_t)sqlite3_column_bytes(stmt, i));
}

static void print_hex(FILE *out, rung_slice bytes) {
    for (size_t i = 0; i < bytes.len; i++)
        fprintf(out, "%02x", (unsigned)(uint8_t)bytes.ptr[i]);
}

static void print_json_value(sqlite3_stmt *stmt, int i) {
    switch (sqlite3_column_type(stmt, i)) {
    case SQLITE_NULL:
        fputs("null", stdout);
        return;
    case SQLITE_BLOB:
        putchar('"');
        print_hex(stdout, text_at(stmt, i));
        putchar('"');
        return;
    case SQLITE_INTEGER:
        fputs((const char *)sqlite3_column_text(stmt, i), stdout);
        return;
    case SQLITE_FLOAT: /* JSON has no infinities: they become texts, as in the server's answers */
        if (!strpbrk((const char *)sqlite3_column_text(stmt, i), "Ii")) {
            fputs((const char *)sqlite3_column_text(stmt, i), stdout);
            return;
        }
    }
    rung_print_json(stdout, text_at(stmt, i));
}

static void print_json_row(sqlite3_stmt *stmt) {
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        fputs(i ? "," : "{", stdout);
        rung_print_json(stdout, rung_slice_str(sqlite3_column_name(stmt, i)));
        putchar(':');
        print_json_value(stmt, i);
    }
    puts("}");
}

static void print_csv_row(sqlite3_stmt *stmt) {
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        if (i)
            putchar(',');
        if (sqlite3_column_type(stmt, i) == SQLITE_BLOB)
            print_hex(stdout, text_at(stmt, i));
        else
            rung_csv_print(stdout, text_at(stmt, i));
    }
    putchar('\n');
}

static int print_lines(sqlite3_stmt *stmt, bool is_csv) {
    int rc;
    for (int i = 0; is_csv && i < sqlite3_column_count(stmt); i++) {
        fputs(i ? "," : "", stdout);
        rung_csv_print(stdout, rung_slice_str(sqlite3_column_name(stmt, i)));
    }
    if (is_csv)
        putchar('\n');
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        (is_csv ? print_csv_row : print_json_row)(stmt);
    return rc;
}

static void add_cell(rung_table *t, sqlite3_stmt *stmt, int i) {
    int type = sqlite3_column_type(stmt, i);
    if (type == SQLITE_NULL)
        rung_table_cell(t, RUNG_COLOR_DIM, "%s", "");
    else if (type == SQLITE_BLOB)
        rung_table_cell(t, RUNG_COLOR_DIM, "(%d bytes)", sqlite3_column_bytes(stmt, i));
    else
        rung_table_word(t, RUNG_COLOR_PLAIN, text_at(stmt, i));
}

/* A column is one of numbers if its first row has one. */
static rung_table *begin_table(sqlite3_stmt *stmt, bool has_row) {
    rung_table_column columns[RUNG_TABLE_COLUMNS_MAX];
    int count = sqlite3_column_count(stmt);
    for (int i = 0; i < count; i++) {
        int type = has_row ? sqlite3_column_type(stmt, i) : SQLITE_NULL;
        columns[i] = (rung_table_column){sqlite3_column_name(stmt, i),
                                         type == SQLITE_INTEGER || type == SQLITE_FLOAT};
    }
    return rung_table_begin((size_t)count, columns);
}

static int print_table(sqlite3_stmt *stmt) {
    int rc = sqlite3_step(stmt), count = sqlite3_column_count(stmt), rows = 0;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return rc;
    rung_table *t = begin_table(stmt, rc == SQLITE_ROW);
    for (; rc == SQLITE_ROW && rows < SHOWN_ROWS_MAX; rows++, rc = sqlite3_step(stmt))
        for (int i = 0; i < count; i++)
            add_cell(t, stmt, i);
    rung_table_print(t, rc == SQLITE_ROW || rc == SQLITE_DONE ? stdout : NULL);
    if (rc != SQLITE_ROW)
        return rc;
    printf("  ... more than %d rows: --csv and --json print all of them\n", SHOWN_ROWS_MAX);
    return SQLITE_DONE;
}

/* ---- statements ---- */

static int refuse(const sql *s, const char *message) {
    return rung_command_refuse(s->command, RUNG_EXIT_PROBLEM, "%s", message);
}

static int run_statement(const sql *s, sqlite3_stmt *stmt) {
    int count = sqlite3_column_count(stmt);
    bool is_table = !s->args->json && !s->args->csv;
    if (is_table && count > RUNG_TABLE_COLUMNS_MAX)
        return rung_command_refuse(s->command, RUNG_EXIT_PROBLEM,
                                   "%d columns are too many for a table: name up to %d, or use "
                                   "--csv or --json",
                                   count, (int)RUNG_TABLE_COLUMNS_MAX);
    int rc = count == 0 ? sqlite3_step(stmt)
             : is_table ? print_table(stmt)
                        : print_lines(stmt, s->args->csv);
    fflush(stdout);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? RUNG_EXIT_OK : refuse(s, sqlite3_errmsg(s->db));
}

/* All statements of a text, up to the first that fails. */
static int run_text(const sql *s, const char *text) {
    int code = RUNG_EXIT_OK;
    while (*text && code == RUNG_EXIT_OK) {
        sqlite3_stmt *stmt;
        if (sqlite3_prepare_v2(s->db, text, -1, &stmt, &text) != SQLITE_OK)
            return refuse(s, sqlite3_errmsg(s->db));
        if (stmt)
            code = run_statement(s, stmt);
        sqlite3_finalize(stmt);
    }
    return code;
}

/* ---- the prompt ---- */

/* A word that is not SQL, as the shell of SQLite has them. false: it is SQL. */
static bool run_word(const sql *s, const char *line, bool *is_over) {
    if (strncmp(line, ".quit", 5) == 0 || strncmp(line, ".exit", 5) == 0)
        *is_over = true;
    else if (strncmp(line, ".tables", 7) == 0)
        run_text(s, "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view')"
                    " AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name");
    else if (line[0] == '.')
        refuse(s, "there are .tables and .quit; everything else is SQL and ends with ;");
    return line[0] == '.';
}

/* Statements from the input. On a terminal a failed one does not end it. */
static int run_input(const sql *s) {
    static char line[LINE_SIZE];
    bool is_terminal = isatty(STDIN_FILENO), is_over = false;
    rung_buffer text = {.alloc = rung_alloc_heap()};
    int code = RUNG_EXIT_OK;
    while (!is_over && (is_terminal || code == RUNG_EXIT_OK)) {
        if (is_terminal) {
            fputs(text.len ? "  ... " : "rung> ", stdout);
            fflush(stdout);
        }
        if (!fgets(line, sizeof line, stdin))
            break;
        if (text.len == 0 && run_word(s, line, &is_over))
            continue;
        rung_buffer_put(&text, line, strlen(line) + 1);
        if (text.is_failed || text.len > STATEMENT_MAX) {
            code = refuse(s, "the statement is too long");
            break;
        }
        text.len--; /* the next line replaces the NUL */
        if (!sqlite3_complete(text.data))
            continue;
        code = run_text(s, text.data);
        text.len = 0;
    }
    if (code == RUNG_EXIT_OK && text.len) /* without its ; */
        code = run_text(s, text.data);
    if (is_terminal)
        putchar('\n');
    rung_buffer_deinit(&text);
    return code;
}

/* ---- opening ---- */

static int authorize(void *arg, int action, const char *a, const char *b, const char *c,
                     const char *d) {
    (void)arg, (void)a, (void)b, (void)c, (void)d;
    return action == SQLITE_ATTACH || action == SQLITE_DETACH ? SQLITE_DENY : SQLITE_OK;
}

static int int_of(sqlite3 *db, const char *pragma) {
    sqlite3_stmt *stmt;
    int value = -1;
    if (sqlite3_prepare_v2(db, pragma, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        value = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

static int open_archive(sql *s, const char *path) {
    if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_exec(s->db, "PRAGMA query_only = on; PRAGMA busy_timeout = 5000", NULL, NULL,
                     NULL) != SQLITE_OK)
        return rung_command_refuse(s->command, RUNG_EXIT_PROBLEM, "%s: %s", path,
                                   sqlite3_errmsg(s->db));
    if (int_of(s->db, "PRAGMA application_id") != RUNG_ARCHIVE_APPLICATION_ID)
        return rung_command_refuse(s->command, RUNG_EXIT_PROBLEM, "%s is not an archive of Rung",
                                   path);
    if (rung_event_table_register(s->db) != SQLITE_OK)
        return refuse(s, sqlite3_errmsg(s->db));
    sqlite3_set_authorizer(s->db, authorize, NULL);
    return RUNG_EXIT_OK;
}

/* A folder stands for the archive in it. */
static const char *file_of(const char *path, char out[PATH_SIZE]) {
    struct stat about;
    if (strncmp(path, "sqlite:", 7) == 0)
        path += 7;
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode))
        return path;
    snprintf(out, PATH_SIZE, "%s/" RUNG_ATTACH_FILE, path);
    return out;
}

static int run_sql(const rung_command *self, void *arguments) {
    const sql_args *args = arguments;
    sql s = {.args = args, .command = self};
    char path[PATH_SIZE];
    if (args->json && args->csv)
        return rung_command_refuse(self, RUNG_EXIT_USAGE, "--csv and --json exclude each other");
    if (strncasecmp(args->path, "postgres", 8) == 0 && strstr(args->path, "://"))
        return rung_command_refuse(self, RUNG_EXIT_USAGE,
                                   "this reads archive files: for a database use psql, all "
                                   "events are in its tables");
    int code = open_archive(&s, file_of(args->path, path));
    if (code == RUNG_EXIT_OK)
        code = args->query ? run_text(&s, args->query) : run_input(&s);
    sqlite3_close(s.db);
    return code;
}

const rung_command rung_command_sql = {
    .name = "sql",
    .summary = "ask an archive file with SQL",
    .details =
        "Opens the archive read-only, also while a server writes it, with the table of score\n"
        "events, which other tools need an extension for. Without a query it reads statements\n"
        "from the input, each ended by a semicolon; .tables lists tables and views.\n"
        "\n"
        "  rung sql /var/lib/rung 'SELECT * FROM readable_windows'\n"
        "  rung sql archive.db --csv < report.sql > report.csv\n",
    RUNG_OPTIONS(sql_args, sql_options),
    .run = run_sql,
};
