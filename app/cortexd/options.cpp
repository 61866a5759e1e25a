#include "app/cortexd/options.h"

namespace cortexfs {

Result<CommandLine> parseCommandLine(const std::vector<std::string> &arguments)
{
    CommandLine line;
    const auto target = [&](const std::string &name) -> std::optional<std::string> * {
        if (name == "--mount")
            return &line.places.mount;
        if (name == "--config")
            return &line.places.config;
        if (name == "--state")
            return &line.places.state;
        if (name == "--runtime")
            return &line.places.runtime;
        if (name == "--log-level")
            return &line.logLevel;
        return nullptr;
    };
    const auto setMode = [&](Mode mode) -> Result<void> {
        if (line.places.mode && *line.places.mode != mode)
            return errors::invalid("--system and --user exclude each other");
        line.places.mode = mode;
        return {};
    };
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string &argument = arguments[i];
        if (argument == "--help" || argument == "-h") {
            line.showHelp = true;
        } else if (argument == "--version") {
            line.showVersion = true;
        } else if (argument == "--no-fuse") {
            line.noFuse = true;
        } else if (argument == "--system" || argument == "--user") {
            if (Result<void> set = setMode(argument == "--system" ? Mode::System : Mode::User); !set)
                return set.error();
        } else {
            const std::size_t equals = argument.find('=');
            const std::string name = argument.substr(0, equals);
            std::optional<std::string> *value = target(name);
            if (!value)
                return errors::invalid("unknown argument: " + argument);
            if (equals != std::string::npos)
                *value = argument.substr(equals + 1);
            else if (i + 1 < arguments.size())
                *value = arguments[++i];
            else
                return errors::invalid(name + " needs a value");
            if ((*value)->empty())
                return errors::invalid(name + " needs a value");
        }
    }
    if (line.logLevel && *line.logLevel != "debug" && *line.logLevel != "info" && *line.logLevel != "warning"
        && *line.logLevel != "error")
        return errors::invalid("--log-level is debug, info, warning or error");
    return line;
}

std::string helpText()
{
    return R"(usage: cortexd [--system|--user] [--mount DIR] [--config DIR] [--state DIR] [--runtime DIR]
               [--no-fuse] [--log-level LEVEL]

Mounts the AI runtime: models, agents and tools as files. Stays in the foreground and prints one JSON line on
stdout when it is ready. SIGTERM or SIGINT stops it cleanly; SIGHUP (or `ctx refresh`) reads the configuration
again.

  --system          mount /ctx, configuration in /etc/cortexfs, state in /var/lib/cortexfs, sockets in /run/cortexfs
                    (the default for root)
  --user            everything below the user's own directories (the default for everybody else)
  --mount DIR       where the tree is seen                        also CTX_ROOT
  --config DIR      cortexd.json, providers.d/*.json              also CORTEXFS_CONFIG_DIR
  --state DIR       keys, caches, installed objects, histories    also CORTEXFS_STATE_DIR
  --runtime DIR     control.sock and live sockets                 also CORTEXFS_RUNTIME_DIR
  --no-fuse         serve the control socket without a mount
  --log-level LEVEL debug, info, warning or error; the log goes to stderr
  --version, --help

Exit codes: 0 stopped by a signal, 2 wrong arguments, 13 not permitted, 69 another cortexd has this state directory
or the tree cannot be mounted, 70 internal error.

Try it:  cortexd & ctx status; $(ctx which debug/echo) "hello"
)";
}

} // namespace cortexfs
