#include "daemon/models/run_id.h"

#include "common/base/clock.h"

#include <QRandomGenerator>

namespace cortexfs::models {

namespace {

constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
constexpr int kTimeDigits = 9; // 36^9 ms reach into the year 5188
constexpr int kRandomDigits = 7;

} // namespace

std::string newRunId()
{
    std::string id(1 + kTimeDigits + kRandomDigits, 'r');
    auto time = static_cast<std::uint64_t>(systemClock().wallMs());
    for (int i = kTimeDigits; i > 0; --i, time /= 36)
        id[static_cast<std::size_t>(i)] = kDigits[time % 36];
    for (int i = 0; i < kRandomDigits; ++i)
        id[static_cast<std::size_t>(1 + kTimeDigits + i)] = kDigits[QRandomGenerator::system()->bounded(36)];
    return id;
}

} // namespace cortexfs::models
