/* A device that is busy for so many nanoseconds by its own clock, however coarse the timers of the machine are.
   It sleeps as long as a timer can be trusted, and spins to the end. */

#include <stdint.h>
#include <time.h>

#define UNTRUSTED_NS 400000

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

void device(int64_t nanoseconds) {
    int64_t end = now() + nanoseconds;
    if (nanoseconds > UNTRUSTED_NS) {
        int64_t wake = end - UNTRUSTED_NS;
        struct timespec until = {wake / INT64_C(1000000000), wake % INT64_C(1000000000)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0) != 0)
            continue;
    }
    while (now() < end)
        continue;
}

#define PAGE 4096 /* at most that of the machine */

/* Of the pages of `memory`, left alone for so many nanoseconds, how many then take longer than `limit` to touch. A
   machine that is a guest may lose pages to its host meanwhile, and a program that waits long finds its own gone. */
int lost(volatile char *memory, int pages, int64_t nanoseconds, int64_t limit) {
    int64_t end = now() + nanoseconds, last;
    while ((last = now()) < end)
        continue;
    int found = 0;
    for (int page = 0; page < pages; page++) {
        memory[(int64_t)page * PAGE]++;
        int64_t time = now();
        found += time - last > limit;
        last = time;
    }
    return found;
}
