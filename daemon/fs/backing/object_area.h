// tool/ and agent/: objects of the installed tree. An executable NAME with a NAME.d beside it is an object: reading it
// gives its metadata and never its bytes. The files of NAME.d are its controls. Nothing here is made, moved or removed
// through the tree, except that a control which exists is given a new text.
#pragma once

#include "daemon/fs/backing/backed_area.h"
#include "daemon/fs/tree/control_directory.h"
#include "daemon/fs/tree/name_ids.h"

#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::fs {

struct ObjectKind {
    std::string_view area;                     // "tool", "agent"
    std::vector<std::string_view> metadata;    // controls shown in the metadata, in this order
    std::vector<std::string_view> readOnly;    // controls that only the runtime writes
    std::vector<std::string_view> singleValue; // controls that are checked in write(2)
    bool hasSockets = false;
};

class ObjectArea : public BackedArea, private ControlStorage {
public:
    static Result<std::unique_ptr<Area>> make(const AreaContext &context, const ObjectKind &kind);

    ErrnoOr<Entry> lookup(const Caller &caller, NodeId parent, std::string_view name) override;
    ErrnoOr<Attr> attributes(const Caller &caller, NodeId node, OpenFile *file) override;
    ErrnoOr<std::string> readLink(const Caller &caller, NodeId node) override;
    int access(const Caller &caller, NodeId node, int mask) override;
    ErrnoOr<OpenedFile> open(const Caller &caller, NodeId node, int flags) override;
    ErrnoOr<std::unique_ptr<OpenDirectory>> openDirectory(const Caller &caller, NodeId node) override;
    ErrnoOr<NodeFacts> facts(NodeId node) override;
    ErrnoOr<std::string> storedXattrNames(const Caller &caller, NodeId node) override;
    bool listsReservedXattrs(NodeId node) const override;
    ErrnoOr<std::string> storedXattr(const Caller &caller, NodeId node, const std::string &name) override;
    int setXattr(const Caller &, NodeId node, const std::string &, std::string_view, int) override
    {
        return isProjected(node) && fs::kindOf(node) == Staged ? EOPNOTSUPP : EROFS; // as in model/
    }
    int removeXattr(const Caller &, NodeId, const std::string &) override { return EROFS; }

    void setAttributes(const Caller &caller, NodeId node, const AttrChange &change, OpenFile *file,
                       Reply<Attr> reply) override;
    ErrnoOr<CreatedFile> create(const Caller &caller, NodeId parent, std::string_view name, mode_t mode,
                                int flags) override;
    ErrnoOr<Entry> makeNode(const Caller &, NodeId, std::string_view, mode_t, dev_t) override { return Errno{EROFS}; }
    ErrnoOr<Entry> makeDirectory(const Caller &, NodeId, std::string_view, mode_t) override { return Errno{EROFS}; }
    void makeSymlink(const Caller &, NodeId, std::string_view, std::string_view, Reply<Entry> reply) override
    {
        reply.fail(EROFS);
    }
    ErrnoOr<Entry> hardLink(const Caller &, NodeId, NodeId, std::string_view) override { return Errno{EROFS}; }
    void unlink(const Caller &caller, NodeId parent, std::string_view name, Reply<Ack> reply) override;
    int removeDirectory(const Caller &, NodeId, std::string_view) override { return EROFS; }
    void rename(const Caller &caller, NodeId from, std::string_view name, NodeId to, std::string_view newName,
                unsigned flags, Reply<Ack> reply) override;
    std::optional<NodeId> projectedParent(std::string_view path) const override;

private:
    enum Role : std::uint8_t { Other, Object, Controls, Control };
    enum Kind : unsigned { Staged = 1, Placeholder, SocketLink }; // of projected nodes; the key is the object's name id

    ObjectArea(const AreaContext &context, const ObjectKind &kind);

    ErrnoOr<Sighting> sight(const Caller &caller, BackedNode &parent, std::string_view name) override;
    bool isListed(const Caller &caller, const BackedNode &directory, std::string_view name) const override;
    void present(const BackedNode &node, struct stat &info) override;
    double seconds() const override { return kProjectedSeconds; }
    std::string_view kindWord(const BackedNode &node) const override;

    // A number for a path: tells the objects apart that share an inode through hard links.
    std::uint64_t saltOf(std::string_view path) const;
    BackedNode *backed(NodeId node, Role role);
    bool isControlDirectory(const std::string &name) const;
    ErrnoOr<Entry> socketEntry(std::string_view object);
    std::string liveSocket(std::string_view object) const;
    ErrnoOr<Attr> projectedAttributes(NodeId node) const;
    std::string metadata(const BackedNode &object) const;
    std::string controlText(const std::string &path) const;
    std::optional<ControlRef> controlOf(const BackedNode &node) const;
    // The kernel's node of a control, 0 where it has none.
    NodeId knownNode(const std::string &path);
    void afterReplace(NodeId node, const std::string &path);
    int mayStage(const Caller &caller, NodeId directory);

    ControlStorage &storage() { return *this; }
    std::optional<ControlRef> controlNamed(NodeId directory, std::string_view name) override;
    int mayChangeControl(const Caller &caller, const ControlRef &control) override;
    int checkControl(const ControlRef &control, std::string_view text) const override;
    void commitControl(const Caller &caller, const ControlRef &control, std::string text,
                       std::function<void(int)> done) override;
    void settleControl(const Caller &caller, const ControlRef &control, std::string text) override;

    const ObjectKind &m_kind;
    NameIds m_names;
    StagedFiles m_staged;
    ControlDirectory m_controls;
};

} // namespace cortexfs::fs
