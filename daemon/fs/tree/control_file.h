// Writing a control file: from the writes of a program to one whole new text, or to an error and the old text.
//
//   single value   every write(2) is checked and committed before it returns, as sysfs does
//   several lines  writes are collected; close(2) and fsync(2) check and commit
//
// A text is collected sequentially from offset 0, or, with O_APPEND, behind the text of before. Any other offset would
// make the file half-new: EINVAL. Truncation alone changes nothing until something is written, except that the last
// close of a file that was opened with O_TRUNC and never written commits the empty text (`: > fallback`).
#pragma once

#include "common/base/limits.h"
#include "daemon/fs/tree/open_file.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cortexfs::fs {

struct ControlRef {
    NodeId node = 0;
    std::string path; // below the mount
    bool isWritable = false;
    bool isSingleValue = false;
    std::size_t maxBytes = limits::kControlFile;
};

// Who stores control files. Called on the answering thread; `done` is called there too, with an errno or 0.
class ControlStorage {
public:
    virtual ~ControlStorage() = default;
    // What a name of a directory means: nothing when it is free for a temporary file.
    virtual std::optional<ControlRef> controlNamed(NodeId directory, std::string_view name) = 0;
    // The most that a temporary file of a directory may hold: as much as the largest control file that it can become.
    virtual std::size_t stagedBytes(NodeId) const { return limits::kControlFile; }
    // May this caller replace it? EACCES, EROFS or 0.
    virtual int mayChangeControl(const Caller &caller, const ControlRef &control) = 0;
    virtual int checkControl(const ControlRef &control, std::string_view text) const = 0;
    virtual void commitControl(const Caller &caller, const ControlRef &control, std::string text,
                               std::function<void(int)> done) = 0;
    // As commitControl, for a change that nobody waits for: opens of the node wait for it.
    virtual void settleControl(const Caller &caller, const ControlRef &control, std::string text) = 0;
};

// `printf > file`, for the whole text at once and without a descriptor: truncate(2) by name.
void truncateControl(ControlStorage &storage, const Caller &caller, const ControlRef &control, std::size_t currentSize,
                     off_t size, Reply<Ack> reply);
// What programs do to a file beside writing it: the times they set are ignored, the mode and owner it already has are
// accepted, anything else is EROFS. Not about the size.
int acceptHarmlessChange(const struct AttrChange &change, const struct stat &current);

class ControlFile : public OpenFile {
public:
    // `text` is what a reader of the moment sees; `flags` are those of open(2) (O_CREAT counts as O_TRUNC).
    ControlFile(ControlStorage &storage, ControlRef control, std::string text, int flags);

    ErrnoOr<std::string_view> read(std::vector<char> &, std::size_t size, off_t offset) override;
    void write(const Caller &caller, std::string_view data, off_t offset, bool fromPageCache,
               Reply<std::size_t> reply) override;
    void truncate(const Caller &, off_t size, Reply<Ack> reply) override;
    void flush(const Caller &caller, Reply<Ack> reply) override;
    void sync(const Caller &caller, bool, Reply<Ack> reply) override { flush(caller, std::move(reply)); }
    void release(const Caller &caller) override;
    ErrnoOr<off_t> seek(off_t offset, int whence) override;

private:
    const std::string &visibleText() const { return m_hasStarted ? m_text : m_oldText; }

    ControlStorage &m_storage;
    const ControlRef m_control;
    std::string m_oldText;
    std::string m_text; // the new text so far
    const bool m_isAppending;
    const bool m_isTruncating;
    bool m_hasStarted = false; // m_text means something
    bool m_isDirty = false;    // and is not committed
    bool m_wasWritten = false;
    bool m_isTooLong = false; // a write did not fit: what came before it is half a text and never committed
};

} // namespace cortexfs::fs
