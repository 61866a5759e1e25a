// Log categories, declared together. Lines go to stderr, one a message, with the journal's priority prefix when stderr
// is the journal. No secret and no provider body is ever logged.
#pragma once

#include <QLoggingCategory>

#include <string>
#include <string_view>

Q_DECLARE_LOGGING_CATEGORY(lcDaemon)
Q_DECLARE_LOGGING_CATEGORY(lcFs)
Q_DECLARE_LOGGING_CATEGORY(lcControl)
Q_DECLARE_LOGGING_CATEGORY(lcModel)
Q_DECLARE_LOGGING_CATEGORY(lcProvider)
Q_DECLARE_LOGGING_CATEGORY(lcConfig)

namespace cortexfs::logging {

// debug, info, warning, error. False when the word is another; the level then stays.
bool setLevel(std::string_view level);
// Installs the message handler. Control characters in a message are escaped, so that a name from outside cannot forge
// a line.
void install();
std::string escapeControl(std::string_view text);

} // namespace cortexfs::logging
