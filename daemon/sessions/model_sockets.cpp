#include "daemon/sessions/model_sockets.h"

#include "common/base/files.h"
#include "common/base/logging.h"

#include <algorithm>
#include <utility>

namespace cortexfs::sessions {

namespace {

// In system mode everybody may talk to a model, as everybody may execute it; a user's sockets are that user's.
constexpr mode_t kSystemMode = 0666;
constexpr mode_t kUserMode = 0600;

std::string visibleName(const abi::ModelRef &ref) { return "model/" + ref.text() + ".sock"; }

} // namespace

ModelSockets::ModelSockets(const Places &places, SessionRegistry &registry, sockets::SharedSockets shared,
                           std::function<void(const std::string &)> onChange, QObject *parent)
    : QObject(parent), m_places(places), m_registry(registry), m_shared(std::move(shared)),
      m_onChange(std::move(onChange))
{}

Result<std::unique_ptr<ObjectSocket>> ModelSockets::open(const abi::ModelRef &ref)
{
    const std::string directory = m_places.runtime + "/model/" + ref.provider;
    if (Result<void> made = files::makeDirectories(directory, m_places.mode == Mode::System ? 0755 : 0700); !made)
        return made.error();
    auto socket = std::make_unique<ObjectSocket>("model/" + ref.text(), m_registry, m_shared);
    const mode_t mode = m_places.mode == Mode::System ? kSystemMode : kUserMode;
    if (Result<void> listening = socket->listen(directory + "/" + ref.model + ".sock", mode); !listening)
        return listening.error();
    return socket;
}

void ModelSockets::follow(const models::ModelCatalog &catalog)
{
    m_faults.clear();
    for (auto it = m_sockets.begin(); it != m_sockets.end();) {
        const models::ModelEntry *entry = catalog.find(it->first);
        if (entry && entry->hasSocket) {
            ++it;
            continue;
        }
        const std::string name = visibleName(it->first);
        it->second->close();
        it->second.release()->deleteLater(); // we may be inside a request of one of its clients
        it = m_sockets.erase(it);
        m_onChange(name);
    }
    for (const models::ModelEntry &entry : catalog.models()) {
        if (!entry.hasSocket || m_sockets.count(entry.ref) > 0)
            continue;
        Result<std::unique_ptr<ObjectSocket>> socket = open(entry.ref);
        if (!socket) {
            qCWarning(lcDaemon, "%s: %s", visibleName(entry.ref).c_str(), socket.error().text().c_str());
            m_faults.emplace(visibleName(entry.ref), socket.error());
            continue;
        }
        m_sockets.emplace(entry.ref, std::move(*socket));
        m_onChange(visibleName(entry.ref));
    }
}

} // namespace cortexfs::sessions
