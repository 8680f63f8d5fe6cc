#include "library.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions of this program have had their types since version 2. */
#define MAJOR_MIN 2

/* major finds the version in texts such as "OpenPMIx 4.2.2 (PMIx Standard: 4.1, ...)". */
static int major(const char *text) {
	for (; text != NULL && *text != 0; text++)
		if (isdigit((unsigned char)*text)) return atoi(text);
	return -1;
}

int library_load(struct library *l, const char *path, char *why, size_t size) {
	void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* its plugins need its symbols */
	if (handle == NULL) {
		snprintf(why, size, "%s cannot be loaded: %s: install PMIx (Debian: libpmix2), or set MPI_PMIX_LIBRARY to the launcher's libpmix.so.2", path, dlerror());
		return -1;
	}
	const struct {
		const char *name;
		void *at;
	} symbols[] = {
		{"PMIx_Get_version", &l->version}, {"PMIx_Error_string", &l->error_string},
		{"PMIx_Init", &l->init},           {"PMIx_Finalize", &l->finalize},
		{"PMIx_Abort", &l->abort},         {"PMIx_Put", &l->put},
		{"PMIx_Commit", &l->commit},       {"PMIx_Fence_nb", &l->fence_nb},
		{"PMIx_Get", &l->get},             {"PMIx_Publish", &l->publish},
		{"PMIx_Unpublish", &l->unpublish}, {"PMIx_Lookup", &l->lookup},
		{"PMIx_Spawn", &l->spawn},         {"PMIx_Register_event_handler", &l->register_event_handler},
	};
	for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
		void *symbol = dlsym(handle, symbols[i].name);
		if (symbol == NULL) {
			snprintf(why, size, "%s has no function %s, so it is no PMIx, or a broken one: set MPI_PMIX_LIBRARY to the launcher's libpmix.so.2", path, symbols[i].name);
			return -1;
		}
		memcpy(symbols[i].at, &symbol, sizeof symbol);
	}
	const char *version = l->version();
	int number = major(version);
	if (number < MAJOR_MIN) {
		snprintf(why, size, "%s is version \"%.60s\" of PMIx, and version %d or later is needed: set MPI_PMIX_LIBRARY to the launcher's libpmix.so.2", path, version == NULL ? "" : version, MAJOR_MIN);
		return -1;
	}
	return 0;
}
