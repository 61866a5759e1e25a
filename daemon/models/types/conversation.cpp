#include "daemon/models/types/conversation.h"

namespace cortexfs::models {

std::string textOf(const Message &message)
{
    std::string out;
    for (const Part &part : message.parts) {
        if (part.type == Part::Type::Text)
            out += part.text;
    }
    return out;
}

} // namespace cortexfs::models
