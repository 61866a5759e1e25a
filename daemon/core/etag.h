// The version of a file's text, for a later `put` to notice that somebody else wrote meanwhile.
#pragma once

#include <QCryptographicHash>

#include <string>
#include <string_view>

namespace cortexfs {

inline std::string etagOf(std::string_view text)
{
    constexpr int kHexDigits = 32;
    return QCryptographicHash::hash(QByteArrayView(text.data(), static_cast<qsizetype>(text.size())),
                                    QCryptographicHash::Sha256)
        .toHex()
        .left(kHexDigits)
        .toStdString();
}

} // namespace cortexfs
