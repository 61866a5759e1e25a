#include "common/object_client/object_client.h"

#include <QPointer>

namespace cortexfs::object {

namespace {

// This may run in a slot of that notifier.
void retire(std::unique_ptr<QSocketNotifier> &notifier)
{
    if (!notifier)
        return;
    notifier->setEnabled(false);
    notifier.release()->deleteLater();
}

} // namespace

ObjectClient::ObjectClient(LinkOptions options, QObject *parent) : QObject(parent), m_link(std::move(options))
{
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, &ObjectClient::handleTurn);
}

ObjectClient::~ObjectClient() = default;

Result<void> ObjectClient::send(const SendRequest &request)
{
    Result<void> sent = m_link.send(request);
    soon();
    return sent;
}

std::string ObjectClient::resume(const std::string &after)
{
    soon();
    return m_link.resume(after);
}

void ObjectClient::cancel(const std::string &id)
{
    m_link.cancel(id);
    soon();
}

std::string ObjectClient::ping()
{
    soon();
    return m_link.ping();
}

std::string ObjectClient::status()
{
    soon();
    return m_link.status();
}

void ObjectClient::setPaused(bool isPaused)
{
    m_link.setPaused(isPaused);
    watch();
}

void ObjectClient::close()
{
    m_timer.stop();
    m_link.close();
    watch();
}

// The call returns before anything is emitted.
void ObjectClient::soon() { m_timer.start(0); }

void ObjectClient::handleTurn()
{
    const QPointer<ObjectClient> self(this); // a receiver may delete us
    const std::vector<LinkNews> allNews = m_link.advance();
    watch();
    for (const LinkNews &news : allNews) {
        switch (news.kind) {
        case LinkNews::Kind::Connected: Q_EMIT connected(); break;
        case LinkNews::Kind::Lost: Q_EMIT connectionLost(*news.error); break;
        case LinkNews::Kind::Event: tell(news.event); break;
        case LinkNews::Kind::Ended: Q_EMIT requestEnded(news.request, news.id, news.error); break;
        }
        if (!self)
            return;
    }
}

void ObjectClient::tell(const ObjectEvent &event)
{
    const QPointer<ObjectClient> self(this);
    Q_EMIT eventReceived(event);
    const bool isReasoning = event.type == EventType::ReasoningDelta || event.type == EventType::ReasoningMessage;
    if (self && !event.appended.empty()) {
        if (isReasoning)
            Q_EMIT reasoningAppended(event.run, event.appended);
        else
            Q_EMIT textAppended(event.run, event.appended);
    }
    const bool isWhole = event.type == EventType::Message && (event.role.empty() || event.role == "assistant");
    if (self && isWhole)
        Q_EMIT textFinished(event.run);
}

void ObjectClient::watch()
{
    const int fd = m_link.fd();
    if (fd != m_watched) {
        retire(m_readNotifier);
        retire(m_writeNotifier);
        m_watched = fd;
    }
    if (fd >= 0 && !m_readNotifier) {
        m_readNotifier = std::make_unique<QSocketNotifier>(fd, QSocketNotifier::Read);
        m_writeNotifier = std::make_unique<QSocketNotifier>(fd, QSocketNotifier::Write);
        connect(m_readNotifier.get(), &QSocketNotifier::activated, this, &ObjectClient::handleTurn);
        connect(m_writeNotifier.get(), &QSocketNotifier::activated, this, &ObjectClient::handleTurn);
    }
    if (fd >= 0) {
        m_readNotifier->setEnabled(m_link.wantsRead());
        m_writeNotifier->setEnabled(m_link.wantsWrite());
    }
    const int wait = m_link.waitMs();
    if (wait >= 0)
        m_timer.start(wait);
}

} // namespace cortexfs::object
