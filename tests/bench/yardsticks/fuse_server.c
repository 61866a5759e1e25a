// The least a low-level libfuse server can do: one thread, constants for answers. What it reaches is what the kernel and
// libfuse allow; cortexd is compared with it.
//     fuse_server MOUNTPOINT TIMEOUT_SECONDS
// In the root: `control`, a small file with one xattr, opened as cortexd opens control files; `dir` with 2000 entries.
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { kRoot = 1, kControl = 2, kDirectory = 3, kFirstFile = 10, kFiles = 2000 };

static const char text[] = "auto\n";
static const char attributeValue[] = "model/debug/echo";
static double timeout = 1.0;

static struct stat attributesOf(fuse_ino_t id)
{
    const int isDirectory = id == kRoot || id == kDirectory;
    struct stat info;
    memset(&info, 0, sizeof info);
    info.st_ino = id;
    info.st_mode = isDirectory ? S_IFDIR | 0755 : S_IFREG | 0644;
    info.st_nlink = isDirectory ? 2 : 1;
    info.st_size = isDirectory ? 0 : (off_t)(sizeof text - 1);
    return info;
}

static struct fuse_entry_param entryOf(fuse_ino_t id)
{
    struct fuse_entry_param entry;
    memset(&entry, 0, sizeof entry);
    entry.ino = id;
    entry.attr = attributesOf(id);
    entry.attr_timeout = timeout;
    entry.entry_timeout = timeout;
    return entry;
}

static void lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    fuse_ino_t id = 0;
    if (parent == kRoot && strcmp(name, "control") == 0)
        id = kControl;
    else if (parent == kRoot && strcmp(name, "dir") == 0)
        id = kDirectory;
    else if (parent == kDirectory && strncmp(name, "file-", 5) == 0)
        id = kFirstFile + (fuse_ino_t)atoi(name + 5);
    if (id == 0) {
        fuse_reply_err(request, ENOENT);
        return;
    }
    const struct fuse_entry_param entry = entryOf(id);
    fuse_reply_entry(request, &entry);
}

static void getattr(fuse_req_t request, fuse_ino_t id, struct fuse_file_info *info)
{
    (void)info;
    const struct stat attributes = attributesOf(id);
    fuse_reply_attr(request, &attributes, timeout);
}

static void getxattr(fuse_req_t request, fuse_ino_t id, const char *name, size_t size)
{
    (void)id;
    if (strcmp(name, "user.cortexfs.abi_path") != 0)
        fuse_reply_err(request, ENODATA);
    else if (size == 0)
        fuse_reply_xattr(request, sizeof attributeValue - 1);
    else if (size < sizeof attributeValue - 1)
        fuse_reply_err(request, ERANGE);
    else
        fuse_reply_buf(request, attributeValue, sizeof attributeValue - 1);
}

static void openFile(fuse_req_t request, fuse_ino_t id, struct fuse_file_info *info)
{
    (void)id;
    info->direct_io = 1;
    info->noflush = 1;
    fuse_reply_open(request, info);
}

static void readFile(fuse_req_t request, fuse_ino_t id, size_t size, off_t offset, struct fuse_file_info *info)
{
    (void)id;
    (void)info;
    const size_t length = sizeof text - 1;
    const size_t at = (size_t)offset < length ? (size_t)offset : length;
    fuse_reply_buf(request, text + at, length - at < size ? length - at : size);
}

static void openDirectory(fuse_req_t request, fuse_ino_t id, struct fuse_file_info *info)
{
    (void)id;
    fuse_reply_open(request, info);
}

static void listDirectory(fuse_req_t request, fuse_ino_t id, size_t size, off_t offset, struct fuse_file_info *info)
{
    (void)info;
    char *buffer = malloc(size);
    size_t used = 0;
    const off_t end = buffer && id == kDirectory ? kFiles : 0;
    for (off_t at = offset; at < end; ++at) {
        char name[24];
        snprintf(name, sizeof name, "file-%04d", (int)at);
        const struct fuse_entry_param entry = entryOf(kFirstFile + (fuse_ino_t)at);
        const size_t wanted = fuse_add_direntry_plus(request, buffer + used, size - used, name, &entry, at + 1);
        if (wanted > size - used)
            break;
        used += wanted;
    }
    fuse_reply_buf(request, buffer, used);
    free(buffer);
}

static const struct fuse_lowlevel_ops operations = {
    .lookup = lookup,
    .getattr = getattr,
    .getxattr = getxattr,
    .open = openFile,
    .read = readFile,
    .opendir = openDirectory,
    .readdirplus = listDirectory,
};

int main(int argc, char **argv)
{
    if (argc != 3)
        return fputs("usage: fuse_server MOUNTPOINT TIMEOUT_SECONDS\n", stderr), 2;
    timeout = atof(argv[2]);
    struct fuse_args arguments = FUSE_ARGS_INIT(1, argv);
    struct fuse_session *session = fuse_session_new(&arguments, &operations, sizeof operations, NULL);
    if (!session || fuse_set_signal_handlers(session) != 0 || fuse_session_mount(session, argv[1]) != 0)
        return 1;
    puts("ready");
    fflush(stdout);
    fuse_session_loop(session);
    fuse_session_unmount(session);
    fuse_remove_signal_handlers(session);
    fuse_session_destroy(session);
    return 0;
}
