/*
 * docs/configuration.md, made from the table of properties. Pure.
 */
#pragma once

#include "base/buf.h"

/* Appends the whole document. */
void cmd_server_document_put(struct buf *b);
