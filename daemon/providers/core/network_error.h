// The one table from QNetworkReply's errors to ours.
#pragma once

#include "common/base/result.h"

#include <QNetworkReply>

#include <optional>
#include <string>

namespace cortexfs::providers {

// `status` is the HTTP status that arrived, or 0; `sslReason` what the certificate check said. Nothing for an error that
// only mirrors the status (Qt reports 404 as an error, we hand on the reply). `where` is host:port for the message.
std::optional<Error> failureFrom(QNetworkReply::NetworkError error, int status, const std::string &where,
                                 const std::string &sslReason, const std::string &qtText);

} // namespace cortexfs::providers
