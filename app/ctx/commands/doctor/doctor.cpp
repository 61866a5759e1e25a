#include "app/ctx/commands/doctor/doctor.h"

#include "app/ctx/commands/doctor/local_checks.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/text.h"

#include <algorithm>

namespace cortexfs::ctx::doctor_command {

namespace {

// A daemon that takes longer is itself the finding.
constexpr std::chrono::milliseconds kDaemonTime{3'000};
constexpr std::string_view kOwnVersion = CORTEXFS_VERSION;

struct Findings {
    std::vector<Check> checks;
    bool isDaemonAbsent = false;

    bool hasError() const
    {
        return std::any_of(checks.begin(), checks.end(), [](const Check &check) { return check.status == "error"; });
    }
};

DaemonView askDaemon(Session &session, Findings &findings)
{
    DaemonView view;
    const Result<json::Document> status = session.ask("status", {}, kDaemonTime);
    if (!status) {
        findings.isDaemonAbsent = exitCodeFor(status.error().number()) == kExitUnavailable;
        const std::string text = status.error().text();
        const std::size_t split = std::min(text.find("; "), text.size());
        findings.checks.push_back(
            {"cortexd", "error", text.substr(0, split), text.substr(std::min(split + 2, text.size()))});
        return view;
    }
    const json::Value facts = status->root();
    view.isRunning = true;
    view.hasMount = facts["fuse"].asBool().value_or(true);
    view.mount = facts["mount"].stringOr("");
    const std::string version(facts["version"].stringOr("?"));
    findings.checks.push_back(
        {"cortexd",
         "ok",
         "running, pid " + std::to_string(facts["pid"].asInt().value_or(0)) + ", version " + version,
         {}});
    if (version != kOwnVersion) {
        findings.checks.push_back({"version", "warning",
                                   "cortexd is " + version + ", ctx is " + std::string(kOwnVersion),
                                   "restart cortexd after an update, or call the ctx that belongs to it"});
    }
    return view;
}

void addDaemonChecks(Session &session, Findings &findings)
{
    const Result<json::Document> reply = session.ask("doctor");
    if (!reply) {
        findings.checks.push_back({"cortexd", "error", "its own checks failed: " + reply.error().text(), {}});
        return;
    }
    for (const json::Value &check : reply->root()["checks"].elements()) {
        findings.checks.push_back(
            {std::string(check["name"].stringOr("?")), std::string(check["status"].stringOr("error")),
             std::string(check["message"].stringOr("")), std::string(check["hint"].stringOr(""))});
    }
}

std::string findingsJson(const Findings &findings)
{
    json::Writer writer;
    writer.beginObject().key("checks").beginArray();
    for (const Check &check : findings.checks) {
        writer.beginObject().field("name", json::toValidUtf8(check.name)).field("status", check.status);
        writer.field("message", json::toValidUtf8(check.message))
            .field("hint", json::toValidUtf8(check.hint))
            .endObject();
    }
    writer.endArray().endObject();
    return writer.take();
}

Style styleOf(std::string_view status)
{
    if (status == "ok")
        return Style::Good;
    return status == "warning" ? Style::Warning : Style::Bad;
}

void writeFindings(Output &out, const Findings &findings)
{
    std::size_t width = 0;
    for (const Check &check : findings.checks)
        width = std::max(width, displayWidth(escaped(check.name)));
    int errorCount = 0;
    int warningCount = 0;
    for (const Check &check : findings.checks) {
        errorCount += check.status == "error" ? 1 : 0;
        warningCount += check.status == "warning" ? 1 : 0;
        constexpr std::size_t kStatusWidth = 7;
        const std::string status = escaped(check.status);
        const std::string name = escaped(check.name);
        out.line(out.styled(styleOf(check.status), status)
                 + std::string(kStatusWidth - std::min(kStatusWidth, status.size()) + 2, ' ') + name
                 + std::string(width - displayWidth(name) + 2, ' ') + escaped(check.message));
        if (!check.hint.empty())
            out.line(std::string(kStatusWidth + width + 4, ' ') + "-> " + escaped(check.hint));
    }
    if (errorCount + warningCount == 0)
        out.line("everything is in order");
    else
        out.line(counted(errorCount, "error", "errors") + ", " + counted(warningCount, "warning", "warnings"));
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    Findings findings;
    const DaemonView daemon = askDaemon(session, findings);
    const std::string mount = session.mount();
    const Check tree = checkTree(mount, daemon, session.startHint());
    findings.checks.push_back(tree);
    findings.checks.push_back(checkRunner(mount, tree.status == "ok"));
    for (Check &check : checkFuse(session.places().mode))
        findings.checks.push_back(std::move(check));
    findings.checks.push_back(checkBubblewrap(session.environment()));
    if (daemon.isRunning)
        addDaemonChecks(session, findings);

    if (invocation.wantsJson())
        session.out().line(findingsJson(findings));
    else
        writeFindings(session.out(), findings);
    if (findings.isDaemonAbsent)
        return kExitUnavailable;
    return findings.hasError() ? kExitGeneral : kExitOk;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "doctor",
        .group = Group::Look,
        .summary = "find out what is wrong, and what to do about it",
        .description =
            "Checks from where you stand: is cortexd running and of the same version, is the tree mounted and does it "
            "answer, can the kernel find the object runner, may this user use FUSE, is bubblewrap there. Then asks "
            "the daemon for its own checks: configuration, keys, disk space. Every line that is not ok is followed by "
            "what to do. It changes nothing, and a mount that hangs does not stop it.",
        .examples = {{"ctx doctor", "When something does not work, this first."},
                     {"ctx doctor --json | jq '.checks[]|select(.status!=\"ok\")'", "Only what is not in order."}},
        .exits = {{"0", "no errors; there may be warnings"},
                  {"1", "at least one error"},
                  {"69", "cortexd is not running; what can be checked without it was"}},
        .files = {{"/dev/fuse, /etc/fuse.conf", "what the kernel and the administrator allow"},
                  {"<runtime>/control.sock", "the daemon"}},
        .printsFacts = true,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::doctor_command
