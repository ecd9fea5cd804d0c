/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "model/text.h"
#include "model/utf8.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t rung_elapsed_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void rung_pause_ms(long ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int number) {
    (void)number;
    is_interrupted = 1;
}

void rung_interrupt_catch(void) {
    struct sigaction stop = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
}

bool rung_is_interrupted(void) {
    return is_interrupted;
}

/* ---- the terminal ---- */

static bool is_lively(FILE *out) {
    const char *term = getenv("TERM");
    return isatty(fileno(out)) && term && *term && strcmp(term, "dumb") != 0;
}

/* Cached: it is asked for every cell. */
bool rung_terminal_has_color(FILE *out) {
    static signed char known[3]; /* 0: not asked yet; 1: yes; -1: no */
    int fd = fileno(out);
    if (fd < 0 || fd > 2)
        return false; /* only standard streams are terminals */
    if (known[fd] == 0) {
        const char *no_color = getenv("NO_COLOR");
        known[fd] = is_lively(out) && !(no_color && *no_color) ? 1 : -1;
    }
    return known[fd] > 0;
}

/* From the variables: this program never calls setlocale(), so that numbers look the same everywhere. */
bool rung_terminal_has_unicode(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "UTF8") ||
                   strstr(value, "utf-8");
    }
    return false;
}

const char *rung_terminal_color(FILE *out, rung_color color) {
    static const char *const codes[] = {
        [RUNG_COLOR_PLAIN] = "\033[0m", [RUNG_COLOR_BOLD] = "\033[1m",
        [RUNG_COLOR_DIM] = "\033[2m",   [RUNG_COLOR_GOOD] = "\033[32m",
        [RUNG_COLOR_BAD] = "\033[31m",  [RUNG_COLOR_ACCENT] = "\033[36m",
    };
    return rung_terminal_has_color(out) ? codes[color] : "";
}

void rung_print_colored(rung_color color, const char *format, ...) {
    va_list args;
    fputs(rung_terminal_color(stdout, color), stdout);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    fputs(rung_terminal_color(stdout, RUNG_COLOR_PLAIN), stdout);
}

/* ---- text ---- */

size_t rung_digits_group(const char *digits, size_t count, char *out) {
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return at;
}

const char *rung_count_text(uint64_t n, char out[RUNG_COUNT_TEXT_MAX]) {
    char digits[20];
    rung_digits_group(digits, rung_digits_format(n, digits), out);
    return out;
}

const char *rung_size_text(uint64_t bytes, char out[RUNG_COUNT_TEXT_MAX]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = (double)bytes;
    size_t unit = 0;
    for (; size >= 1024 && unit < 6; unit++)
        size /= 1024;
    snprintf(out, RUNG_COUNT_TEXT_MAX, unit && size < 100 ? "%.1f %s" : "%.0f %s", size,
             units[unit]);
    return out;
}

/* The code of a character of two or three bytes that changes how the rest of the line is displayed: marks of text
 * direction, line separators. 0: another. */
static unsigned unsettling(const char *p, size_t len) {
    const uint8_t *b = (const uint8_t *)p;
    if (len >= 2 && b[0] == 0xd8 && b[1] == 0x9c)
        return 0x61c;
    if (len < 3 || b[0] != 0xe2 || (b[1] & 0xc0) != 0x80 || (b[2] & 0xc0) != 0x80)
        return 0;
    unsigned c = 0x2000u | (b[1] & 0x3fu) << 6 | (b[2] & 0x3fu);
    bool is_one =
        c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    return is_one ? c : 0;
}

/* Bytes of the character at `p`; 0 if it must not be shown: a control character, or invalid UTF-8. */
static size_t shown_length(const char *p, size_t len) {
    uint8_t first = (uint8_t)*p;
    if (first < 0x80)
        return first >= 0x20 && first != 0x7f;
    size_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    return n <= len && rung_utf8_is_plain(rung_slice_of(p, n)) && !unsettling(p, len) ? n : 0;
}

static bool is_plain_word(rung_slice text) {
    if (text.len == 0)
        return false;
    for (size_t i = 0, n; i < text.len; i += n) {
        n = shown_length(text.ptr + i, text.len - i);
        if (n == 0 || strchr(" \"\\=", text.ptr[i]))
            return false;
    }
    return true;
}

void rung_print_word(FILE *out, rung_slice text) {
    if (is_plain_word(text)) {
        fwrite(text.ptr, 1, text.len, out);
        return;
    }
    fputc('"', out);
    for (size_t i = 0, n; i < text.len; i += n ? n : 1) {
        n = shown_length(text.ptr + i, text.len - i);
        if (n == 0)
            fprintf(out, "\\x%02x", (unsigned)(uint8_t)text.ptr[i]);
        else if (text.ptr[i] == '"' || text.ptr[i] == '\\')
            fprintf(out, "\\%c", text.ptr[i]);
        else
            fwrite(text.ptr + i, 1, n, out);
    }
    fputc('"', out);
}

void rung_print_json(FILE *out, rung_slice text) {
    fputc('"', out);
    for (size_t i = 0, n; i < text.len; i += n ? n : 1) {
        uint8_t c = (uint8_t)text.ptr[i];
        unsigned code = unsettling(text.ptr + i, text.len - i);
        n = shown_length(text.ptr + i, text.len - i);
        if (code) {
            n = code < 0x800 ? 2 : 3;
            fprintf(out, "\\u%04x", code);
        } else if (n > 0 && c != '"' && c != '\\')
            fwrite(text.ptr + i, 1, n, out);
        else if (c < 0x80)
            fprintf(out, c == '"' || c == '\\' ? "\\%c" : "\\u%04x", c);
        else if (c == 0xc2 && i + 1 < text.len && (uint8_t)text.ptr[i + 1] < 0xa0 &&
                 (uint8_t)text.ptr[i + 1] >= 0x80)
            fprintf(out, "\\u%04x", (unsigned)(uint8_t)text.ptr[++i]);
        else
            fputs("\\ufffd", out);
    }
    fputc('"', out);
}

/* ---- tables ---- */

enum { CELL_TEXT_MAX = 192 };

typedef struct cell {
    char text[CELL_TEXT_MAX];
    rung_color color;
} cell;

struct rung_table {
    size_t column_count, cell_count, capacity;
    size_t marked_row; /* from 1; 0: none */
    rung_table_column columns[RUNG_TABLE_COLUMNS_MAX];
    cell *cells;
};

static void *get_or_leave(void *old, size_t old_size, size_t size) {
    void *p = rung_alloc_resize(rung_alloc_heap(), old, old_size, size);
    if (!p) {
        fputs("rung: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

rung_table *rung_table_begin(size_t column_count, const rung_table_column *columns) {
    RUNG_ASSERT(column_count <= RUNG_TABLE_COLUMNS_MAX);
    rung_table *t = get_or_leave(NULL, 0, sizeof *t);
    *t = (rung_table){.column_count = column_count};
    memcpy(t->columns, columns, column_count * sizeof *columns);
    for (size_t i = 0; i < column_count; i++)
        rung_table_cell(t, RUNG_COLOR_DIM, "%s", columns[i].title);
    return t;
}

static cell *add_cell(rung_table *t, rung_color color) {
    if (t->cell_count == t->capacity) {
        size_t grown = t->capacity ? 2 * t->capacity : 64;
        t->cells = get_or_leave(t->cells, t->capacity * sizeof(cell), grown * sizeof(cell));
        t->capacity = grown;
    }
    cell *c = &t->cells[t->cell_count++];
    c->color = color;
    return c;
}

void rung_table_cell(rung_table *t, rung_color color, const char *format, ...) {
    cell *c = add_cell(t, color);
    va_list args;
    va_start(args, format);
    vsnprintf(c->text, sizeof c->text, format, args);
    va_end(args);
}

void rung_table_word(rung_table *t, rung_color color, rung_slice text) {
    cell *c = add_cell(t, color);
    memset(c->text, 0, sizeof c->text);
    FILE *to = fmemopen(c->text, sizeof c->text - 1, "w");
    if (!to)
        return; /* no memory: an empty cell */
    rung_print_word(to, text);
    fclose(to);
}

void rung_table_mark(rung_table *t) {
    t->marked_row = (t->cell_count - 1) / t->column_count + 1;
}

static size_t places(const char *text) {
    size_t n = 0;
    for (; *text; text++)
        n += ((uint8_t)*text & 0xc0) != 0x80;
    return n;
}

static void print_row(const rung_table *t, size_t row, const size_t *widths, FILE *out) {
    const char *bold = row + 1 == t->marked_row ? rung_terminal_color(out, RUNG_COLOR_BOLD) : "";
    fputs("  ", out);
    for (size_t i = 0; i < t->column_count; i++) {
        const cell *c = &t->cells[row * t->column_count + i];
        const char *color = c->color == RUNG_COLOR_PLAIN ? "" : rung_terminal_color(out, c->color);
        int pad = (int)(widths[i] - places(c->text));
        bool is_right = t->columns[i].is_number, is_last = i + 1 == t->column_count;
        fprintf(out, "%s%s%*s%s%*s", bold, color, is_right ? pad : 0, "", c->text,
                is_right || is_last ? 0 : pad, "");
        if (*bold || *color)
            fputs(rung_terminal_color(out, RUNG_COLOR_PLAIN), out);
        fputs(is_last ? "\n" : "  ", out);
    }
}

/* Bytes from the decimal point on; SIZE_MAX: not a plain number. */
static size_t fraction_of(const char *text) {
    const char *point = strchr(text, '.');
    if (text[strspn(text, "-0123456789,.")])
        return SIZE_MAX;
    return point ? strlen(point) : 0;
}

/* Pad the numbers of a column so that their decimal points align. */
static void align_points(rung_table *t, size_t column) {
    size_t longest = 0;
    for (size_t i = column + t->column_count; i < t->cell_count; i += t->column_count) {
        size_t n = fraction_of(t->cells[i].text);
        if (n == SIZE_MAX)
            return;
        longest = n > longest ? n : longest;
    }
    for (size_t i = column + t->column_count; i < t->cell_count; i += t->column_count) {
        char *text = t->cells[i].text;
        size_t len = strlen(text), add = longest - fraction_of(text);
        if (len + add >= sizeof t->cells[i].text)
            continue;
        memset(text + len, ' ', add);
        text[len + add] = '\0';
    }
}

void rung_table_drop_empty(rung_table *t, size_t column) {
    size_t kept = 0;
    for (size_t i = column + t->column_count; i < t->cell_count; i += t->column_count)
        if (t->cells[i].text[0])
            return;
    for (size_t i = 0; i < t->cell_count; i++)
        if (i % t->column_count != column)
            t->cells[kept++] = t->cells[i];
    t->cell_count = kept;
    t->column_count--;
    memmove(&t->columns[column], &t->columns[column + 1],
            (t->column_count - column) * sizeof t->columns[0]);
}

size_t rung_table_print(rung_table *t, FILE *out) {
    size_t widths[RUNG_TABLE_COLUMNS_MAX] = {0}, rows = t->cell_count / t->column_count;
    RUNG_ASSERT(t->cell_count % t->column_count == 0);
    for (size_t i = 0; i + 1 < t->column_count;
         i++) /* not the last: no blanks at the end of a line */
        if (t->columns[i].is_number)
            align_points(t, i);
    for (size_t i = 0; i < t->cell_count; i++) {
        size_t n = places(t->cells[i].text), *width = &widths[i % t->column_count];
        *width = n > *width ? n : *width;
    }
    for (size_t row = 0; out && row < rows; row++)
        print_row(t, row, widths, out);
    rung_alloc_free(rung_alloc_heap(), t->cells, t->capacity * sizeof(cell));
    rung_alloc_free(rung_alloc_heap(), t, sizeof *t);
    return rows;
}

/* ---- progress ---- */

enum { BAR_WIDTH = 30, PATIENCE_MS = 300, REDRAW_MS = 100 };

static void draw(rung_progress *p, uint64_t done, uint64_t total, int64_t now_ms) {
    double share = total ? (double)done / (double)total : 0;
    int full = (int)(share * (double)BAR_WIDTH);
    int64_t spent_ms = now_ms - p->began_ms;
    char bar[BAR_WIDTH + 1], count[RUNG_COUNT_TEXT_MAX];
    memset(bar, '#', (size_t)full);
    memset(bar + full, '.', (size_t)(BAR_WIDTH - full));
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r\033[K%s [%s] %3.0f %%", p->what, bar, 100 * share);
    fprintf(stderr, "  %s", p->note ? p->note : rung_count_text(done, count));
    if (done > p->began_at && done < total)
        fprintf(stderr, "  %.0f s left",
                (double)spent_ms / 1000 * (double)(total - done) / (double)(done - p->began_at));
    fflush(stderr);
    p->shown_ms = now_ms;
    p->is_shown = true;
}

void rung_progress_show(rung_progress *p, const char *what, uint64_t done, uint64_t total) {
    int64_t now_ms = rung_elapsed_ms();
    if (!is_lively(stderr))
        return;
    if (p->what != what)
        *p = (rung_progress){.what = what,
                             .began_ms = now_ms,
                             .shown_ms = now_ms + PATIENCE_MS,
                             .is_shown = p->is_shown,
                             .began_at = done,
                             .note = p->note};
    if (now_ms - p->shown_ms >= REDRAW_MS)
        draw(p, done < total ? done : total, total, now_ms);
}

void rung_progress_end(rung_progress *p) {
    if (p->is_shown)
        fputs("\r\033[K", stderr);
    *p = (rung_progress){0};
}

void rung_terminal_line(const char *name, const char *text) {
    rung_print_colored(RUNG_COLOR_DIM, "%-12s", name);
    printf(" %s\n", text);
}
