// cortexfs-object-runner: the interpreter in the #! line of every executable object. The kernel starts it as
//     cortexfs-object-runner /ctx/model/P/M WORDS...
#include "app/runner/errno_table.h"
#include "app/runner/run.h"

#include <string.h>
#include <unistd.h>

namespace {

constexpr char kHelp[] =
    "usage: cortexfs-object-runner OBJECT [WORDS...]\n"
    "\n"
    "The interpreter of the executable objects of a CortexFS tree. You do not start it: the #! line of an object "
    "does.\n"
    "Words, or else standard input, are the object's input; standard output is JSONL. See cortexfs-object-runner(1).\n";
constexpr char kVersion[] = "cortexfs-object-runner " CORTEXFS_VERSION "\n";

int print(int fd, const char *text, int exitCode)
{
    const size_t size = strlen(text);
    return ::write(fd, text, size) == static_cast<ssize_t>(size) ? exitCode : 1;
}

} // namespace

int main(int argc, char **argv)
{
    using namespace cortexfs::runner;
    if (argc < 2)
        return print(STDERR_FILENO, kHelp, kExitUsage);
    if (strcmp(argv[1], "--help") == 0)
        return print(STDOUT_FILENO, kHelp, 0);
    if (strcmp(argv[1], "--version") == 0)
        return print(STDOUT_FILENO, kVersion, 0);
    Run run(argv[1], argv + 2);
    // The kernel takes everything back faster than we could give it.
    ::_exit(run.execute());
}
