/* Pairs of keys and values, which a process puts for the others, and fences.
 *
 * PMI does not say whose pair it asks for, and a search of all ranks by the library makes servers
 * complain about those that do not have it. So each process puts one value before each fence: the
 * list of its pairs, ";KEY=VALUE;KEY=VALUE;". A key usually has its rank in it, so that the lists of
 * the ranks that it names are searched first. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "state.h"

/* Pairs that were put since the last fence: a list without its end. */
static struct {
	char *text;
	size_t used, room;
} pairs;

/* append adds ";KEY=VALUE". It returns -1 if there is no room. */
static int append(const char *key, const char *value) {
	size_t more = strlen(key) + strlen(value) + 2;
	if (pairs.used + more > PAIRS_BYTES_MAX) return -1;
	if (pairs.used + more + 2 > pairs.room) { /* the end of the list has two */
		size_t room = 2 * (pairs.room + more + 2);
		char *text = realloc(pairs.text, room);
		if (text == NULL) return -1;
		pairs.text = text;
		pairs.room = room;
	}
	pairs.used += (size_t)sprintf(pairs.text + pairs.used, ";%s=%s", key, value);
	return 0;
}

void job_put(struct wire *w, const char *line) {
	char key[KEY_BYTES_MAX], value[VALUE_BYTES_MAX];
	if (!state_joined(w, "put_result")) return;
	if (!wire_get(line, "key", key, sizeof key) || !wire_get(line, "value", value, sizeof value) || !wire_fits(key) || !wire_fits(value))
		wire_refuse(w, "put_result", "no key or value, or one that cannot be put");
	else if (append(key, value) != 0)
		wire_refuse(w, "put_result", "too many pairs before one fence");
	else
		wire_answer(w, "cmd=put_result rc=0");
}

/* list_name is the key of the list before a fence. */
static void list_name(char name[PMIX_MAX_KEYLEN + 1], unsigned long fence) { sprintf(name, KEY_PREFIX "pairs.%lu", fence); }

/* fence_ended is called by a thread of the library. */
static void fence_ended(pmix_status_t status, void *w) {
	if (status == PMIX_SUCCESS)
		wire_answer(w, "cmd=barrier_out rc=0");
	else
		wire_refuse(w, "barrier_out", "PMIx_Fence: %s", state.lib.error_string(status));
}

void job_fence(struct wire *w, const char *line) {
	static const pmix_info_t collect = {.key = PMIX_COLLECT_DATA, .value = {.type = PMIX_BOOL, .data.flag = true}};
	char name[PMIX_MAX_KEYLEN + 1], none[] = ";";
	(void)line;
	if (!state_joined(w, "barrier_out")) return;
	list_name(name, state.fences++);
	pmix_value_t list = {.type = PMIX_STRING, .data.string = none};
	if (pairs.used > 0) {
		strcpy(pairs.text + pairs.used, ";");
		list.data.string = pairs.text;
	}
	pmix_status_t status = state.lib.put(PMIX_GLOBAL, name, &list);
	pairs.used = 0;
	if (status == PMIX_SUCCESS) status = state.lib.commit();
	if (status == PMIX_SUCCESS) status = state.lib.fence_nb(NULL, 0, &collect, 1, fence_ended, w);
	if (status == PMIX_OPERATION_SUCCEEDED)
		fence_ended(PMIX_SUCCESS, w);
	else if (status != PMIX_SUCCESS)
		fence_ended(status, w);
}

/* find_in looks for a key in the list of one rank before one fence. */
static int find_in(pmix_rank_t rank, unsigned long fence, const char *key, char value[VALUE_BYTES_MAX]) {
	static const pmix_info_t now = {.key = PMIX_IMMEDIATE, .value = {.type = PMIX_BOOL, .data.flag = true}};
	char name[PMIX_MAX_KEYLEN + 1], mark[KEY_BYTES_MAX + 2];
	pmix_proc_t whose = state.self;
	pmix_value_t *v = NULL;
	int found = 0;
	whose.rank = rank;
	list_name(name, fence);
	if (state.lib.get(&whose, name, &now, 1, &v) == PMIX_SUCCESS && v != NULL && v->type == PMIX_STRING && v->data.string != NULL) {
		sprintf(mark, ";%s=", key);
		const char *at = strstr(v->data.string, mark);
		size_t n = at == NULL ? 0 : strcspn(at += strlen(mark), ";");
		if (n > 0 && n < VALUE_BYTES_MAX) {
			memcpy(value, at, n);
			value[n] = 0;
			found = wire_fits(value);
		}
	}
	value_free(v);
	return found;
}

/* find looks for a key in the lists of a rank, the latest first. */
static int find(unsigned long rank, const char *key, char value[VALUE_BYTES_MAX]) {
	for (unsigned long fence = state.fences; fence-- > 0;)
		if (find_in((pmix_rank_t)rank, fence, key, value)) return 1;
	return 0;
}

void job_get(struct wire *w, const char *line) {
	char key[KEY_BYTES_MAX], value[VALUE_BYTES_MAX], variable[sizeof PREPUT_PREFIX + KEY_BYTES_MAX] = PREPUT_PREFIX;
	if (!state_joined(w, "get_result")) return;
	if (!wire_get(line, "key", key, sizeof key) || !wire_fits(key)) {
		wire_refuse(w, "get_result", "no key, or one that cannot be put");
		return;
	}
	const char *given = getenv(strcat(variable, key));
	if (given != NULL && wire_fits(given) && strlen(given) < VALUE_BYTES_MAX) {
		wire_answer(w, "cmd=get_result rc=0 value=%s", given);
		return;
	}
	int found = 0;
	for (char *c = key; *c != 0 && !found; c++)
		if (isdigit((unsigned char)*c)) {
			unsigned long rank = strtoul(c, &c, 10);
			found = rank < state.size && find(rank, key, value);
			c--;
		}
	for (unsigned long rank = 0; rank < state.size && !found; rank++) found = find(rank, key, value);
	if (found)
		wire_answer(w, "cmd=get_result rc=0 value=%s", value);
	else
		wire_refuse(w, "get_result", "no process put the key before the latest fence");
}
