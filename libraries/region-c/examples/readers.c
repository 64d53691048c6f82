/* Readers: four threads read a frozen list, with tethers and without, while its owner changes the list and closes it. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <metroon_region.h>

enum { COUNT = 1000, THREADS = 4, ROUNDS = 200 };

/* What a reader is told, and what it found. */
struct task {
    mnr_frozen frozen;
    mnr_tether tether; /* 0: read without */
    uint64_t sum;
};

static void expect(mnr_status status, const char *what)
{
    char message[256];
    if (status == MNR_OK) {
        return;
    }
    mnr_error_message(message, sizeof message);
    fprintf(stderr, "%s: %s\n", what, message);
    exit(EXIT_FAILURE);
}

static uint64_t sum_of(const mnr_view *view, mnr_ref list)
{
    uint64_t sum = 0;
    mnr_ref element;
    while (mnr_view_child(view, list, 0, &element) && mnr_view_child(view, list, 1, &list)) {
        sum += mnr_payload(element);
    }
    return sum;
}

/* Reads under a tether that the owner has started for it, and ends it on this thread. */
static void *read_tethered(void *argument)
{
    struct task *task = argument;
    mnr_view view;
    mnr_ref list;
    int round;
    expect(mnr_tether_view(task->tether, &view), "a view");
    expect(mnr_tether_roots(task->tether, &list, 1, NULL), "roots");
    for (round = 0; round < ROUNDS; round++) {
        task->sum += sum_of(&view, list);
    }
    expect(mnr_tether_end(task->tether), "the end of a tether");
    return NULL;
}

/* Reads without a tether, as long as the region is open. */
static void *read_freely(void *argument)
{
    struct task *task = argument;
    mnr_view view;
    mnr_ref list;
    int round;
    for (round = 0; round < ROUNDS; round++) {
        expect(mnr_read(task->frozen, &view, &list, 1, NULL), "reading");
        task->sum += sum_of(&view, list);
    }
    expect(mnr_rest(), "resting");
    return NULL;
}

static mnr_ref make_list(mnr_region region)
{
    mnr_ref elements[COUNT], list;
    uint32_t at;
    for (at = 0; at < COUNT; at++) {
        elements[at] = mnr_immediate(0, at);
    }
    expect(mnr_list(region, elements, COUNT, mnr_immediate(1, 0), &list), "a list");
    return list;
}

/* The owner goes on: what it changes, readers of the frozen list do not see. */
static void go_on(mnr_region region, mnr_ref list)
{
    uint32_t round;
    mnr_ref variable;
    for (round = 0; round < COUNT; round++) {
        expect(mnr_variable(region, round, &variable), "a variable");
        expect(mnr_set_child(region, list, 0, variable), "a change");
    }
}

int main(void)
{
    struct task tasks[THREADS];
    pthread_t threads[THREADS];
    mnr_heap heap;
    mnr_region region;
    mnr_frozen frozen;
    mnr_ref list;
    int at;

    expect(mnr_heap_open(0, &heap), "a heap");
    expect(mnr_region_open(heap, &region), "a region");
    list = make_list(region);
    expect(mnr_freeze(region, &list, 1, &frozen), "freezing");
    for (at = 0; at < THREADS; at++) {
        struct task task = {0, 0, 0};
        task.frozen = frozen;
        if (at % 2 == 0) {
            expect(mnr_tether_start(frozen, &task.tether), "a tether");
        }
        tasks[at] = task;
        if (pthread_create(&threads[at], NULL, at % 2 == 0 ? read_tethered : read_freely, &tasks[at]) != 0) {
            return EXIT_FAILURE;
        }
    }
    go_on(region, list);
    expect(mnr_region_close(region, NULL), "closing");
    expect(mnr_heap_close(heap), "closing");
    for (at = 0; at < THREADS; at++) {
        if (pthread_join(threads[at], NULL) != 0) {
            return EXIT_FAILURE;
        }
        printf("reader %d, %s a tether: %" PRIu64 " in each of %d rounds\n", at, at % 2 == 0 ? "with" : "without",
               tasks[at].sum / ROUNDS, (int)ROUNDS);
    }
    expect(mnr_frozen_close(frozen), "closing");
    printf("closed twice: %s\n", mnr_error_text(mnr_frozen_close(frozen)));
    return EXIT_SUCCESS;
}
