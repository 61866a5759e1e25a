// The sockets of the models whose `session` control says socket. Lives on the Qt thread.
#pragma once

#include "common/base/places.h"
#include "daemon/models/types/model_catalog.h"
#include "daemon/sessions/object_socket.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace cortexfs::sessions {

class ModelSockets : public QObject {
    Q_OBJECT
public:
    // `onChange` is told "model/P/M.sock" when a socket came or went.
    ModelSockets(const Places &places, SessionRegistry &registry, sockets::SharedSockets shared,
                 std::function<void(const std::string &path)> onChange, QObject *parent = nullptr);

    // Opens and closes sockets until they are those of the catalogue.
    void follow(const models::ModelCatalog &catalog);
    // Why a model has no socket though it should: path below the mount, and the error.
    const std::map<std::string, Error> &faults() const { return m_faults; }
    std::size_t size() const { return m_sockets.size(); }

private:
    Result<std::unique_ptr<ObjectSocket>> open(const abi::ModelRef &ref);

    const Places &m_places;
    SessionRegistry &m_registry;
    sockets::SharedSockets m_shared;
    std::function<void(const std::string &)> m_onChange;
    std::map<abi::ModelRef, std::unique_ptr<ObjectSocket>> m_sockets;
    std::map<std::string, Error> m_faults;
};

} // namespace cortexfs::sessions
