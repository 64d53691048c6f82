/* The inline functions: what they make, read, open and close is what the calls make, read, open and close. */
#include <inttypes.h>
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

static uint64_t state = 88172645463325252u;

/* A number below a bound, from a fixed seed (G. Marsaglia, Xorshift RNGs, 2003). */
static uint32_t below(uint32_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % bound;
}

static uint64_t regions(mnr_heap heap)
{
    mnr_statistics counts;
    OK(mnr_heap_statistics(heap, &counts));
    return counts.regions;
}

static uint64_t bytes_live(mnr_heap heap)
{
    mnr_statistics counts;
    OK(mnr_heap_statistics(heap, &counts));
    return counts.bytes_live;
}

static void same_bytes(mnr_heap heap, mnr_ref one, mnr_ref other, size_t length)
{
    char one_bytes[600], other_bytes[600];
    size_t one_length, other_length;
    uint32_t one_kind, other_kind;
    OK(mnr_bytes(heap, one, one_bytes, sizeof one_bytes, &one_length));
    OK(mnr_bytes(heap, other, other_bytes, sizeof other_bytes, &other_length));
    OK(mnr_kind(heap, one, &one_kind));
    OK(mnr_kind(heap, other, &other_kind));
    CHECK(one_kind == other_kind && one_length == length && other_length == length);
    CHECK(memcmp(one_bytes, other_bytes, length) == 0);
}

/* Things of every length around those at which a chunk ends, made in both ways. */
static void makers(void)
{
    mnr_heap heap;
    mnr_opener opener;
    size_t length, at;
    char text[600];
    mnr_ref elements[600];
    OK(mnr_heap_open(0, &heap));
    OK(mnr_opener_open(heap, &opener));
    for (length = 0; length < 600; length++) {
        mnr_builder builder;
        mnr_ref made, other, variable, number, list, array;
        size_t count;
        uint64_t bits;
        uint32_t label;
        for (at = 0; at < length; at++) {
            text[at] = (char)below(length % 7 == 6 ? 200 : 128);
            elements[at] = mnr_immediate(below(4), below(MNR_PAYLOAD_MAX));
        }
        OK(mnr_open(&opener, &builder));
        OK(mnr_build_variable(&builder, (uint32_t)length, &variable));
        OK(mnr_build_number(&builder, length % 2, (uint64_t)length << 33 | 5u, &number));
        if (mnr_string(builder.region, text, length, &other) == MNR_OK) {
            OK(mnr_build_string(&builder, text, length, &made));
            same_bytes(heap, made, other, length);
        } else {
            CHECK(mnr_build_string(&builder, text, length, &made) == MNR_NOT_TEXT);
        }
        OK(mnr_build_buffer(&builder, text, length, &made));
        OK(mnr_buffer(builder.region, text, length, &other));
        same_bytes(heap, made, other, length);
        OK(mnr_build_buffer(&builder, NULL, length, &made));
        OK(mnr_buffer(builder.region, NULL, length, &other));
        same_bytes(heap, made, other, length);
        OK(mnr_build_array(&builder, elements, length, &array));
        OK(mnr_children(heap, array, elements, 600, &count));
        CHECK(count == length);
        OK(mnr_array_push(builder.region, array, variable));
        OK(mnr_child(heap, array, length, &other));
        CHECK(other == variable);
        OK(mnr_build_list(&builder, elements, length, number, &list));
        OK(mnr_list_elements(heap, list, elements, 600, &count, &other));
        CHECK(count == length && other == number);
        OK(mnr_build(&builder, elements, length, &made));
        OK(mnr_length(heap, made, &count));
        CHECK(count == length);
        OK(mnr_label(heap, variable, &label));
        OK(mnr_number_bits(heap, number, &bits));
        CHECK(label == length && bits == ((uint64_t)length << 33 | 5u));
        OK(mnr_dangling(builder.region, &made, 1, NULL));
        OK(mnr_dangling(builder.region, &array, 1, NULL));
        OK(mnr_dangling(builder.region, &list, 1, NULL));
        OK(mnr_close(&builder));
        CHECK(mnr_close(&builder) == MNR_FREED);
    }
    CHECK(regions(heap) == 0 && bytes_live(heap) == 0);
    OK(mnr_heap_close(heap));
}

/* What is made on the inline path alone, in random order, is there when the region becomes one like others. */
static void adopted(void)
{
    mnr_heap heap;
    mnr_opener opener;
    const mnr_view *view;
    int round;
    OK(mnr_heap_open(0, &heap));
    OK(mnr_opener_open(heap, &opener));
    OK(mnr_heap_view(heap, &view));
    for (round = 0; round < 2000; round++) {
        mnr_builder builder, inner;
        mnr_region old;
        mnr_ref list = mnr_immediate(0, 0), element;
        uint32_t length = below(round % 10 == 0 ? 200 : 20), at, expected = 0;
        bool by_call = below(3) == 0;
        OK(mnr_open(&opener, &builder));
        for (at = 0; at < length; at++) {
            mnr_ref made;
            switch (below(3)) {
            case 0: OK(mnr_build_number(&builder, 0, at, &made)); break;
            case 1: OK(mnr_build_variable(&builder, at, &made)); break;
            default: OK(mnr_build_string(&builder, "frog", 4, &made)); break;
            }
            OK(mnr_build_pair(&builder, made, list, &list));
        }
        if (by_call) {
            OK(mnr_dangling(builder.region, &list, 1, NULL));
            CHECK(regions(heap) == 1);
            OK(mnr_open(&opener, &inner));
            OK(mnr_build_pair(&inner, list, list, &element));
            OK(mnr_close(&inner));
        }
        for (element = list; mnr_view_child(view, element, 1, &element);) {
            expected++;
        }
        CHECK(expected == length);
        old = builder.region;
        OK(mnr_close(&builder));
        if (below(2) == 0) {
            mnr_ref made;
            CHECK(mnr_number(old, 0, 1, &made) == MNR_FREED);
            CHECK(mnr_build_pair(&builder, list, list, &made) == MNR_FREED);
        } else {
            mnr_ref made;
            mnr_builder other;
            OK(mnr_open(&opener, &other));
            CHECK(other.region.bits != old.bits);
            CHECK(mnr_build_pair(&builder, list, list, &made) == MNR_FREED);
            CHECK(mnr_close(&builder) == MNR_FREED);
            OK(mnr_close(&other));
        }
    }
    CHECK(regions(heap) == 0 && bytes_live(heap) == 0);
    OK(mnr_heap_close(heap));
    {
        mnr_builder builder;
        mnr_heap other;
        CHECK(mnr_open(&opener, &builder) == MNR_NO_HEAP);
        /* It may have the place of the first one, and is another heap. */
        OK(mnr_heap_open(0, &other));
        CHECK(mnr_open(&opener, &builder) == MNR_NO_HEAP);
        CHECK(mnr_opener_open(heap, &opener) == MNR_NO_HEAP);
        OK(mnr_heap_close(other));
    }
}

/* A region that is retained or tethered is not freed by the inline path. */
static void retained(void)
{
    mnr_heap heap;
    mnr_opener opener;
    mnr_builder builder;
    mnr_ref made;
    bool freed;
    OK(mnr_heap_open(0, &heap));
    OK(mnr_opener_open(heap, &opener));
    OK(mnr_open(&opener, &builder));
    OK(mnr_build_number(&builder, 1, 77, &made));
    OK(mnr_region_retain(builder.region));
    OK(mnr_close(&builder));
    CHECK(mnr_close(&builder) == MNR_CLOSED && regions(heap) == 1);
    OK(mnr_region_release(builder.region, &freed));
    CHECK(freed && regions(heap) == 0);
    OK(mnr_heap_close(heap));
}

/* Where a limit leaves no memory for a region that is ready, regions are opened all the same. */
static void limits(void)
{
    size_t chunks;
    for (chunks = 0; chunks < 8; chunks++) {
        mnr_heap heap;
        mnr_opener opener;
        mnr_builder builder;
        mnr_ref made = mnr_immediate(0, 1);
        size_t pairs = 0;
        OK(mnr_heap_open(chunks == 0 ? 1 : chunks * 512, &heap));
        OK(mnr_opener_open(heap, &opener));
        OK(mnr_open(&opener, &builder));
        while (mnr_build_pair(&builder, made, made, &made) == MNR_OK) {
            pairs++;
        }
        CHECK(pairs == chunks * 32);
        CHECK(mnr_build_pair(&builder, made, made, &made) == MNR_HEAP_LIMIT);
        OK(mnr_close(&builder));
        CHECK(bytes_live(heap) == 0);
        OK(mnr_heap_close(heap));
    }
}

static mnr_ref key(mnr_builder *builder)
{
    static const char *const words[] = {"", "a", "frog", "a string of some length", "exactly8", "nineteen characters"};
    const char *word = words[below(6)];
    mnr_ref made, one = mnr_immediate(0, 1);
    switch (below(7)) {
    case 0: OK(mnr_build_number(builder, below(2), below(20), &made)); break;
    case 1: OK(mnr_build_number(builder, below(2), (uint64_t)below(5) << 40, &made)); break;
    case 2: OK(mnr_build_string(builder, word, strlen(word), &made)); break;
    case 3: OK(mnr_build_buffer(builder, word, strlen(word), &made)); break;
    case 4: OK(mnr_build_variable(builder, 5, &made)); break;
    case 5: OK(mnr_build_pair(builder, one, one, &made)); break;
    default: return mnr_immediate(below(4), below(40));
    }
    return made;
}

enum { KEYS = 400 };

/* The map is asked in both ways, for keys that it has, had, and never had. */
static void maps(void)
{
    mnr_heap heap;
    const mnr_view *view;
    int round;
    OK(mnr_heap_open(0, &heap));
    OK(mnr_heap_view(heap, &view));
    for (round = 0; round < 60; round++) {
        mnr_region region;
        mnr_builder builder;
        mnr_ref map, keys[KEYS], value;
        size_t at;
        OK(mnr_region_open(heap, &region));
        OK(mnr_builder_open(region, &builder));
        OK(mnr_map(region, below(10), &map));
        for (at = 0; at < KEYS; at++) {
            keys[at] = key(&builder);
        }
        for (at = 0; at < (size_t)round * 5u; at++) {
            mnr_ref other = keys[below(KEYS)];
            if (below(4) > 0) {
                OK(mnr_map_insert(region, map, other, mnr_immediate(1, below(1000))));
            } else {
                mnr_status status = mnr_map_remove(region, map, other, NULL);
                CHECK(status == MNR_OK || status == MNR_NO_KEY);
            }
        }
        for (at = 0; at < KEYS; at++) {
            mnr_ref found = 0;
            mnr_status status = mnr_map_get(heap, map, keys[at], &value);
            CHECK(mnr_view_get(view, map, keys[at], &found) == (status == MNR_OK));
            CHECK(mnr_view_contains(view, map, keys[at]) == (status == MNR_OK));
            CHECK(status != MNR_OK || found == value);
            CHECK(!mnr_view_get(view, keys[at], map, &found));
            if (mnr_tag(keys[at]) == 6u) {
                CHECK(mnr_view_contains(view, map, keys[at] | 1u) == (status == MNR_OK));
            }
        }
        OK(mnr_region_close(region, NULL));
        /* Whatever lies there now: it is looked at within the heap, and comes to an end. */
        for (at = 0; at < 3000; at++) {
            mnr_ref reference = below(UINT32_MAX), found;
            (void)mnr_view_get(view, map, keys[at % KEYS], &found);
            (void)mnr_view_get(view, at % 2 == 0 ? reference : reference % 4096u, reference, &found);
        }
    }
    OK(mnr_heap_close(heap));
    CHECK(!mnr_view_contains(view, mnr_immediate(2, 0) | 6u, 1));
}

int main(void)
{
    makers();
    adopted();
    retained();
    limits();
    maps();
    puts("the inline functions do what the calls do");
    return EXIT_SUCCESS;
}
