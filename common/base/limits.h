// Every number of the ABI in one place (decisions, section 13). Sizes are bytes, times are milliseconds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cortexfs::limits {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = 1024 * kKiB;

inline constexpr std::size_t kFrame = 1 * kMiB; // one JSONL frame with its LF
inline constexpr std::size_t kChannelFrame = 256 * kKiB;
inline constexpr std::size_t kControlFile = 64 * kKiB;
inline constexpr std::size_t kProviderFile = 64 * kKiB;
inline constexpr std::size_t kRouteFile = 1 * kMiB;    // 10 000 rules and more
inline constexpr std::size_t kLimitsBytes = 16 * kMiB; // the catalogue of context limits, and its cache
inline constexpr std::size_t kLimitsEntries = 65536;
inline constexpr std::size_t kModelListBytes = 16 * kMiB; // all pages of a provider's list of models
inline constexpr std::size_t kModelListEntries = 65536;
inline constexpr int kModelListPages = 100;
inline constexpr std::size_t kSecretFile = 64 * kKiB;
inline constexpr std::size_t kManifest = 1 * kMiB;
inline constexpr std::size_t kStdin = 16 * kMiB; // all of an object's stdin
inline constexpr std::size_t kSseEvent = 8 * kMiB;
inline constexpr std::size_t kRunBytes = 64 * kMiB;     // response bytes of one run
inline constexpr std::size_t kMessageText = 768 * kKiB; // one assistant message
inline constexpr std::size_t kToolArguments = 256 * kKiB;
inline constexpr std::size_t kUnsent = 256 * kKiB; // to one reader, before the source is paused
inline constexpr std::size_t kToolOutput = 64 * kKiB;
inline constexpr int kWaitingSends = 16;
// An event or message of a session as a line, so that it fits into a frame together with what is said about it.
inline constexpr std::size_t kSessionLine = kFrame - 512;
inline constexpr std::size_t kHistory = 8 * kMiB;      // of a session, to a model of unknown limit
inline constexpr std::size_t kTempSession = 16 * kMiB; // a session that is kept in memory
inline constexpr std::size_t kRequestId = 256;         // a client's id of a request
inline constexpr int kHooks = 32;
inline constexpr int kFallbacks = 16;
inline constexpr int kAuditDepth = 32;
inline constexpr int kAuditEntries = 16384;
inline constexpr std::size_t kObjectName = 64; // characters of one path component
inline constexpr int kJsonDepth = 128;

inline constexpr int kConnectMs = 10'000;
inline constexpr int kFirstByteMs = 60'000;
inline constexpr int kIdleMs = 120'000;
inline constexpr int kRunMs = 30 * 60'000;
inline constexpr int kLimitsFetchMs = 35'000;
inline constexpr int kModelListMs = 60'000; // all pages
inline constexpr int kStalledReaderMs = 60'000;
inline constexpr int kToolMs = 120'000;
inline constexpr int kApprovalMs = 120'000;
inline constexpr int kHookMs = 10'000;
inline constexpr int kShutdownMs = 5'000;
inline constexpr int kFuseReplyMs = 5'000; // a posted tree change, before ETIMEDOUT

} // namespace cortexfs::limits
