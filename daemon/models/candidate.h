// A model that a run may ask, and how it is asked.
#pragma once

#include "common/abi/words.h"
#include "daemon/models/types/conversation.h"
#include "daemon/models/types/model_catalog.h"
#include "daemon/providers/wire/wire_format.h"

#include <memory>
#include <vector>

namespace cortexfs::models {

// The catalogue is held, so that the entry lives as long as the candidate.
struct Candidate {
    std::shared_ptr<const ModelCatalog> catalog;
    abi::ModelRef ref;
    const ModelEntry *entry = nullptr; // null: a fallback line whose model is not in the catalogue

    std::string name() const { return ref.text(); }
};

// The model, then the lines of its `fallback` control, limits::kFallbacks at most, in the order they are asked. The
// fallbacks of a fallback do not count; the model itself and repeats are left out. Empty when the model is not in the
// catalogue.
std::vector<Candidate> candidatesFor(std::shared_ptr<const ModelCatalog> catalog, const abi::ModelRef &model);

// The drivers of the `driver` control that this build knows, in the order they are tried: of the purpose's own line,
// then of `default`. ENOTSUP when there is none.
Result<std::vector<const wire::WireFormat *>> formatsFor(const ModelEntry &entry, abi::Purpose purpose);

// What the controls of the model say; the conversation's own effort wins.
wire::EncodeContext encodeContextFor(const ModelEntry &entry, const Conversation &conversation);

} // namespace cortexfs::models
