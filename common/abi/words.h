// The closed word lists of the model ABI.
#pragma once

#include <optional>
#include <string_view>

namespace cortexfs::abi {

// chat stream session vision audio_input audio_output json_schema tool_call_syntax reasoning embedding rerank
bool isCapability(std::string_view word);

enum class Effort { Auto, None, Low, Medium, High, XHigh, Max };
std::optional<Effort> effortFromWord(std::string_view word);
std::string_view effortWord(Effort effort);

// What a model is run for; the key of the `driver` table.
enum class Purpose { Exec, Socket, Agent };
std::string_view purposeWord(Purpose purpose);

} // namespace cortexfs::abi
