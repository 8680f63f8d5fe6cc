#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state.h"

struct state state;

int state_joined(struct wire *w, const char *answer) {
	if (!state.joined) wire_refuse(w, answer, "this process is not in its job");
	return state.joined;
}

void value_free(pmix_value_t *v) {
	if (v == NULL) return;
	if (v->type == PMIX_STRING) free(v->data.string);
	free(v);
}

/* number_of returns a number that the library has about a rank, or -1. */
static long number_of(pmix_rank_t rank, const char *key) {
	pmix_proc_t whose = state.self;
	pmix_value_t *v = NULL;
	long n = -1;
	whose.rank = rank;
	if (state.lib.get(&whose, key, NULL, 0, &v) == PMIX_SUCCESS && v != NULL && v->type == PMIX_UINT32) n = v->data.uint32;
	value_free(v);
	return n;
}

/* launcher_lost is called by a thread of the library. Nothing can be answered any more. */
static void launcher_lost(size_t handler, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo, pmix_info_t *results, size_t nresults,
                          pmix_event_notification_cbfunc_fn_t done, void *data) {
	(void)handler, (void)status, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults, (void)done, (void)data;
	_exit(4);
}

void job_join(struct wire *w, const char *line) {
	char why[512];
	const char *library = getenv("MPI_PMIX_LIBRARY"), *ours = getenv("PMIX_NAMESPACE"), *rank = getenv("PMIX_RANK");
	(void)line;
	if (library == NULL || *library == 0) library = "libpmix.so.2";
	if (state.joined) {
		wire_refuse(w, "initack", "this process is in its job already");
		return;
	}
	if (library_load(&state.lib, library, why, sizeof why) != 0) {
		wire_refuse(w, "initack", "%s", why);
		return;
	}
	pmix_status_t status = state.lib.init(&state.self, NULL, 0);
	if (status != PMIX_SUCCESS) {
		wire_refuse(w, "initack", "PMIx_Init of %s: %s (%d): is it the launcher's libpmix? MPI_PMIX_LIBRARY names another one", library, state.lib.error_string(status), status);
		return;
	}
	state.self.nspace[PMIX_MAX_NSLEN] = 0;
	if (ours == NULL || rank == NULL || strcmp(ours, state.self.nspace) != 0 || state.self.rank != strtoul(rank, NULL, 10)) {
		wire_refuse(w, "initack", "PMIx_Init of %s did not join the launcher's job, but made one of its own", library);
		return;
	}
	state.joined = 1;
	pmix_status_t lost[] = {PMIX_ERR_LOST_CONNECTION, PMIX_ERR_LOST_CONNECTION_TO_SERVER};
	state.lib.register_event_handler(lost, sizeof lost / sizeof lost[0], NULL, 0, launcher_lost, NULL, NULL);
	long size = number_of(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
	if (size < 1 || state.self.rank >= (unsigned long)size) {
		wire_refuse(w, "initack", "the launcher tells no size of the job, or %ld with a rank %lu", size, (unsigned long)state.self.rank);
		return;
	}
	state.size = (unsigned long)size;
	wire_answer(w, "cmd=initack rc=0\ncmd=set size=%ld\ncmd=set rank=%lu\ncmd=set debug=0", size, (unsigned long)state.self.rank);
}

void job_init(struct wire *w, const char *line) {
	(void)line;
	if (state_joined(w, "response_to_init")) wire_answer(w, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
}

void job_maxes(struct wire *w, const char *line) {
	(void)line;
	wire_answer(w, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d", PMIX_MAX_NSLEN + 1, KEY_BYTES_MAX, VALUE_BYTES_MAX);
}

void job_appnum(struct wire *w, const char *line) {
	(void)line;
	if (state_joined(w, "appnum")) wire_answer(w, "cmd=appnum appnum=%ld", number_of(state.self.rank, PMIX_APPNUM));
}

void job_universe(struct wire *w, const char *line) {
	(void)line;
	if (!state_joined(w, "universe_size")) return;
	long n = number_of(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE);
	wire_answer(w, "cmd=universe_size size=%ld", n < 0 ? 0 : n);
}

void job_name(struct wire *w, const char *line) {
	char name[PMIX_MAX_NSLEN + 1];
	(void)line;
	if (!state_joined(w, "my_kvsname")) return;
	strcpy(name, state.self.nspace);
	for (char *c = name; *c != 0; c++)
		if (*c <= ' ' || *c >= 0x7f || *c == '=' || *c == ';') *c = '_';
	wire_answer(w, "cmd=my_kvsname kvsname=%s", name);
}

void job_finalize(struct wire *w, const char *line) {
	(void)line;
	if (!state_joined(w, "finalize_ack")) return;
	pmix_status_t status = state.lib.finalize(NULL, 0);
	state.joined = 0;
	if (status == PMIX_SUCCESS)
		wire_answer(w, "cmd=finalize_ack rc=0");
	else
		wire_refuse(w, "finalize_ack", "PMIx_Finalize: %s", state.lib.error_string(status));
}

/* The end of this process tells the program that the launcher has been told. Then it ends, too. */
void job_abort(struct wire *w, const char *line) {
	char code[16];
	const char *message = wire_rest(line, "message");
	(void)w;
	if (!wire_get(line, "exitcode", code, sizeof code)) strcpy(code, "1");
	if (state.joined) state.lib.abort(atoi(code), *message == 0 ? "an MPI program aborted its job" : message, NULL, 0);
	_exit(atoi(code));
}
