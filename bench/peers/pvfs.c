/*
 * Creates, stats and removes empty files of an OrangeFS file system through libpvfs2.
 *
 *     pvfs DIRECTORY PREFIX
 *
 * The directory's file system is in the table that PVFS2TAB_FILE names. Each line of the standard
 * input, "create N", "stat N" or "remove N", is carried out on the files PREFIX0 to PREFIX<N-1>, and answered
 * with a line "ok". The program prints one more when it is ready.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pvfs2.h"

static PVFS_fs_id fs;
static PVFS_object_ref dir;
static PVFS_credential cred;

static void check(const char *what, int error)
{
    char text[256];
    if (error >= 0)
        return;
    PVFS_strerror_r(error, text, sizeof text);
    fprintf(stderr, "pvfs: %s: %s\n", what, text);
    exit(1);
}

static void make_one(char *name)
{
    PVFS_sysresp_create made;
    PVFS_sys_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.owner = getuid();
    attr.group = getgid();
    attr.perms = 0644;
    attr.atime = attr.mtime = attr.ctime = time(NULL);
    attr.mask = PVFS_ATTR_SYS_ALL_SETABLE;
    check("create", PVFS_sys_create(name, dir, attr, &cred, NULL, &made, NULL, NULL));
}

static void stat_one(char *name)
{
    PVFS_sysresp_lookup found;
    PVFS_sysresp_getattr got;
    check("lookup", PVFS_sys_ref_lookup(fs, name, dir, &cred, &found, PVFS2_LOOKUP_LINK_FOLLOW, NULL));
    memset(&got, 0, sizeof got);
    check("getattr", PVFS_sys_getattr(found.ref, PVFS_ATTR_SYS_ALL_NOHINT, &cred, &got, NULL));
    PVFS_util_release_sys_attr(&got.attr);
}

static void remove_one(char *name)
{
    check("remove", PVFS_sys_remove(name, dir, &cred, NULL));
}

static void ok(void)
{
    puts("ok");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char path[PVFS_NAME_MAX], line[64], word[16], name[64];
    PVFS_sysresp_lookup found;
    int n;
    if (argc != 3) {
        fprintf(stderr, "pvfs: want a directory and a prefix\n");
        return 2;
    }
    check("initialise", PVFS_util_init_defaults());
    check("credential", PVFS_util_gen_credential_defaults(&cred));
    check("resolve", PVFS_util_resolve(argv[1], &fs, path, sizeof path));
    check("lookup", PVFS_sys_lookup(fs, *path ? path : "/", &cred, &found, PVFS2_LOOKUP_LINK_FOLLOW, NULL));
    dir = found.ref;
    ok();
    while (fgets(line, sizeof line, stdin)) {
        void (*act)(char *) = NULL;
        if (sscanf(line, "%15s %d", word, &n) != 2)
            return 2;
        if (!strcmp(word, "create"))
            act = make_one;
        else if (!strcmp(word, "stat"))
            act = stat_one;
        else if (!strcmp(word, "remove"))
            act = remove_one;
        if (!act)
            return 2;
        for (int i = 0; i < n; i++) {
            snprintf(name, sizeof name, "%s%d", argv[2], i);
            act(name);
        }
        ok();
    }
    return PVFS_sys_finalize() < 0;
}
