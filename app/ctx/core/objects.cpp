#include "app/ctx/core/objects.h"

#include "common/abi/names.h"

namespace cortexfs::ctx {

std::vector<std::string> objectPaths(std::string_view name, const std::string &mount)
{
    for (const std::string &root : {mount + "/", std::string("/ctx/")}) {
        if (name.starts_with(root))
            name.remove_prefix(root.size());
    }
    while (name.starts_with('/'))
        name.remove_prefix(1);
    const std::string text(name);
    const std::size_t slash = name.find('/');
    if (slash == std::string_view::npos)
        return {"model/" + text, "agent/" + text, "tool/" + text, text};
    const std::string_view top = name.substr(0, slash);
    const bool isWhole = top == "model" || top == "agent" || top == "tool" || top == "home" || top == "shared"
                         || top == "bin";
    if (isWhole)
        return {text};
    return {"model/" + text, text};
}

std::string objectOf(Session &session, std::string_view name)
{
    const std::vector<std::string> paths = objectPaths(name, session.mount());
    if (paths.size() == 1 || name.find('/') != std::string_view::npos || abi::isModelAlias(name))
        return paths.front();
    const Tree tree(session);
    for (const std::string &path : paths) {
        if (tree.exists(path))
            return path;
    }
    return paths.front();
}

Result<std::string> controlPath(const Tree &tree, const std::string &path)
{
    const std::string object = parentOf(path);
    if (object.empty())
        return path;
    const std::string control = path.substr(object.size() + 1);
    const Result<TreeEntry> entry = tree.entry(object);
    if (!entry || S_ISDIR(entry->info.st_mode))
        return path;
    std::string real = object;
    if (S_ISLNK(entry->info.st_mode)) {
        const auto target = tree.linkPath(*entry);
        if (!target)
            return errors::invalid("the link leads out of the tree").withDetail(object);
        real = *target;
    }
    return real + ".d/" + control;
}

Result<std::string> filePath(const Tree &tree, std::string_view name)
{
    const Result<std::string> given = tree.pathOf(name);
    if (!given)
        return given.error();
    Result<std::string> path = controlPath(tree, *given);
    const bool isPlace = name.starts_with('/') || name.starts_with('.'); // nobody calls an object so
    if (!path || isPlace || given->empty() || tree.exists(*path))
        return path;
    const std::string object = parentOf(*given);
    const std::string control = object.empty() ? std::string() : given->substr(object.size());
    for (const std::string &candidate : objectPaths(object.empty() ? *given : object, tree.mount())) {
        const Result<std::string> found = controlPath(tree, candidate + control);
        if (found && tree.exists(*found))
            return found;
    }
    return path;
}

} // namespace cortexfs::ctx
