// The interpreter that stands in the #! line of every object.
#pragma once

#include "common/base/result.h"

#include <optional>
#include <string>

namespace cortexfs {

// Owns the link it may have made and takes it away again.
class RunnerPath {
public:
    // The configured runner, else the one in /usr/bin when it is the same build as the one beside `executable`, else the
    // one beside it. A #! line ends at the first blank and at 255 bytes: a path that does not fit gets a link in
    // `runtimeDir`, or in a new directory below /tmp when that has blanks too. ENOENT: no runner anywhere.
    static Result<RunnerPath> find(const std::optional<std::string> &configured, const std::string &executable,
                                   const std::string &runtimeDir);
    RunnerPath(RunnerPath &&other) noexcept = default;
    RunnerPath &operator=(RunnerPath &&) = delete;
    ~RunnerPath();

    const std::string &path() const { return m_path; }

private:
    RunnerPath() = default;
    std::string m_path;
    std::string m_link;               // made by us, empty when none was needed
    std::string m_temporaryDirectory; // of that link
};

} // namespace cortexfs
