// Where a run is in its chain of candidates: which one is asked next, and what is passed over on the way.
#pragma once

#include "common/base/error.h"
#include "daemon/models/candidate.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cortexfs::models {

// A candidate that was not asked, and why: ENOENT, not in the catalogue; EAGAIN, in cooldown.
struct PassedOver {
    std::string model;
    Error why;
};

class CandidateChain {
public:
    // Of a probe the first one only, whatever its cooldown.
    CandidateChain(std::vector<Candidate> candidates, bool isProbe);

    bool isEmpty() const { return m_candidates.empty(); }
    // The requested model. Not for an empty chain.
    const Candidate &first() const { return m_candidates.front(); }

    // The next one that may be asked at `nowMs` (wall clock), null at the end. What it passes over is added to `passed`.
    const Candidate *next(std::int64_t nowMs, std::vector<PassedOver> &passed);
    // The request did not fit into this candidate: from here on only one with a larger limit helps. One of unknown
    // limit is not known to be larger, so after a candidate of unknown limit there is none.
    void requireMoreThan(const Candidate &candidate);
    // When the first candidate may be asked again, if all that are in the catalogue are in cooldown.
    std::optional<std::int64_t> earliestEnd(std::int64_t nowMs) const;

private:
    bool isLargeEnough(const Candidate &candidate) const;

    std::vector<Candidate> m_candidates;
    std::size_t m_next = 0;
    bool m_isProbe;
    bool m_needsLimit = false;
    std::optional<std::uint32_t> m_tooSmall; // the largest limit that was not enough; with m_needsLimit
};

} // namespace cortexfs::models
