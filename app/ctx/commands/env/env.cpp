#include "app/ctx/commands/env/env.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

namespace cortexfs::ctx::env_command {

namespace {

std::string posixLines(const std::string &mount, const std::string &runtime)
{
    const std::string bin = mount + "/bin";
    std::string out = "export CTX_ROOT=" + shellQuoted(mount) + "\n";
    out += "export CORTEXFS_RUNTIME_DIR=" + shellQuoted(runtime) + "\n";
    // Evaluated twice, it adds the directory once.
    out += "case \":$PATH:\" in *:" + shellQuoted(bin) + ":*) ;; *) export PATH=" + shellQuoted(bin)
           + "\":$PATH\" ;; esac\n";
    return out;
}

std::string fishQuoted(std::string_view text)
{
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\')
            out += '\\';
        out += c;
    }
    return out + "'";
}

std::string fishLines(const std::string &mount, const std::string &runtime)
{
    return "set -gx CTX_ROOT " + fishQuoted(mount) + ";\nset -gx CORTEXFS_RUNTIME_DIR " + fishQuoted(runtime)
           + ";\nfish_add_path -gP " + fishQuoted(mount + "/bin") + ";\n";
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    const std::string mount = session.mount();
    const std::string socket = session.controlSocket();
    const std::string runtime = socket.substr(0, socket.rfind('/'));
    Output &out = session.out();
    if (invocation.wantsJson()) {
        json::Writer writer;
        writer.beginObject().field("CTX_ROOT", json::toValidUtf8(mount));
        writer.field("CORTEXFS_RUNTIME_DIR", json::toValidUtf8(runtime));
        writer.field("bin", json::toValidUtf8(mount + "/bin")).endObject();
        out.line(writer.text());
        return kExitOk;
    }
    std::string shell(invocation.value("--shell").value_or(""));
    if (shell.empty()) {
        const std::string login = session.environment()("SHELL").value_or("sh");
        shell = login.substr(login.rfind('/') + 1);
    }
    out.write(shell == "fish" ? fishLines(mount, runtime) : posixLines(mount, runtime));
    return kExitOk;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "env",
        .group = Group::Shell,
        .summary = "print the shell lines that set up CTX_ROOT and PATH",
        .description =
            "Prints lines for the shell to evaluate: CTX_ROOT is where the tree is, CORTEXFS_RUNTIME_DIR is where "
            "the daemon listens, and the tree's bin directory goes to the front of PATH. Afterwards "
            "\"$CTX_ROOT/model/debug/echo\" runs a model, and ctx finds this daemon without options. The daemon "
            "need not run.",
        .options = {{.name = "--shell",
                     .value = "SHELL",
                     .help = "for which shell (default: by $SHELL)",
                     .choices = {"sh", "bash", "zsh", "fish"}}},
        .examples = {{"eval \"$(ctx env)\"", "In sh, bash and zsh; put it into ~/.profile to keep it."},
                     {"ctx env --shell fish | source", "In fish."},
                     {"eval \"$(ctx --runtime /tmp/try env)\"", "For a daemon with a directory of its own."}},
        .printsFacts = true,
        .asksDaemon = false,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::env_command
