#include "daemon/fs/tree/control_file.h"

#include "daemon/fs/tree/area.h"
#include "daemon/fs/tree/text_file.h"

namespace cortexfs::fs {

void truncateControl(ControlStorage &storage, const Caller &caller, const ControlRef &control, std::size_t currentSize,
                     off_t size, Reply<Ack> reply)
{
    if (!control.isWritable)
        return reply.fail(EROFS);
    if (const int error = storage.mayChangeControl(caller, control))
        return reply.fail(error);
    if (size == static_cast<off_t>(currentSize))
        return reply.ok();
    if (size != 0)
        return reply.fail(EINVAL);
    if (const int error = storage.checkControl(control, {}))
        return reply.fail(error);
    storage.commitControl(caller, control, {},
                          [shared = shareReply(std::move(reply))](int error) { shared->finish(error); });
}

int acceptHarmlessChange(const AttrChange &change, const struct stat &current)
{
    const bool keepsMode = !change.mode || (*change.mode & 07777) == (current.st_mode & 07777);
    const bool keepsOwner = (!change.uid || *change.uid == current.st_uid)
                            && (!change.gid || *change.gid == current.st_gid);
    return keepsMode && keepsOwner ? 0 : EROFS;
}

ControlFile::ControlFile(ControlStorage &storage, ControlRef control, std::string text, int flags)
    : m_storage(storage), m_control(std::move(control)), m_oldText(std::move(text)),
      m_isAppending((flags & O_APPEND) != 0 && (flags & O_TRUNC) == 0),
      m_isTruncating((flags & (O_TRUNC | O_CREAT)) != 0)
{}

ErrnoOr<std::string_view> ControlFile::read(std::vector<char> &, std::size_t size, off_t offset)
{
    return slice(visibleText(), size, offset);
}

ErrnoOr<off_t> ControlFile::seek(off_t offset, int whence) { return seekInText(visibleText().size(), offset, whence); }

void ControlFile::write(const Caller &caller, std::string_view data, off_t offset, bool, Reply<std::size_t> reply)
{
    std::string text;
    const bool goesOn = m_hasStarted
                        && (m_isAppending || (offset != 0 && static_cast<std::size_t>(offset) == m_text.size()));
    if (goesOn)
        text = m_text;
    else if (m_isAppending)
        text = m_oldText;
    else if (offset != 0)
        return reply.fail(m_isTooLong || static_cast<std::size_t>(offset) + data.size() > m_control.maxBytes ? EMSGSIZE
                                                                                                             : EINVAL);
    if (text.size() + data.size() > m_control.maxBytes) {
        m_isTooLong = true;
        m_hasStarted = m_isDirty = false;
        m_text.clear();
        return reply.fail(EMSGSIZE);
    }
    m_isTooLong = m_isTooLong && m_isAppending;
    if (m_isTooLong)
        return reply.fail(EMSGSIZE);
    text += data;

    if (!m_control.isSingleValue) {
        m_text = std::move(text);
        m_hasStarted = m_isDirty = m_wasWritten = true;
        return reply.ok(data.size());
    }
    if (const int error = m_storage.checkControl(m_control, text))
        return reply.fail(error);
    // The writer holds the file open until it is answered, so `this` stays.
    m_storage.commitControl(caller, m_control, text,
                            [this, text, size = data.size(), shared = shareReply(std::move(reply))](int error) {
                                if (!error) {
                                    m_text = text;
                                    m_hasStarted = m_wasWritten = true;
                                }
                                shared->finish(error, size);
                            });
}

void ControlFile::truncate(const Caller &, off_t size, Reply<Ack> reply)
{
    if (size == static_cast<off_t>(visibleText().size()))
        return reply.ok();
    if (size != 0)
        return reply.fail(EINVAL);
    m_text.clear();
    m_hasStarted = true;
    m_isTooLong = false;
    m_isDirty = !m_control.isSingleValue;
    reply.ok();
}

void ControlFile::flush(const Caller &caller, Reply<Ack> reply)
{
    if (m_isTooLong)
        return reply.fail(EMSGSIZE);
    if (!m_isDirty)
        return reply.ok();
    m_isDirty = false;
    const std::string text = m_text;
    // What was refused is forgotten: a later close must not bring it back.
    if (const int error = m_storage.checkControl(m_control, text)) {
        m_hasStarted = false;
        m_text.clear();
        return reply.fail(error);
    }
    m_storage.commitControl(caller, m_control, text, [this, text, shared = shareReply(std::move(reply))](int error) {
        if (!error)
            m_oldText = text;
        shared->finish(error);
    });
}

void ControlFile::release(const Caller &caller)
{
    if (m_control.isSingleValue || m_isTooLong)
        return;
    const bool clears = m_isTruncating && !m_wasWritten && !m_hasStarted;
    if (!m_isDirty && !clears)
        return;
    if (m_storage.checkControl(m_control, m_text) == 0)
        m_storage.settleControl(caller, m_control, m_text);
}

} // namespace cortexfs::fs
