#include "daemon/fs/nodes/shared/shared_area.h"

#include "daemon/fs/backing/backed_area.h"

namespace cortexfs::fs::nodes {

namespace {

class SharedArea : public BackedArea {
public:
    using BackedArea::BackedArea;

private:
    ErrnoOr<Sighting> sight(const Caller &, BackedNode &, std::string_view) override
    {
        return Sighting{std::uint64_t{m_context.tag} << 56, 0, 0};
    }
};

Result<std::unique_ptr<Area>> make(const AreaContext &context)
{
    auto area = std::make_unique<SharedArea>(context, "shared");
    if (Result<void> opened = area->openRoot(); !opened)
        return opened.error();
    return std::unique_ptr<Area>(std::move(area));
}

} // namespace

AreaDescriptor sharedArea() { return {"shared", 5, &make}; }

} // namespace cortexfs::fs::nodes
