/* A list: makes one of 1,000 numbers on the inline path, copies it out, sums it, and shows what an error looks like. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <metroon_region.h>

enum { COUNT = 1000 };

/* Ends the program if something was refused. */
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

/* A list of the numbers below COUNT, the last one first made. */
static mnr_ref list_of_numbers(mnr_region region)
{
    mnr_ref list = mnr_immediate(1, 0);
    mnr_builder builder;
    uint32_t number;
    expect(mnr_builder_open(region, &builder), "a builder");
    for (number = COUNT; number-- > 0;) {
        expect(mnr_build_pair(&builder, mnr_immediate(0, number), list, &list), "a pair");
    }
    return list;
}

static uint64_t sum(const mnr_view *view, mnr_ref list)
{
    uint64_t sum = 0;
    mnr_ref element;
    while (mnr_view_child(view, list, 0, &element) && mnr_view_child(view, list, 1, &list)) {
        sum += mnr_payload(element);
    }
    return sum;
}

int main(void)
{
    mnr_heap heap;
    mnr_region results, work;
    const mnr_view *view;
    mnr_statistics counts;
    mnr_report report;
    mnr_ref list, elements[COUNT];
    size_t count = 0, at;
    uint64_t copied = 0;

    printf("metroon_region %s\n", mnr_version_text());
    expect(mnr_heap_open(1 << 20, &heap), "a heap");
    expect(mnr_heap_view(heap, &view), "a view");
    expect(mnr_region_open(heap, &results), "a region");
    expect(mnr_region_open(heap, &work), "a region");

    list = list_of_numbers(work);
    printf("sum in the heap: %" PRIu64 "\n", sum(view, list));
    expect(mnr_list_elements(heap, list, elements, COUNT, &count, NULL), "the elements");
    for (at = 0; at < count; at++) {
        copied += mnr_payload(elements[at]);
    }
    printf("sum of %zu elements: %" PRIu64 "\n", count, copied);

    expect(mnr_transmigrate(work, results, &list, 1, &report), "leaving");
    printf("left by path %u, %" PRIu64 " cells written; sum: %" PRIu64 "\n", (unsigned)report.path, report.cells,
           sum(view, list));
    printf("closed twice: %s\n", mnr_error_text(mnr_region_close(work, NULL)));

    expect(mnr_heap_statistics(heap, &counts), "statistics");
    printf("%" PRIu64 " chunks, %" PRIu64 " bytes live, %" PRIu64 " splices, %" PRIu64 " regions\n", counts.chunks,
           counts.bytes_live, counts.splices, counts.regions);
    expect(mnr_region_close(results, NULL), "closing");
    expect(mnr_heap_close(heap), "closing");
    return EXIT_SUCCESS;
}
