/* What goes wrong, on purpose: each line is a call and the status that it must give. Ends at the first one that differs, and says which. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <metroon_region.h>

static void check(mnr_status is, mnr_status expected, int line, const char *call)
{
    if (is != expected) {
        fprintf(stderr, "misuse.c:%d: %s gives %d (%s), not %d\n", line, call, (int)is, mnr_error_text(is), (int)expected);
        exit(EXIT_FAILURE);
    }
}

#define GIVES(expected, call) check(call, expected, __LINE__, #call)
#define OK(call) GIVES(MNR_OK, call)

static const mnr_ref one = 1u << 3;

static void closing(void)
{
    mnr_heap heap, other;
    mnr_region region, within, stranger;
    mnr_ref made;
    bool freed = false;
    OK(mnr_heap_open(0, &heap));
    OK(mnr_heap_open(0, &other));
    OK(mnr_region_open(heap, &region));
    OK(mnr_region_open_within(region, &within));
    OK(mnr_region_open(other, &stranger));
    GIVES(MNR_HAS_CHILDREN, mnr_region_close(region, NULL));
    OK(mnr_region_close(within, &freed));
    GIVES(MNR_OK, freed ? MNR_OK : MNR_BROKEN);
    GIVES(MNR_FREED, mnr_region_close(within, &freed));
    GIVES(MNR_FREED, mnr_expression(within, &one, 1, &made));
    GIVES(MNR_NOT_RETAINED, mnr_region_release(region, NULL));
    GIVES(MNR_NOT_TETHERED, mnr_region_untether(region, NULL));
    OK(mnr_region_retain(region));
    OK(mnr_region_close(region, &freed));
    GIVES(MNR_OK, freed ? MNR_BROKEN : MNR_OK);
    GIVES(MNR_CLOSED, mnr_region_close(region, NULL));
    GIVES(MNR_CLOSED, mnr_variable(region, 1, &made));
    OK(mnr_region_release(region, &freed));
    GIVES(MNR_FREED, mnr_region_release(region, NULL));
    /* A slot is used again; the old handle of it is not. */
    OK(mnr_region_open(heap, &within));
    GIVES(MNR_FREED, mnr_region_retain(region));
    region.bits += 7;
    GIVES(MNR_NO_REGION, mnr_region_close(region, NULL));
    stranger.heap = heap + (1u << 30);
    GIVES(MNR_NO_HEAP, mnr_region_close(stranger, NULL));
    OK(mnr_heap_close(heap));
    GIVES(MNR_NO_HEAP, mnr_heap_close(heap));
    GIVES(MNR_NO_HEAP, mnr_region_open(heap, &region));
    GIVES(MNR_NO_HEAP, mnr_region_close(within, NULL));
    GIVES(MNR_NO_HEAP, mnr_heap_close(0));
    OK(mnr_heap_close(other));
}

static void arguments(void)
{
    mnr_heap heap;
    mnr_region region;
    mnr_ref made, children[2] = {8u, 8u};
    size_t count;
    OK(mnr_heap_open(0, &heap));
    OK(mnr_region_open(heap, &region));
    GIVES(MNR_NULL, mnr_heap_open(0, NULL));
    GIVES(MNR_NULL, mnr_region_open(heap, NULL));
    GIVES(MNR_NULL, mnr_expression(region, children, 2, NULL));
    GIVES(MNR_NULL, mnr_expression(region, NULL, 2, &made));
    GIVES(MNR_NULL, mnr_rewind(region, NULL));
    GIVES(MNR_NULL, mnr_build_slowly(NULL, children, 2, &made));
    GIVES(MNR_OUT_OF_RANGE, mnr_expression(region, children, SIZE_MAX, &made));
    GIVES(MNR_OUT_OF_RANGE, mnr_number(region, 2, 1, &made));
    GIVES(MNR_TOO_LONG, mnr_array_with_room(region, SIZE_MAX, &made));
    GIVES(MNR_TOO_MANY_BYTES, mnr_buffer(region, NULL, SIZE_MAX, &made));
    GIVES(MNR_TOO_MANY_BYTES, mnr_string(region, "", SIZE_MAX, &made));
    GIVES(MNR_TOO_MANY_ENTRIES, mnr_map(region, SIZE_MAX, &made));
    GIVES(MNR_OUT_OF_RANGE, mnr_tree(region, 200, 3, children, 2, &made));
    GIVES(MNR_NOT_TEXT, mnr_string(region, "\xff", 1, &made));
    OK(mnr_expression(region, NULL, 0, &made));
    OK(mnr_expression(region, children, 2, &made));
    GIVES(MNR_OUT_OF_RANGE, mnr_child(heap, made, 2, &made));
    GIVES(MNR_OUT_OF_RANGE, mnr_set_child(region, made, 2, one));
    GIVES(MNR_TOO_SMALL, mnr_children(heap, made, children, 1, &count));
    GIVES(MNR_WRONG_KIND, mnr_array_push(region, made, one));
    GIVES(MNR_WRONG_KIND, mnr_bind(region, made, one));
    GIVES(MNR_WRONG_KIND, mnr_map_get(heap, made, one, &made));
    GIVES(MNR_WRONG_KIND, mnr_number_bits(heap, one, &(uint64_t){0}));
    GIVES(MNR_OUT_OF_RANGE, mnr_number_bits(heap, 0xfffffffcu, &(uint64_t){0}));
    GIVES(MNR_FOREIGN, mnr_set_child(region, 0xfffffff6u, 0, one));
    OK(mnr_heap_close(heap));
}

static void values(void)
{
    mnr_heap heap;
    mnr_region region, inner;
    mnr_ref variable, other, made, map, array;
    mnr_mark early, late;
    char bytes[8];
    size_t length;
    OK(mnr_heap_open(0, &heap));
    OK(mnr_region_open(heap, &region));
    OK(mnr_region_open(heap, &inner));
    OK(mnr_variable(inner, 1, &made));
    /* An older container may not have a younger thing. */
    GIVES(MNR_FOREIGN, mnr_expression(region, &made, 1, &made));
    OK(mnr_region_refer(region, inner));
    OK(mnr_expression(region, &made, 1, &made));
    GIVES(MNR_RETAINED, mnr_splice(inner, region));
    GIVES(MNR_SAME, mnr_splice(region, region));
    OK(mnr_variable(region, 1, &variable));
    OK(mnr_variable(region, 2, &other));
    OK(mnr_bind(region, variable, other));
    GIVES(MNR_RING, mnr_bind(region, other, variable));
    GIVES(MNR_RING, mnr_bind(region, other, other));
    OK(mnr_bind(region, other, one));
    GIVES(MNR_RING, mnr_bind(region, other, variable));
    OK(mnr_unbind(region, other));
    OK(mnr_walk(heap, variable, &made));
    GIVES(MNR_OK, made == other ? MNR_OK : MNR_BROKEN);
    OK(mnr_string(region, "a\0b", 3, &made));
    OK(mnr_bytes(heap, made, bytes, sizeof bytes, &length));
    GIVES(MNR_OK, length == 3 && memcmp(bytes, "a\0b", 3) == 0 ? MNR_OK : MNR_BROKEN);
    GIVES(MNR_TOO_SMALL, mnr_bytes(heap, made, bytes, 2, &length));
    GIVES(MNR_WRONG_KIND, mnr_write_bytes(region, made, 0, "c", 1));
    OK(mnr_map(region, 0, &map));
    OK(mnr_map_insert(region, map, made, one));
    OK(mnr_map_get_string(heap, map, "a\0b", 3, &made));
    GIVES(MNR_NO_KEY, mnr_map_get_string(heap, map, "a", 1, &made));
    GIVES(MNR_NO_KEY, mnr_map_remove(region, map, one, NULL));
    OK(mnr_array(region, NULL, 0, &array));
    GIVES(MNR_OUT_OF_RANGE, mnr_array_pop(region, array, &made));
    OK(mnr_buffer(region, NULL, 4, &made));
    GIVES(MNR_OUT_OF_RANGE, mnr_write_bytes(region, made, 1, "abcd", 4));
    GIVES(MNR_OUT_OF_RANGE, mnr_write_bytes(region, made, SIZE_MAX, "abcd", 4));
    OK(mnr_mark_take(region, &early));
    OK(mnr_mark_take(region, &late));
    GIVES(MNR_STALE_MARK, mnr_rewind(inner, &early));
    OK(mnr_rewind(region, &early));
    GIVES(MNR_STALE_MARK, mnr_rewind(region, &late));
    OK(mnr_rewind(region, &early));
    OK(mnr_heap_close(heap));
    GIVES(MNR_NO_HEAP, mnr_rewind(region, &early));
}

static void limits(void)
{
    mnr_heap heap;
    mnr_region region;
    mnr_builder builder;
    mnr_ref list = 0;
    mnr_statistics counts;
    mnr_status status = MNR_OK;
    char message[8];
    int made;
    OK(mnr_heap_open(64 * 512, &heap));
    OK(mnr_region_open(heap, &region));
    OK(mnr_builder_open(region, &builder));
    for (made = 0; status == MNR_OK; made++) {
        status = mnr_build_pair(&builder, one, list, &list);
    }
    GIVES(MNR_HEAP_LIMIT, status);
    GIVES(MNR_OK, made == 64 * 32 + 1 ? MNR_OK : MNR_BROKEN);
    GIVES(MNR_OK, mnr_error_message(message, sizeof message) > 40 && strlen(message) == 7 ? MNR_OK : MNR_BROKEN);
    OK(mnr_heap_statistics(heap, &counts));
    GIVES(MNR_OK, counts.limit_failures == 1 && counts.bytes_live == 64 * 512 ? MNR_OK : MNR_BROKEN);
    OK(mnr_heap_set_limit(heap, 0));
    OK(mnr_region_set_limit(region, 64 * 512));
    GIVES(MNR_REGION_LIMIT, mnr_build_pair(&builder, one, list, &list));
    OK(mnr_region_set_limit(region, 0));
    OK(mnr_build_pair(&builder, one, list, &list));
    OK(mnr_heap_close(heap));
}

static void builders(void)
{
    mnr_heap heap, next;
    mnr_region region, other;
    mnr_builder builder, second, none = {NULL, 0, {0, 0}};
    const mnr_view *view;
    mnr_mark mark;
    mnr_ref made, before, children[70] = {0};
    static const mnr_ref many[9000];
    uint64_t bits;
    int turn;
    OK(mnr_heap_open(0, &heap));
    OK(mnr_heap_view(heap, &view));
    OK(mnr_region_open(heap, &region));
    OK(mnr_region_open(heap, &other));
    OK(mnr_builder_open(region, &builder));
    OK(mnr_builder_open(other, &second));
    GIVES(MNR_NO_HEAP, mnr_build_pair(&none, one, one, &made));
    /* Two regions take turns; what one makes is not in the other. */
    for (turn = 0; turn < 1000; turn++) {
        OK(mnr_build_pair(&builder, one, one, &made));
        OK(mnr_region_check(region, made));
        GIVES(MNR_FOREIGN, mnr_region_check(other, made));
        OK(mnr_build(&second, children, (size_t)turn % 70, &made));
        OK(mnr_region_check(other, made));
        GIVES(MNR_OK, mnr_view_length(view, made) == (size_t)turn % 70 ? MNR_OK : MNR_BROKEN);
    }
    /* NULL is refused where there is room, too. */
    GIVES(MNR_NULL, mnr_build(&builder, NULL, 1, &made));
    GIVES(MNR_NULL, mnr_build(&builder, children, 1, NULL));
    GIVES(MNR_NULL, mnr_build_pair(&builder, one, one, NULL));
    GIVES(MNR_NULL, mnr_build_list(&builder, NULL, 1, one, &made));
    GIVES(MNR_NULL, mnr_build_list(&builder, NULL, 0, one, NULL));
    GIVES(MNR_NULL, mnr_build_number(&builder, 0, 1, NULL));
    GIVES(MNR_NULL, mnr_build_variable(&builder, 1, NULL));
    GIVES(MNR_NULL, mnr_build_string(&builder, NULL, 1, &made));
    GIVES(MNR_NULL, mnr_build_string(&builder, "a", 1, NULL));
    GIVES(MNR_NULL, mnr_build_buffer(&builder, "a", 1, NULL));
    GIVES(MNR_NULL, mnr_build_array(&builder, NULL, 1, &made));
    GIVES(MNR_NULL, mnr_build_array(&builder, children, 1, NULL));
    OK(mnr_build(&builder, NULL, 0, &made));
    /* What was made inline is there for calls, and given back by a rewind. */
    OK(mnr_build_pair(&builder, one, one, &made));
    OK(mnr_mark_take(region, &mark));
    OK(mnr_build_pair(&builder, one, made, &before));
    OK(mnr_rewind(region, &mark));
    OK(mnr_build_pair(&builder, one, one, &made));
    GIVES(MNR_OK, made == before ? MNR_OK : MNR_BROKEN);
    /* Long ones are made by a call; what they have is read inline, and so are numbers and variables. */
    OK(mnr_build(&second, many, 9000, &made));
    GIVES(MNR_OK, mnr_view_length(view, made) == 9000 && mnr_view_child(view, made, 8999, &before) ? MNR_OK : MNR_BROKEN);
    GIVES(MNR_OK, before == 0 && !mnr_view_child(view, made, 9000, &before) ? MNR_OK : MNR_BROKEN);
    OK(mnr_number(other, 1, UINT64_MAX - 1, &made));
    GIVES(MNR_OK, mnr_view_number(view, made, &bits) && bits == UINT64_MAX - 1 ? MNR_OK : MNR_BROKEN);
    OK(mnr_variable(other, 0, &made));
    GIVES(MNR_OK, mnr_view_binding(view, made, &before) && before == made ? MNR_OK : MNR_BROKEN);
    GIVES(MNR_OK, mnr_view_number(view, made, &bits) || mnr_view_length(view, made) != 0 ? MNR_BROKEN : MNR_OK);
    OK(mnr_region_close(region, NULL));
    GIVES(MNR_FREED, mnr_build_pair(&builder, one, one, &made));
    OK(mnr_build_pair(&second, one, one, &made));
    OK(mnr_heap_close(heap));
    GIVES(MNR_NO_HEAP, mnr_build_pair(&second, one, one, &made));
    GIVES(MNR_OK, mnr_view_length(view, made) == 0 ? MNR_OK : MNR_BROKEN);
    /* The next heap has the lane of the old one, and old builders have nothing of it. */
    OK(mnr_heap_open(0, &next));
    OK(mnr_region_open(next, &region));
    OK(mnr_builder_open(region, &builder));
    OK(mnr_build_pair(&builder, one, one, &made));
    GIVES(MNR_NO_HEAP, mnr_build_pair(&second, one, one, &made));
    OK(mnr_heap_close(next));
}

static void leaving(void)
{
    mnr_heap heap, other;
    mnr_region from, to, there;
    mnr_ref root, leaves[8] = {0};
    mnr_report report;
    OK(mnr_heap_open(0, &heap));
    OK(mnr_heap_open(0, &other));
    OK(mnr_region_open(heap, &from));
    OK(mnr_region_open(heap, &to));
    OK(mnr_region_open(other, &there));
    OK(mnr_tree(from, 3, 2, leaves, 8, &root));
    GIVES(MNR_NO_REGION, mnr_splice(from, there));
    GIVES(MNR_FOREIGN, mnr_transmigrate(to, from, &root, 1, NULL));
    OK(mnr_region_tether(from));
    GIVES(MNR_TETHERED, mnr_splice(from, to));
    OK(mnr_region_untether(from, NULL));
    OK(mnr_transmigrate(from, there, &root, 1, &report));
    GIVES(MNR_OK, report.path == MNR_ESCAPE_COPIED && report.cells == 14 ? MNR_OK : MNR_BROKEN);
    OK(mnr_dangling(there, &root, 1, NULL));
    GIVES(MNR_FREED, mnr_transmigrate(from, there, &root, 1, NULL));
    OK(mnr_region_open(other, &from));
    OK(mnr_transmigrate(there, from, &root, 1, &report));
    GIVES(MNR_OK, report.path == MNR_ESCAPE_SPLICED ? MNR_OK : MNR_BROKEN);
    OK(mnr_region_close(from, NULL));
    OK(mnr_region_open(other, &from));
    GIVES(MNR_DANGLING, mnr_dangling(from, &root, 1, NULL));
    OK(mnr_heap_close(heap));
    OK(mnr_heap_close(other));
}

static void *elsewhere(void *argument)
{
    mnr_heap *heap = argument;
    mnr_region region;
    GIVES(MNR_NO_HEAP, mnr_region_open(*heap, &region));
    GIVES(MNR_NO_HEAP, mnr_heap_close(*heap));
    /* One that is not closed ends with its thread. */
    OK(mnr_heap_open(0, heap));
    return NULL;
}

static void threads(void)
{
    mnr_heap heap, copy;
    mnr_region region;
    mnr_frozen frozen;
    mnr_tether tether, second;
    mnr_view view;
    mnr_ref root, roots[2];
    pthread_t thread;
    size_t count;
    OK(mnr_heap_open(0, &heap));
    copy = heap;
    if (pthread_create(&thread, NULL, elsewhere, &copy) != 0 || pthread_join(thread, NULL) != 0) {
        exit(EXIT_FAILURE);
    }
    GIVES(MNR_NO_HEAP, mnr_heap_close(copy));
    OK(mnr_region_open(heap, &region));
    OK(mnr_expression(region, &one, 1, &root));
    roots[0] = roots[1] = root;
    GIVES(MNR_FROZEN_GONE, mnr_frozen_close(0));
    GIVES(MNR_FROZEN_GONE, mnr_tether_start(UINT64_MAX, &tether));
    OK(mnr_freeze(region, roots, 2, &frozen));
    OK(mnr_tether_start(frozen, &tether));
    GIVES(MNR_TOO_SMALL, mnr_tether_roots(tether, roots, 1, &count));
    GIVES(MNR_TOO_SMALL, mnr_thaw(tether, region, roots, 1, &count));
    OK(mnr_thaw(tether, region, roots, 2, &count));
    OK(mnr_child(heap, roots[1], 0, &root));
    OK(mnr_tether_roots(tether, roots, 2, &count));
    OK(mnr_child(tether, roots[1], 0, &root));
    OK(mnr_frozen_close(frozen));
    GIVES(MNR_FROZEN_CLOSED, mnr_frozen_close(frozen));
    GIVES(MNR_FROZEN_CLOSED, mnr_tether_start(frozen, &second));
    GIVES(MNR_FROZEN_CLOSED, mnr_read(frozen, &view, roots, 2, NULL));
    OK(mnr_tether_view(tether, &view));
    OK(mnr_tether_end(tether));
    GIVES(MNR_NO_TETHER, mnr_tether_end(tether));
    GIVES(MNR_NO_TETHER, mnr_tether_view(tether, &view));
    GIVES(MNR_NO_TETHER, mnr_child(tether, roots[1], 0, &root));
    GIVES(MNR_NO_TETHER, mnr_tether_end(7));
    OK(mnr_rest());
    OK(mnr_heap_close(heap));
}

int main(void)
{
    closing();
    arguments();
    values();
    limits();
    builders();
    leaving();
    threads();
    if (mnr_version() != MNR_VERSION) {
        return EXIT_FAILURE;
    }
    puts("every misuse has its error");
    return EXIT_SUCCESS;
}
