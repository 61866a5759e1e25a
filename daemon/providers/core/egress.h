// How a request leaves this machine: transport, base URL and key slot. This is where the route table of model/route is
// asked; without one every request goes direct.
#pragma once

#include "common/abi/names.h"
#include "common/base/result.h"
#include "common/config/provider_config.h"

#include <functional>
#include <string>
#include <string_view>

namespace cortexfs::providers {

enum class Transport { Direct, Http, Unix };
std::string_view transportWord(Transport transport); // direct http unix

struct Egress {
    Transport transport = Transport::Direct;
    std::string baseUrl; // the provider's own, or the group's
    std::string slot;    // of the secret store
    std::string rule;    // the line that decided, for `explain`; "fallback: direct" without a table
};

struct EgressQuery {
    const config::ProviderConfig &provider;
    abi::ModelRef model;
    std::string programName; // pname(...)
};

class EgressResolver {
public:
    using Done = std::function<void(Result<Egress>)>;

    virtual ~EgressResolver() = default;
    // Calls `done` once, at once or later (a rule may need name resolution), on the Qt thread. EINVAL for a table that is
    // not valid; never a silent way out.
    virtual void resolve(const EgressQuery &query, Done done) = 0;
};

// No table: the provider's base URL, slot "default".
class DirectEgress final : public EgressResolver {
public:
    void resolve(const EgressQuery &query, Done done) override;
};

} // namespace cortexfs::providers
