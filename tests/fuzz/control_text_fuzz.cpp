// Control files: a text that is taken has its stored form, and that form is taken as it is.
#include "common/abi/control_text.h"
#include "tests/fuzz/check.h"

#include <cstdint>
#include <string>

using namespace cortexfs;
using fuzz::check;

namespace {

const std::vector<std::string> kDrivers = {"debug", "openai-chat", "openai-responses"};

template<typename Check>
bool keepsItsForm(Check checkText, std::string_view input, std::string_view what)
{
    const Result<std::string> stored = checkText(input);
    if (!stored) {
        check(stored.error().number() == EINVAL || stored.error().number() == EMSGSIZE, what, stored.error().text());
        check(!stored.error().text().empty(), what);
        return false;
    }
    check(stored->empty() || stored->ends_with('\n'), what, *stored);
    const Result<std::string> again = checkText(*stored);
    check(again.isOk() && *again == *stored, what, *stored);
    return true;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const std::string_view input = fuzz::inputOf(data, size);
    keepsItsForm(abi::checkEffort, input, "effort");
    keepsItsForm(abi::checkSession, input, "session");
    keepsItsForm(abi::checkFallback, input, "fallback");
    if (keepsItsForm(abi::checkDefaults, input, "default")) {
        for (const auto &[key, value] : abi::parseDefaults(input))
            check(!key.empty() && value.find('\n') == std::string::npos, "a default is KEY=VALUE", key);
    }
    const auto driver = [](std::string_view text) { return abi::checkDriver(text, kDrivers); };
    if (keepsItsForm(driver, input, "driver")) {
        for (const char *purpose : {"exec", "socket", "agent"}) {
            for (const std::string &word : abi::driversFor(input, purpose))
                check(!word.empty(), "a driver is a word");
        }
    }
    return 0;
}
