/*
 * Text tables: columns as wide as their widest cell, two blanks between them, none at line ends.
 */
#pragma once

#include "cli/terminal.h"

#define CLI_TABLE_COLUMNS_MAX 16

struct cli_table {
    int32_t column_count;
    uint32_t right; /* bit i: column i is aligned right */
    int32_t cell_count;
    int32_t cell_cap;
    struct cli_cell *cells; /* row by row; the first row holds the titles */
};

/* titles lives on. */
void cli_table_init(struct cli_table *table, const char *const *titles, int32_t column_count,
                    uint32_t right);
void cli_table_deinit(struct cli_table *table);
/* The next cell, in reading order. */
void cli_table_put(struct cli_table *table, enum cli_style style, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* The table must have whole rows. */
void cli_table_print(const struct cli_table *table, struct cli_terminal *terminal);
