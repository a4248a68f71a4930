/*
 * Cells are kept until the widths are known. Styles surround the text and never its padding.
 */
#include "cli/table.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

struct cli_cell {
    enum cli_style style;
    int width;
    char *text;
};

void cli_table_init(struct cli_table *table, const char *const *titles, int32_t column_count,
                    uint32_t right)
{
    CHECK(column_count > 0 && column_count <= CLI_TABLE_COLUMNS_MAX);
    *table = (struct cli_table){.column_count = column_count, .right = right};
    for (int32_t i = 0; i < column_count; i++) {
        cli_table_put(table, CLI_STYLE_BOLD, "%s", titles[i]);
    }
}

void cli_table_deinit(struct cli_table *table)
{
    for (int32_t i = 0; i < table->cell_count; i++) {
        free(table->cells[i].text);
    }
    free(table->cells);
}

void cli_table_put(struct cli_table *table, enum cli_style style, const char *format, ...)
{
    if (table->cell_count == table->cell_cap) {
        table->cell_cap = MAX(64, table->cell_cap * 2);
        table->cells = xrealloc(table->cells, (size_t)table->cell_cap * sizeof *table->cells);
    }
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int width = vsnprintf(NULL, 0, format, args);
    CHECK(width >= 0);
    char *text = xalloc((size_t)width + 1);
    vsnprintf(text, (size_t)width + 1, format, again);
    va_end(again);
    va_end(args);
    table->cells[table->cell_count++] = (struct cli_cell){style, width, text};
}

static void print_cell(const struct cli_table *table, struct cli_terminal *terminal, int32_t index,
                       int width)
{
    const struct cli_cell *cell = &table->cells[index];
    int32_t column = index % table->column_count;
    bool is_right = (table->right >> column & 1) != 0;
    bool is_last = column + 1 == table->column_count;
    bool is_styled = cell->style != CLI_STYLE_PLAIN;
    struct buf *out = &terminal->out;
    buf_putf(out, "%*s%s%s%s", is_right ? width - cell->width : 0, "",
             is_styled ? cli_terminal_style(terminal, cell->style) : "", cell->text,
             is_styled ? cli_terminal_style(terminal, CLI_STYLE_PLAIN) : "");
    if (!is_last) {
        buf_putf(out, "%*s", is_right ? 2 : width - cell->width + 2, "");
    }
}

/* Blanks that an empty last cell leaves behind are taken back. */
static void end_line(struct buf *out)
{
    while (out->len > 0 && out->ptr[out->len - 1] == ' ') {
        out->len--;
    }
    buf_put_u8(out, '\n');
}

void cli_table_print(const struct cli_table *table, struct cli_terminal *terminal)
{
    int widths[CLI_TABLE_COLUMNS_MAX] = {0};
    CHECK(table->cell_count % table->column_count == 0);
    for (int32_t i = 0; i < table->cell_count; i++) {
        int32_t column = i % table->column_count;
        widths[column] = MAX(widths[column], table->cells[i].width);
    }
    for (int32_t i = 0; i < table->cell_count; i++) {
        print_cell(table, terminal, i, widths[i % table->column_count]);
        if ((i + 1) % table->column_count == 0) {
            end_line(&terminal->out);
        }
    }
}
