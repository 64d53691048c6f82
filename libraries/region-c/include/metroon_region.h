/*
 * Region memory: a heap of small cells, in regions that are given back as a whole.
 *
 * A heap has regions. In a region are made expressions, variables, numbers, strings, buffers, arrays and maps. A reference
 * (mnr_ref) is 32 bits: an immediate value, or one of these. It stays good until its region is freed or rewound to before
 * it; the heap's memory never moves.
 *
 * Every function returns a status, MNR_OK or an error, and writes results to the places that its last arguments point to. A
 * function that refuses has changed nothing. Where a result may be unwanted, "may be NULL" is said.
 *
 * What is found out and refused: NULL, handles of what was closed, of another heap or of another thread, an operation too
 * many, a size or a position out of range, a reference of the wrong kind, a mark that is too old or was changed, a limit that
 * is reached. What is not: a pointer that points nowhere; NULL for a builder, an opener or a view, or for where an inline
 * function of a view writes to; lengths that are not true; a builder or a view that is used on another thread than the heap's; a
 * view of a tether that has ended; a builder that the caller has changed.
 *
 * A reference that outlived what it refers to, or was made up, refers to some cell of its heap. What does not lie there as a
 * whole is MNR_BROKEN. Otherwise the call works on whatever lies there now, and what it reads or changes may be part of something
 * else in the same heap. It touches no other memory, takes none beyond the limits, and comes to an end. mnr_dangling finds such
 * references. Where one is met while things are moved (mnr_transmigrate, mnr_freeze, mnr_thaw) and nothing can be made of it,
 * that is MNR_BROKEN as well, and the heap can only be closed from then on.
 *
 * A heap belongs to the thread that opened it, and ends with it. Frozen regions and tethers belong to all threads.
 *
 * C99, and C++. MIT OR Apache-2.0.
 */
#ifndef METROON_REGION_H
#define METROON_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MNR_API extern

/* The version of this header, as mnr_version() gives that of the library: 1,000,000 * major + 1,000 * minor + patch. */
#define MNR_VERSION 1000

/* ---- Status ---------------------------------------------------------------------------------------------------------- */

typedef int32_t mnr_status;

enum {
    MNR_OK = 0,
    MNR_NULL = 1,
    MNR_NO_HEAP = 2,
    MNR_NO_REGION = 3,
    MNR_FREED = 4,
    MNR_CLOSED = 5,
    MNR_HAS_CHILDREN = 6,
    MNR_RETAINED = 7,
    MNR_TETHERED = 8,
    MNR_NOT_RETAINED = 9,
    MNR_NOT_TETHERED = 10,
    MNR_FOREIGN = 11,
    MNR_SAME = 12,
    MNR_TOO_MANY = 13,
    MNR_HEAP_LIMIT = 14,
    MNR_REGION_LIMIT = 15,
    MNR_ADDRESSES = 16,
    MNR_NUMBER_ADDRESSES = 17,
    MNR_TOO_LONG = 18,
    MNR_TOO_MANY_BYTES = 19,
    MNR_TOO_MANY_ENTRIES = 20,
    MNR_NO_MEMORY = 21,
    MNR_WRONG_KIND = 22,
    MNR_OUT_OF_RANGE = 23,
    MNR_NOT_TEXT = 24,
    MNR_RING = 25,
    MNR_STALE_MARK = 26,
    MNR_DANGLING = 27,
    MNR_NO_SLOT = 28,
    MNR_FROZEN_CLOSED = 29,
    MNR_FROZEN_GONE = 30,
    MNR_NO_TETHER = 31,
    MNR_NO_READERS = 32,
    MNR_NO_KEY = 33,
    MNR_TOO_SMALL = 34,
    MNR_BROKEN = 35
};

/* What a status means and what to do. The text is never freed. */
MNR_API const char *mnr_error_text(mnr_status status);

/*
 * What this thread's last error said of its case, numbers included. Copies as much as fits, with a NUL after it, and gives
 * how long it is without the NUL. `to` may be NULL if `size` is 0.
 */
MNR_API size_t mnr_error_message(char *to, size_t size);

MNR_API uint32_t mnr_version(void);
MNR_API const char *mnr_version_text(void);

/* ---- References ------------------------------------------------------------------------------------------------------ */

/* Three bits of tag below 29 bits of payload. */
typedef uint32_t mnr_ref;

#define MNR_PAYLOAD_MAX 0x1fffffffu

/* Kinds. Those below 4 are the tags of immediates, whose meaning is the owner's. */
enum {
    MNR_KIND_IMMEDIATE_0 = 0,
    MNR_KIND_IMMEDIATE_1 = 1,
    MNR_KIND_IMMEDIATE_2 = 2,
    MNR_KIND_IMMEDIATE_3 = 3,
    MNR_KIND_NUMBER = 4,
    MNR_KIND_VARIABLE = 5,
    MNR_KIND_EXPRESSION = 6,
    MNR_KIND_STRING = 7,
    MNR_KIND_BUFFER = 8,
    MNR_KIND_ARRAY = 9,
    MNR_KIND_MAP = 10
};

/* An immediate of a tag below 4. Of a larger payload, the bits that fit. */
static inline mnr_ref mnr_immediate(uint32_t tag, uint32_t payload) { return (payload << 3) | (tag & 3u); }
static inline uint32_t mnr_tag(mnr_ref reference) { return reference & 7u; }
static inline uint32_t mnr_payload(mnr_ref reference) { return reference >> 3; }
static inline bool mnr_is_immediate(mnr_ref reference) { return mnr_tag(reference) < 4u; }

/* ---- Heaps and regions ----------------------------------------------------------------------------------------------- */

/* A heap. No two heaps of a process ever have the same number, and none has 0. */
typedef uint64_t mnr_heap;

/* A region of a heap. To be copied and compared, not to be changed. */
typedef struct mnr_region {
    uint64_t heap;
    uint64_t bits;
} mnr_region;

/* Counts of a heap. A cell has 8 bytes, a chunk 64 cells. Cells of chunks in use are counted when the chunk is left; those of
 * regions that mnr_close has freed without a call are not. */
typedef struct mnr_statistics {
    uint64_t cells_handed_out;
    uint64_t cells_copied;
    uint64_t cells_left; /* unused, at the ends of chunks */
    uint64_t chunks;
    uint64_t chunks_free;
    uint64_t bytes_live; /* of chunks that regions hold */
    uint64_t bytes_live_peak;
    uint64_t bytes_held;   /* got from the system for cells */
    uint64_t bytes_beside; /* for tables beside them */
    uint64_t regions;
    uint64_t splices;
    uint64_t escapes_spliced;
    uint64_t escapes_copied;
    uint64_t escapes_copied_by_map;
    uint64_t limit_failures;
    uint64_t cells_ahead; /* unused now, at the ends of regions */
    uint64_t tethers;     /* on regions now, by mnr_region_tether */
} mnr_statistics;

/* A heap of at most so many bytes of cells; 0 means no limit but that of references, 4 GiB. Each heap reserves address space for
 * all of those, which is not memory; MNR_NO_MEMORY if the system refuses it (ulimit -v). */
MNR_API mnr_status mnr_heap_open(size_t limit, mnr_heap *heap);
/* Gives back all memory of a heap, with all regions that are in it. */
MNR_API mnr_status mnr_heap_close(mnr_heap heap);
MNR_API mnr_status mnr_heap_set_limit(mnr_heap heap, size_t limit);
/* A step for each region. */
MNR_API mnr_status mnr_heap_statistics(mnr_heap heap, mnr_statistics *statistics);

/* A region with nothing in it. Takes no chunk before something is made in it. */
MNR_API mnr_status mnr_region_open(mnr_heap heap, mnr_region *region);
/* A region within another one, which cannot be closed before it. */
MNR_API mnr_status mnr_region_open_within(mnr_region parent, mnr_region *region);
/* Closes a region: nothing more can be made in it. It is freed unless it is retained or tethered. `freed` may be NULL. O(1). */
MNR_API mnr_status mnr_region_close(mnr_region region, bool *freed);
/* Keeps a region, open or closed, until it is released as often. `freed` may be NULL. */
MNR_API mnr_status mnr_region_retain(mnr_region region);
MNR_API mnr_status mnr_region_release(mnr_region region, bool *freed);
/* Keeps a region while this thread reads it. Other threads read frozen regions. `freed` may be NULL. */
MNR_API mnr_status mnr_region_tether(mnr_region region);
MNR_API mnr_status mnr_region_untether(mnr_region region, bool *freed);
/* Lets a region retain another one of its heap for as long as it lives, so that what is in it may refer to what is there. */
MNR_API mnr_status mnr_region_refer(mnr_region from, mnr_region to);
/* The most bytes of cells that a region may hold, in whole chunks of 512; 0 means no limit. */
MNR_API mnr_status mnr_region_set_limit(mnr_region region, size_t limit);
MNR_API mnr_status mnr_region_bytes(mnr_region region, uint64_t *bytes);
/* MNR_FOREIGN unless what is in a region may refer to this: to what is in it, around it, or in what it refers to. */
MNR_API mnr_status mnr_region_check(mnr_region region, mnr_ref value);

/*
 * Where a region stands. To be copied, not to be changed: one of which a bit has changed is MNR_STALE_MARK. A mark that is forged
 * on purpose, its check included, gives back memory that the region does not hold, and then nothing of this heap means anything;
 * a process must not take marks from anybody it would not let write to its memory.
 */
typedef struct mnr_mark {
    mnr_region region;
    uint64_t serial;
    uint64_t places[3];
    uint64_t check; /* of the fields above */
} mnr_mark;

MNR_API mnr_status mnr_mark_take(mnr_region region, mnr_mark *mark);
/* Gives back what a region made after a mark; marks that were taken later mean nothing then. O(1) in what is given back. */
MNR_API mnr_status mnr_rewind(mnr_region region, const mnr_mark *mark);

/* ---- Making, by calls ------------------------------------------------------------------------------------------------ */

/* A key of a map and its value. */
typedef struct mnr_entry {
    mnr_ref key;
    mnr_ref value;
} mnr_entry;

/* Each of them refuses, with MNR_FOREIGN, to refer to what may be freed before the region: see mnr_region_check. */
MNR_API mnr_status mnr_expression(mnr_region region, const mnr_ref *children, size_t length, mnr_ref *made);
/* An unbound variable with the owner's label. */
MNR_API mnr_status mnr_variable(mnr_region region, uint32_t label, mnr_ref *made);
/* A number of 64 bits that mean something to the owner, of kind 0 or 1. */
MNR_API mnr_status mnr_number(mnr_region region, uint32_t kind, uint64_t bits, mnr_ref *made);
/* A string of so many bytes of UTF-8, NUL bytes among them if there are. */
MNR_API mnr_status mnr_string(mnr_region region, const char *text, size_t length, mnr_ref *made);
/* A buffer of these bytes; of zeros if `bytes` is NULL. */
MNR_API mnr_status mnr_buffer(mnr_region region, const void *bytes, size_t length, mnr_ref *made);
MNR_API mnr_status mnr_array(mnr_region region, const mnr_ref *elements, size_t length, mnr_ref *made);
/* An array without elements, and room for so many. */
MNR_API mnr_status mnr_array_with_room(mnr_region region, size_t room, mnr_ref *made);
/* A map without entries, and room for so many. Keys are equal as references, as numbers, or as bytes. */
MNR_API mnr_status mnr_map(mnr_region region, size_t room, mnr_ref *made);
MNR_API mnr_status mnr_map_of(mnr_region region, const mnr_entry *entries, size_t length, mnr_ref *made);
/* A list in one allocation: for each element a pair of it and the rest, which ends in `tail`. */
MNR_API mnr_status mnr_list(mnr_region region, const mnr_ref *elements, size_t length, mnr_ref tail, mnr_ref *made);
/* The same of the children of an expression or the elements of an array. */
MNR_API mnr_status mnr_list_of(mnr_region region, mnr_ref elements, mnr_ref tail, mnr_ref *made);
/* A tree in one allocation: `depth` levels of expressions of `branching` children, above branching^depth = `count` leaves. */
MNR_API mnr_status mnr_tree(mnr_region region, uint32_t depth, size_t branching, const mnr_ref *leaves, size_t count,
                            mnr_ref *made);

/* ---- Changing -------------------------------------------------------------------------------------------------------- */

/* What is changed must lie in the region (MNR_FOREIGN), and so must what is stored: see mnr_region_check. */
MNR_API mnr_status mnr_set_child(mnr_region region, mnr_ref expression, size_t index, mnr_ref child);
MNR_API mnr_status mnr_bind(mnr_region region, mnr_ref variable, mnr_ref value);
MNR_API mnr_status mnr_unbind(mnr_region region, mnr_ref variable);
MNR_API mnr_status mnr_set_label(mnr_region region, mnr_ref variable, uint32_t label);
MNR_API mnr_status mnr_write_bytes(mnr_region region, mnr_ref buffer, size_t position, const void *bytes, size_t count);
MNR_API mnr_status mnr_array_set(mnr_region region, mnr_ref array, size_t position, mnr_ref element);
MNR_API mnr_status mnr_array_push(mnr_region region, mnr_ref array, mnr_ref element);
MNR_API mnr_status mnr_array_pop(mnr_region region, mnr_ref array, mnr_ref *element);
MNR_API mnr_status mnr_map_insert(mnr_region region, mnr_ref map, mnr_ref key, mnr_ref value);
/* MNR_NO_KEY if there is none. `removed`, for the value, may be NULL. */
MNR_API mnr_status mnr_map_remove(mnr_region region, mnr_ref map, mnr_ref key, mnr_ref *removed);

/* ---- Reading, by calls ----------------------------------------------------------------------------------------------- */

/* What is read: a heap, or a tether. */
typedef uint64_t mnr_readable;

MNR_API mnr_status mnr_kind(mnr_readable readable, mnr_ref reference, uint32_t *kind);
/* Children, elements, entries or bytes. */
MNR_API mnr_status mnr_length(mnr_readable readable, mnr_ref reference, size_t *length);
/* A child of an expression, or an element of an array. */
MNR_API mnr_status mnr_child(mnr_readable readable, mnr_ref reference, size_t index, mnr_ref *child);
/* All of them. MNR_TOO_SMALL if `to` has no room for them; `count`, how many there are, may be NULL. */
MNR_API mnr_status mnr_children(mnr_readable readable, mnr_ref reference, mnr_ref *to, size_t room, size_t *count);
/* The elements of a list, as many as there is room for, and what is after them: `rest` may be NULL. */
MNR_API mnr_status mnr_list_elements(mnr_readable readable, mnr_ref list, mnr_ref *to, size_t room, size_t *count,
                                     mnr_ref *rest);
/* What a variable is bound to; itself if it is not. */
MNR_API mnr_status mnr_binding(mnr_readable readable, mnr_ref variable, mnr_ref *value);
/* Follows bindings to an unbound variable or to what is not a variable. */
MNR_API mnr_status mnr_walk(mnr_readable readable, mnr_ref reference, mnr_ref *value);
MNR_API mnr_status mnr_label(mnr_readable readable, mnr_ref variable, uint32_t *label);
MNR_API mnr_status mnr_number_bits(mnr_readable readable, mnr_ref number, uint64_t *bits);
/* The bytes of a string or a buffer, no NUL after them. MNR_TOO_SMALL if there is no room; `length` may be NULL. */
MNR_API mnr_status mnr_bytes(mnr_readable readable, mnr_ref bytes, void *to, size_t room, size_t *length);
/* MNR_NO_KEY if there is none. */
MNR_API mnr_status mnr_map_get(mnr_readable readable, mnr_ref map, mnr_ref key, mnr_ref *value);
/* The value of a key that is this string, without making it. */
MNR_API mnr_status mnr_map_get_string(mnr_readable readable, mnr_ref map, const char *key, size_t length, mnr_ref *value);
/* All entries, in the order in which the keys were inserted. */
MNR_API mnr_status mnr_map_entries(mnr_readable readable, mnr_ref map, mnr_entry *to, size_t room, size_t *count);

/* ---- Shared maps, and graphs ------------------------------------------------------------------------------------------- */

/*
 * A shared map never changes: what inserts or removes makes another map, which shares all but a path with the first one. Both may be
 * used from then on. Keys are immediates, numbers, strings and buffers, compared as those of other maps are; others are
 * MNR_WRONG_KIND. A list of pairs is shared in the same way: mnr_build_pair puts an element before a list.
 */
MNR_API mnr_status mnr_shared_map(mnr_region region, mnr_ref *made);
MNR_API mnr_status mnr_shared_map_insert(mnr_region region, mnr_ref map, mnr_ref key, mnr_ref value, mnr_ref *made);
/* The map itself if it has no such key. */
MNR_API mnr_status mnr_shared_map_remove(mnr_region region, mnr_ref map, mnr_ref key, mnr_ref *made);
/* MNR_NO_KEY if there is none. */
MNR_API mnr_status mnr_shared_map_get(mnr_readable readable, mnr_ref map, mnr_ref key, mnr_ref *value);
MNR_API mnr_status mnr_shared_map_length(mnr_readable readable, mnr_ref map, size_t *length);
/* All entries, in an order that follows from the keys. */
MNR_API mnr_status mnr_shared_map_entries(mnr_readable readable, mnr_ref map, mnr_entry *to, size_t room, size_t *count);

/* A node of a graph, with a value, which is its child 0, and without edges. */
MNR_API mnr_status mnr_node(mnr_region region, mnr_ref value, mnr_ref *made);
/* An edge with a value from a node of the region to a node. If there is one, it gets another value. */
MNR_API mnr_status mnr_edge_add(mnr_region region, mnr_ref from, mnr_ref to, mnr_ref value);
/* MNR_NO_KEY if there is none. `removed`, for the value, may be NULL. */
MNR_API mnr_status mnr_edge_remove(mnr_region region, mnr_ref from, mnr_ref to, mnr_ref *removed);
/* The value of an edge. MNR_NO_KEY if there is none. */
MNR_API mnr_status mnr_edge(mnr_readable readable, mnr_ref from, mnr_ref to, mnr_ref *value);
/* The nodes that edges lead to, and the values of the edges, in the order in which they were added. */
MNR_API mnr_status mnr_edges(mnr_readable readable, mnr_ref node, mnr_entry *to, size_t room, size_t *count);
/* All nodes that edges lead to from some, they first, each once, the nearer ones first. */
MNR_API mnr_status mnr_reachable(mnr_readable readable, const mnr_ref *from, size_t length, mnr_ref *to, size_t room,
                                 size_t *count);

/* ---- Leaving --------------------------------------------------------------------------------------------------------- */

enum { MNR_ESCAPE_SPLICED = 1, MNR_ESCAPE_COPIED = 2, MNR_ESCAPE_COPIED_BY_MAP = 3 };

/* What a transmigration has done. */
typedef struct mnr_report {
    uint32_t path;          /* one of MNR_ESCAPE_... */
    uint64_t cells;         /* written: none by a splice */
    uint64_t cells_in_vain; /* copied before, in an attempt that was given up */
} mnr_report;

/* Closes a region by joining all of it to another one of its heap. References stay good. O(1). */
MNR_API mnr_status mnr_splice(mnr_region from, mnr_region to);
/*
 * Closes a region and moves what roots lead to to another one, of the same heap or of another heap of this thread, the cheapest
 * way. The roots become references to where it is now. A region that is retained or tethered stays, and what leaves is a copy.
 * `report` may be NULL.
 */
MNR_API mnr_status mnr_transmigrate(mnr_region from, mnr_region to, mnr_ref *roots, size_t count, mnr_report *report);
/* MNR_DANGLING if roots lead out of a region or to freed memory; `found`, the first such reference, may be NULL. Linear. */
MNR_API mnr_status mnr_dangling(mnr_region region, const mnr_ref *roots, size_t count, mnr_ref *found);

/* ---- Frozen regions and tethers: for all threads ----------------------------------------------------------------------- */

/* The name of a frozen region. It keeps nothing alive. */
typedef uint64_t mnr_frozen;
/* What keeps one. It may end on any thread. */
typedef uint64_t mnr_tether;

/* Words that the functions below read. To be used as long as is said where it was got. */
typedef struct mnr_view {
    const uint32_t *words;
    uint64_t length;
} mnr_view;

/* Copies what roots lead to to storage that nobody writes again. The region stays as it is. */
MNR_API mnr_status mnr_freeze(mnr_region region, const mnr_ref *roots, size_t count, mnr_frozen *frozen);
/* Lets no more tethers start. The memory is given back when the last one ends. */
MNR_API mnr_status mnr_frozen_close(mnr_frozen frozen);
MNR_API mnr_status mnr_frozen_tethers(mnr_frozen frozen, uint32_t *count);

/* What is frozen in this process, in all heaps: regions that are kept, tethers on them (an owner that has not closed is one), and
 * those of the regions that are closed and wait for a thread that reads without a tether. */
typedef struct mnr_frozen_counts {
    uint64_t regions;
    uint64_t tethers;
    uint64_t put_off;
} mnr_frozen_counts;

MNR_API mnr_status mnr_frozen_statistics(mnr_frozen_counts *counts);
MNR_API mnr_status mnr_tether_start(mnr_frozen frozen, mnr_tether *tether);
MNR_API mnr_status mnr_tether_end(mnr_tether tether);
/* A view that is good until the tether ends. A tether is a readable too, which takes a lock a call. */
MNR_API mnr_status mnr_tether_view(mnr_tether tether, mnr_view *view);
/* What was frozen, in the order in which the roots were given. `count` may be NULL. */
MNR_API mnr_status mnr_tether_roots(mnr_tether tether, mnr_ref *to, size_t room, size_t *count);
/* Copies all of it to the end of a region. `to` gets the roots of the copy. */
MNR_API mnr_status mnr_thaw(mnr_tether tether, mnr_region region, mnr_ref *to, size_t room, size_t *count);
/*
 * Reads without a tether and without a lock: the view is good until this thread calls mnr_read again, or mnr_rest, or ends.
 * A region that is closed meanwhile is given back after that.
 */
MNR_API mnr_status mnr_read(mnr_frozen frozen, mnr_view *view, mnr_ref *to, size_t room, size_t *count);
MNR_API mnr_status mnr_rest(void);

/* ---- Reading, inline --------------------------------------------------------------------------------------------------- */

/* A view of a heap, which is always that of now; when the heap is closed it is empty. For the heap's thread. */
MNR_API mnr_status mnr_heap_view(mnr_heap heap, const mnr_view **view);

/* The length of an expression; 0 of anything else. */
static inline size_t mnr_view_length(const mnr_view *view, mnr_ref expression)
{
    uint64_t at = (uint64_t)mnr_payload(expression) * 2u;
    uint32_t header;
    if (mnr_tag(expression) < 6u || at + 1u >= view->length) {
        return 0;
    }
    header = view->words[at];
    if ((header & 7u) != 0u) {
        return 0;
    }
    if (header >> 19 == 8191u) {
        return at < 2u ? 0 : view->words[at - 2u] >> 3;
    }
    return header >> 19;
}

/* A child of an expression. Whether there is one. */
static inline bool mnr_view_child(const mnr_view *view, mnr_ref expression, size_t index, mnr_ref *child)
{
    uint64_t at = (uint64_t)mnr_payload(expression) * 2u + 1u + index;
    if (index >= mnr_view_length(view, expression) || at >= view->length) {
        return false;
    }
    *child = view->words[at];
    return true;
}

/* The bits of a number. Whether it is one. */
static inline bool mnr_view_number(const mnr_view *view, mnr_ref number, uint64_t *bits)
{
    uint64_t at = (uint64_t)(number >> 4) * 2u;
    if (mnr_tag(number) != 4u || at + 1u >= view->length) {
        return false;
    }
    *bits = (uint64_t)view->words[at] | (uint64_t)view->words[at + 1u] << 32;
    return true;
}

/* What a variable is bound to, itself if it is not. Whether it is a variable. */
static inline bool mnr_view_binding(const mnr_view *view, mnr_ref variable, mnr_ref *value)
{
    uint64_t at = (uint64_t)mnr_payload(variable) * 2u;
    if (mnr_tag(variable) != 5u || at + 1u >= view->length) {
        return false;
    }
    *value = view->words[at];
    return true;
}

/*
 * Maps, by a view. Keys are compared as mnr_map_get compares them. What is not a map has no keys.
 */

/* Belongs to the library: where the words of a map lie. */
struct mnr_map_words {
    const uint32_t *entries; /* keys and values in turn */
    const uint32_t *index;
    uint64_t room;
    uint32_t bits;
};

static inline bool mnr_map_words_of(const mnr_view *view, mnr_ref map, struct mnr_map_words *words)
{
    uint64_t at = (uint64_t)mnr_payload(map) * 2u, table, index, slots;
    const uint32_t *all = view->words;
    if (mnr_tag(map) < 6u || at + 5u >= view->length || (all[at] & 7u) != 2u || all[at] >> 19 != 5u) {
        return false;
    }
    words->bits = all[at + 4u] >> 3;
    if (words->bits < 3u || words->bits > 25u) {
        return false;
    }
    slots = (uint64_t)1 << words->bits;
    table = (uint64_t)(all[at + 2u] >> 3) * 2u + 3u;
    index = (uint64_t)(all[at + 3u] >> 4) * 2u;
    if ((all[at + 1u] & 7u) != 2u || table + slots > view->length || index + slots > view->length
        || all[table - 2u] != 0x80000002u) {
        return false;
    }
    words->entries = all + table;
    words->index = all + index;
    words->room = slots / 2u;
    return true;
}

/* The upper half of a product of 64 bits by 64, and the lower half. */
static inline uint64_t mnr_product(uint64_t one, uint64_t other, uint64_t *low)
{
    uint64_t a = one >> 32, b = one & 0xffffffffu, c = other >> 32, d = other & 0xffffffffu;
    uint64_t middle = a * d + (b * d >> 32), rest = b * c + (middle & 0xffffffffu);
    *low = one * other;
    return a * c + (middle >> 32) + (rest >> 32);
}

static inline uint64_t mnr_mixed(uint64_t hash, uint64_t word)
{
    const uint64_t multiplier = (uint64_t)0x9e3779b9u << 32 | 0x7f4a7c15u;
    uint64_t low, high = mnr_product((hash << 5 | hash >> 59) ^ word ^ multiplier, multiplier, &low);
    return high ^ low;
}

/* The bytes of a string or a buffer, as the words that they lie in. Whether it is one. */
static inline bool mnr_view_bytes(const mnr_view *view, mnr_ref bytes, const uint32_t **words, size_t *length)
{
    uint64_t at = (uint64_t)mnr_payload(bytes) * 2u, run, count;
    if (mnr_tag(bytes) < 6u || at + 2u >= view->length || (view->words[at] & 7u) != 2u
        || view->words[at] >> 19 != 2u || (view->words[at + 1u] & 7u) != 0u) {
        return false;
    }
    count = view->words[at + 1u] >> 3;
    run = (uint64_t)(view->words[at + 2u] >> 4) * 2u;
    if (run + (count + 3u) / 4u > view->length) {
        return false;
    }
    *words = view->words + run;
    *length = (size_t)count;
    return true;
}

/* Whether two different references are the same key. */
static inline bool mnr_view_same(const mnr_view *view, mnr_ref one, mnr_ref other)
{
    uint64_t one_bits, other_bits;
    const uint32_t *one_words, *other_words;
    size_t one_length, other_length;
    if (mnr_view_number(view, one, &one_bits) && mnr_view_number(view, other, &other_bits)) {
        return ((one ^ other) & 8u) == 0u && one_bits == other_bits;
    }
    if (mnr_tag(one) >= 6u && mnr_tag(other) >= 6u && mnr_payload(one) == mnr_payload(other)) {
        return true;
    }
    return mnr_view_bytes(view, one, &one_words, &one_length) && mnr_view_bytes(view, other, &other_words, &other_length)
           && one_length == other_length
           && ((view->words[(uint64_t)mnr_payload(one) * 2u + 2u] ^ view->words[(uint64_t)mnr_payload(other) * 2u + 2u]) & 8u)
                  == 0u
           && memcmp(one_words, other_words, (one_length + 3u) / 4u * 4u) == 0;
}

/* What a key is looked for by. */
static inline uint64_t mnr_view_hash(const mnr_view *view, mnr_ref key)
{
    uint64_t hash;
    const uint32_t *words;
    size_t length, at;
    if (mnr_view_number(view, key, &hash)) {
        return mnr_mixed(key >> 3 & 1u, hash);
    }
    if (mnr_view_bytes(view, key, &words, &length)) {
        size_t count = (length + 3u) / 4u;
        hash = (uint64_t)length;
        for (at = 0; at < count; at += 2u) {
            hash = mnr_mixed(hash, (uint64_t)words[at] | (uint64_t)(at + 1u < count ? words[at + 1u] : 0u) << 32);
        }
        return hash;
    }
    if (mnr_tag(key) == 7u) {
        key ^= 1u;
    }
    return (uint64_t)key * ((uint64_t)0x9e3779b9u << 32 | 0x7f4a7c15u);
}

/* The value of a key of a map. Whether there is one. */
static inline bool mnr_view_get(const mnr_view *view, mnr_ref map, mnr_ref key, mnr_ref *value)
{
    struct mnr_map_words words;
    uint64_t hash, mask, step;
    uint32_t print;
    bool by_content = mnr_tag(key) == 4u || mnr_tag(key) >= 6u;
    if (!mnr_map_words_of(view, map, &words)) {
        return false;
    }
    hash = by_content ? mnr_view_hash(view, key) : (uint64_t)key * ((uint64_t)0x9e3779b9u << 32 | 0x7f4a7c15u);
    mask = ((uint64_t)1 << words.bits) - 1u;
    print = (uint32_t)(hash >> 6) & 0xfc000000u;
    for (step = 0; step <= mask; step++) {
        uint32_t slot = words.index[((hash >> (64u - words.bits)) + step) & mask];
        uint64_t position = (uint64_t)(slot & 0x03ffffffu) - 1u;
        if (slot == 0u) {
            return false;
        }
        if ((slot & 0xfc000000u) == print && position < words.room) {
            mnr_ref stored = words.entries[position * 2u];
            if (stored == key || (by_content && mnr_view_same(view, stored, key))) {
                *value = words.entries[position * 2u + 1u];
                return true;
            }
        }
    }
    return false;
}

static inline bool mnr_view_contains(const mnr_view *view, mnr_ref map, mnr_ref key)
{
    mnr_ref value;
    return mnr_view_get(view, map, key, &value);
}

/* ---- Making, inline ---------------------------------------------------------------------------------------------------- */

/* Belong to the library. A lane is never freed, so that looking at an old one does no harm. */
struct mnr_room {
    uint64_t cursor; /* in cells, as the end: another type than the words, so that a compiler knows them apart */
    uint64_t end;
};

struct mnr_lane {
    uint64_t ticket;
    uint32_t *words;
    struct mnr_room rooms[3]; /* of expressions, variables, numbers */
    mnr_view view;
    uint64_t heap; /* of the region that is ready: its heap, its handle, whether it is open, where it begins */
    uint64_t bits;
    uint64_t is_open;
    uint64_t starts[3];
};

/*
 * Makes things in a region, without a call while the last chunks of the region have room. A region may have many, and a heap
 * has one lane, which is lent to the region that was made in last: where builders of several regions take turns, each turn is a
 * call. A builder whose region or heap was closed goes the long way and gets an error. For the heap's thread.
 *
 * What expressions refer to is not checked here: mnr_region_check and mnr_dangling do that.
 */
typedef struct mnr_builder {
    struct mnr_lane *lane;
    uint64_t ticket;
    mnr_region region;
} mnr_builder;

MNR_API mnr_status mnr_builder_open(mnr_region region, mnr_builder *builder);
/* The long way, for the functions below. */
MNR_API mnr_status mnr_build_slowly(mnr_builder *builder, const mnr_ref *children, size_t length, mnr_ref *made);

/*
 * Opens and closes regions without a call, for regions that live shortly. A heap keeps one region ready, with a chunk each for
 * expressions, variables and numbers. From mnr_open to mnr_close on that region there is no call while what is made in it fits into
 * these chunks and nothing else is asked of the heap; any other call makes it a region like others. Several
 * regions may be open. For the heap's thread.
 */
typedef struct mnr_opener {
    struct mnr_lane *lane;
    mnr_heap heap;
} mnr_opener;

MNR_API mnr_status mnr_opener_open(mnr_heap heap, mnr_opener *opener);
/* The long way, for the function below. */
MNR_API mnr_status mnr_open_slowly(const mnr_opener *opener, mnr_builder *builder);

/* Opens a region, which is builder->region, and makes a builder for it. */
static inline mnr_status mnr_open(const mnr_opener *opener, mnr_builder *builder)
{
    struct mnr_lane *lane = opener->lane;
    if (lane != NULL && lane->heap == opener->heap && lane->bits != 0u && lane->is_open == 0u) {
        lane->is_open = 1u;
        builder->lane = lane;
        builder->ticket = lane->ticket;
        builder->region.heap = lane->heap;
        builder->region.bits = lane->bits;
        return MNR_OK;
    }
    return mnr_open_slowly(opener, builder);
}

/* Whether a builder can make something without a call. */
static inline bool mnr_is_lent(const mnr_builder *builder)
{
    return builder->lane != NULL && builder->ticket == builder->lane->ticket;
}

/* Closes the region of a builder. It is freed unless it is retained or tethered. */
static inline mnr_status mnr_close(mnr_builder *builder)
{
    struct mnr_lane *lane = builder->lane;
    if (mnr_is_lent(builder) && lane->is_open != 0u && (uint32_t)lane->bits != 0xffffffffu) {
        lane->ticket++;
        lane->bits++;
        lane->is_open = 0u;
        lane->rooms[0].cursor = lane->starts[0];
        lane->rooms[1].cursor = lane->starts[1];
        lane->rooms[2].cursor = lane->starts[2];
        return MNR_OK;
    }
    return mnr_region_close(builder->region, NULL);
}

/* Whether a builder can make something of these cells without a call; if not, lets it have the lane again if it may. */
static inline bool mnr_has_room(const mnr_builder *builder, uint64_t expressions, uint64_t variables, uint64_t numbers)
{
    const struct mnr_lane *lane = builder->lane;
    return mnr_is_lent(builder) && expressions <= lane->rooms[0].end - lane->rooms[0].cursor
           && variables <= lane->rooms[1].end - lane->rooms[1].cursor
           && numbers <= lane->rooms[2].end - lane->rooms[2].cursor;
}

static inline mnr_status mnr_lend(mnr_builder *builder)
{
    mnr_builder again;
    mnr_status status = mnr_builder_open(builder->region, &again);
    if (status == MNR_OK) {
        *builder = again;
    }
    return status;
}

/* An expression of these children. */
static inline mnr_status mnr_build(mnr_builder *builder, const mnr_ref *children, size_t length, mnr_ref *made)
{
    uint64_t cells = (uint64_t)length / 2u + 1u;
    if (length < 64u && (children != NULL || length == 0u) && made != NULL && mnr_has_room(builder, cells, 0u, 0u)) {
        struct mnr_lane *lane = builder->lane;
        uint64_t at = lane->rooms[0].cursor;
        uint32_t *words = lane->words + at * 2u;
        size_t child;
        lane->rooms[0].cursor = at + cells;
        words[cells * 2u - 1u] = 0u;
        words[0] = (uint32_t)length << 19;
        for (child = 0; child < length; child++) {
            words[child + 1u] = children[child];
        }
        *made = (uint32_t)at << 3 | 6u;
        return MNR_OK;
    }
    return mnr_build_slowly(builder, children, length, made);
}

/* An expression of two children. */
static inline mnr_status mnr_build_pair(mnr_builder *builder, mnr_ref first, mnr_ref second, mnr_ref *made)
{
    mnr_ref children[2];
    if (made != NULL && mnr_has_room(builder, 2u, 0u, 0u)) {
        struct mnr_lane *lane = builder->lane;
        uint64_t at = lane->rooms[0].cursor;
        uint32_t *words = lane->words + at * 2u;
        lane->rooms[0].cursor = at + 2u;
        words[0] = 2u << 19;
        words[1] = first;
        words[2] = second;
        words[3] = 0u;
        *made = (uint32_t)at << 3 | 6u;
        return MNR_OK;
    }
    children[0] = first;
    children[1] = second;
    return mnr_build_slowly(builder, children, 2u, made);
}

/* A list: for each element a pair of it and the rest, which ends in `tail`. */
static inline mnr_status mnr_build_list(mnr_builder *builder, const mnr_ref *elements, size_t length, mnr_ref tail,
                                        mnr_ref *made)
{
    mnr_ref list = tail;
    if (made == NULL || (elements == NULL && length > 0u)) {
        return mnr_build_slowly(builder, elements, length, made);
    }
    while (length > 0u) {
        mnr_status status = mnr_build_pair(builder, elements[--length], list, &list);
        if (status != MNR_OK) {
            return status;
        }
    }
    *made = list;
    return MNR_OK;
}

/* A number of kind 0 or 1. */
static inline mnr_status mnr_build_number(mnr_builder *builder, uint32_t kind, uint64_t bits, mnr_ref *made)
{
    mnr_status status;
    if (kind < 2u && made != NULL && mnr_has_room(builder, 0u, 0u, 1u)) {
        struct mnr_lane *lane = builder->lane;
        uint64_t at = lane->rooms[2].cursor;
        uint32_t *words = lane->words + at * 2u;
        lane->rooms[2].cursor = at + 1u;
        words[0] = (uint32_t)bits;
        words[1] = (uint32_t)(bits >> 32);
        *made = ((uint32_t)at << 1 | kind) << 3 | 4u;
        return MNR_OK;
    }
    status = mnr_lend(builder);
    return status == MNR_OK ? mnr_number(builder->region, kind, bits, made) : status;
}

/* An unbound variable with the owner's label. */
static inline mnr_status mnr_build_variable(mnr_builder *builder, uint32_t label, mnr_ref *made)
{
    mnr_status status;
    if (made != NULL && mnr_has_room(builder, 0u, 1u, 0u)) {
        struct mnr_lane *lane = builder->lane;
        uint64_t at = lane->rooms[1].cursor;
        uint32_t *words = lane->words + at * 2u;
        lane->rooms[1].cursor = at + 1u;
        words[0] = (uint32_t)at << 3 | 5u;
        words[1] = label;
        *made = words[0];
        return MNR_OK;
    }
    status = mnr_lend(builder);
    return status == MNR_OK ? mnr_variable(builder->region, label, made) : status;
}

/* The words of a string (kind 1) or a buffer (kind 0), where there is room for them. */
static inline mnr_ref mnr_build_run(struct mnr_lane *lane, uint32_t kind, const void *bytes, size_t length, uint64_t cells)
{
    uint64_t at = lane->rooms[0].cursor, run = lane->rooms[2].cursor;
    uint32_t *words = lane->words + at * 2u, *to = lane->words + run * 2u;
    lane->rooms[0].cursor = at + 2u;
    lane->rooms[2].cursor = run + cells;
    to[cells * 2u - 1u] = 0u;
    to[cells * 2u - 2u] = 0u;
    if (length > 0u && bytes != NULL) {
        memcpy(to, bytes, length);
    } else {
        memset(to, 0, (size_t)cells * 8u);
    }
    words[0] = 2u << 19 | 2u;
    words[1] = (uint32_t)length << 3;
    words[2] = ((uint32_t)run << 1 | kind) << 3 | 4u;
    words[3] = 0u;
    return (uint32_t)at << 3 | 6u;
}

/* A string of `length` bytes. Those that are not ASCII take a call, which looks whether they are UTF-8. */
static inline mnr_status mnr_build_string(mnr_builder *builder, const char *text, size_t length, mnr_ref *made)
{
    uint64_t cells = length > 8u ? ((uint64_t)length + 7u) / 8u : 1u;
    mnr_status status;
    if (length <= 512u && (text != NULL || length == 0u) && made != NULL && mnr_has_room(builder, 2u, 0u, cells)) {
        size_t at;
        unsigned char all = 0;
        for (at = 0; at < length; at++) {
            all |= (unsigned char)text[at];
        }
        if (all < 128u) {
            *made = mnr_build_run(builder->lane, 1u, text, length, cells);
            return MNR_OK;
        }
    }
    status = mnr_lend(builder);
    return status == MNR_OK ? mnr_string(builder->region, text, length, made) : status;
}

/* A buffer of these bytes; of zeros if `bytes` is NULL. */
static inline mnr_status mnr_build_buffer(mnr_builder *builder, const void *bytes, size_t length, mnr_ref *made)
{
    uint64_t cells = length > 8u ? ((uint64_t)length + 7u) / 8u : 1u;
    mnr_status status;
    if (length <= 512u && made != NULL && mnr_has_room(builder, 2u, 0u, cells)) {
        *made = mnr_build_run(builder->lane, 0u, bytes, length, cells);
        return MNR_OK;
    }
    status = mnr_lend(builder);
    return status == MNR_OK ? mnr_buffer(builder->region, bytes, length, made) : status;
}

/* An array of these elements. */
static inline mnr_status mnr_build_array(mnr_builder *builder, const mnr_ref *elements, size_t length, mnr_ref *made)
{
    uint64_t cells = (uint64_t)length / 2u + 1u;
    mnr_status status;
    if (length < 64u && (elements != NULL || length == 0u) && made != NULL && mnr_has_room(builder, 2u + cells, 0u, 0u)) {
        struct mnr_lane *lane = builder->lane;
        uint64_t at = lane->rooms[0].cursor;
        uint32_t *words = lane->words + at * 2u;
        size_t element;
        lane->rooms[0].cursor = at + 2u + cells;
        words[0] = 3u << 19 | 2u;
        words[1] = (uint32_t)length << 3 | 1u;
        words[2] = (uint32_t)(at + 2u) << 3 | 6u;
        words[3] = (uint32_t)length << 3;
        words[3u + cells * 2u] = 0u;
        words[4] = (uint32_t)length << 19;
        for (element = 0; element < length; element++) {
            words[5u + element] = elements[element];
        }
        *made = (uint32_t)at << 3 | 6u;
        return MNR_OK;
    }
    status = mnr_lend(builder);
    return status == MNR_OK ? mnr_array(builder->region, elements, length, made) : status;
}

#ifdef __cplusplus
}
#endif

#endif
