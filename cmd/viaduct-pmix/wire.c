#include "wire.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

char *wire_line(struct wire *w) {
	memmove(w->buf, w->buf + w->used, w->have - w->used);
	w->have -= w->used;
	w->used = 0;
	for (size_t seen = 0;;) {
		char *end = memchr(w->buf + seen, '\n', w->have - seen);
		if (end != NULL) {
			*end = 0;
			w->used = (size_t)(end - w->buf) + 1;
			return strlen(w->buf) == w->used - 1 ? w->buf : NULL;
		}
		seen = w->have;
		if (w->have == sizeof w->buf) return NULL;
		ssize_t n = read(w->fd, w->buf + w->have, sizeof w->buf - w->have);
		if (n < 0 && errno == EINTR) continue;
		if (n <= 0) return NULL;
		w->have += (size_t)n;
	}
}

int wire_is(const char *line, const char *name) {
	size_t n = strlen(name);
	return strncmp(line, "cmd=", 4) == 0 && strncmp(line + 4, name, n) == 0 && (line[4 + n] == 0 || line[4 + n] == ' ');
}

const char *wire_rest(const char *line, const char *key) {
	size_t n = strlen(key);
	for (const char *at = line; (at = strchr(at, ' ')) != NULL;) {
		at++;
		if (strncmp(at, key, n) == 0 && at[n] == '=') return at + n + 1;
	}
	return "";
}

int wire_get(const char *line, const char *key, char *value, size_t size) {
	const char *rest = wire_rest(line, key);
	size_t n = strcspn(rest, " ");
	if (n == 0 || n >= size) return 0;
	memcpy(value, rest, n);
	value[n] = 0;
	return 1;
}

int wire_fits(const char *text) {
	if (*text == 0) return 0;
	for (; *text != 0; text++)
		if (*text <= ' ' || *text >= 0x7f || *text == '=' || *text == ';') return 0;
	return 1;
}

static void send_line(struct wire *w, const char *line, size_t n) {
	pthread_mutex_lock(&w->lock);
	while (n > 0) {
		ssize_t done = send(w->fd, line, n, MSG_NOSIGNAL);
		if (done < 0 && errno == EINTR) continue;
		if (done <= 0) break;
		line += done;
		n -= (size_t)done;
	}
	pthread_mutex_unlock(&w->lock);
}

void wire_answer(struct wire *w, const char *format, ...) {
	char line[LINE_BYTES_MAX];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(line, sizeof line - 1, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof line - 1) { /* the limits of values exclude this */
		n = snprintf(line, sizeof line - 1, "cmd=too_long rc=-1");
	}
	line[n++] = '\n';
	send_line(w, line, (size_t)n);
}

void wire_refuse(struct wire *w, const char *answer, const char *format, ...) {
	char why[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(why, sizeof why, format, args);
	va_end(args);
	for (char *c = why; *c != 0; c++) {
		if (*c <= ' ' || *c >= 0x7f) *c = ' ';
		if (*c == '=' || *c == ';') *c = ':';
	}
	wire_answer(w, "cmd=%s rc=-1 msg=%s", answer, why);
}
