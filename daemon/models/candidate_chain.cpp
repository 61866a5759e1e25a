#include "daemon/models/candidate_chain.h"

#include "common/base/utc_time.h"

#include <algorithm>

namespace cortexfs::models {

namespace {

std::optional<ModelActivity::Cooldown> cooldownOf(const Candidate &candidate, std::int64_t nowMs)
{
    return candidate.entry->activity ? candidate.entry->activity->cooldown(nowMs) : std::nullopt;
}

} // namespace

CandidateChain::CandidateChain(std::vector<Candidate> candidates, bool isProbe)
    : m_candidates(std::move(candidates)), m_isProbe(isProbe)
{
    if (m_isProbe && !m_candidates.empty())
        m_candidates.resize(1);
}

const Candidate *CandidateChain::next(std::int64_t nowMs, std::vector<PassedOver> &passed)
{
    while (m_next < m_candidates.size()) {
        const Candidate &candidate = m_candidates[m_next++];
        if (!candidate.entry) {
            passed.push_back({candidate.name(), errors::notFound("no model " + candidate.name())});
            continue;
        }
        if (!isLargeEnough(candidate))
            continue;
        const auto cooldown = m_isProbe ? std::nullopt : cooldownOf(candidate, nowMs);
        if (!cooldown)
            return &candidate;
        passed.push_back(
            {candidate.name(), errors::tryAgain(candidate.name() + " is in cooldown until "
                                                + utcTimestamp(cooldown->untilMs + 999) + ": " + cooldown->reason)});
    }
    return nullptr;
}

void CandidateChain::requireMoreThan(const Candidate &candidate)
{
    const std::optional<std::uint32_t> limit = candidate.entry->limit;
    m_tooSmall = m_needsLimit && m_tooSmall && limit ? std::max(m_tooSmall, limit) : limit;
    m_needsLimit = true;
}

bool CandidateChain::isLargeEnough(const Candidate &candidate) const
{
    return !m_needsLimit || (m_tooSmall && candidate.entry->limit && *candidate.entry->limit > *m_tooSmall);
}

std::optional<std::int64_t> CandidateChain::earliestEnd(std::int64_t nowMs) const
{
    std::optional<std::int64_t> earliest;
    for (const Candidate &candidate : m_candidates) {
        if (!candidate.entry)
            continue;
        const auto cooldown = cooldownOf(candidate, nowMs);
        if (!cooldown)
            return std::nullopt;
        earliest = std::min(earliest.value_or(cooldown->untilMs), cooldown->untilMs);
    }
    return earliest;
}

} // namespace cortexfs::models
