// ObjectLink in Qt's event loop: the client of an object's socket for the windows and the channels. Lives on one thread
// with an event loop; nothing is emitted from within a call. Requests and their errors are those of ObjectLink.
#pragma once

#include "common/object_client/object_link.h"

#include <QObject>
#include <QSocketNotifier>
#include <QTimer>

#include <memory>
#include <optional>
#include <string>

namespace cortexfs::object {

class ObjectClient : public QObject {
    Q_OBJECT
public:
    explicit ObjectClient(LinkOptions options, QObject *parent = nullptr);
    ~ObjectClient() override;

    Result<void> send(const SendRequest &request);
    std::string resume(const std::string &after = {});
    void cancel(const std::string &id);
    std::string ping();
    std::string status();
    void setPaused(bool isPaused);
    // Drops the connection and every open request silently.
    void close();

    bool isConnected() const { return m_link.isConnected(); }
    bool isIdle() const { return m_link.isIdle(); }
    const std::string &cursor() const { return m_link.cursor(); }

Q_SIGNALS:
    void connected();
    // Open requests go on by themselves; requestEnded says so when they cannot.
    void connectionLost(const cortexfs::Error &error);
    // Each event once, in its order; replies and refusals too.
    void eventReceived(const cortexfs::object::ObjectEvent &event);
    // The text of a run's messages, each character once; textFinished() after the last one of a message.
    void textAppended(const std::string &run, const std::string &text);
    void textFinished(const std::string &run);
    void reasoningAppended(const std::string &run, const std::string &text);
    void requestEnded(cortexfs::object::RequestKind kind, const std::string &id,
                      const std::optional<cortexfs::Error> &error);

private:
    void handleTurn();
    void tell(const ObjectEvent &event);
    void watch();
    void soon();

    ObjectLink m_link;
    std::unique_ptr<QSocketNotifier> m_readNotifier;
    std::unique_ptr<QSocketNotifier> m_writeNotifier;
    QTimer m_timer;
    int m_watched = -1; // the descriptor of the notifiers
};

} // namespace cortexfs::object
