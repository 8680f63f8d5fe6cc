/* Operations of OrangeFS's client library, which its tools do not offer: a line of standard input is one, with its
   arguments; a line of standard output is what became of it, "ok" with results or "error" with the reason. Paths are within the file
   system. Bytes come from and go to local files. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pvfs2.h>

static PVFS_fs_id fs;
static PVFS_credential cred;

#define WORDS_MAX 8
#define WORD_MAX 4200

static int words;
static char word[WORDS_MAX][WORD_MAX];

static long long number(int i) { return i < words ? atoll(word[i]) : 0; }

/* answer says what became of a line. */
static void answer(int err)
{
    char text[256];
    if (err == 0) {
        printf("ok\n");
        return;
    }
    PVFS_strerror_r(err, text, sizeof text);
    printf("error %s\n", text);
}

/* find looks a path up. */
static int find(char *path, PVFS_object_ref *ref, int follow)
{
    PVFS_sysresp_lookup found;
    memset(&found, 0, sizeof found);
    int err = PVFS_sys_lookup(fs, path, &cred, &found, follow ? PVFS2_LOOKUP_LINK_FOLLOW : PVFS2_LOOKUP_LINK_NO_FOLLOW, NULL);
    *ref = found.ref;
    return err;
}

/* parent looks up the directory of a path, and finds the name in it. */
static int parent(char *path, PVFS_object_ref *dir, char **name)
{
    char above[WORD_MAX];
    strcpy(above, path);
    char *slash = strrchr(above, '/');
    if (slash == NULL)
        return -PVFS_EINVAL;
    *name = path + (slash - above) + 1;
    slash[slash == above] = 0;
    return find(above, dir, 1);
}

static PVFS_sys_attr fresh(unsigned perms)
{
    PVFS_sys_attr a;
    memset(&a, 0, sizeof a);
    a.owner = cred.userid;
    a.group = cred.group_array[0];
    a.perms = perms;
    a.mask = PVFS_ATTR_SYS_ALL_SETABLE;
    return a;
}

/* create PATH [DATAFILES [STRIP]] */
static int create(void)
{
    PVFS_object_ref dir;
    char *name;
    PVFS_sysresp_create made;
    int err = parent(word[1], &dir, &name);
    if (err)
        return err;
    PVFS_sys_attr a = fresh(0644);
    if (words > 2) {
        a.dfile_count = number(2);
        a.mask |= PVFS_ATTR_SYS_DFILE_COUNT;
    }
    PVFS_sys_dist *dist = NULL;
    if (words > 3) {
        PVFS_size strip = number(3);
        dist = PVFS_sys_dist_lookup("simple_stripe");
        if (dist == NULL)
            return -PVFS_ENOMEM;
        if ((err = PVFS_sys_dist_setparam(dist, "strip_size", &strip)) != 0)
            return err;
    }
    err = PVFS_sys_create(name, dir, a, &cred, dist, &made, NULL, NULL);
    if (dist)
        PVFS_sys_dist_free(dist);
    return err;
}

/* moved moves the bytes between a buffer and a part of a file; total is how many they were. */
static int moved(enum PVFS_io_type how, PVFS_Request part, PVFS_offset at, char *buffer, PVFS_Request memory, long long *total)
{
    PVFS_object_ref ref;
    PVFS_sysresp_io done;
    memset(&done, 0, sizeof done);
    int err = find(word[1], &ref, 1);
    if (err == 0)
        err = PVFS_sys_io(ref, part, at, buffer, memory, &cred, &done, how, NULL);
    *total = done.total_completed;
    return err;
}

/* transfer takes the bytes from a local file, or puts them there. */
static int transfer(enum PVFS_io_type how, char *local, PVFS_Request part, PVFS_offset at, PVFS_Request memory, long long room)
{
    char *buffer = calloc(1, room + 1);
    long long total = 0;
    FILE *f = fopen(local, how == PVFS_IO_WRITE ? "rb" : "wb");
    int err = f && buffer ? 0 : -PVFS_EIO;
    if (!err && how == PVFS_IO_WRITE && fread(buffer, 1, room, f) != (size_t)room)
        err = -PVFS_EIO;
    if (!err)
        err = moved(how, part, at, buffer, memory, &total);
    if (!err && how == PVFS_IO_READ && fwrite(buffer, 1, room, f) != (size_t)room)
        err = -PVFS_EIO;
    if (f)
        fclose(f);
    free(buffer);
    if (!err) {
        printf("ok %lld\n", total);
        return 1;
    }
    return err;
}

/* read|write PATH OFFSET SIZE LOCAL */
static int plain(enum PVFS_io_type how)
{
    PVFS_Request memory;
    int err = PVFS_Request_contiguous(number(3), PVFS_BYTE, &memory);
    if (err)
        return err;
    err = transfer(how, word[4], PVFS_BYTE, number(2), memory, number(3));
    PVFS_Request_free(&memory);
    return err;
}

/* sread|swrite PATH OFFSET COUNT BLOCK STRIDE LOCAL: blocks of the file with gaps between */
static int strided(enum PVFS_io_type how)
{
    PVFS_Request memory, part;
    long long size = number(3) * number(4);
    int err = PVFS_Request_contiguous(size, PVFS_BYTE, &memory);
    if (!err)
        err = PVFS_Request_vector(number(3), number(4), number(5), PVFS_BYTE, &part);
    if (err)
        return err;
    err = transfer(how, word[6], part, number(2), memory, size);
    PVFS_Request_free(&memory);
    PVFS_Request_free(&part);
    return err;
}

/* mread|mwrite PATH OFFSET COUNT BLOCK STRIDE LOCAL: blocks of memory with gaps between, which the local file has too */
static int gathered(enum PVFS_io_type how)
{
    PVFS_Request memory;
    int err = PVFS_Request_vector(number(3), number(4), number(5), PVFS_BYTE, &memory);
    if (err)
        return err;
    err = transfer(how, word[6], PVFS_BYTE, number(2), memory, number(3) * number(5));
    PVFS_Request_free(&memory);
    return err;
}

/* names PATH AT-A-TIME prints how many there are and a line for each */
static int names(void)
{
    PVFS_object_ref ref;
    PVFS_ds_position token = PVFS_READDIR_START;
    long long all = 0;
    int err = find(word[1], &ref, 1);
    while (!err && token != PVFS_READDIR_END) {
        PVFS_sysresp_readdir part;
        memset(&part, 0, sizeof part);
        err = PVFS_sys_readdir(ref, token, number(2), &cred, &part, NULL);
        if (err)
            break;
        for (unsigned i = 0; i < part.pvfs_dirent_outcount; i++)
            printf("%s\n", part.dirent_array[i].d_name);
        all += part.pvfs_dirent_outcount;
        token = part.token; /* the array stays: the library has an allocator of its own */
    }
    if (err)
        return err;
    printf("ok %lld\n", all);
    return 1;
}

/* stat PATH prints type, size, mode, owner, group, number of names, and times */
static int status(void)
{
    PVFS_object_ref ref;
    PVFS_sysresp_getattr got;
    memset(&got, 0, sizeof got);
    int err = find(word[1], &ref, 0);
    if (!err)
        err = PVFS_sys_getattr(ref, PVFS_ATTR_SYS_ALL, &cred, &got, NULL);
    if (err)
        return err;
    PVFS_sys_attr *a = &got.attr;
    printf("ok %d %lld %o %u %u %lld %lld %lld %s\n", (int)a->objtype,
           a->mask & PVFS_ATTR_SYS_SIZE ? (long long)a->size : -1, (unsigned)a->perms, a->owner, a->group,
           a->objtype == PVFS_TYPE_DIRECTORY ? (long long)a->dirent_count : -1, (long long)a->atime, (long long)a->mtime,
           a->objtype == PVFS_TYPE_SYMLINK && a->link_target ? a->link_target : "-");
    return 1;
}

/* times PATH [ATIME MTIME]: to now without them */
static int times(void)
{
    PVFS_object_ref ref;
    PVFS_sys_attr a;
    memset(&a, 0, sizeof a);
    int err = find(word[1], &ref, 1);
    a.mask = PVFS_ATTR_SYS_ATIME | PVFS_ATTR_SYS_MTIME;
    if (words > 3) {
        a.atime = number(2);
        a.mtime = number(3);
        a.mask |= PVFS_ATTR_SYS_ATIME_SET | PVFS_ATTR_SYS_MTIME_SET;
    }
    return err ? err : PVFS_sys_setattr(ref, a, &cred, NULL);
}

/* symlink PATH TARGET */
static int link_to(void)
{
    PVFS_object_ref dir;
    char *name;
    PVFS_sysresp_symlink made;
    int err = parent(word[1], &dir, &name);
    return err ? err : PVFS_sys_symlink(name, dir, word[2], fresh(0777), &cred, &made, NULL);
}

static int make_dir(void)
{
    PVFS_object_ref dir;
    char *name;
    PVFS_sysresp_mkdir made;
    int err = parent(word[1], &dir, &name);
    return err ? err : PVFS_sys_mkdir(name, dir, fresh(0755), &cred, &made, NULL);
}

static int remove_name(void)
{
    PVFS_object_ref dir;
    char *name;
    int err = parent(word[1], &dir, &name);
    return err ? err : PVFS_sys_remove(name, dir, &cred, NULL);
}

static int rename_to(void)
{
    PVFS_object_ref from, to;
    char *old, *new;
    int err = parent(word[1], &from, &old);
    if (!err)
        err = parent(word[2], &to, &new);
    return err ? err : PVFS_sys_rename(old, from, new, to, &cred, NULL);
}

static int truncate_to(void)
{
    PVFS_object_ref ref;
    int err = find(word[1], &ref, 1);
    return err ? err : PVFS_sys_truncate(ref, number(2), &cred, NULL);
}

static int flush(void)
{
    PVFS_object_ref ref;
    int err = find(word[1], &ref, 1);
    return err ? err : PVFS_sys_flush(ref, &cred, NULL);
}

static int wait_for(void)
{
    usleep(number(1) * 1000);
    return 0;
}

/* run runs one line. 1: it has said so itself. */
static int run(void)
{
    char *w = word[0];
    if (!strcmp(w, "create")) return create();
    if (!strcmp(w, "read")) return plain(PVFS_IO_READ);
    if (!strcmp(w, "write")) return plain(PVFS_IO_WRITE);
    if (!strcmp(w, "sread")) return strided(PVFS_IO_READ);
    if (!strcmp(w, "swrite")) return strided(PVFS_IO_WRITE);
    if (!strcmp(w, "mread")) return gathered(PVFS_IO_READ);
    if (!strcmp(w, "mwrite")) return gathered(PVFS_IO_WRITE);
    if (!strcmp(w, "names")) return names();
    if (!strcmp(w, "stat")) return status();
    if (!strcmp(w, "times")) return times();
    if (!strcmp(w, "symlink")) return link_to();
    if (!strcmp(w, "mkdir")) return make_dir();
    if (!strcmp(w, "remove")) return remove_name();
    if (!strcmp(w, "rename")) return rename_to();
    if (!strcmp(w, "truncate")) return truncate_to();
    if (!strcmp(w, "flush")) return flush();
    if (!strcmp(w, "wait")) return wait_for();
    return -PVFS_ENOSYS;
}

int main(void)
{
    static char line[WORDS_MAX * WORD_MAX];
    int err = PVFS_util_init_defaults();
    if (!err)
        err = PVFS_util_get_default_fsid(&fs);
    if (!err)
        err = PVFS_util_gen_credential_defaults(&cred);
    if (err) {
        PVFS_perror("libpvfs2", err);
        return 1;
    }
    while (fgets(line, sizeof line, stdin)) {
        words = 0;
        for (char *w = strtok(line, " \n"); w && words < WORDS_MAX; w = strtok(NULL, " \n"))
            snprintf(word[words++], WORD_MAX, "%s", w);
        if (words == 0)
            continue;
        PVFS_util_refresh_credential(&cred);
        err = run();
        if (err <= 0)
            answer(err);
        fflush(stdout);
    }
    PVFS_sys_finalize();
    return 0;
}
