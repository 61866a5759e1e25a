// The one error type. The code is a Linux errno value; its stable name (EACCES, ENOKEY, ...) is what every border of the
// program shows: FUSE replies, exit codes, JSONL error frames, HTTP answers.
//
// An Error never holds a secret or a raw provider body. Errors are made by the named functions below, so that a call
// site reads as a sentence: `return errors::invalid("model_limits: not a positive integer")`.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

namespace cortexfs {

class Error {
public:
    int number() const { return m_number; } // EINVAL
    std::string_view name() const;          // "EINVAL"
    const std::string &message() const { return m_message; }
    // Where in the input: a JSON pointer, "line 3", a path below the mount. Empty when there is nothing to add.
    const std::string &detail() const { return m_detail; }
    // "detail: message", or the message alone.
    std::string text() const;

    Error withDetail(std::string detail) const;

    friend bool operator==(const Error &, const Error &) = default;

private:
    friend Error makeError(int number, std::string message, std::string detail);
    Error(int number, std::string message, std::string detail)
        : m_number(number), m_message(std::move(message)), m_detail(std::move(detail))
    {}

    int m_number;
    std::string m_message;
    std::string m_detail;
};

// For borders that receive a number (a syscall, a frame from a peer); elsewhere use the functions in errors::.
Error makeError(int number, std::string message, std::string detail = {});

// "EINVAL" for EINVAL; "EIO" for a number without a stable name, so that nothing unknown leaves the program.
std::string_view errnoName(int number);
// 0 when the name is not a stable one.
int errnoFromName(std::string_view name);

// The exit code of the object ABI for an errno: 0, 1, 2, 13, 69, 70.
int exitCodeFor(int errnoNumber);

inline constexpr int kExitOk = 0;
inline constexpr int kExitGeneral = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitDenied = 13;
inline constexpr int kExitUnavailable = 69;
inline constexpr int kExitInternal = 70;
inline constexpr int kExitInterrupted = 130;

namespace errors {
Error invalid(std::string message);         // EINVAL
Error tooLarge(std::string message);        // EMSGSIZE: a frame, file or body over its limit
Error accessDenied(std::string message);    // EACCES
Error notPermitted(std::string message);    // EPERM
Error notFound(std::string message);        // ENOENT
Error alreadyExists(std::string message);   // EEXIST
Error readOnly(std::string message);        // EROFS
Error noCredential(std::string message);    // ENOKEY
Error quotaExhausted(std::string message);  // EDQUOT
Error busy(std::string message);            // EBUSY
Error tryAgain(std::string message);        // EAGAIN: rate limited
Error stale(std::string message);           // ESTALE: changed since it was read
Error unsupported(std::string message);     // ENOTSUP
Error timedOut(std::string message);        // ETIMEDOUT
Error cancelled(std::string message);       // ECANCELED
Error hostDown(std::string message);        // EHOSTDOWN: the service exists and cannot serve
Error unreachable(std::string message);     // EHOSTUNREACH: name resolution
Error refused(std::string message);         // ECONNREFUSED
Error connectionReset(std::string message); // ECONNRESET: ended before its terminal signal
Error protocol(std::string message);        // EPROTO: TLS, or a peer of ours breaking the ABI
Error badMessage(std::string message);      // EBADMSG: malformed content where the type promised better
Error io(std::string message);              // EIO
// The errno of a failed system call: "open providers.d: Permission denied".
Error fromErrno(int number, std::string_view what);
} // namespace errors

} // namespace cortexfs
