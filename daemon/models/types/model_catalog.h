// What is projected under model/: an immutable snapshot, built on the Qt thread from the provider files, the built-in
// models and the users' control files, and read by the FUSE thread.
#pragma once

#include "common/abi/names.h"
#include "common/base/clock.h"
#include "common/base/result.h"
#include "common/config/provider_config.h"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::models {

// The files of <model>.d/ in the order they are listed.
enum class Control { Id, Driver, Cap, Effort, Default, Fallback, Limit, Session, Status, Log };
inline constexpr std::size_t kControlCount = 10;
inline constexpr std::array<std::string_view, kControlCount> kControlNames = {
    "id", "driver", "cap", "effort", "default", "fallback", "limit", "session", "status", "log"};
std::optional<Control> controlFromName(std::string_view name);
// effort, default, fallback, driver, session
bool isWritable(Control control);

// The live part of a model, shared by every snapshot that holds the model. Thread-safe.
class ModelActivity {
public:
    // One line of `log`: "2026-12-01T10:11:12Z r1 ok 12+34 tokens 812 ms"; the last 32 are kept.
    void appendLog(std::string line);
    std::string logText() const;

    // Why a model is not asked for the moment; shown in `status`.
    struct Cooldown {
        std::int64_t untilMs = 0; // wall clock
        int errnoNumber = 0;
        std::string reason;
    };
    void startCooldown(Cooldown cooldown);
    void endCooldown();
    // Nothing when it is over at `nowMs` (wall clock).
    std::optional<Cooldown> cooldown(std::int64_t nowMs) const;

private:
    mutable std::mutex m_mutex;
    std::vector<std::string> m_lines; // empty until the first run: most models of a catalogue are never called
    std::optional<Cooldown> m_cooldown;
};

struct ModelEntry {
    // Never reused while the daemon lives; inode numbers derive from it. The same model keeps its serial over a refresh.
    std::uint32_t serial = 0;
    abi::ModelRef ref;                                      // as projected
    std::string nativeId;                                   // as the provider spells it; `id` is provider/nativeId
    std::shared_ptr<const config::ProviderConfig> provider; // null for the built-in debug models
    std::string driver;                                     // text of the control file, LF at the end
    std::string cap;                                        // one word a line
    std::string effort;                                     // "auto\n"
    std::string defaults;                                   // KEY=VALUE lines
    std::string fallback;                                   // P/M lines
    std::optional<std::uint32_t> limit;                     // tokens; nothing is "unknown"
    bool hasSocket = false;                                 // session=socket
    bool isConfigured = true;                               // false: no key in the store and the endpoint wants one
    std::uint16_t overridden = 0; // bit per Control: the text comes from a file under the installed tree
    std::int64_t createdAt = 0;   // seconds, when the provider said so
    std::shared_ptr<ModelActivity> activity;
};

// ready, unconfigured, or cooldown while one lasts at `nowMs` (wall clock).
std::string_view stateWord(const ModelEntry &entry, std::int64_t nowMs = systemClock().wallMs());
// The text of a control file as a reader sees it. `status` and `log` change without a new catalogue.
std::string controlText(const ModelEntry &entry, Control control, std::int64_t nowMs = systemClock().wallMs());
// What reading the executable gives: the #! line, then "# cortexfs.KEY=VALUE" lines (decisions, section 3). It changes
// with the state only, as `status` does.
std::string metadataText(const ModelEntry &entry, std::string_view runner, std::int64_t nowMs = systemClock().wallMs());

struct ModelAlias {
    std::string name;   // main helper fast reason code vision, or another link a user made under model/
    std::string target; // absolute below the mount: /ctx/model/P/M
    bool userMade = false;
};

class ModelCatalog {
public:
    // `models` in any order; they are sorted by provider, then model. Serials are unique.
    ModelCatalog(std::vector<ModelEntry> models, std::vector<ModelAlias> aliases);

    const std::vector<ModelEntry> &models() const { return m_models; }
    const std::vector<ModelAlias> &aliases() const { return m_aliases; }
    // Sorted, without duplicates.
    const std::vector<std::string> &providers() const { return m_providers; }
    // The models of one provider: a contiguous part of models().
    std::pair<std::size_t, std::size_t> rangeOf(std::string_view provider) const;

    const ModelEntry *find(std::string_view provider, std::string_view model) const;
    const ModelEntry *find(const abi::ModelRef &ref) const { return find(ref.provider, ref.model); }
    const ModelEntry *bySerial(std::uint32_t serial) const;
    const ModelAlias *alias(std::string_view name) const;

private:
    std::vector<ModelEntry> m_models;
    std::vector<ModelAlias> m_aliases;
    std::vector<std::string> m_providers;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> m_bySerial; // serial -> index, sorted
};

} // namespace cortexfs::models
