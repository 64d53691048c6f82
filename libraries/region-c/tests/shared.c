/* Shared maps and graphs from C, beside tables of the obvious kind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <metroon_region.h>

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            exit(EXIT_FAILURE);                                                       \
        }                                                                             \
    } while (0)
#define OK(call) CHECK((call) == MNR_OK)

enum { KEYS = 40, VERSIONS = 300, NODES = 12 };

static uint32_t state = 12345;

static uint32_t below(uint32_t bound)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % bound;
}

/* The key of a number: of four kinds, and made anew each time. */
static mnr_ref key(mnr_builder *builder, uint32_t number)
{
    mnr_ref made;
    char text[16];
    int length = snprintf(text, sizeof text, "key %u", (unsigned)number);
    switch (number % 4) {
    case 0: return mnr_immediate(number % 3, number);
    case 1: OK(mnr_build_number(builder, number % 2, (uint64_t)number << 40, &made)); break;
    case 2: OK(mnr_build_string(builder, text, (size_t)length, &made)); break;
    default: OK(mnr_build_buffer(builder, text, (size_t)length, &made));
    }
    return made;
}

static void maps(mnr_heap heap)
{
    static uint32_t model[VERSIONS][KEYS]; /* 0: none */
    mnr_ref versions[VERSIONS], found;
    mnr_region region;
    mnr_builder builder;
    mnr_entry entries[KEYS];
    size_t at, of, count, length;
    OK(mnr_region_open(heap, &region));
    OK(mnr_builder_open(region, &builder));
    OK(mnr_shared_map(region, &versions[0]));
    for (at = 1; at < VERSIONS; at++) {
        uint32_t number = below(KEYS), value = below(4) == 0 ? 0 : below(1000) + 1u;
        of = below((uint32_t)at);
        memcpy(model[at], model[of], sizeof model[at]);
        model[at][number] = value;
        if (value == 0) {
            OK(mnr_shared_map_remove(region, versions[of], key(&builder, number), &versions[at]));
        } else {
            OK(mnr_shared_map_insert(region, versions[of], key(&builder, number), mnr_immediate(0, value), &versions[at]));
        }
    }
    for (at = 0; at < VERSIONS; at++) {
        uint32_t number;
        count = 0;
        for (number = 0; number < KEYS; number++) {
            mnr_status status = mnr_shared_map_get(heap, versions[at], key(&builder, number), &found);
            CHECK(status == (model[at][number] == 0 ? MNR_NO_KEY : MNR_OK));
            CHECK(status != MNR_OK || mnr_payload(found) == model[at][number]);
            count += model[at][number] != 0;
        }
        OK(mnr_shared_map_length(heap, versions[at], &length));
        CHECK(length == count);
        OK(mnr_shared_map_entries(heap, versions[at], entries, KEYS, &length));
        CHECK(length == count);
    }
    CHECK(mnr_shared_map_insert(region, versions[0], versions[1], versions[1], &found) == MNR_WRONG_KIND);
    CHECK(mnr_shared_map_get(heap, mnr_immediate(0, 1), 0, &found) == MNR_WRONG_KIND);
    OK(mnr_region_close(region, NULL));
}

static void graphs(mnr_heap heap)
{
    static uint32_t model[NODES][NODES]; /* 0: none */
    mnr_ref nodes[NODES], found, reached[NODES];
    mnr_entry edges[NODES];
    mnr_region region, target;
    size_t at, to, count, degree;
    bool seen[NODES] = {true};
    OK(mnr_region_open(heap, &region));
    OK(mnr_region_open(heap, &target));
    for (at = 0; at < NODES; at++) {
        OK(mnr_node(region, mnr_immediate(1, (uint32_t)at), &nodes[at]));
    }
    for (at = 0; at < 400; at++) {
        uint32_t from = below(NODES), there = below(NODES), value = below(8) + 1u;
        if (below(3) == 0) {
            mnr_status status = mnr_edge_remove(region, nodes[from], nodes[there], &found);
            CHECK(status == (model[from][there] == 0 ? MNR_NO_KEY : MNR_OK));
            model[from][there] = 0;
        } else if (from % 3 != 0 || there % 3 == 0) {
            OK(mnr_edge_add(region, nodes[from], nodes[there], mnr_immediate(0, value)));
            model[from][there] = value;
        }
    }
    /* The graph leaves its region, rings and all. */
    OK(mnr_transmigrate(region, target, nodes, NODES, NULL));
    for (at = 0; at < NODES; at++) {
        degree = 0;
        for (to = 0; to < NODES; to++) {
            mnr_status status = mnr_edge(heap, nodes[at], nodes[to], &found);
            CHECK(status == (model[at][to] == 0 ? MNR_NO_KEY : MNR_OK));
            CHECK(status != MNR_OK || mnr_payload(found) == model[at][to]);
            degree += model[at][to] != 0;
        }
        OK(mnr_edges(heap, nodes[at], edges, NODES, &count));
        CHECK(count == degree);
    }
    for (count = 1, to = 0; to != count;) {
        to = count;
        for (at = 0; at < (size_t)NODES * NODES; at++) {
            if (seen[at / NODES] && model[at / NODES][at % NODES] != 0 && !seen[at % NODES]) {
                seen[at % NODES] = true;
                count++;
            }
        }
    }
    OK(mnr_reachable(heap, nodes, 1, reached, NODES, &degree));
    CHECK(degree == count && reached[0] == nodes[0] && count < NODES);
    CHECK(mnr_edge_add(target, nodes[0], mnr_immediate(0, 0), 0) == MNR_WRONG_KIND);
    OK(mnr_region_close(target, NULL));
}

int main(void)
{
    mnr_heap heap;
    OK(mnr_heap_open(0, &heap));
    maps(heap);
    graphs(heap);
    OK(mnr_heap_close(heap));
    puts("shared maps and graphs are what the tables say");
    return EXIT_SUCCESS;
}
