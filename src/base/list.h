/*
 * Intrusive doubly linked lists. A node is in at most one list; list_remove on a node that is in none
 * (zeroed or removed before) does nothing.
 */
#pragma once

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>

struct list_node {
    struct list_node *prev;
    struct list_node *next;
};

struct list {
    struct list_node head;
    size_t count;
};

static inline void list_init(struct list *l)
{
    l->head.prev = l->head.next = &l->head;
    l->count = 0;
}

static inline bool list_is_empty(const struct list *l)
{
    return l->count == 0;
}

static inline bool list_has(const struct list_node *n)
{
    return n->next != NULL;
}

static inline void list_push_back(struct list *l, struct list_node *n)
{
    n->prev = l->head.prev;
    n->next = &l->head;
    l->head.prev->next = n;
    l->head.prev = n;
    l->count++;
}

/* at: a node of l, or &l->head for the front. */
static inline void list_insert_after(struct list *l, struct list_node *at, struct list_node *n)
{
    n->prev = at;
    n->next = at->next;
    at->next->prev = n;
    at->next = n;
    l->count++;
}

static inline void list_push_front(struct list *l, struct list_node *n)
{
    n->next = l->head.next;
    n->prev = &l->head;
    l->head.next->prev = n;
    l->head.next = n;
    l->count++;
}

/* Puts n in front of `before`, a node of l, or &l->head for the end. */
static inline void list_insert_before(struct list *l, struct list_node *before, struct list_node *n)
{
    n->prev = before->prev;
    n->next = before;
    before->prev->next = n;
    before->prev = n;
    l->count++;
}

static inline void list_remove(struct list *l, struct list_node *n)
{
    if (n->next != NULL) {
        n->prev->next = n->next;
        n->next->prev = n->prev;
        n->prev = n->next = NULL;
        l->count--;
    }
}

/* NULL when empty. */
static inline struct list_node *list_first(const struct list *l)
{
    return l->count == 0 ? NULL : l->head.next;
}

static inline struct list_node *list_pop(struct list *l)
{
    struct list_node *n = list_first(l);
    if (n != NULL) {
        list_remove(l, n);
    }
    return n;
}

/* n is a struct list_node * declared by the caller; the body must not remove n. */
#define list_foreach(n, l) for ((n) = (l)->head.next; (n) != &(l)->head; (n) = (n)->next)
/* The body may remove n (and only n). */
#define list_foreach_safe(n, tmp, l)                                                               \
    for ((n) = (l)->head.next, (tmp) = (n)->next; (n) != &(l)->head; (n) = (tmp), (tmp) = (n)->next)
