/* Starting more processes (MPI-4.1, 11.8). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "state.h"

/* Limits of a spawn: programs, words of one program, and bytes of all lines. */
#define PROGRAMS_MAX 64
#define WORDS_MAX 4096
#define SPAWN_BYTES_MAX (1 << 20)

struct request {
	pmix_app_t apps[PROGRAMS_MAX];
	size_t programs;
	int number, total; /* of the program that was read last */
	char text[SPAWN_BYTES_MAX]; /* all strings of the apps */
	size_t used;
};

/* keep copies a text, "before" and then "text". NULL means that there is no room. */
static char *keep(struct request *r, const char *before, const char *text) {
	size_t n = strlen(before) + strlen(text) + 1;
	if (n > sizeof r->text - r->used) return NULL;
	char *at = r->text + r->used;
	strcat(strcpy(at, before), text);
	r->used += n;
	return at;
}

/* add appends a word to a list that ends with NULL. */
static int add(char **words, size_t *n, char *word) {
	if (word == NULL || *n >= WORDS_MAX) return -1;
	words[(*n)++] = word;
	return 0;
}

static int starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* program reads one program, up to endcmd. */
static int program(struct wire *w, struct request *r) {
	char key[KEY_BYTES_MAX], *line;
	size_t argc = 0, envc = 0;
	if (r->programs == PROGRAMS_MAX) return -1;
	pmix_app_t *app = &r->apps[r->programs++];
	app->argv = calloc(WORDS_MAX + 1, sizeof(char *));
	app->env = calloc(WORDS_MAX + 1, sizeof(char *));
	if (app->argv == NULL || app->env == NULL || add(app->env, &envc, keep(r, "PMI_SPAWNED=", "1")) != 0) return -1;
	r->number = r->total = 1;
	int wdir = 0;
	key[0] = 0;
	while ((line = wire_line(w)) != NULL && strcmp(line, "endcmd") != 0) {
		char *value = strchr(line, '=');
		int wrong = 0;
		if (value == NULL) return -1;
		*value++ = 0;
		if (strcmp(line, "nprocs") == 0) {
			app->maxprocs = atoi(value);
		} else if (strcmp(line, "totspawns") == 0) {
			r->total = atoi(value);
		} else if (strcmp(line, "spawnssofar") == 0) {
			r->number = atoi(value);
		} else if (strcmp(line, "execname") == 0) {
			app->cmd = keep(r, "", value);
			wrong = add(app->argv, &argc, app->cmd);
		} else if (starts(line, "arg") && strcmp(line, "argcnt") != 0) {
			wrong = add(app->argv, &argc, keep(r, "", value));
		} else if (starts(line, "preput_key_")) {
			wrong = snprintf(key, sizeof key, "%s=", value) >= (int)sizeof key;
		} else if (starts(line, "preput_val_")) {
			char *pair = keep(r, PREPUT_PREFIX, key);
			if (pair != NULL) r->used--; /* the value follows it */
			wrong = pair == NULL || keep(r, "", value) == NULL || add(app->env, &envc, pair);
		} else if (starts(line, "info_key_")) {
			wdir = strcmp(value, "wdir") == 0;
		} else if (starts(line, "info_val_") && wdir) {
			wrong = (app->cwd = keep(r, "", value)) == NULL;
		}
		if (wrong) return -1;
	}
	if (line == NULL || app->cmd == NULL || app->maxprocs < 1 || app->maxprocs > 1 << 20) return -1;
	return 0;
}

static void start(struct wire *w, struct request *r) {
	char nspace[PMIX_MAX_NSLEN + 1] = "";
	if (!state_joined(w, "spawn_result")) return;
	pmix_status_t status = state.lib.spawn(NULL, 0, r->apps, r->programs, nspace);
	if (status != PMIX_SUCCESS) {
		wire_refuse(w, "spawn_result", "PMIx_Spawn: %s", state.lib.error_string(status));
		return;
	}
	wire_answer(w, "cmd=spawn_result rc=0");
}

int job_spawn(struct wire *w) {
	struct request *r = calloc(1, sizeof *r);
	int ok = r != NULL && program(w, r) == 0;
	while (ok && r->number < r->total) {
		const char *line = wire_line(w);
		ok = line != NULL && strcmp(line, "mcmd=spawn") == 0 && program(w, r) == 0;
	}
	if (ok) start(w, r);
	for (size_t i = 0; r != NULL && i < r->programs; i++) {
		free(r->apps[i].argv);
		free(r->apps[i].env);
	}
	free(r);
	return ok ? 0 : -1;
}
