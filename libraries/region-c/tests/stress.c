/*
 * Random calls of every function, with references, regions, marks, builders and tethers that are good, that outlived what they refer
 * to, or that were made up. Each call must come to an end with a status of the header, and write nothing beside its results.
 *
 * stress [FIRST [END]]: the seeds from FIRST up to END. Prints how many calls there were, and how many of them were refused.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <metroon_region.h>

enum { SEEDS = 40, CALLS = 4000, HEAPS = 2, REGIONS = 8, REFS = 64, MARKS = 8, BUILDERS = 4, TETHERS = 4, ROOM = 40 };
/* How long one seed may take, in seconds, under any sanitizer. */
enum { SECONDS = 60 };
enum { LIMIT = 256 * 1024 };
static const uint32_t GUARD = 0xa5a5a5a5u;

static uint64_t state;
static unsigned long seed, calls, refused;
static const char *volatile running = "nothing";

static mnr_heap heaps[HEAPS];
static mnr_region regions[REGIONS];
static mnr_ref refs[REFS];
/* The region that each of them was made in, or read from, and the one that was drawn last. */
static size_t homes[REFS], home;
static mnr_mark marks[MARKS];
static mnr_builder builders[BUILDERS];
static mnr_frozen frozen[TETHERS];
static mnr_tether tethers[TETHERS];

/* Most regions are of one heap, so that most references may be stored in most of them. */
static mnr_heap heap_of(size_t region) { return heaps[region == 0]; }

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1du >> 8;
}

static size_t below(size_t count) { return (size_t)(draw() % count); }

/* One in so many. */
static bool now_and_then(size_t count) { return below(count) == 0; }

static void hangs(int signal)
{
    char text[160];
    int length = snprintf(text, sizeof text, "stress: seed %lu: %s has not come to an end\n", seed, running);
    (void)signal;
    if (write(STDERR_FILENO, text, (size_t)length) < 0) {
        _exit(3);
    }
    _exit(2);
}

static void fails(const char *what)
{
    fprintf(stderr, "stress: seed %lu: %s: %s\n", seed, running, what);
    exit(EXIT_FAILURE);
}

static mnr_status after(mnr_status status)
{
    calls++;
    if (status < MNR_OK || status > MNR_BROKEN) {
        fails("a status that the header does not have");
    }
    refused += status != MNR_OK;
    return status;
}

#define CALL(function, ...) (running = #function, after(function(__VA_ARGS__)))

/* A good reference, an old one, one beside it, or any bits. */
static mnr_ref some_ref(void)
{
    size_t at = below(REFS);
    mnr_ref reference = refs[at];
    home = homes[at];
    switch (below(24)) {
    case 0: return (mnr_ref)draw();
    case 1: return (mnr_ref)(below(4096) << 3 | below(8));
    case 2: return reference + 8u * (mnr_ref)below(4);
    case 3: return (reference & ~7u) | (mnr_ref)below(8);
    default: return reference;
    }
}

/* One that is of a kind by now, if a few draws have one. */
static mnr_ref some_of(uint32_t kind)
{
    mnr_ref reference = some_ref();
    size_t turns;
    uint32_t is;
    for (turns = 0; turns < 16; turns++) {
        if (mnr_kind(regions[home].heap, reference, &is) == MNR_OK && is == kind) {
            break;
        }
        reference = some_ref();
    }
    return reference;
}

static mnr_ref some_key(void) { return mnr_immediate(0, (uint32_t)below(24)); }

static void some_refs(mnr_ref *to, size_t count)
{
    size_t at;
    for (at = 0; at < count; at++) {
        to[at] = now_and_then(12) ? some_ref() : some_key();
    }
}

/* The region of a number, opened again if it is gone. */
static mnr_region region_at(size_t at)
{
    mnr_region region = regions[at];
    uint64_t bytes;
    if (mnr_region_bytes(region, &bytes) != MNR_OK && now_and_then(2)) {
        CALL(mnr_region_open, heap_of(at), &regions[at]);
    }
    home = at;
    return region;
}

static mnr_region some_region(void)
{
    mnr_region region = region_at(below(REGIONS));
    if (now_and_then(50)) {
        region.bits ^= draw() & draw() & draw();
    }
    return region;
}

static mnr_readable some_readable(void)
{
    if (now_and_then(50)) {
        return draw();
    }
    return now_and_then(4) ? tethers[below(TETHERS)] : heap_of(below(REGIONS));
}

static void keep(mnr_status status, mnr_ref made)
{
    if (status == MNR_OK && (!mnr_is_immediate(made) || now_and_then(20))) {
        size_t at = below(REFS);
        refs[at] = made;
        homes[at] = home;
    }
}

/* Room for results between words that nothing may write. */
static mnr_ref guarded[ROOM + 2];

static mnr_ref *room(void)
{
    guarded[0] = guarded[ROOM + 1] = GUARD;
    return guarded + 1;
}

static void keep_all(mnr_status status, size_t count)
{
    size_t at;
    if (guarded[0] != GUARD || guarded[ROOM + 1] != GUARD) {
        fails("writes beside its results");
    }
    for (at = 0; status == MNR_OK && at < count && at < ROOM; at++) {
        keep(status, guarded[1 + at]);
    }
}

static void open_again(size_t heap)
{
    if (CALL(mnr_heap_close, heaps[heap]) != MNR_OK) {
        fails("the heap is not there any more");
    }
    CALL(mnr_heap_open, LIMIT, &heaps[heap]);
}

static void lifetimes(void)
{
    size_t at = below(REGIONS), heap = below(HEAPS);
    bool freed;
    uint64_t bytes;
    mnr_statistics counts;
    switch (below(14)) {
    case 0:
        if (now_and_then(4)) {
            open_again(heap);
        }
        break;
    case 1: CALL(mnr_heap_set_limit, heaps[heap], LIMIT / (1 + below(4))); break;
    case 2: {
        mnr_status status = CALL(mnr_heap_statistics, heaps[heap], &counts);
        if (status == MNR_BROKEN) {
            open_again(heap);
        } else if (status != MNR_OK || counts.bytes_held > LIMIT) {
            fails("holds more than its limit");
        }
        break;
    }
    case 3:
    case 4: CALL(mnr_region_open, heap_of(at), &regions[at]); break;
    case 5: CALL(mnr_region_open_within, some_region(), &regions[at]); break;
    case 6: CALL(mnr_region_close, some_region(), &freed); break;
    case 7: CALL(mnr_region_retain, some_region()); break;
    case 8: CALL(mnr_region_release, some_region(), NULL); break;
    case 9: CALL(mnr_region_tether, some_region()); break;
    case 10: CALL(mnr_region_untether, some_region(), &freed); break;
    case 11: CALL(mnr_region_refer, some_region(), some_region()); break;
    case 12: CALL(mnr_region_set_limit, some_region(), now_and_then(2) ? 0 : 512 * below(64)); break;
    default:
        CALL(mnr_region_bytes, some_region(), &bytes);
        CALL(mnr_region_check, some_region(), some_ref());
    }
}

static void marking(void)
{
    mnr_mark mark = marks[below(MARKS)];
    if (now_and_then(2)) {
        CALL(mnr_mark_take, some_region(), &marks[below(MARKS)]);
        return;
    }
    if (now_and_then(3)) {
        size_t place = below(3);
        mark.places[place] = now_and_then(2) ? draw() : mark.places[place] + below(200) - 100;
    } else if (now_and_then(6)) {
        mark.serial += below(5) - 2;
    }
    CALL(mnr_rewind, now_and_then(8) ? some_region() : mark.region, &mark);
}

static void making(void)
{
    static const char text[] = "a frog croaks, and eats flies: a frog croaks, and eats flies";
    mnr_region region = some_region();
    size_t within = home;
    mnr_ref children[ROOM], made = 0;
    mnr_entry entries[ROOM / 2];
    mnr_builder *builder = &builders[below(BUILDERS)];
    size_t length = now_and_then(40) ? SIZE_MAX >> below(64) : below(ROOM), short_length = length % ROOM;
    mnr_status status;
    some_refs(children, ROOM);
    memcpy(entries, children, sizeof entries);
    switch (below(16)) {
    case 0: status = CALL(mnr_expression, region, children, short_length, &made); break;
    case 1: status = CALL(mnr_variable, region, (uint32_t)draw(), &made); break;
    case 2: status = CALL(mnr_number, region, (uint32_t)below(3), draw(), &made); break;
    case 3: status = CALL(mnr_string, region, text + below(4), short_length, &made); break;
    case 4: status = CALL(mnr_buffer, region, NULL, length, &made); break;
    case 5: status = CALL(mnr_array, region, children, short_length, &made); break;
    case 6: status = CALL(mnr_array_with_room, region, length, &made); break;
    case 7:
    case 8: status = CALL(mnr_map, region, length, &made); break;
    case 9: status = CALL(mnr_map_of, region, entries, short_length / 2, &made); break;
    case 10: status = CALL(mnr_list, region, children, short_length, some_key(), &made); break;
    case 11: status = CALL(mnr_list_of, region, some_of(9), some_key(), &made); break;
    case 12: status = CALL(mnr_tree, region, 3, 3, children, 27, &made); break;
    case 13: status = CALL(mnr_builder_open, region, builder); break;
    case 14: status = CALL(mnr_build, builder, children, short_length, &made); break;
    default: status = CALL(mnr_build_pair, builder, children[0], children[1], &made);
    }
    home = within;
    keep(status, made);
}

static void changing(void)
{
    static const uint32_t kinds[] = {6, 5, 5, 5, 8, 9, 9, 9, 10, 10};
    size_t which = below(10), turns = 1 + below(12);
    mnr_ref value = now_and_then(2) ? some_ref() : some_key(), of = some_of(kinds[which]), before = 0;
    mnr_region region = now_and_then(8) ? some_region() : region_at(home);
    mnr_ref key = now_and_then(4) ? value : some_key();
    mnr_status status = MNR_OK;
    switch (which) {
    case 0: CALL(mnr_set_child, region, of, below(8), value); break;
    case 1: CALL(mnr_bind, region, of, value); break;
    case 2: CALL(mnr_unbind, region, of); break;
    case 3: CALL(mnr_set_label, region, of, (uint32_t)draw()); break;
    case 4: CALL(mnr_write_bytes, region, of, below(ROOM), "croak", below(6)); break;
    case 5: CALL(mnr_array_set, region, of, below(8), value); break;
    case 6:
        while (turns-- > 0 && status == MNR_OK) {
            status = CALL(mnr_array_push, region, of, now_and_then(2) ? value : key);
        }
        break;
    case 7: keep(CALL(mnr_array_pop, region, of, &before), before); break;
    case 8:
        while (turns-- > 0 && status == MNR_OK) {
            status = CALL(mnr_map_insert, region, of, now_and_then(2) ? key : some_key(), value);
        }
        break;
    default: keep(CALL(mnr_map_remove, region, of, key, &before), before);
    }
}

static void reading(void)
{
    static const uint32_t kinds[] = {6, 9, 6, 9, 6, 5, 5, 5, 4, 7, 10, 10, 10, 6};
    size_t which = below(14), count = 0, size = below(ROOM + 1);
    mnr_ref of = some_of(kinds[which]), found = 0, *to = room();
    mnr_readable readable = now_and_then(3) ? some_readable() : regions[home].heap;
    uint32_t small;
    uint64_t bits;
    switch (which) {
    case 0: CALL(mnr_kind, readable, of, &small); break;
    case 1: CALL(mnr_length, readable, of, &count); break;
    case 2: keep(CALL(mnr_child, readable, of, below(8), &found), found); break;
    case 3: keep_all(CALL(mnr_children, readable, of, to, size, &count), count); break;
    case 4: keep_all(CALL(mnr_list_elements, readable, of, to, size, &count, &found), count); break;
    case 5: keep(CALL(mnr_binding, readable, of, &found), found); break;
    case 6: keep(CALL(mnr_walk, readable, of, &found), found); break;
    case 7: CALL(mnr_label, readable, of, &small); break;
    case 8: CALL(mnr_number_bits, readable, of, &bits); break;
    case 9: keep_all(CALL(mnr_bytes, readable, of, to, size * 4, &count), 0); break;
    case 10: keep(CALL(mnr_map_get, readable, of, some_key(), &found), found); break;
    case 11: keep(CALL(mnr_map_get_string, readable, of, "a frog", below(7), &found), found); break;
    case 12: keep_all(CALL(mnr_map_entries, readable, of, (mnr_entry *)(void *)to, size / 2, &count), count * 2); break;
    default: keep_all(MNR_OK, 0);
    }
}

static void reading_inline(void)
{
    const mnr_view *view;
    mnr_view frozen_view;
    mnr_ref of = some_ref(), found = 0;
    uint64_t bits;
    if (CALL(mnr_heap_view, heap_of(below(REGIONS)), &view) != MNR_OK) {
        return;
    }
    if (now_and_then(3) && CALL(mnr_tether_view, tethers[below(TETHERS)], &frozen_view) == MNR_OK) {
        view = &frozen_view;
    }
    running = "an inline function";
    keep(mnr_view_child(view, of, below(ROOM), &found) ? MNR_OK : MNR_OUT_OF_RANGE, found);
    keep(mnr_view_binding(view, of, &found) ? MNR_OK : MNR_WRONG_KIND, found);
    refused += !mnr_view_number(view, of, &bits);
    refused += mnr_view_length(view, of) == 0;
    keep(mnr_view_get(view, of, some_ref(), &found) ? MNR_OK : MNR_NO_KEY, found);
}

static void leaving(void)
{
    mnr_ref *roots = room(), found;
    size_t count = below(6);
    mnr_report report;
    some_refs(roots, count);
    if (count > 0 && now_and_then(2)) {
        roots[0] = some_ref();
    }
    switch (below(4)) {
    case 0: CALL(mnr_splice, some_region(), some_region()); break;
    case 1: keep_all(CALL(mnr_transmigrate, some_region(), some_region(), roots, count, &report), count); break;
    case 2: CALL(mnr_dangling, some_region(), roots, count, &found); break;
    default: CALL(mnr_dangling, some_region(), roots, count, NULL);
    }
}

static void sharing(void)
{
    mnr_ref *roots = room();
    size_t at = below(TETHERS), count = 0;
    uint32_t tethered;
    mnr_view view;
    mnr_frozen name = now_and_then(20) ? draw() : frozen[below(TETHERS)];
    mnr_tether tether = now_and_then(20) ? draw() : tethers[below(TETHERS)];
    switch (below(10)) {
    case 0:
    case 1:
        some_refs(roots, 3);
        CALL(mnr_freeze, some_region(), roots, below(4), &frozen[at]);
        break;
    case 2: CALL(mnr_frozen_close, name); break;
    case 3: CALL(mnr_frozen_tethers, name, &tethered); break;
    case 4:
    case 5: CALL(mnr_tether_start, name, &tethers[at]); break;
    case 6: CALL(mnr_tether_end, tether); break;
    case 7: keep_all(CALL(mnr_tether_roots, tether, roots, below(ROOM), &count), count); break;
    case 8: keep_all(CALL(mnr_thaw, tether, some_region(), roots, below(ROOM), &count), count); break;
    default:
        keep_all(CALL(mnr_read, name, &view, roots, below(ROOM), &count), count);
        CALL(mnr_rest, );
    }
}

static void shared_maps_and_graphs(void)
{
    mnr_ref found = 0, *to = room(), of = now_and_then(2) ? some_of(6) : some_ref();
    mnr_readable readable = now_and_then(3) ? some_readable() : regions[home].heap;
    mnr_region region = now_and_then(4) ? some_region() : regions[home];
    size_t count = 0, size = below(ROOM + 1);
    switch (below(12)) {
    case 0: keep(CALL(mnr_shared_map, region, &found), found); break;
    case 1: keep(CALL(mnr_shared_map_insert, region, of, some_key(), some_ref(), &found), found); break;
    case 2: keep(CALL(mnr_shared_map_remove, region, of, some_key(), &found), found); break;
    case 3: keep(CALL(mnr_shared_map_get, readable, of, some_key(), &found), found); break;
    case 4: CALL(mnr_shared_map_length, readable, of, &count); break;
    case 5: keep_all(CALL(mnr_shared_map_entries, readable, of, (mnr_entry *)(void *)to, size / 2, &count), count * 2); break;
    case 6: keep(CALL(mnr_node, region, some_ref(), &found), found); break;
    case 7: CALL(mnr_edge_add, region, of, some_ref(), some_ref()); break;
    case 8: keep(CALL(mnr_edge_remove, region, of, some_ref(), &found), found); break;
    case 9: keep(CALL(mnr_edge, readable, of, some_ref(), &found), found); break;
    case 10: keep_all(CALL(mnr_edges, readable, of, (mnr_entry *)(void *)to, size / 2, &count), count * 2); break;
    default:
        to[0] = of;
        keep_all(CALL(mnr_reachable, readable, to, 1, to + 1, size == 0 ? 0 : size - 1, &count), count);
    }
}

/* Regions that are opened without a call, and what is made in them, in any order with all other calls. */
static void opening_inline(void)
{
    mnr_opener opener;
    mnr_builder builder;
    mnr_ref made = some_ref();
    size_t steps = below(40);
    mnr_frozen_counts counts;
    CALL(mnr_frozen_statistics, &counts);
    if (CALL(mnr_opener_open, heap_of(below(REGIONS)), &opener) != MNR_OK || CALL(mnr_open, &opener, &builder) != MNR_OK) {
        return;
    }
    while (steps-- > 0) {
        switch (below(8)) {
        case 0: CALL(mnr_build_number, &builder, below(3), draw(), &made); break;
        case 1: CALL(mnr_build_variable, &builder, below(9), &made); break;
        case 2: CALL(mnr_build_string, &builder, "a frog in a pond", below(17), &made); break;
        case 3: CALL(mnr_build_buffer, &builder, "a frog in a pond", below(17), &made); break;
        case 4: CALL(mnr_build_array, &builder, &made, 1, &made); break;
        case 5: CALL(mnr_build_list, &builder, &made, 1, made, &made); break;
        default: CALL(mnr_build_pair, &builder, made, some_ref(), &made);
        }
    }
    if (now_and_then(3)) {
        regions[below(REGIONS)] = builder.region;
    } else {
        CALL(mnr_close, &builder);
    }
    if (now_and_then(3)) {
        CALL(mnr_close, &builder);
    }
}

static void one_call(void)
{
    switch (below(18)) {
    case 16: shared_maps_and_graphs(); break;
    case 17: opening_inline(); break;
    case 0: lifetimes(); break;
    case 1: marking(); break;
    case 2:
    case 3:
    case 4:
    case 5: making(); break;
    case 6:
    case 7:
    case 8:
    case 9: changing(); break;
    case 10:
    case 11:
    case 12: reading(); break;
    case 13: reading_inline(); break;
    case 14: leaving(); break;
    default: sharing();
    }
}

static void one_seed(void)
{
    size_t at;
    state = seed * 0x9e3779b97f4a7c15u + 1;
    memset(refs, 0, sizeof refs);
    memset(homes, 0, sizeof homes);
    memset(marks, 0, sizeof marks);
    memset(builders, 0, sizeof builders);
    for (at = 0; at < HEAPS; at++) {
        CALL(mnr_heap_open, LIMIT, &heaps[at]);
    }
    for (at = 0; at < REGIONS; at++) {
        CALL(mnr_region_open, heap_of(at), &regions[at]);
    }
    for (at = 0; at < CALLS; at++) {
        one_call();
    }
    for (at = 0; at < TETHERS; at++) {
        CALL(mnr_frozen_close, frozen[at]);
        CALL(mnr_tether_end, tethers[at]);
    }
    for (at = 0; at < HEAPS; at++) {
        if (CALL(mnr_heap_close, heaps[at]) != MNR_OK) {
            fails("the heap is not there any more");
        }
    }
}

int main(int count, char **words)
{
    unsigned long first = count > 1 ? strtoul(words[1], NULL, 10) : 0;
    unsigned long end = count > 2 ? strtoul(words[2], NULL, 10) : first + SEEDS;
    signal(SIGALRM, hangs);
    for (seed = first; seed < end; seed++) {
        alarm(SECONDS);
        one_seed();
    }
    printf("%lu calls, of which %lu were refused\n", calls, refused);
    return EXIT_SUCCESS;
}
