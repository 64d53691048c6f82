/*
 * The report's loops in C: region memory through its header, beside malloc and free. A line for each row and round:
 * the name of the row, how many operations, nanoseconds of ours and of malloc in all, tab by tab.
 *
 * Both sides of a round run one after the other, the first one in turns. Each writes the same values and reads them back; sums
 * that differ end the program. With WITH_MIMALLOC, mimalloc stands in place of malloc.
 *
 * Usage: loops ROUNDS DIVISOR
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <metroon_region.h>

#ifdef WITH_MIMALLOC
void *mi_malloc(size_t size);
void mi_free(void *memory);
#define malloc mi_malloc
#define free mi_free
#endif

enum { SMALL = 1000, LOOKUPS = 1000 };

/* Keeps a compiler from working a side out beforehand. */
static volatile uint64_t seen;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void expect(mnr_status status)
{
    if (status != MNR_OK) {
        fprintf(stderr, "%s\n", mnr_error_text(status));
        exit(EXIT_FAILURE);
    }
}

static void *taken(void *memory)
{
    if (memory == NULL) {
        fputs("malloc has no memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return memory;
}

static mnr_heap heap;
static mnr_opener opener;
static const mnr_view *view;

/* A pair as a program in C has it. */
struct node {
    uint64_t value;
    struct node *next;
};

/* One region after the other, each with a number of pairs, opened, filled, read and closed. */
static uint64_t ours_life(uint64_t regions, uint32_t objects)
{
    uint64_t sum = 0;
    while (regions-- > 0) {
        mnr_builder builder;
        mnr_ref list = mnr_immediate(0, 0), head = list;
        uint32_t at;
        expect(mnr_open(&opener, &builder));
        for (at = 0; at < objects; at++) {
            expect(mnr_build_pair(&builder, mnr_immediate(0, at + 1u), list, &list));
        }
        if (mnr_view_child(view, list, 0, &head)) {
            sum += mnr_payload(head);
        }
        expect(mnr_close(&builder));
    }
    return sum;
}

static uint64_t malloc_life(uint64_t regions, uint32_t objects)
{
    uint64_t sum = 0;
    while (regions-- > 0) {
        struct node *list = NULL;
        uint32_t at;
        for (at = 0; at < objects; at++) {
            struct node *node = (struct node *)taken(malloc(sizeof *node));
            node->value = at + 1u;
            node->next = list;
            list = node;
        }
        sum += list->value;
        while (list != NULL) {
            struct node *next = list->next;
            free(list);
            list = next;
        }
    }
    return sum;
}

/* The report's lifecycle: a region, a boxed integer, no region. */
static uint64_t ours_boxed(uint64_t regions, uint32_t objects)
{
    uint64_t sum = 0;
    (void)objects;
    while (regions-- > 0) {
        mnr_builder builder;
        mnr_ref number;
        uint64_t bits = 0;
        expect(mnr_open(&opener, &builder));
        expect(mnr_build_number(&builder, 0, regions, &number));
        if (mnr_view_number(view, number, &bits)) {
            sum += bits;
        }
        expect(mnr_close(&builder));
    }
    return sum;
}

static uint64_t malloc_boxed(uint64_t regions, uint32_t objects)
{
    uint64_t sum = 0;
    (void)objects;
    while (regions-- > 0) {
        uint64_t *volatile number = (uint64_t *)taken(malloc(sizeof *number));
        *number = regions;
        sum += *number;
        free(number);
    }
    return sum;
}

/* As above, by calls: what the inline functions spare. */
static uint64_t ours_by_calls(uint64_t regions, uint32_t objects)
{
    uint64_t sum = 0;
    (void)objects;
    while (regions-- > 0) {
        mnr_region region;
        mnr_ref number;
        uint64_t bits = 0;
        expect(mnr_region_open(heap, &region));
        expect(mnr_number(region, 0, regions, &number));
        if (mnr_view_number(view, number, &bits)) {
            sum += bits;
        }
        expect(mnr_region_close(region, NULL));
    }
    return sum;
}

/* A map of 1,000 immediates, asked by the header, and a table of the usual kind in C: open addressing over pairs of words. */
static mnr_ref map;
static mnr_region map_region;
static struct slot {
    uint32_t key;
    uint32_t value;
} table[2048];

static uint32_t place(uint32_t key) { return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 53); }

static void make_maps(void)
{
    uint32_t at;
    expect(mnr_region_open(heap, &map_region));
    expect(mnr_map(map_region, LOOKUPS, &map));
    for (at = 0; at < LOOKUPS; at++) {
        uint32_t key = at * 7919u + 1u, slot = place(key);
        expect(mnr_map_insert(map_region, map, mnr_immediate(0, key), mnr_immediate(0, at)));
        while (table[slot].key != 0u) {
            slot = (slot + 1u) % 2048u;
        }
        table[slot].key = key;
        table[slot].value = at;
    }
}

static uint64_t ours_get(uint64_t rounds, uint32_t count)
{
    uint64_t sum = 0;
    while (rounds-- > 0) {
        uint32_t at;
        for (at = 0; at < count; at++) {
            mnr_ref value;
            if (mnr_view_get(view, map, mnr_immediate(0, at * 7919u + 1u), &value)) {
                sum += mnr_payload(value);
            }
        }
    }
    return sum;
}

static uint64_t ours_get_by_calls(uint64_t rounds, uint32_t count)
{
    uint64_t sum = 0;
    while (rounds-- > 0) {
        uint32_t at;
        for (at = 0; at < count; at++) {
            mnr_ref value;
            if (mnr_map_get(heap, map, mnr_immediate(0, at * 7919u + 1u), &value) == MNR_OK) {
                sum += mnr_payload(value);
            }
        }
    }
    return sum;
}

static uint64_t table_get(uint64_t rounds, uint32_t count)
{
    uint64_t sum = 0;
    while (rounds-- > 0) {
        uint32_t at;
        for (at = 0; at < count; at++) {
            uint32_t key = at * 7919u + 1u, slot = place(key);
            while (table[slot].key != 0u && table[slot].key != key) {
                slot = (slot + 1u) % 2048u;
            }
            if (table[slot].key == key) {
                sum += table[slot].value;
            }
        }
    }
    return sum;
}

typedef uint64_t side(uint64_t times, uint32_t objects);

/* A row: its sides, how often they are done, on how many objects, and how many operations that is each time. */
struct row {
    const char *name;
    side *ours;
    side *theirs;
    uint64_t times;
    uint32_t objects;
    uint32_t operations;
};

static const struct row rows[] = {
    {"from C: open, 1 pair, close", ours_life, malloc_life, 4000000, 1, 1},
    {"from C: open, 10 pairs, close", ours_life, malloc_life, 1000000, 10, 1},
    {"from C: a pair of 1,000 in a region", ours_life, malloc_life, 10000, SMALL, SMALL},
    {"from C: open, a boxed integer, close", ours_boxed, malloc_boxed, 4000000, 1, 1},
    {"from C, by calls: open, a boxed integer, close", ours_by_calls, malloc_boxed, 400000, 1, 1},
    {"from C: a look into a map of 1,000", ours_get, table_get, 10000, LOOKUPS, LOOKUPS},
    {"from C, by calls: a look into a map of 1,000", ours_get_by_calls, table_get, 1000, LOOKUPS, LOOKUPS},
};

static uint64_t timed(side *work, uint64_t times, uint32_t objects, uint64_t *sum)
{
    uint64_t start = now();
    *sum = work(times, objects);
    seen += *sum;
    return now() - start;
}

int main(int count, char **arguments)
{
    uint64_t rounds = count > 1 ? strtoull(arguments[1], NULL, 10) : 9;
    uint64_t divisor = count > 2 ? strtoull(arguments[2], NULL, 10) : 1, round;
    size_t at;
    expect(mnr_heap_open(0, &heap));
    expect(mnr_opener_open(heap, &opener));
    expect(mnr_heap_view(heap, &view));
    make_maps();
    for (at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        const struct row *row = &rows[at];
        uint64_t times = row->times / (divisor > 0 ? divisor : 1) + 1, sum, other;
        (void)timed(row->ours, times / 10 + 1, row->objects, &sum);
        (void)timed(row->theirs, times / 10 + 1, row->objects, &sum);
        for (round = 0; round < rounds; round++) {
            uint64_t ours, theirs;
            if (round % 2 == 0) {
                ours = timed(row->ours, times, row->objects, &sum);
                theirs = timed(row->theirs, times, row->objects, &other);
            } else {
                theirs = timed(row->theirs, times, row->objects, &other);
                ours = timed(row->ours, times, row->objects, &sum);
            }
            if (sum != other) {
                fprintf(stderr, "%s: the sides have read different values\n", row->name);
                return EXIT_FAILURE;
            }
            printf("%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", row->name, times * row->operations, ours, theirs);
        }
    }
    expect(mnr_heap_close(heap));
    return EXIT_SUCCESS;
}
