/* A libpmix that is wrong in one way, which FAKE_PMIX chooses. */
#include <fcntl.h>
#include <pmix.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int mode(const char *what) {
	const char *chosen = getenv("FAKE_PMIX");
	return chosen != NULL && strcmp(chosen, what) == 0;
}

const char *PMIx_Get_version(void) { return mode("no version") ? NULL : mode("old") ? "PMIx 1.2.5" : "OpenPMIx 4.2.2 (a test)"; }
const char *PMIx_Error_string(pmix_status_t status) { return status == PMIX_ERR_UNREACH ? "UNREACHABLE" : "SOME=ERROR;\n"; }

pmix_status_t PMIx_Init(pmix_proc_t *proc, pmix_info_t info[], size_t n) {
	(void)info, (void)n;
	if (mode("init fails")) return PMIX_ERR_UNREACH;
	if (mode("init crashes")) raise(SIGSEGV);
	if (mode("init hangs")) {
		close(open(getenv("FAKE_PMIX_FIFO"), O_WRONLY)); /* the test waits for it */
		for (;;) pause();
	}
	memset(proc->nspace, 'x', sizeof proc->nspace);
	strcpy(proc->nspace, mode("singleton") ? "singleton" : getenv("PMIX_NAMESPACE"));
	proc->rank = (pmix_rank_t)atoi(getenv("PMIX_RANK"));
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Get(const pmix_proc_t *proc, const char key[], const pmix_info_t info[], size_t n, pmix_value_t **val) {
	(void)proc, (void)info, (void)n;
	*val = NULL;
	if (mode("nothing")) return PMIX_SUCCESS;
	pmix_value_t *v = calloc(1, sizeof *v);
	if (strcmp(key, PMIX_JOB_SIZE) == 0 && !mode("no size")) {
		v->type = PMIX_UINT32;
		v->data.uint32 = mode("size 0") ? 0 : mode("huge") ? 4000000000u : 2;
	} else {
		v->type = PMIX_STRING;
		v->data.string = strdup(";bad=a b\ncmd=x;k0=v;");
	}
	*val = v;
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t *val) {
	(void)scope, (void)key, (void)val;
	return PMIX_SUCCESS;
}
pmix_status_t PMIx_Commit(void) { return PMIX_SUCCESS; }
#ifndef NO_FENCE
pmix_status_t PMIx_Fence_nb(const pmix_proc_t procs[], size_t n, const pmix_info_t info[], size_t ni, pmix_op_cbfunc_t done, void *data) {
	(void)procs, (void)n, (void)info, (void)ni;
	done(PMIX_ERR_UNREACH, data);
	return PMIX_SUCCESS;
}
#endif
pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t n) {
	(void)info, (void)n;
	return PMIX_SUCCESS;
}
pmix_status_t PMIx_Abort(int status, const char msg[], pmix_proc_t procs[], size_t n) {
	(void)status, (void)msg, (void)procs, (void)n;
	return PMIX_SUCCESS;
}
pmix_status_t PMIx_Publish(const pmix_info_t info[], size_t n) {
	(void)info, (void)n;
	return PMIX_ERR_NOT_SUPPORTED;
}
pmix_status_t PMIx_Unpublish(char **keys, const pmix_info_t info[], size_t n) {
	(void)keys, (void)info, (void)n;
	return PMIX_ERR_NOT_SUPPORTED;
}
pmix_status_t PMIx_Lookup(pmix_pdata_t data[], size_t nd, const pmix_info_t info[], size_t n) {
	(void)data, (void)nd, (void)info, (void)n;
	return PMIX_SUCCESS;
}
pmix_status_t PMIx_Spawn(const pmix_info_t job[], size_t n, const pmix_app_t apps[], size_t na, pmix_nspace_t nspace) {
	(void)job, (void)n, (void)apps, (void)na, (void)nspace;
	return PMIX_ERR_NOT_SUPPORTED;
}
pmix_status_t PMIx_Register_event_handler(pmix_status_t codes[], size_t nc, pmix_info_t info[], size_t n, pmix_notification_fn_t fn, pmix_hdlr_reg_cbfunc_t done, void *data) {
	(void)codes, (void)nc, (void)info, (void)n, (void)fn, (void)done, (void)data;
	return PMIX_SUCCESS;
}
