/* viaduct-pmix joins a PMIx job in place of a Go program, which starts it and cannot load libpmix
 * itself without cgo. The program speaks PMI-1 to it over a socket, as to a launcher that it reached
 * through a port, and viaduct-pmix makes the calls of PMIx (docs/internals/decisions/0055).
 *
 *     viaduct-pmix FD
 *
 * The environment is that of the program: libpmix finds its server there. MPI_PMIX_LIBRARY is the
 * libpmix to load. When the other end of FD closes, viaduct-pmix ends. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"
#include "wire.h"

static struct wire wire = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* watch ends the process when the program is gone, whatever the library is waiting for. */
static void *watch(void *unused) {
	struct pollfd p = {.fd = wire.fd, .events = POLLRDHUP};
	(void)unused;
	while (poll(&p, 1, -1) <= 0) {
	}
	_exit(0);
}

/* serve answers requests until the program closes the connection. */
static void serve(void) {
	const struct {
		const char *name;
		void (*answer)(struct wire *w, const char *line);
	} requests[] = {
		{"initack", job_join},        {"init", job_init},
		{"get_maxes", job_maxes},     {"get_appnum", job_appnum},
		{"get_my_kvsname", job_name}, {"get_universe_size", job_universe},
		{"put", job_put},             {"get", job_get},
		{"barrier_in", job_fence},    {"finalize", job_finalize},
		{"abort", job_abort},         {"publish_name", job_publish},
		{"lookup_name", job_lookup},  {"unpublish_name", job_unpublish},
	};
	char *line;
next:
	while ((line = wire_line(&wire)) != NULL) {
		for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
			if (wire_is(line, requests[i].name)) {
				requests[i].answer(&wire, line);
				goto next;
			}
		if (strcmp(line, "mcmd=spawn") != 0 || job_spawn(&wire) != 0) {
			fprintf(stderr, "viaduct-pmix: an unknown request: %.60s\n", line);
			return;
		}
	}
}

int main(int argc, char **argv) {
	/* These are for the program, which may have reasons not to end. */
	const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGPIPE};
	for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) signal(ignored[i], SIG_IGN);
	pthread_t watcher;
	wire.fd = argc == 2 ? atoi(argv[1]) : 0;
	if (wire.fd < 3 || fcntl(wire.fd, F_SETFD, FD_CLOEXEC) != 0 || pthread_create(&watcher, NULL, watch, NULL) != 0) {
		fprintf(stderr, "viaduct-pmix is started by Viaduct's MPI programs, under a launcher with PMIx\n");
		return 2;
	}
	serve();
	_exit(0); /* what the library does at exit can wait for its server */
}
