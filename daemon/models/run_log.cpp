#include "daemon/models/run_log.h"

#include "common/base/utc_time.h"

namespace cortexfs::models {

std::string logLine(const RunSummary &summary)
{
    std::string line = utcTimestamp(summary.wallMs);
    line += ' ';
    line += summary.run;
    line += ' ';
    line += abi::runStatusWord(summary.status);
    line += ' ' + std::to_string(summary.usage.inputTokens) + '+' + std::to_string(summary.usage.outputTokens);
    line += " tokens " + std::to_string(summary.totalMs) + " ms";
    if (summary.errnoNumber != 0) {
        line += ' ';
        line += errnoName(summary.errnoNumber);
    }
    return line;
}

} // namespace cortexfs::models
