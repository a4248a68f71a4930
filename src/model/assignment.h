/*
 * The assignment of a partition and its algebra (docs/spec/reassignment.md section 4).
 */
#pragma once

#include "model/ids.h"

/* A triple. While nothing moves, adding and removing are empty. */
struct assignment {
    struct ids replicas; /* RS: the full list, first = preferred leader */
    struct ids adding;   /* AR */
    struct ids removing; /* RR */
    struct ids
        original; /* klamm: the list before the first move, for an exact undo; empty = unknown */
};

void assignment_deinit(struct assignment *a);
void assignment_copy(struct assignment *to, const struct assignment *from);
/* The same triple; `original` does not count. */
bool assignment_equal(const struct assignment *a, const struct assignment *b);
bool assignment_is_reassigning(const struct assignment *a);
/* ret must be initialised (zeroed) and not alias. */
void assignment_origin(const struct assignment *a, struct ids *ret); /* RS without AR, in order */
void assignment_target(const struct assignment *a, struct ids *ret); /* RS without RR, in order */
/* reassignTo(a, target): always from a's origin. Keeps or sets `original` (design decision 1): the
 * stored one while it has the origin's members, else the origin. */
void assignment_reassign(const struct assignment *a, const struct ids *target,
                         struct assignment *ret);
/* Where a cancel leads: the stored original when it has the members of the origin, else the origin.
 * Returns false when a stored original was there but had to be ignored. */
bool assignment_undo_target(const struct assignment *a, struct ids *ret);
/* An undo leads to this list. */
bool assignment_undoes_to(const struct assignment *a, const struct ids *list);
