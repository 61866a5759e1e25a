// The changing half of ModelArea, and what a new snapshot means for the kernel.
#include "common/abi/names.h"
#include "common/base/limits.h"
#include "daemon/fs/nodes/model/model_area.h"

#include <cerrno>

#include <fcntl.h>
#include <stdio.h>

namespace cortexfs::fs::nodes {

using models::Control;
using models::ModelAlias;
using models::ModelEntry;

int ModelArea::mayChange(const Caller &caller) const
{
    return caller.uid == 0 || caller.uid == m_context.owner.uid ? 0 : EACCES;
}

std::optional<ControlRef> ModelArea::controlRef(const RuntimeSnapshot &snapshot, NodeId node) const
{
    if (kindOf(node) == Route)
        return ControlRef{node, "model/route", true, false, limits::kRouteFile};
    const std::optional<Control> control = controlOf(kindOf(node));
    const ModelEntry *model = control ? modelOf(snapshot, node) : nullptr;
    if (!model)
        return std::nullopt;
    return ControlRef{
        node,
        "model/" + model->ref.text() + ".d/" + std::string(models::kControlNames[static_cast<std::size_t>(*control)]),
        models::isWritable(*control),
        *control == Control::Effort || *control == Control::Session,
        limits::kControlFile,
    };
}

std::optional<ControlRef> ModelArea::controlNamed(NodeId directory, std::string_view name)
{
    const Snapshot snapshot = m_context.snapshot.load();
    if (kindOf(directory) == Top)
        return name == "route" ? controlRef(*snapshot, id(0, Route)) : std::nullopt;
    const std::optional<Control> control = models::controlFromName(name);
    const ModelEntry *model = control ? modelOf(*snapshot, directory) : nullptr;
    return model ? controlRef(*snapshot, controlId(*model, *control)) : std::nullopt;
}

std::size_t ModelArea::stagedBytes(NodeId directory) const
{
    return kindOf(directory) == Top ? limits::kRouteFile : limits::kControlFile;
}

int ModelArea::mayChangeControl(const Caller &caller, const ControlRef &) { return mayChange(caller); }

int ModelArea::checkControl(const ControlRef &control, std::string_view text) const
{
    // Texts of several lines are the Qt thread's to judge: they may refer to other models.
    if (!control.isSingleValue)
        return 0;
    const Result<void> checked = m_context.handler.checkControl(control.path, text);
    return checked ? 0 : checked.error().number();
}

void ModelArea::commitControl(const Caller &caller, const ControlRef &control, std::string text,
                              std::function<void(int)> done)
{
    TreeChange change;
    change.kind = TreeChange::Kind::WriteControl;
    change.path = control.path;
    change.content = std::move(text);
    change.uid = caller.uid;
    change.gid = caller.gid;
    change.pid = caller.pid;
    m_context.changes.post(std::move(change), std::move(done));
}

void ModelArea::settleControl(const Caller &caller, const ControlRef &control, std::string text)
{
    commitControl(caller, control, std::move(text), m_context.changes.settling(control.node));
}

OpenedFile ModelArea::editControl(const ControlRef &control, std::string text, int flags)
{
    OpenedFile opened;
    opened.needsFlush = !control.isSingleValue;
    opened.file = std::make_unique<ControlFile>(storage(), control, std::move(text), flags);
    opened.directIo = true;
    return opened;
}

void ModelArea::setAttributes(const Caller &caller, NodeId node, const AttrChange &change, OpenFile *file,
                              Reply<Attr> reply)
{
    const auto answer = [this, node](Reply<Attr> &to) {
        const ErrnoOr<Attr> attr = attributesOf(*m_context.snapshot.load(), node);
        if (attr)
            to.ok(*attr);
        else
            to.fail(attr.error());
    };
    if (kindOf(node) == Staged) {
        const StagedFiles::FilePtr staged = m_staged.byId(node);
        if (!staged)
            return reply.fail(ESTALE);
        if (caller.uid != 0 && caller.uid != staged->uid)
            return reply.fail(EACCES);
        if (const int error = StagedFiles::change(caller, *staged, change))
            return reply.fail(error);
        return answer(reply);
    }
    const Snapshot snapshot = m_context.snapshot.load();
    const std::optional<ControlRef> control = controlRef(*snapshot, node);
    if (!control || !control->isWritable)
        return reply.fail(EROFS);
    if (const int error = mayChange(caller))
        return reply.fail(error);
    const ErrnoOr<Attr> current = attributesOf(*snapshot, node);
    if (!current)
        return reply.fail(current.error());
    if (const int error = acceptHarmlessChange(change, current->stat))
        return reply.fail(error);
    if (!change.size)
        return answer(reply);
    auto shared = shareReply(std::move(reply));
    Reply<Ack> resized = replyThen([answer, shared](int error) {
        if (error)
            shared->fail(error);
        else
            answer(*shared);
    });
    if (file)
        return file->truncate(caller, *change.size, std::move(resized));
    truncateControl(*this, caller, *control, static_cast<std::size_t>(current->stat.st_size), *change.size,
                    std::move(resized));
}

ErrnoOr<CreatedFile> ModelArea::create(const Caller &caller, NodeId parent, std::string_view name, mode_t mode,
                                       int flags)
{
    const unsigned kind = kindOf(parent);
    if (kind != Top && kind != Directory)
        return Errno{EROFS};
    if (const int error = mayChange(caller))
        return Errno{error};
    const std::optional<ControlRef> control = controlNamed(parent, name);
    if (!control)
        return m_controls.create(caller, parent, name, mode, flags);
    // A route table that is not there yet, or one that somebody else made meanwhile.
    const bool isThere = control->node != id(0, Route) || routeStat();
    if (isThere && (flags & O_EXCL))
        return Errno{EEXIST};
    if (!control->isWritable)
        return Errno{EROFS};
    const Snapshot snapshot = m_context.snapshot.load();
    ErrnoOr<std::string> text = textOf(*snapshot, control->node);
    if (!text)
        return Errno{text.error()};
    const ErrnoOr<Attr> attr = attributesOf(*snapshot, control->node);
    if (!attr)
        return Errno{attr.error()};
    CreatedFile created{projectedEntry(*attr),
                        editControl(*control, std::move(*text), isThere ? flags & ~O_CREAT : flags)};
    created.entry.seconds = kUncachedSeconds; // nothing has been written
    return created;
}

void ModelArea::changeLink(const Caller &caller, TreeChange::Kind kind, std::string_view name, std::string target,
                           PendingChanges::Continuation then)
{
    TreeChange change;
    change.kind = kind;
    change.path = "model/" + std::string(name);
    change.content = std::move(target);
    change.uid = caller.uid;
    change.gid = caller.gid;
    change.pid = caller.pid;
    m_context.changes.post(std::move(change), std::move(then));
}

void ModelArea::makeSymlink(const Caller &caller, NodeId parent, std::string_view name, std::string_view target,
                            Reply<Entry> reply)
{
    if (kindOf(parent) != Top || name == "route")
        return reply.fail(EROFS);
    if (const int error = mayChange(caller))
        return reply.fail(error);
    if (!abi::isObjectName(name))
        return reply.fail(EINVAL);
    changeLink(caller, TreeChange::Kind::SetLink, name, std::string(target),
               [this, link = std::string(name), shared = shareReply(std::move(reply))](int error) {
                   if (error)
                       return shared->fail(error);
                   const ErrnoOr<Entry> entry = lookup(Caller{}, rootId(), link);
                   if (entry)
                       shared->ok(*entry);
                   else
                       shared->fail(entry.error());
               });
}

void ModelArea::unlink(const Caller &caller, NodeId parent, std::string_view name, Reply<Ack> reply)
{
    const unsigned kind = kindOf(parent);
    if (kind == Directory)
        return m_controls.unlink(caller, parent, name, std::move(reply));
    if (kind != Top)
        return reply.fail(EROFS);
    if (m_staged.find(caller, parent, name))
        return m_controls.unlink(caller, parent, name, std::move(reply));
    const bool isRoute = name == "route" && routeStat();
    if (!isRoute && !m_context.snapshot.load()->catalog->alias(name))
        return reply.fail(EROFS);
    if (const int error = mayChange(caller))
        return reply.fail(error);
    changeLink(caller, isRoute ? TreeChange::Kind::RemoveFile : TreeChange::Kind::RemoveLink, name, {},
               [shared = shareReply(std::move(reply))](int error) { shared->finish(error); });
}

void ModelArea::renameAlias(const Caller &caller, const ModelAlias &alias, std::string_view newName, unsigned flags,
                            Reply<Ack> reply)
{
    const Snapshot snapshot = m_context.snapshot.load();
    const auto [first, last] = snapshot->catalog->rangeOf(newName);
    if (first != last || newName == "route")
        return reply.fail(EROFS);
    if (!abi::isObjectName(newName) || (flags & ~static_cast<unsigned>(RENAME_NOREPLACE)))
        return reply.fail(EINVAL);
    if ((flags & RENAME_NOREPLACE) && snapshot->catalog->alias(newName))
        return reply.fail(EEXIST);
    if (!alias.userMade)
        return reply.fail(EROFS);
    // `ln -sfn` makes a link under a temporary name and renames it. First the new name, so that at no time none is there.
    const auto shared = shareReply(std::move(reply));
    const Caller who = caller.withoutGroups();
    changeLink(
        caller, TreeChange::Kind::SetLink, newName, alias.target, [this, who, shared, old = alias.name](int error) {
            if (error)
                return shared->fail(error);
            changeLink(who, TreeChange::Kind::RemoveLink, old, {}, [shared](int removed) { shared->finish(removed); });
        });
}

void ModelArea::rename(const Caller &caller, NodeId from, std::string_view name, NodeId to, std::string_view newName,
                       unsigned flags, Reply<Ack> reply)
{
    const unsigned kind = kindOf(from);
    if ((kind != Top && kind != Directory) || kindOf(to) == Provider)
        return reply.fail(EROFS);
    if (from != to)
        return reply.fail(EXDEV);
    if (const int error = mayChange(caller))
        return reply.fail(error);
    if (kind == Top) {
        const Snapshot snapshot = m_context.snapshot.load();
        if (const ModelAlias *alias = snapshot->catalog->alias(name))
            return renameAlias(caller, *alias, newName, flags, std::move(reply));
        const auto [first, last] = snapshot->catalog->rangeOf(newName);
        if (first != last || snapshot->catalog->alias(newName))
            return reply.fail(EROFS);
    }
    m_controls.rename(caller, from, name, newName, flags, std::move(reply));
}

void ModelArea::forgetModel(const ModelEntry &model, Invalidations &changes) const
{
    const NodeId parent = id(m_providers.id(model.ref.provider), Provider);
    changes.name(parent, model.ref.model);
    changes.name(parent, model.ref.model + ".d");
    changes.name(parent, model.ref.model + ".sock");
}

void ModelArea::compareModels(const ModelEntry &before, const ModelEntry &after, Invalidations &changes)
{
    if (before.serial != after.serial)
        return forgetModel(before, changes);
    bool differs = before.provider != after.provider || before.nativeId != after.nativeId
                   || before.createdAt != after.createdAt;
    const auto compare = [&](bool isSame, Control control) {
        if (!isSame)
            changes.node(controlId(after, control));
        differs |= !isSame;
    };
    compare(before.driver == after.driver, Control::Driver);
    compare(before.cap == after.cap, Control::Cap);
    compare(before.effort == after.effort, Control::Effort);
    compare(before.defaults == after.defaults, Control::Default);
    compare(before.fallback == after.fallback, Control::Fallback);
    compare(before.limit == after.limit, Control::Limit);
    compare(before.hasSocket == after.hasSocket, Control::Session);
    compare(before.isConfigured == after.isConfigured, Control::Status);
    if (!differs)
        return;
    noteChange(after.serial);
    changes.node(id(after.serial, Executable));
    if (before.hasSocket != after.hasSocket)
        changes.name(id(m_providers.id(after.ref.provider), Provider), after.ref.model + ".sock");
}

void ModelArea::snapshotChanged(const RuntimeSnapshot &before, const RuntimeSnapshot &after, Invalidations &changes)
{
    if (before.catalog == after.catalog) {
        m_announced.store(after.catalog.get(), std::memory_order_release);
        return;
    }
    // Both are sorted by provider and name.
    const auto &old = before.catalog->models();
    const auto &now = after.catalog->models();
    bool namesDiffer = old.size() != now.size();
    for (std::size_t i = 0, j = 0; i < old.size();) {
        if (j == now.size() || old[i].ref < now[j].ref) {
            forgetModel(old[i++], changes);
            namesDiffer = true;
        } else if (now[j].ref < old[i].ref) {
            ++j;
            namesDiffer = true;
        } else {
            compareModels(old[i++], now[j++], changes);
        }
    }
    for (const std::string &provider : before.catalog->providers()) {
        const auto [first, last] = after.catalog->rangeOf(provider);
        if (first == last)
            changes.name(rootId(), provider);
        else if (namesDiffer)
            changes.node(id(m_providers.id(provider), Provider));
    }
    for (const ModelAlias &alias : before.catalog->aliases()) {
        const ModelAlias *kept = after.catalog->alias(alias.name);
        if (!kept || kept->target != alias.target)
            changes.name(rootId(), alias.name);
    }
    if (namesDiffer) {
        changes.node(rootId());
        const std::lock_guard lock(m_mutex);
        ::clock_gettime(CLOCK_REALTIME, &m_catalogChanged);
    }
    m_announced.store(after.catalog.get(), std::memory_order_release);
}

std::optional<NodeId> ModelArea::projectedParent(std::string_view path) const
{
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos)
        return rootId();
    const std::string_view provider = path.substr(0, slash);
    const std::string_view rest = path.substr(slash + 1);
    if (rest.find('/') == std::string_view::npos)
        return id(m_providers.id(provider), Provider);
    return std::nullopt;
}

} // namespace cortexfs::fs::nodes
