/* The state of the process in its job, shared by job.c, pairs.c, names.c and spawn.c. */
#pragma once

#include "library.h"

/* Limits of keys and values, with the zero at their ends. The library's own are larger. */
#define KEY_BYTES_MAX 256
#define VALUE_BYTES_MAX 4096

/* The longest list of pairs that a process puts before one fence, in bytes. */
#define PAIRS_BYTES_MAX (1 << 20)

/* What is before the keys of Viaduct among those of other libraries. */
#define KEY_PREFIX "viaduct."

/* What is before the name of a variable with a pair that a parent gave to those that it spawned. */
#define PREPUT_PREFIX "VIADUCT_PMIX_PREPUT_"

struct state {
	struct library lib;
	pmix_proc_t self;
	unsigned long size;
	int joined;           /* between PMIx_Init and PMIx_Finalize */
	unsigned long fences; /* that were begun */
};

extern struct state state;

/* value_free frees a value that PMIx_Get returned, if it is a text or a number. It may be NULL. */
void value_free(pmix_value_t *v);

/* state_joined answers with a refusal, and returns 0, unless the process is in the job. */
struct wire;
int state_joined(struct wire *w, const char *answer);
