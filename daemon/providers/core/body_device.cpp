#include "daemon/providers/core/body_device.h"

#include <algorithm>
#include <cstring>

namespace cortexfs::providers {

BodyDevice::BodyDevice(std::string body, QObject *parent) : QIODevice(parent), m_body(std::move(body))
{
    open(QIODevice::ReadOnly | QIODevice::Unbuffered);
}

qint64 BodyDevice::bytesAvailable() const
{
    return static_cast<qint64>(m_body.size() - m_sent) + QIODevice::bytesAvailable();
}

qint64 BodyDevice::readData(char *data, qint64 maxSize)
{
    if (m_sent == m_body.size())
        return -1;
    const std::size_t count = std::min(static_cast<std::size_t>(maxSize), m_body.size() - m_sent);
    std::memcpy(data, m_body.data() + m_sent, count);
    m_sent += count;
    if (count > 0)
        Q_EMIT taken();
    return static_cast<qint64>(count);
}

qint64 BodyDevice::writeData(const char *, qint64) { return -1; }

} // namespace cortexfs::providers
