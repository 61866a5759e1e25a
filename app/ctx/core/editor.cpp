#include "app/ctx/core/editor.h"

#include "app/ctx/core/program.h"
#include "app/ctx/core/programs.h"
#include "app/ctx/core/text.h"
#include "common/base/files.h"
#include "common/base/unique_fd.h"

#include <csignal>
#include <filesystem>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cortexfs::ctx {

namespace {

// The copy: a directory of its own, because editors leave backups and swap files beside what they edit.
class PrivateCopy {
public:
    static Result<PrivateCopy> create(const std::string &text, const std::string &fileName,
                                      const Environment &environment)
    {
        std::string directory = environment("TMPDIR").value_or("");
        if (!directory.starts_with('/'))
            directory = "/tmp";
        directory += "/ctx-edit-XXXXXX";
        if (!::mkdtemp(directory.data())) // 0700
            return errors::fromErrno(errno, directory);
        PrivateCopy copy(directory, fileName);
        const UniqueFd file(::open(copy.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!file.isValid())
            return errors::fromErrno(errno, copy.path());
        if (const Result<void> written = files::writeAll(file.get(), text); !written)
            return written.error();
        return copy;
    }
    PrivateCopy(PrivateCopy &&other) noexcept
        : m_directory(std::exchange(other.m_directory, {})), m_name(std::move(other.m_name))
    {}
    PrivateCopy(const PrivateCopy &) = delete;
    PrivateCopy &operator=(const PrivateCopy &) = delete;
    PrivateCopy &operator=(PrivateCopy &&) = delete;
    ~PrivateCopy()
    {
        if (m_directory.empty() || m_isKept)
            return;
        std::error_code ignored;
        std::filesystem::remove_all(m_directory, ignored);
    }

    std::string path() const { return m_directory + "/" + m_name; }
    // Leaves it behind, and says so.
    Error keep(const Error &error)
    {
        m_isKept = true;
        return makeError(error.number(), error.message() + "; your text is kept in " + path(), error.detail());
    }

private:
    PrivateCopy(std::string directory, std::string name) : m_directory(std::move(directory)), m_name(std::move(name)) {}

    std::string m_directory;
    std::string m_name;
    bool m_isKept = false;
};

std::optional<std::string> editorCommand(const Environment &environment)
{
    for (const char *variable : {"VISUAL", "EDITOR"}) {
        const std::string command = environment(variable).value_or("");
        if (command.find_first_not_of(" \t") != std::string::npos)
            return command;
    }
    for (const char *program : {"editor", "vi"}) {
        if (findProgram(program, environment))
            return std::string(program);
    }
    return std::nullopt;
}

// A key that interrupts belongs to the editor while it runs.
class IgnoredSignals {
public:
    IgnoredSignals() : m_interrupt(std::signal(SIGINT, SIG_IGN)), m_quit(std::signal(SIGQUIT, SIG_IGN)) {}
    ~IgnoredSignals()
    {
        std::signal(SIGINT, m_interrupt);
        std::signal(SIGQUIT, m_quit);
    }
    IgnoredSignals(const IgnoredSignals &) = delete;
    IgnoredSignals &operator=(const IgnoredSignals &) = delete;

private:
    void (*m_interrupt)(int);
    void (*m_quit)(int);
};

Result<void> runEditor(const std::string &command, const std::string &path)
{
    std::string script = command + " \"$1\"";
    std::string shell = "sh";
    std::string flag = "-c";
    std::string file = path;
    char *const arguments[] = {shell.data(), flag.data(), script.data(), shell.data(), file.data(), nullptr};
    sigset_t usual;
    ::sigemptyset(&usual);
    for (const int number : {SIGINT, SIGQUIT, SIGPIPE})
        ::sigaddset(&usual, number);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setsigdefault(&attributes, &usual);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const IgnoredSignals ours;
    pid_t child = 0;
    const int failure = ::posix_spawn(&child, "/bin/sh", nullptr, &attributes, arguments, environ);
    ::posix_spawnattr_destroy(&attributes);
    if (failure != 0)
        return errors::fromErrno(failure, "/bin/sh");
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return errors::fromErrno(errno, command);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return {};
    return errors::cancelled("the editor has failed, nothing was changed").withDetail(command);
}

Result<std::string> editedText(const PrivateCopy &copy, std::size_t maxBytes, const Environment &environment)
{
    const std::optional<std::string> editor = editorCommand(environment);
    if (!editor)
        return errors::notFound("there is no editor; name one in EDITOR");
    if (const Result<void> edited = runEditor(*editor, copy.path()); !edited)
        return edited.error();
    return files::readRegular(copy.path(), maxBytes);
}

// On the terminal, whatever standard input and output are. No terminal: no.
bool wantsToEditAgain(const Error &error)
{
    const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
    if (!terminal.isValid() || ::isatty(STDIN_FILENO) != 1)
        return false;
    printError(error.text());
    if (!files::writeAll(terminal.get(), "Edit again? [Y/n] "))
        return false;
    char answer[64] = {};
    const ssize_t size = ::read(terminal.get(), answer, sizeof answer);
    return size > 0 && answer[0] != 'n' && answer[0] != 'N';
}

} // namespace

Result<std::string> editText(const std::string &initial, const std::string &fileName, std::size_t maxBytes,
                             const Environment &environment)
{
    const Result<PrivateCopy> copy = PrivateCopy::create(initial, fileName, environment);
    if (!copy)
        return copy.error();
    return editedText(*copy, maxBytes, environment);
}

Result<EditOutcome> editAndStore(const std::string &initial, const EditSteps &steps, const Environment &environment)
{
    Result<PrivateCopy> copy = PrivateCopy::create(initial, steps.fileName, environment);
    if (!copy)
        return copy.error();
    bool hasTyped = false;
    for (;;) {
        const Result<std::string> text = editedText(*copy, steps.maxBytes, environment);
        if (!text) {
            if (hasTyped || text.error().number() == EMSGSIZE)
                return copy->keep(text.error());
            return text.error();
        }
        if (*text == initial)
            return EditOutcome::Unchanged;
        hasTyped = true;
        if (const Result<void> checked = steps.check(*text); !checked) {
            if (checked.error().number() == EINVAL && wantsToEditAgain(checked.error()))
                continue;
            return copy->keep(checked.error());
        }
        if (const Result<void> stored = steps.store(*text); !stored)
            return copy->keep(stored.error());
        return EditOutcome::Stored;
    }
}

} // namespace cortexfs::ctx
