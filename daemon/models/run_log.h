// The line of `log` that a run leaves behind.
#pragma once

#include "common/abi/event.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace cortexfs::models {

struct RunSummary {
    std::int64_t wallMs = 0; // when it ended
    std::string_view run;
    abi::RunStatus status = abi::RunStatus::Ok;
    abi::Usage usage;
    std::int64_t totalMs = 0;
    int errnoNumber = 0;
};

// "2026-12-01T10:11:12Z r1 ok 12+34 tokens 812 ms", with the errno's name at the end of a failed one.
std::string logLine(const RunSummary &summary);

} // namespace cortexfs::models
