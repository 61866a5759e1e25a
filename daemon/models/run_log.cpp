#include "daemon/models/run_log.h"

#include <ctime>

namespace cortexfs::models {

std::string logLine(const RunSummary &summary)
{
    const auto seconds = static_cast<std::time_t>(summary.wallMs / 1000);
    std::tm utc = {};
    ::gmtime_r(&seconds, &utc);
    char time[32];
    std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%SZ", &utc);
    std::string line = time;
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
