// One daemon a state directory. The kernel drops the lock when the holder dies, however it dies.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <string>

namespace cortexfs {

class InstanceLock {
public:
    // EBUSY, with the holder's pid in the message, when another daemon has it.
    static Result<InstanceLock> acquire(const std::string &path);

private:
    explicit InstanceLock(UniqueFd fd) : m_fd(std::move(fd)) {}
    UniqueFd m_fd;
};

} // namespace cortexfs
