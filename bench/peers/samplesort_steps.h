/*
 * The steps of the sample sort within one process: the algorithms of
 * examples/mpi/internal/samplesort, which explains them, function by function.
 */
#ifndef BENCH_SAMPLESORT_STEPS_H
#define BENCH_SAMPLESORT_STEPS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct record { uint64_t key, value; };

enum { FEW_RECORDS = 32, CACHE_RECORDS = 1 << 13 };

/* insert sorts a few records in place. */
static void insert(struct record *records, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        struct record r = records[i];
        uint64_t k = i;
        for (; k > 0 && records[k - 1].key > r.key; k--)
            records[k] = records[k - 1];
        records[k] = r;
    }
}

/* scatter copies records in the order of one byte of their keys; counts has how often each
 * value of it occurs. */
static void scatter(const struct record *from, struct record *to, uint64_t n, int shift, uint64_t *counts)
{
    uint64_t at = 0;
    for (int i = 0; i < 256; i++) {
        uint64_t c = counts[i];
        counts[i] = at;
        at += c;
    }
    for (uint64_t i = 0; i < n; i++)
        to[counts[(uint8_t)(from[i].key >> shift)]++] = from[i];
}

/* by_lowest sorts by some lower bytes, from the lowest on, and reports whether the result
 * is in other. */
static int by_lowest(struct record *records, struct record *other, uint64_t n, int bytes)
{
    uint64_t counts[8][256];
    int in_other = 0;
    memset(counts, 0, sizeof counts[0] * bytes);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t key = records[i].key;
        for (int b = 0; b < bytes; b++)
            counts[b][(uint8_t)(key >> 8 * b)]++;
    }
    for (int b = 0; b < bytes; b++) {
        if (counts[b][(uint8_t)(records[0].key >> 8 * b)] == n)
            continue;
        scatter(records, other, n, 8 * b, counts[b]);
        struct record *swap = records;
        records = other;
        other = swap;
        in_other = !in_other;
    }
    return in_other;
}

/* differing returns how many of the lower bytes of keys hold all differences between them. */
static int differing(const struct record *records, uint64_t n)
{
    uint64_t diff = 0;
    for (uint64_t i = 0; i < n; i++)
        diff |= records[i].key ^ records[0].key;
    return diff ? (64 - __builtin_clzll(diff) + 7) / 8 : 0;
}

/* sort_records sorts by key; records with the same key keep their order. */
static void sort_records(struct record *records, struct record *scratch, uint64_t n)
{
    if (n <= FEW_RECORDS) {
        insert(records, n);
        return;
    }
    int bytes = differing(records, n);
    if (bytes == 0)
        return;
    if (n <= CACHE_RECORDS) {
        if (by_lowest(records, scratch, n, bytes))
            memcpy(records, scratch, n * sizeof *records);
        return;
    }
    int top = 8 * (bytes - 1);
    uint64_t counts[256] = {0}, sizes[256];
    for (uint64_t i = 0; i < n; i++)
        counts[(uint8_t)(records[i].key >> top)]++;
    memcpy(sizes, counts, sizeof sizes);
    scatter(records, scratch, n, top, counts);
    for (int i = 0; i < 256; i++) {
        uint64_t heap = sizes[i];
        if (heap <= FEW_RECORDS) {
            insert(scratch, heap);
            memcpy(records, scratch, heap * sizeof *records);
        } else if (!by_lowest(scratch, records, heap, bytes - 1)) {
            memcpy(records, scratch, heap * sizeof *records);
        }
        records += heap;
        scratch += heap;
    }
}

static int sample_count(uint64_t n, int wanted) { return n < (uint64_t)wanted ? (int)n : wanted; }

/* sample returns count keys of sorted records, at even distances. */
static void sample(const struct record *sorted, uint64_t n, uint64_t *keys, int count)
{
    for (uint64_t i = 0; i < (uint64_t)count; i++)
        keys[i] = sorted[(2 * i + 1) * n / (2 * (uint64_t)count)].key;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A splitter is a place among sorted records: within those that have key, after part of
 * of of them. */
struct splitter { uint64_t key, part, of; };

/* choose_splitters chooses the parts - 1 places that divide samples evenly, and sorts these. */
static void choose_splitters(uint64_t *samples, int n, int parts, struct splitter *splitters)
{
    qsort(samples, n, sizeof *samples, compare_keys);
    for (int i = 0; i < parts - 1; i++) {
        int at = (int)((int64_t)(i + 1) * n / parts), from = at, to = at;
        splitters[i] = (struct splitter){0, 0, 1};
        if (at == n)
            continue; /* there are none */
        uint64_t key = samples[at];
        while (from > 0 && samples[from - 1] == key)
            from--;
        while (to < n && samples[to] == key)
            to++;
        splitters[i] = (struct splitter){key, at - from, to - from};
    }
}

/* first_from finds the first of sorted records whose key is at least, or above, a key. */
static uint64_t first_from(const struct record *sorted, uint64_t n, uint64_t key, int above)
{
    uint64_t low = 0, high = n;
    while (low < high) {
        uint64_t mid = low + (high - low) / 2;
        if (sorted[mid].key < key || (above && sorted[mid].key == key))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* cut computes where sorted records are cut: piece i has those from bounds[i] to before
 * bounds[i+1]. */
static void cut(const struct record *sorted, uint64_t n, const struct splitter *splitters, int parts, uint64_t *bounds)
{
    bounds[0] = 0;
    for (int i = 0; i < parts - 1; i++) {
        uint64_t from = first_from(sorted, n, splitters[i].key, 0), to = first_from(sorted, n, splitters[i].key, 1);
        bounds[i + 1] = from + (to - from) * splitters[i].part / splitters[i].of;
    }
    bounds[parts] = n;
}

/* A contender is a run in the tree of losers: by its first key, then by its number. One
 * without records has the largest key, and a number after all runs with records. */
struct contender { uint64_t key, run; };

struct merger {
    uint64_t leaves; /* a power of two */
    const struct record **next, **end;
    struct contender *losers;
};

static int before(struct contender a, struct contender b) { return a.key < b.key || (a.key == b.key && a.run < b.run); }

static struct contender first_of(const struct merger *m, uint64_t run)
{
    if (m->next[run] < m->end[run])
        return (struct contender){m->next[run]->key, run};
    return (struct contender){UINT64_MAX, run + m->leaves};
}

static struct contender play(struct merger *m, uint64_t node)
{
    if (node >= m->leaves)
        return first_of(m, node - m->leaves);
    struct contender a = play(m, 2 * node), b = play(m, 2 * node + 1);
    if (before(b, a)) {
        struct contender swap = a;
        a = b;
        b = swap;
    }
    m->losers[node] = b;
    return a;
}

/* merge merges runs, of which run i lies from starts[i] to before starts[i+1]; of records
 * with the same key those of an earlier run come first. It fails without memory. */
static int merge(struct record *to, const struct record *records, const uint64_t *starts, int runs)
{
    struct merger m = {.leaves = 1};
    while (m.leaves < (uint64_t)runs)
        m.leaves *= 2;
    m.next = calloc(m.leaves, sizeof *m.next);
    m.end = calloc(m.leaves, sizeof *m.end);
    m.losers = calloc(m.leaves, sizeof *m.losers);
    int failed = !m.next || !m.end || !m.losers;
    if (!failed) {
        for (int i = 0; i < runs; i++) {
            m.next[i] = records + starts[i];
            m.end[i] = records + starts[i + 1];
        }
        struct contender winner = play(&m, 1);
        for (uint64_t i = 0; i < starts[runs]; i++) {
            uint64_t run = winner.run;
            to[i] = *m.next[run]++;
            winner = first_of(&m, run);
            for (uint64_t node = (run + m.leaves) / 2; node > 0; node /= 2) {
                struct contender other = m.losers[node];
                if (before(other, winner)) {
                    m.losers[node] = winner;
                    winner = other;
                }
            }
        }
    }
    free(m.next), free(m.end), free(m.losers);
    return failed;
}

/* A summary is enough information about some records to check whether they are the sorted
 * input. */
struct summary { uint64_t count, sum, first, last, sorted; };

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static struct summary summarize(const struct record *records, uint64_t n)
{
    const uint64_t golden = 0x9e3779b97f4a7c15;
    struct summary s = {.count = n, .sorted = 1};
    for (uint64_t i = 0; i < n; i++) {
        s.sum += mix(records[i].key + mix(records[i].value + golden) + golden);
        if (i > 0 && records[i].key < records[i - 1].key)
            s.sorted = 0;
    }
    if (n > 0) {
        s.first = records[0].key;
        s.last = records[n - 1].key;
    }
    return s;
}

/* join returns the summary of parts that follow each other. */
static struct summary join(struct summary a, struct summary b)
{
    if (a.count == 0 || b.count == 0)
        return a.count ? a : b;
    return (struct summary){
        .count = a.count + b.count, .sum = a.sum + b.sum, .first = a.first, .last = b.last,
        .sorted = a.sorted && b.sorted && a.last <= b.first,
    };
}

#endif
