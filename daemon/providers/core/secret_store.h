// Credentials on disk: <state>/secrets/provider/<provider>/<slot> (decisions, section 8).
//
// A slot counts only when it cannot have been read or planted by somebody else: directories 0700, the file 0600 or
// stricter, regular, one link, all owned by the daemon's uid, at most 64 KiB, one value without control characters once
// the white space around it is trimmed. Anything else is "unconfigured" with a reason. Values never enter a log, an
// error or a list.
//
// A key that was read is kept in memory while nothing about its file and its directories has changed, which a run finds
// out with a stat of each. It goes with its slot.
#pragma once

#include "common/base/clock.h"
#include "common/base/result.h"
#include "common/base/secret_string.h"
#include "common/base/unique_fd.h"
#include "daemon/providers/core/secret_cache.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

namespace cortexfs::providers {

inline constexpr std::string_view kDefaultSlot = "default";

enum class SlotState { Filled, Missing, Rejected };

struct SlotInfo {
    std::string provider;
    std::string slot;
    SlotState state = SlotState::Missing;
    std::string reason; // Rejected: what is wrong and with what, for `ctx doctor`
};

// For any thread; two threads must not change the same slot at once.
class SecretStore {
public:
    // `stateDir` is <state>. Nothing is read or made before the first call that needs it.
    SecretStore(std::string stateDir, uid_t owner, const Clock &clock = systemClock());

    // Nothing where there is no such file. ENOKEY naming provider and slot, with the reason, for a slot that does not
    // count. EINVAL: not object names.
    Result<std::optional<SecretString>> find(std::string_view provider, std::string_view slot) const;
    // ENOKEY also where there is nothing.
    Result<SecretString> get(std::string_view provider, std::string_view slot) const;
    SlotInfo state(std::string_view provider, std::string_view slot) const;
    // Every slot on disk, by provider and slot, also those that do not count.
    std::vector<SlotInfo> list() const;

    // Atomic; makes the directories, and repairs the mode of those that are ours. EINVAL: names, an empty value or one
    // with control characters; EMSGSIZE over 64 KiB; EACCES: a directory that is a link or belongs to somebody else.
    Result<void> set(std::string_view provider, std::string_view slot, const SecretString &value);
    // ENOENT when there is no such slot.
    Result<void> remove(std::string_view provider, std::string_view slot);

private:
    Result<UniqueFd> openProviderDir(std::string_view provider, bool create) const;
    std::string slotPath(std::string_view provider, std::string_view slot) const;
    std::optional<SecretString> keptKey(std::string_view provider, const std::string &path,
                                        const struct stat &info) const;

    std::string m_stateDir;
    uid_t m_owner;
    const Clock &m_clock;
    mutable SecretCache m_cache;
};

} // namespace cortexfs::providers
