/* The site's libpmix, loaded while the program runs. */
#pragma once

#include <pmix.h>

struct library {
	__typeof__(&PMIx_Get_version) version;
	__typeof__(&PMIx_Error_string) error_string;
	__typeof__(&PMIx_Init) init;
	__typeof__(&PMIx_Finalize) finalize;
	__typeof__(&PMIx_Abort) abort;
	__typeof__(&PMIx_Put) put;
	__typeof__(&PMIx_Commit) commit;
	__typeof__(&PMIx_Fence_nb) fence_nb;
	__typeof__(&PMIx_Get) get;
	__typeof__(&PMIx_Publish) publish;
	__typeof__(&PMIx_Unpublish) unpublish;
	__typeof__(&PMIx_Lookup) lookup;
	__typeof__(&PMIx_Spawn) spawn;
	__typeof__(&PMIx_Register_event_handler) register_event_handler;
};

/* library_load loads a libpmix. It returns 0, or -1 with the reason in why. */
int library_load(struct library *l, const char *path, char *why, size_t size);
