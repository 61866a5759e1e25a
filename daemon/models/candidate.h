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
    const ModelEntry *entry = nullptr;

    std::string name() const { return entry->ref.text(); }
};

// In the order they are asked; empty when the model is not in the catalogue.
std::vector<Candidate> candidatesFor(std::shared_ptr<const ModelCatalog> catalog, const abi::ModelRef &model);

// The first driver of the `driver` control that this build knows: of the purpose's own line, then of `default`.
// ENOTSUP when there is none.
Result<const wire::WireFormat *> formatFor(const ModelEntry &entry, abi::Purpose purpose);

// What the controls of the model say; the conversation's own effort wins.
wire::EncodeContext encodeContextFor(const ModelEntry &entry, const Conversation &conversation);

} // namespace cortexfs::models
