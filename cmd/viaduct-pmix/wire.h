/* Lines of PMI-1 over a socket: "cmd=NAME KEY=VALUE ...". */
#pragma once

#include <pthread.h>
#include <stddef.h>

/* Longest line, with its end: that of the other side (mpi/pmi/wire). */
#define LINE_BYTES_MAX (64 << 10)

struct wire {
	int fd;
	pthread_mutex_t lock; /* for answers: the end of a fence is told by a thread of the library */
	size_t have, used;    /* 0 <= used <= have: bytes in buf, and how many of them were taken */
	char buf[LINE_BYTES_MAX];
};

/* wire_line returns the next line without its end, valid until the next call. NULL is the end of the
 * connection, or a line that is too long or has a zero byte. */
char *wire_line(struct wire *w);

/* wire_is tells whether a line is this command. */
int wire_is(const char *line, const char *name);

/* wire_get copies the value of a key, up to the next blank. It returns 0 if the line has no such key,
 * or if the value has no room. */
int wire_get(const char *line, const char *key, char *value, size_t size);

/* wire_rest returns the rest of the line after a key, or "". */
const char *wire_rest(const char *line, const char *key);

/* wire_fits tells whether a text can be a value in the middle of a line. */
int wire_fits(const char *text);

/* wire_answer sends one line. A failure needs no handling: the other side is gone. */
void wire_answer(struct wire *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* wire_refuse answers that a request failed. The reason may have any characters. */
void wire_refuse(struct wire *w, const char *answer, const char *format, ...) __attribute__((format(printf, 3, 4)));
