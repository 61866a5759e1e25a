#include "daemon/providers/wire/anthropic_messages/thinking_plan.h"

#include <algorithm>
#include <limits>

namespace cortexfs::wire::anthropic_messages {

namespace {

using abi::Effort;

constexpr std::int64_t kAnswer = 8192;
constexpr std::int64_t kAnswerWithThinking = 32000;
constexpr std::int64_t kLeastBudget = 1024;
constexpr std::int64_t kLeftForAnswer = 4096; // of the output limit, when thinking would take all of it

std::int64_t budgetFor(Effort effort)
{
    switch (effort) {
    case Effort::Low: return 2048;
    case Effort::Medium: return 8192;
    case Effort::High: return 16384;
    case Effort::XHigh: return 32768;
    case Effort::Max: return std::numeric_limits<std::int64_t>::max();
    case Effort::Auto:
    case Effort::None: break;
    }
    return 0;
}

void planBudget(ThinkingPlan &plan, Effort effort, std::int64_t answer, std::int64_t most)
{
    const std::int64_t budget = std::min(budgetFor(effort), most - kLeftForAnswer);
    // A window too small for the least budget has no room for thinking.
    if (budget < kLeastBudget)
        return;
    plan.kind = ThinkingPlan::Kind::Budget;
    plan.isThinking = true;
    plan.budget = budget;
    plan.maxTokens = std::max(std::min(answer, most - budget) + budget, budget + 1);
}

} // namespace

ThinkingPlan planFor(const ModelTraits &traits, Effort effort, std::optional<std::int64_t> wanted,
                     std::optional<std::uint32_t> context)
{
    const bool isAdaptive = traits.style == ThinkingStyle::Adaptive;
    const bool saysEffort = effort != Effort::Auto && traits.style != ThinkingStyle::None;
    ThinkingPlan plan;
    plan.isThinking = effort == Effort::Auto ? traits.thinksByDefault : isAdaptive && effort != Effort::None;

    const std::int64_t window = context ? static_cast<std::int64_t>(*context)
                                        : std::numeric_limits<std::int64_t>::max();
    const std::int64_t fair = std::max<std::int64_t>(std::min(traits.mostOutput, window / 2), 1);
    const std::int64_t answer = wanted.value_or(std::min(plan.isThinking ? kAnswerWithThinking : kAnswer, fair));
    plan.maxTokens = std::max<std::int64_t>(answer, 1);
    if (!saysEffort)
        return plan;
    if (effort == Effort::None) {
        plan.kind = ThinkingPlan::Kind::Disabled;
    } else if (isAdaptive) {
        plan.kind = ThinkingPlan::Kind::Adaptive;
        plan.effort = abi::effortWord(effort == Effort::XHigh && !traits.hasXHigh ? Effort::High : effort);
    } else {
        planBudget(plan, effort, plan.maxTokens, fair);
    }
    return plan;
}

} // namespace cortexfs::wire::anthropic_messages
