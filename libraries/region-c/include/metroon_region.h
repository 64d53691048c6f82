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
 * is reached. What is not: a pointer that points nowhere; lengths that are not true; a builder or a view that is used on another
 * thread than the heap's; a view of a tether that has ended; a builder that the caller has changed.
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

/* Counts of a heap. A cell has 8 bytes, a chunk 64 cells. Cells of chunks in use are counted when the chunk is left. */
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
} mnr_statistics;

/* A heap of at most so many bytes of cells; 0 means no limit but that of references, 4 GiB. Each heap reserves address space for
 * all of those, which is not memory; MNR_NO_MEMORY if the system refuses it (ulimit -v). */
MNR_API mnr_status mnr_heap_open(size_t limit, mnr_heap *heap);
/* Gives back all memory of a heap, with all regions that are in it. */
MNR_API mnr_status mnr_heap_close(mnr_heap heap);
MNR_API mnr_status mnr_heap_set_limit(mnr_heap heap, size_t limit);
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

/* ---- Making, inline ---------------------------------------------------------------------------------------------------- */

/* Belongs to the library. It is never freed, so that looking at an old one does no harm. */
struct mnr_lane {
    uint64_t ticket;
    uint32_t *words;
    uint64_t cursor; /* in cells, as the end: another type than the words, so that a compiler knows them apart */
    uint64_t end;
    mnr_view view;
};

/*
 * Makes expressions in a region, without a call while the last chunk of the region has room. A region may have many, and a heap
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

/* An expression of these children. */
static inline mnr_status mnr_build(mnr_builder *builder, const mnr_ref *children, size_t length, mnr_ref *made)
{
    struct mnr_lane *lane = builder->lane;
    uint64_t cells = (uint64_t)length / 2u + 1u;
    if (lane != NULL && builder->ticket == lane->ticket && length < 64u && cells <= lane->end - lane->cursor) {
        uint64_t at = lane->cursor;
        uint32_t *words = lane->words + at * 2u;
        size_t child;
        lane->cursor = at + cells;
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
    struct mnr_lane *lane = builder->lane;
    mnr_ref children[2];
    if (lane != NULL && builder->ticket == lane->ticket && 2u <= lane->end - lane->cursor) {
        uint64_t at = lane->cursor;
        uint32_t *words = lane->words + at * 2u;
        lane->cursor = at + 2u;
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

#ifdef __cplusplus
}
#endif

#endif
