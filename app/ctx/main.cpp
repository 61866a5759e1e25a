#include "app/ctx/core/program.h"

#include <span>

int main(int argc, char **argv)
{
    const std::span<char *const> arguments(argv, static_cast<std::size_t>(argc));
    return cortexfs::ctx::runProgram(arguments.subspan(argc > 0 ? 1 : 0), cortexfs::processEnvironment());
}
