/* Service names (MPI-4.1, 11.9.5). */
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "state.h"

/* service reads the name of a service, with the prefix. */
static int service(const char *line, char key[PMIX_MAX_KEYLEN + 1]) {
	strcpy(key, KEY_PREFIX "name.");
	size_t n = strlen(key);
	return wire_get(line, "service", key + n, PMIX_MAX_KEYLEN + 1 - n);
}

static void result(struct wire *w, const char *answer, const char *call, pmix_status_t status) {
	if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
		wire_answer(w, "cmd=%s rc=0", answer);
	else
		wire_refuse(w, answer, "%s: %s", call, state.lib.error_string(status));
}

void job_publish(struct wire *w, const char *line) {
	char port[VALUE_BYTES_MAX];
	pmix_info_t pair = {.value = {.type = PMIX_STRING, .data.string = port}};
	if (!state_joined(w, "publish_result")) return;
	if (!service(line, pair.key) || !wire_get(line, "port", port, sizeof port)) {
		wire_refuse(w, "publish_result", "no service or port, or one that is too long");
		return;
	}
	result(w, "publish_result", "PMIx_Publish", state.lib.publish(&pair, 1));
}

void job_unpublish(struct wire *w, const char *line) {
	char key[PMIX_MAX_KEYLEN + 1], *keys[] = {key, NULL};
	if (!state_joined(w, "unpublish_result")) return;
	if (!service(line, key)) {
		wire_refuse(w, "unpublish_result", "no service, or one whose name is too long");
		return;
	}
	result(w, "unpublish_result", "PMIx_Unpublish", state.lib.unpublish(keys, NULL, 0));
}

void job_lookup(struct wire *w, const char *line) {
	pmix_pdata_t found = {0};
	if (!state_joined(w, "lookup_result")) return;
	if (!service(line, found.key)) {
		wire_refuse(w, "lookup_result", "no service, or one whose name is too long");
		return;
	}
	pmix_status_t status = state.lib.lookup(&found, 1, NULL, 0);
	char *port = found.value.type == PMIX_STRING ? found.value.data.string : NULL;
	if (status != PMIX_SUCCESS)
		wire_refuse(w, "lookup_result", "PMIx_Lookup: %s", state.lib.error_string(status));
	else if (port == NULL || strnlen(port, VALUE_BYTES_MAX) == VALUE_BYTES_MAX || !wire_fits(port))
		wire_refuse(w, "lookup_result", "PMIx_Lookup: the launcher has no port under this name");
	else
		wire_answer(w, "cmd=lookup_result rc=0 port=%s", port);
	free(port);
}
