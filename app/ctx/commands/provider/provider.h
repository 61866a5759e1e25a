// `ctx provider`. One file a subcommand.
#pragma once

#include "app/ctx/core/command.h"
#include "common/json/json.h"

#include <string>

namespace cortexfs::ctx {
class Session;
}

namespace cortexfs::ctx::provider_command {

inline constexpr std::string_view kDefaultSlot = "default";

const Command &command();

// Where an unknown provider is the fault, which ones there are.
Error withProviderHint(const Error &error);

// Asks for a key (prompt or standard input) and stores it: what the daemon answers. ECANCELED: interrupted.
Result<json::Document> askAndStoreKey(Session &session, const std::string &provider, const std::string &slot);

// provider.preset.install, with what to do about a failure.
Result<json::Document> installPreset(Session &session, const std::string &name, bool isForced);
// What it did, and the next step, as lines.
std::string installedText(Session &session, const json::Value &facts);
// Where an unknown preset is the fault, which ones there are.
Error withPresetHint(const Error &error);

// "next: ...": what a provider still needs before it answers; empty when the daemon does not say.
std::string nextStep(Session &session, const std::string &provider);

Command addCommand();
Command disableCommand();
Command editCommand();
Command enableCommand();
Command keyCommand();
Command listCommand();
Command modelsCommand();
Command presetCommand();
Command removeCommand();
Command showCommand();
Command testCommand();

} // namespace cortexfs::ctx::provider_command
