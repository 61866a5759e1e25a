// How a request leaves this machine: transport, base URL and key slot. This is where the route table of model/route is
// asked; without one every request goes direct.
//
// An answer is good for one attempt: the table is read anew when a request is made.
#pragma once

#include "common/abi/names.h"
#include "common/base/result.h"
#include "common/config/provider_config.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::providers {

enum class Transport { Direct, Http, Unix };
std::string_view transportWord(Transport transport); // direct http unix

struct Egress {
    Transport transport = Transport::Direct;
    std::string baseUrl;    // the provider's own, or the group's
    std::string socketPath; // Unix
    std::string slot;       // of the secret store; empty where the group says key(none)
    std::string group;
    std::string rule; // the line that decided, for `explain`; "fallback: direct" without a table
    int line = 0;     // of the table; 0: no line of it
};

struct EgressQuery {
    const config::ProviderConfig &provider; // read during resolve() only
    abi::ModelRef model;                    // as projected
    std::string nativeModel;
    // Names of the program that asks, for pname(...); called once at most, when the first such rule is reached.
    std::function<std::vector<std::string>()> programNames;
};

class EgressResolver {
public:
    using Done = std::function<void(Result<Egress>)>;

    virtual ~EgressResolver() = default;
    // Calls `done` once, at once or later (a rule may need name resolution), on the Qt thread. EINVAL, naming file and
    // line, for a table that is not valid; EIO for one that cannot be read; never a silent way out.
    virtual void resolve(const EgressQuery &query, Done done) = 0;
};

// No table: the provider's base URL, slot "default".
class DirectEgress final : public EgressResolver {
public:
    void resolve(const EgressQuery &query, Done done) override;
};

} // namespace cortexfs::providers
