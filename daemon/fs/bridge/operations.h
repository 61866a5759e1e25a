// libfuse's callbacks, each a translation of one request to one call of the tree.
#pragma once

#include "daemon/fs/bridge/fuse_api.h"
#include "daemon/fs/bridge/fuse_caller.h"
#include "daemon/fs/bridge/handle_table.h"
#include "daemon/fs/nodes/tree.h"
#include "daemon/fs/tree/open_file.h"
#include "daemon/fs/tree/pending_changes.h"
#include "daemon/fs/tree/work_queue.h"

#include <new>
#include <vector>

namespace cortexfs::fs {

// What the operations work on. Answering thread only.
struct BridgeContext {
    Tree &tree;
    PendingChanges &changes;
    WorkQueue &work;
    int treeFd;
    HandleTable<OpenFile> files;
    HandleTable<OpenDirectory> directories;
    std::vector<char> scratch;
};

// The session's user data is the FuseMount; this finds what belongs to it.
BridgeContext &contextOf(fuse_req_t request);

fuse_lowlevel_ops bridgeOperations();

namespace bridge {

void addReadingOperations(fuse_lowlevel_ops &operations);
void addChangingOperations(fuse_lowlevel_ops &operations);

// No exception may cross libfuse.
template<typename Body>
void guarded(fuse_req_t request, Body body) noexcept
{
    try {
        body(contextOf(request));
    } catch (const std::bad_alloc &) {
        fuse_reply_err(request, ENOMEM);
    } catch (...) {
        fuse_reply_err(request, EIO);
    }
}

// As guarded(), with the area that owns `node`.
template<typename Body>
void atNode(fuse_req_t request, fuse_ino_t node, Body body) noexcept
{
    guarded(request, [&](BridgeContext &context) {
        Area *area = context.tree.areaOf(node);
        if (!area) {
            fuse_reply_err(request, ESTALE);
            return;
        }
        body(context, *area, FuseCaller(request));
    });
}

fuse_entry_param entryParam(const Entry &entry);
void replyEntry(fuse_req_t request, Area &area, const ErrnoOr<Entry> &entry);
void describe(const OpenedFile &opened, fuse_file_info &info);

// A Reply that answers the request with `send(request, value)`.
template<typename T, typename Send>
Reply<T> replyTo(fuse_req_t request, Send send)
{
    class Answer : public Responder<T> {
    public:
        Answer(fuse_req_t to, Send how) : m_request(to), m_send(std::move(how)) {}
        void succeed(T value) override { m_send(m_request, std::move(value)); }
        void fail(int error) override { fuse_reply_err(m_request, error); }

    private:
        fuse_req_t m_request;
        Send m_send;
    };
    return Reply<T>(std::make_unique<Answer>(request, std::move(send)));
}

inline Reply<Ack> ackTo(fuse_req_t request)
{
    return replyTo<Ack>(request, [](fuse_req_t to, Ack) { fuse_reply_err(to, 0); });
}

} // namespace bridge
} // namespace cortexfs::fs
