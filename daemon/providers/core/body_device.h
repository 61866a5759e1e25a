// A request body that can be sent once and only once.
//
// QNetworkAccessManager sends a POST again by itself when the peer closes before any reply byte. It cannot do that with
// a sequential device, because it cannot rewind it; it then fails with ContentReSendError.
#pragma once

#include <QIODevice>

#include <string>

namespace cortexfs::providers {

class BodyDevice final : public QIODevice {
    Q_OBJECT
public:
    explicit BodyDevice(std::string body, QObject *parent = nullptr);

    bool isSequential() const override { return true; }
    qint64 bytesAvailable() const override;
    bool atEnd() const override { return bytesAvailable() == 0; }
    bool reset() override { return false; } // the inherited one warns in the log about every attempt

Q_SIGNALS:
    // The connection stands and takes bytes: Qt asks for the body no earlier.
    void taken();

protected:
    qint64 readData(char *data, qint64 maxSize) override;
    qint64 writeData(const char *data, qint64 size) override;

private:
    std::string m_body;
    std::size_t m_sent = 0;
};

} // namespace cortexfs::providers
