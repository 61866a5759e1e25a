// A subtree with files behind it: every request becomes one or two *at() calls on O_PATH descriptors, made with the
// caller's file system rights (FsCredentials), without following links and without leaving the file system below the
// area's first level. What differs between areas are the virtual questions in the protected part.
#pragma once

#include "daemon/fs/backing/backed_file.h"
#include "daemon/fs/backing/backed_nodes.h"
#include "daemon/fs/tree/area.h"
#include "daemon/fs/tree/area_context.h"
#include "daemon/identity/credentials.h"

namespace cortexfs::fs {

// `withGroups` asks twice where a right was missing; see FsCredentials.
class BackedArea : public Area {
public:
    // `name` is the folder in the installed tree and the entry in the root.
    BackedArea(const AreaContext &context, std::string name);
    // Makes the folder where it is missing and opens it.
    Result<void> openRoot();

    NodeId rootId() const override { return m_root; }
    ErrnoOr<Entry> lookup(const Caller &caller, NodeId parent, std::string_view name) override;
    void forget(NodeId node, std::uint64_t count) override { m_nodes.forget(node, count); }
    ErrnoOr<Attr> attributes(const Caller &caller, NodeId node, OpenFile *file) override;
    ErrnoOr<std::string> readLink(const Caller &caller, NodeId node) override;
    int access(const Caller &caller, NodeId node, int mask) override;
    ErrnoOr<OpenedFile> open(const Caller &caller, NodeId node, int flags) override;
    ErrnoOr<std::unique_ptr<OpenDirectory>> openDirectory(const Caller &caller, NodeId node) override;
    ErrnoOr<NodeFacts> facts(NodeId node) override;

    ErrnoOr<std::string> storedXattrNames(const Caller &caller, NodeId node) override;
    bool listsReservedXattrs(NodeId) const override { return false; }
    ErrnoOr<std::string> storedXattr(const Caller &caller, NodeId node, const std::string &name) override;
    int setXattr(const Caller &caller, NodeId node, const std::string &name, std::string_view value,
                 int flags) override;
    int removeXattr(const Caller &caller, NodeId node, const std::string &name) override;

    void setAttributes(const Caller &caller, NodeId node, const AttrChange &change, OpenFile *file,
                       Reply<Attr> reply) override;
    ErrnoOr<CreatedFile> create(const Caller &caller, NodeId parent, std::string_view name, mode_t mode,
                                int flags) override;
    ErrnoOr<Entry> makeNode(const Caller &caller, NodeId parent, std::string_view name, mode_t mode,
                            dev_t device) override;
    ErrnoOr<Entry> makeDirectory(const Caller &caller, NodeId parent, std::string_view name, mode_t mode) override;
    void makeSymlink(const Caller &caller, NodeId parent, std::string_view name, std::string_view target,
                     Reply<Entry> reply) override;
    ErrnoOr<Entry> hardLink(const Caller &caller, NodeId node, NodeId parent, std::string_view name) override;
    void unlink(const Caller &caller, NodeId parent, std::string_view name, Reply<Ack> reply) override;
    int removeDirectory(const Caller &caller, NodeId parent, std::string_view name) override;
    void rename(const Caller &caller, NodeId from, std::string_view name, NodeId to, std::string_view newName,
                unsigned flags, Reply<Ack> reply) override;

protected:
    enum class Want { Reach, Read, Change }; // search or describe it; read its content; change it or what is in it

    // What an area thinks of a name it found.
    struct Sighting {
        std::uint64_t salt = 0;
        std::uint8_t role = 0;
        uid_t home = 0;
    };

    // An errno that the backing tree's own permissions do not give; 0 goes on.
    virtual int admit(const Caller &, const BackedNode &, Want) { return 0; }
    // May make the name first (home/<uid>). An errno refuses the name.
    virtual ErrnoOr<Sighting> sight(const Caller &caller, BackedNode &parent, std::string_view name) = 0;
    virtual bool isListed(const Caller &, const BackedNode &, std::string_view) const { return true; }
    // Changes what is told about a node (size and mode of an executable object).
    virtual void present(const BackedNode &, struct stat &) {}
    virtual double seconds() const { return kUncachedSeconds; }
    virtual std::string_view kindWord(const BackedNode &node) const;

    // The node, admitted, with the thread's rights set and its descriptor open. A caller whose rights the daemon cannot
    // take (a user's mount with allow_other) may do what the mode bits for others allow, and change nothing.
    struct Entered {
        BackedNode *node;
        int fd;
    };
    ErrnoOr<Entered> enter(const Caller &caller, NodeId id, Want want);
    ErrnoOr<int> descriptor(BackedNode &node);
    // Opens the node itself (not its name) with the rights of the thread.
    UniqueFd reopen(const Caller &caller, int fd, int flags);
    Attr attrOf(const BackedNode &node, struct stat stat);
    ErrnoOr<Entry> entryFor(const Caller &caller, BackedNode &parent, std::string_view name);

    const AreaContext m_context;
    BackedNodes &m_nodes;
    FsCredentials &m_credentials;
    const std::string m_name;
    NodeId m_root = 0;

private:
    ErrnoOr<Entry> entryOfNew(const Caller &caller, BackedNode &parent, std::string_view name, int fd);
    // The known node of a name, with its descriptor open, so that it survives the loss of the name.
    BackedNode *keepBeforeLoss(const Caller &caller, BackedNode &parent, int parentFd, const std::string &name);
    void afterLoss(BackedNode *node, const BackedNode &parent, std::string_view name);
    void afterMove(const Caller &caller, BackedNode &to, int toFd, const std::string &name);
    int apply(const Caller &caller, BackedNode &node, int fd, const AttrChange &change);
};

} // namespace cortexfs::fs
