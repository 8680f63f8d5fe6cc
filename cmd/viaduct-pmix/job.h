/* What a program asks of its job, each request a function that answers it. */
#pragma once

#include "wire.h"

void job_join(struct wire *w, const char *line);
void job_init(struct wire *w, const char *line);
void job_maxes(struct wire *w, const char *line);
void job_appnum(struct wire *w, const char *line);
void job_name(struct wire *w, const char *line);
void job_universe(struct wire *w, const char *line);
void job_put(struct wire *w, const char *line);
void job_get(struct wire *w, const char *line);
void job_fence(struct wire *w, const char *line);
void job_finalize(struct wire *w, const char *line);
void job_abort(struct wire *w, const char *line);
void job_publish(struct wire *w, const char *line);
void job_lookup(struct wire *w, const char *line);
void job_unpublish(struct wire *w, const char *line);

/* job_spawn reads the lines of a spawn behind the first one. It returns -1 if they make no sense. */
int job_spawn(struct wire *w);
